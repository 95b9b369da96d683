"""A gated RMS norm with kernels of its own for the CPU and the GPU: differentiable, tested without a GPU, and measured.

    LUCID_GPU=simulated python examples/kernels/gated_rms_norm.py            # test and measure
    python -m lucid.kernels mutate examples/kernels/gated_rms_norm.py
"""
import lucid
from lucid import extension as ext
from lucid.extension.math import sigmoid

CUDA = r"""
template <typename T, int block>
__global__ void norm(const T* x, const T* gate, const T* weight, T* y, int columns, T eps) {
    __shared__ T part[block];
    long long start = (long long)blockIdx.x * columns;
    T squares = 0;
    for (int i = threadIdx.x; i < columns; i += block) squares += x[start + i] * x[start + i];
    part[threadIdx.x] = squares;
    __syncthreads();
    for (int n = block / 2; n; n /= 2) {
        if (threadIdx.x < n) part[threadIdx.x] += part[threadIdx.x + n];
        __syncthreads();
    }
    T scale = rsqrt(part[0] / columns + eps);
    for (int i = threadIdx.x; i < columns; i += block)
        y[start + i] = x[start + i] * scale * weight[i] / (1 + exp(-gate[start + i]));
}
"""


@ext.jit
def norm(x, gate, weight, y, rows, columns, eps):
    x, gate, y = x.reshape(rows, columns), gate.reshape(rows, columns), y.reshape(rows, columns)
    for r in range(rows):
        squares = x.dtype.type(0)
        for i in range(columns):
            squares += x[r, i] * x[r, i]
        scale = x.dtype.type((squares / columns + eps) ** -0.5)
        for i in range(columns):
            y[r, i] = x[r, i] * scale * weight[i] * sigmoid(gate[r, i])


def composed(x, gate, weight, eps=1e-6):
    return x * lucid.rsqrt((x * x).mean(-1, keepdim=True) + eps) * weight * lucid.sigmoid(gate)


gated = ext.op("gated_rms_norm(x, gate, weight, *, eps=1e-6) -> y", cpu=norm, gpu=ext.cuda(CUDA, "norm", block=64, grid="rows"),
               composed=composed)


def test_gated():
    print(ext.check(gated, shapes=[(2, 3), (0, 5), (2, 70)], inputs={"weight": lambda shape: shape[-1:]}, orders=1))


if __name__ == "__main__":
    test_gated()
    x = lucid.randn(512, 1024)
    print(ext.benchmark(gated, (x, x, x[0]), against={"composed": composed}))
