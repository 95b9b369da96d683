// What `embedding.cu` computes, of so few indices that looking through all of them takes less than sorting them: in one launch, and
// in the same order.
// instantiate: embedding_grad_unsorted<float, 4>, embedding_grad_unsorted<float, 1>
// instantiate: embedding_grad_unsorted<double, 2>, embedding_grad_unsorted<double, 1>
// instantiate: embedding_grad_unsorted<__half, 8>, embedding_grad_unsorted<__half, 1>
// instantiate: embedding_grad_unsorted<__nv_bfloat16, 8>, embedding_grad_unsorted<__nv_bfloat16, 1>
#include "halves.cuh"

// dx[o, row] = the sum of g[o, q] with indices[q] == row, g (outer, count, packs), dx (outer, rows, packs); rows without any are left
// alone. The thread of the first such q and of a pack of N columns adds: neighbouring threads have the same q, and read the indices
// together.
template <typename T, int N>
__global__ void __launch_bounds__(256, 1)
embedding_grad_unsorted(const T* __restrict__ g, const i64* __restrict__ indices, T* __restrict__ dx, i64 outer, i64 count,
                        i64 packs, i64 rows, i64 padding_idx, int* __restrict__ flag, int code) {
  typedef Accumulator<T> A;
  GRID_STRIDE(e, outer * count * packs) {
    const i64 place = e / packs, pack = e % packs, o = place / count, first = place % count, row = indices[first];
    if (row < 0 || row >= rows) {
      set_error(flag, code, row, rows);
      continue;
    }
    if (row == padding_idx) continue;
    i64 before = 0;
    while (before < first && indices[before] != row) ++before;
    if (before < first) continue;
    A sum[N] = {};
    for (i64 q = first; q < count; ++q) {
      if (indices[q] != row) continue;
      A value[N];
      load<N>(g + ((o * count + q) * packs + pack) * N, value);
#pragma unroll
      for (int j = 0; j < N; ++j) sum[j] += value[j];
    }
    store<N>(dx + ((o * rows + row) * packs + pack) * N, sum);
  }
}
