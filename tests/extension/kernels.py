"""A gated RMS norm with kernels for both devices, which the tests share: rows are divided by their root mean square."""
from __future__ import annotations

import numpy as np
from numba import prange

import lucid
from lucid import extension as ext
from lucid.extension.math import sigmoid

SOURCE = r"""
template <typename T> __device__ T block_sum(T value, T* part) {
    part[threadIdx.x] = value;
    __syncthreads();
    for (int n = blockDim.x / 2; n; n /= 2) {
        if (threadIdx.x < n) part[threadIdx.x] += part[threadIdx.x + n];
        __syncthreads();  // of the sum
    }
    T sum = part[0];
    __syncthreads();  // before the next one
    return sum;
}

template <typename T>
__global__ void forward(const T* x, const T* gate, const T* weight, T* y, T* scale, int columns, T eps) {
    __shared__ T part[64];
    x += (long long)blockIdx.x * columns, gate += (long long)blockIdx.x * columns, y += (long long)blockIdx.x * columns;
    T squares = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) squares += x[i] * x[i];
    T s = rsqrt(block_sum(squares, part) / columns + eps);
    for (int i = threadIdx.x; i < columns; i += blockDim.x) y[i] = x[i] * s * weight[i] / (1 + exp(-gate[i]));
    if (threadIdx.x == 0) scale[blockIdx.x] = s;
}

template <typename T>
__global__ void backward(const T* grad_y, const T* x, const T* gate, const T* weight, const T* scale, T* grad_x, T* grad_gate,
                         T* grad_weight, int columns) {
    __shared__ T part[64];
    long long start = (long long)blockIdx.x * columns;
    T s = scale[blockIdx.x], dot = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        dot += grad_y[start + i] * weight[i] / (1 + exp(-gate[start + i])) * x[start + i];
    dot = block_sum(dot, part) * s * s / columns;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        long long at = start + i;
        T g = 1 / (1 + exp(-gate[at]));
        grad_x[at] = s * (grad_y[at] * weight[i] * g - x[at] * dot);
        grad_gate[at] = grad_y[at] * x[at] * s * weight[i] * g * (1 - g);
        atomicAdd(&grad_weight[i], grad_y[at] * x[at] * s * g);
    }
}
"""


@ext.jit
def row(x, gate, weight, y, eps):
    squares = x.dtype.type(0)
    for i in range(x.size):
        squares += x[i] * x[i]
    scale = x.dtype.type(1 / np.sqrt(squares / x.size + eps))
    for i in range(x.size):
        y[i] = x[i] * scale * weight[i] * sigmoid(gate[i])
    return scale


@ext.jit(parallel=True)
def forward(x, gate, weight, y, scale, eps, rows, columns):
    x, gate, y, scale = x.reshape(rows, columns), gate.reshape(rows, columns), y.reshape(rows, columns), scale.reshape(rows)
    for r in prange(rows):
        scale[r] = row(x[r], gate[r], weight, y[r], eps)


@ext.jit
def backward(grad_y, x, gate, weight, scale, grad_x, grad_gate, grad_weight, rows, columns):
    grad_y, x, gate = grad_y.reshape(rows, columns), x.reshape(rows, columns), gate.reshape(rows, columns)
    grad_x, grad_gate, scale = grad_x.reshape(rows, columns), grad_gate.reshape(rows, columns), scale.reshape(rows)
    for r in range(rows):
        s, dot = scale[r], x.dtype.type(0)
        for i in range(columns):
            dot += grad_y[r, i] * weight[i] * sigmoid(gate[r, i]) * x[r, i]
        dot *= s * s / max(columns, 1)
        for i in range(columns):
            g = sigmoid(gate[r, i])
            grad_x[r, i] = s * (grad_y[r, i] * weight[i] * g - x[r, i] * dot)
            grad_gate[r, i] = grad_y[r, i] * x[r, i] * s * weight[i] * g * (1 - g)
            grad_weight[i] += grad_y[r, i] * x[r, i] * s * g


def reference(x, gate, weight, eps=1e-6):
    scale = lucid.rsqrt((x * x).mean(-1, keepdim=True) + eps)
    return x * scale * weight * lucid.sigmoid(gate), scale.squeeze(-1)


gated = ext.op("gated(x, gate, weight, *, eps=1e-6) -> y, scale", cpu=forward, composed=reference,
               gpu=ext.cuda(SOURCE, "forward<T>", block=64, grid="rows"), like={"scale": lambda x: x.shape[:-1]}).batched("x", "gate")
gated.gradient("(grad_y, x, gate, weight, scale) -> grad_x, grad_gate, grad_weight", cpu=backward,
               gpu=ext.cuda(SOURCE, "backward<T>", block=64, grid="rows"), zeros=("grad_weight",))
