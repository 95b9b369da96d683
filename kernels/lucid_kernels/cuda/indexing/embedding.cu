// The gradient of an array whose slices were looked up by index: a segmented sum over the sorted indices, in an order that their
// number fixes: no float atomics, the same bits every time. Halves are added in float.
//
// Bytes moved: g once, dx twice, since zeros are written first, and a sum for the first and the last run of each chunk.
// instantiate: embedding_grad<float, 4>, embedding_grad<float, 1>, embedding_grad<double, 2>, embedding_grad<double, 1>
// instantiate: embedding_grad<__half, 8>, embedding_grad<__half, 1>
// instantiate: embedding_grad<__nv_bfloat16, 8>, embedding_grad<__nv_bfloat16, 1>
// instantiate: embedding_spans<float, 4>, embedding_spans<float, 1>, embedding_spans<double, 2>, embedding_spans<double, 1>
// instantiate: embedding_spans<__half, 8>, embedding_spans<__half, 1>
// instantiate: embedding_spans<__nv_bfloat16, 8>, embedding_spans<__nv_bfloat16, 1>
#include "halves.cuh"

// dx[o, row] = the sum of g[o, order[q]] with sorted[q] == row, g (outer, count, packs), dx (outer, rows, packs); rows without any
// are left alone. A thread adds up the runs of equal indices within a chunk of the order, for a pack of N columns: neighbouring
// threads read neighbouring columns. Of a run that goes on from the chunk before, or into the next one, the sum goes to
// partial[o, chunk, 0], or 1 where it begins here.
template <typename T, int N>
__global__ void __launch_bounds__(256, 1)
embedding_grad(const T* __restrict__ g, const i64* __restrict__ order, const i64* __restrict__ sorted, T* __restrict__ dx,
               Accumulator<T>* __restrict__ partial, i64 outer, i64 count, i64 packs, i64 rows, i64 chunk, i64 chunks, i64 padding_idx,
               int* __restrict__ flag, int code) {
  typedef Accumulator<T> A;
  constexpr int AT_ONCE = 8;
  GRID_STRIDE(e, outer * chunks * packs) {
    const i64 place = e / packs, pack = e % packs, o = place / chunks, own = place % chunks;
    const i64 start = own * chunk, end = start + chunk < count ? start + chunk : count;
    i64 row = sorted[start];
    bool begins = start == 0 || sorted[start - 1] != row;
    A sum[N] = {};
    const auto deliver = [&](bool ends) {
      if (row < 0 || row >= rows) {
        set_error(flag, code, row, rows);
      } else if (row == padding_idx) {
      } else if (begins && ends) {
        store<N>(dx + ((o * rows + row) * packs + pack) * N, sum);
      } else {
        A* const to = partial + ((place * 2 + begins) * packs + pack) * N;
#pragma unroll
        for (int j = 0; j < N; ++j) to[j] = sum[j];
      }
    };
    for (i64 first = start; first < end; first += AT_ONCE) {
      Pack<T, N> values[AT_ONCE];
      i64 found[AT_ONCE];
#pragma unroll
      for (int k = 0; k < AT_ONCE; ++k) {
        const i64 q = first + k < end ? first + k : end - 1;
        found[k] = sorted[q];
        values[k] = Pack<T, N>(g + ((o * count + order[q]) * packs + pack) * N);
      }
#pragma unroll
      for (int k = 0; k < AT_ONCE; ++k) {
        if (first + k >= end) continue;
        if (found[k] != row) {
          deliver(true);
          row = found[k];
          begins = true;
#pragma unroll
          for (int j = 0; j < N; ++j) sum[j] = 0;
        }
#pragma unroll
        for (int j = 0; j < N; ++j) sum[j] += widened(values[k].element[j]);
      }
    }
    deliver(end == count || sorted[end] != row);
  }
}

// The rows of dx whose runs begin in one chunk and end in another: the thread of the first one adds up the partial sums.
template <typename T, int N>
__global__ void __launch_bounds__(256, 1)
embedding_spans(const Accumulator<T>* __restrict__ partial, const i64* __restrict__ sorted, T* __restrict__ dx, i64 outer, i64 count,
                i64 packs, i64 rows, i64 chunk, i64 chunks, i64 padding_idx) {
  typedef Accumulator<T> A;
  constexpr int AT_ONCE = 8;
  GRID_STRIDE(e, outer * chunks * packs) {
    const i64 place = e / packs, pack = e % packs, o = place / chunks, own = place % chunks;
    const i64 start = own * chunk, next = start + chunk;
    if (next >= count) continue;
    const i64 row = sorted[next];
    if (sorted[next - 1] != row || (start > 0 && sorted[start - 1] == row)) continue;
    if (row < 0 || row >= rows || row == padding_idx) continue;
    A sum[N];
    load<N>(partial + ((place * 2 + 1) * packs + pack) * N, sum);
    bool more = true;
    for (i64 first = own + 1; more && first < chunks; first += AT_ONCE) {
      A values[AT_ONCE][N];
      bool same[AT_ONCE];
#pragma unroll
      for (int k = 0; k < AT_ONCE; ++k) {
        same[k] = first + k < chunks && sorted[(first + k) * chunk] == row;
        if (same[k]) load<N>(partial + ((o * chunks + first + k) * 2 * packs + pack) * N, values[k]);
      }
#pragma unroll
      for (int k = 0; k < AT_ONCE; ++k) {
        more = more && same[k];
        if (!more) continue;
#pragma unroll
        for (int j = 0; j < N; ++j) sum[j] += values[k][j];
      }
    }
    store<N>(dx + ((o * rows + row) * packs + pack) * N, sum);
  }
}
