// Slices of an array by index: y[o, i, :] = x[o, indices[i], :], of any dtype, in words W of as many bytes as fit.
// instantiate: take<uint4, int>, take<uint4, long long>, take<uint2, int>, take<uint2, long long>
// instantiate: take<unsigned int, int>, take<unsigned int, long long>, take<unsigned short, int>, take<unsigned short, long long>
// instantiate: take<unsigned char, int>, take<unsigned char, long long>
// instantiate: take_along<uint4>, take_along<uint2>, take_along<unsigned int>, take_along<unsigned short>, take_along<unsigned char>
#include "common.cuh"

template <typename W> __device__ __forceinline__ W zero_word() { return W{}; }

// x (outer, length, words), y (outer, count, words). What is named by an index out of range is 0.
template <typename W, typename I>
__global__ void __launch_bounds__(256, 1)
take(const unsigned char* __restrict__ x, const I* __restrict__ indices, unsigned char* __restrict__ y, i64 outer, i64 length,
     i64 count, i64 words) {
  GRID_STRIDE(e, outer * count * words) {
    const i64 row = e / words, word = e % words, index = indices[row % count];
    W value = zero_word<W>();
    if (index >= 0 && index < length) value = reinterpret_cast<const W*>(x)[(row / count * length + index) * words + word];
    reinterpret_cast<W*>(y)[e] = value;
  }
}

// y[o, i, n] = x[o, indices[o, i, n], n]: x (outer, length, inner), y and indices (outer, count, inner).
template <typename W>
__global__ void __launch_bounds__(256, 1)
take_along(const unsigned char* __restrict__ x, const i64* __restrict__ indices, unsigned char* __restrict__ y, i64 outer,
           i64 length, i64 count, i64 inner) {
  GRID_STRIDE(e, outer * count * inner) {
    const i64 index = indices[e];
    W value = zero_word<W>();
    if (index >= 0 && index < length) value = reinterpret_cast<const W*>(x)[(e / inner / count * length + index) * inner + e % inner];
    reinterpret_cast<W*>(y)[e] = value;
  }
}
