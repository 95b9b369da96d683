// The gradient of an array whose slices were looked up by index: a segmented sum over the sorted indices, in a fixed order: no
// float atomics, the same bits every time. Halves are added in float.
// instantiate: embedding_grad<float, 4>, embedding_grad<float, 1>, embedding_grad<double, 2>, embedding_grad<double, 1>
// instantiate: embedding_grad<__half, 8>, embedding_grad<__half, 1>
// instantiate: embedding_grad<__nv_bfloat16, 8>, embedding_grad<__nv_bfloat16, 1>
#include "halves.cuh"

// dx[o, row] = the sum of g[o, order[q]] with sorted[q] == row, g (outer, count, packs), dx (outer, rows, packs); rows without any
// are left alone. The thread of the first q of a run and of a pack of N columns walks the run: neighbouring threads read
// neighbouring columns.
template <typename T, int N>
__global__ void __launch_bounds__(256, 1)
embedding_grad(const T* __restrict__ g, const i64* __restrict__ order, const i64* __restrict__ sorted, T* __restrict__ dx,
               i64 outer, i64 count, i64 packs, i64 rows, i64 padding_idx, int* __restrict__ flag, int code) {
  typedef Accumulator<T> A;
  GRID_STRIDE(e, outer * count * packs) {
    const i64 place = e / packs, pack = e % packs, o = place / count, first = place % count, row = sorted[first];
    if (first > 0 && sorted[first - 1] == row) continue;
    if (row < 0 || row >= rows) {
      set_error(flag, code, row, rows);
      continue;
    }
    if (row == padding_idx) continue;
    A sum[N] = {};
    for (i64 q = first; q < count && sorted[q] == row; q++) {
      A value[N];
      load<N>(g + ((o * count + order[q]) * packs + pack) * N, value);
#pragma unroll
      for (int j = 0; j < N; ++j) sum[j] += value[j];
    }
    store<N>(dx + ((o * rows + row) * packs + pack) * N, sum);
  }
}
