"""A scan with a block for each row, and a race in it that the simulator finds: LUCID_GPU=simulated python scan.py"""
from lucid_kernels.simulator import SimulatorError

import lucid
from lucid import extension as ext

CUDA = r"""
template <typename T>
__global__ void scan(const T* x, T* y, int columns) {
    __shared__ T sums[64];
    __shared__ T carry;
    if (threadIdx.x == 0) carry = 0;
    for (int first = 0; first < columns; first += 64) {
        int i = first + threadIdx.x;
        sums[threadIdx.x] = i < columns ? x[(long long)blockIdx.x * columns + i] : T(0);
        for (int step = 1; step < 64; step *= 2) {
            __syncthreads();
            T before = threadIdx.x >= step ? sums[threadIdx.x - step] : T(0);
            __syncthreads();  // all have read before any writes
            sums[threadIdx.x] += before;
        }
        if (i < columns) y[(long long)blockIdx.x * columns + i] = carry + sums[threadIdx.x];
        __syncthreads();
        if (threadIdx.x == 0) carry += sums[63];
        __syncthreads();
    }
}
"""


@ext.jit
def scan_rows(x, y, rows, columns):
    x, y = x.reshape(rows, columns), y.reshape(rows, columns)
    for r in range(rows):
        total = x.dtype.type(0)
        for i in range(columns):
            total += x[r, i]
            y[r, i] = total


scan = ext.op("scan(x) -> y", cpu=scan_rows, gpu=ext.cuda(CUDA, "scan", block=64, grid="rows"),
              composed=lambda x: lucid.cumsum(x, -1))


def test_scan():
    return ext.check(scan, shapes=[(2, 5), (0, 3), (2, 150)], orders=1)


def race():
    """What the simulator says of the scan without one of its barriers."""
    racy = ext.cuda(CUDA.replace("__syncthreads();  // all", "// all"), "scan", block=64, grid="rows")
    try:
        ext.op("racy_scan(x) -> y", gpu=racy)(lucid.randn(2, 150, device="gpu"))
    except SimulatorError as error:
        return str(error)


if __name__ == "__main__":
    print(test_scan(), race(), sep="\n")
