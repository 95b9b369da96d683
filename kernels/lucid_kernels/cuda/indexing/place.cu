// One element of each slice, and zeros: the gradient of the largest or smallest elements along a dimension.
//
// Bytes moved: the result once, in words of N elements where these are of one slice, and the elements and indices of each slice.
// instantiate: place<unsigned char, 16>, place<unsigned char, 1>, place<unsigned short, 8>, place<unsigned short, 1>
// instantiate: place<unsigned, 4>, place<unsigned, 1>, place<u64, 2>, place<u64, 1>
#include "elements.cuh"

// y (outer, length, inner) is 0 but for y[o, indices[o, n], n] = g[o, n], an index below 0 counts from the end. With N > 1 `inner`
// is 1 and `length` a multiple of N.
template <typename W, int N>
__global__ void __launch_bounds__(256, 1)
place(const W* __restrict__ g, const i64* __restrict__ indices, W* __restrict__ y, i64 outer, i64 length, i64 inner) {
  GRID_STRIDE(p, outer * length * inner / N) {
    const i64 e = p * N, row = e / inner, c = row % length, slice = row / length * inner + e % inner;
    i64 index = indices[slice];
    if (index < 0) index += length;
    Pack<W, N> pack;
#pragma unroll
    for (int j = 0; j < N; ++j) pack.element[j] = W(0);
    if (index >= c && index < c + N) {
      const W value = g[slice];
#pragma unroll
      for (int j = 0; j < N; ++j)
        if (c + j == index) pack.element[j] = value;
    }
    pack.store(y + e);
  }
}
