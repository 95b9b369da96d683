// instantiate: embedding_grad<float>, embedding_grad<double>
//
// The gradient of a table whose rows were looked up by index: a segmented sum over the sorted indices, in a fixed order: no
// float atomics, the same bits every time.
#include "common.cuh"

// dx[row] = the sum of the rows g[order[q]] with sorted[q] == row; rows without any are left alone. The thread of the first q
// of a run and of a column walks the run: neighbouring threads read neighbouring columns.
template <typename T>
__global__ void __launch_bounds__(256)
embedding_grad(const T* __restrict__ g, const i64* __restrict__ order, const i64* __restrict__ sorted, T* __restrict__ dx,
               i64 count, i64 width, i64 rows, i64 padding_idx, int* __restrict__ flag, int code) {
  GRID_STRIDE(e, count * width) {
    const i64 first = e / width, column = e % width, row = sorted[first];
    if (first > 0 && sorted[first - 1] == row) continue;
    if (row < 0 || row >= rows) {
      set_error(flag, code, row, rows);
      continue;
    }
    if (row == padding_idx) continue;
    T sum = T(0);
    for (i64 q = first; q < count && sorted[q] == row; q++) sum += g[order[q] * width + column];
    dx[row * width + column] = sum;
  }
}
