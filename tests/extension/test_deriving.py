"""An operation whose signature is what its CUDA kernels show."""
from __future__ import annotations

import numpy as np
import pytest
from lucid_kernels import simulator

import lucid
from lucid import extension as ext

SOURCE = r"""
template <typename T>
__global__ void forward(const T* x, const T *__restrict__ gate, T* y, int size, T eps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size) y[i] = (x[i] + eps) * gate[i];
}
template <typename T>
__global__ void backward(const T* grad_y, const T* x, const T* gate, T* grad_x, T* grad_gate, int size, T eps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size) return;
    grad_x[i] = grad_y[i] * gate[i];
    grad_gate[i] = grad_y[i] * (x[i] + eps);
}
"""


def forward(x, gate, y, eps):
    np.multiply(x + x.dtype.type(eps), gate, out=y)


def backward(grad_y, x, gate, grad_x, grad_gate, eps):
    np.multiply(grad_y, gate, out=grad_x)
    np.multiply(grad_y, x + x.dtype.type(eps), out=grad_gate)


def reference(x, gate, *, eps):
    return (x + eps) * gate


def test_the_signature_and_the_gradient():
    gated = ext.op("gated_sum", cpu=forward, gpu=ext.cuda(SOURCE, "forward<T>", block=128), like="x", half="upcast", composed=reference)
    assert str(gated.schema) == "gated_sum(x, gate, *, eps) -> y"
    gradient = gated.gradient(cpu=backward, gpu=ext.cuda(SOURCE, "backward<T>", block=128))
    assert str(gradient.schema) == "gated_sum_grad(grad_y, x, gate, *, eps) -> grad_x, grad_gate"
    x, gate = (lucid.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    gated(x, gate, eps=0.5).sum().backward()
    assert (x.grad.tolist(), gate.grad.tolist()) == ([1.0, 2.0], [1.5, 2.5])
    devices = ["cpu", "gpu"] if simulator.available() else ["cpu"]
    ext.check(gated, reference, shapes=[(4, 7), (0, 5), (3, 2, 33)], scalars={"eps": 0.5}, devices=devices)


def test_several_kernels_and_workspace():
    source = """__global__ void first(const float* x, float* part) {} __global__ void second(const float* part, float* y, int rows) {}"""
    kernels = [ext.cuda(source, "first"), ext.cuda(source, "second")]
    assert str(ext.op("in_two", gpu=kernels, workspace={"part": "x"}).schema) == "in_two(x) -> y"
    assert str(ext.op("with_both", gpu=kernels).schema) == "with_both(x) -> part, y"


@pytest.mark.parametrize("gpu", [None, lambda x: x, ext.cuda("__global__ void f(const float* x) {}", "f"),
                                 ext.cuda("__global__ void f(float* x) {}", "f")])
def test_what_shows_nothing_is_refused(gpu):
    with pytest.raises(ValueError, match=r"write it down, as in 'unknown\(x, weight"):
        ext.op("unknown", cpu=forward, gpu=gpu)
