// Rows that are reduced and then written: what a thread reads of them, and sums of exponentials.
#pragma once
#include "packed_again.cuh"

// Packs of N elements that a thread keeps.
template <int N> constexpr int most_packs = N <= 4 ? 8 : 32 / N;

// The part of one row of each of ARRAYS arrays that this thread has: packs of N elements, in turn with the other threads of the
// row (`Slices<true>`). The first KEPT ones, at most 32 elements or 8 packs of all arrays, stay in registers, so that the next pass
// reads only the rest of a long row again. A row is a multiple of N long; with N > 1 it starts at a multiple of 16 bytes.
template <typename T, int N, int ARRAYS = 1, int KEPT = most_packs<N> / ARRAYS> struct Rows {
  // Packs of the rest that are on their way, of each array.
  static constexpr int AT_ONCE = (N > 1 ? 2 : sizeof(T) > 4 ? 4 : 8) / ARRAYS;
  mutable Pack<T, N> kept[ARRAYS][KEPT];
  const T* row[ARRAYS];
  i64 width;

  __device__ __forceinline__ Rows(i64 width, const T* first, const T* second = nullptr) : width(width) {
    row[0] = first;
    if (ARRAYS > 1) row[ARRAYS - 1] = second;
#pragma unroll
    for (int k = 0; k < KEPT; ++k) {
      const i64 at = (threadIdx.x + k * (i64)blockDim.x) * N;
      if (at < width)
#pragma unroll
        for (int a = 0; a < ARRAYS; ++a) kept[a][k] = Pack<T, N>(row[a] + at);
    }
  }
  // body(place, values) for every pack: values[a][j] is element `place` + j of the row of array a.
  template <typename Body> __device__ __forceinline__ void packs(Body body) const {
    own([&](int, i64 at, const Accumulator<T> (&values)[ARRAYS][N]) { body(at, values); });
    const i64 step = blockDim.x * (i64)N;
    for (i64 first = threadIdx.x * (i64)N + KEPT * step; first < width; first += AT_ONCE * step) {
      Pack<T, N> packs[AT_ONCE][ARRAYS];
#pragma unroll
      for (int k = 0; k < AT_ONCE; ++k)
#pragma unroll
        for (int a = 0; a < ARRAYS; ++a)
          if (first + k * step < width) packs[k][a] = Pack<T, N>(row[a] + first + k * step);
#pragma unroll
      for (int k = 0; k < AT_ONCE; ++k) {
        if (first + k * step >= width) continue;
        Accumulator<T> values[ARRAYS][N];
#pragma unroll
        for (int a = 0; a < ARRAYS; ++a)
#pragma unroll
          for (int j = 0; j < N; ++j) values[a][j] = widened(packs[k][a].element[j]);
        body(first + k * step, values);
      }
    }
  }
  // body(k, place, values) for the packs in registers alone, with their number: of a short row that is all.
  template <typename Body> __device__ __forceinline__ void own(Body body) const {
#pragma unroll
    for (int k = 0; k < KEPT; ++k) {
      const i64 at = (threadIdx.x + k * (i64)blockDim.x) * N;
      if (at < width) {
        Accumulator<T> values[ARRAYS][N];
#pragma unroll
        for (int a = 0; a < ARRAYS; ++a) packed_again(kept[a][k]);
#pragma unroll
        for (int a = 0; a < ARRAYS; ++a)
#pragma unroll
          for (int j = 0; j < N; ++j) values[a][j] = widened(kept[a][k].element[j]);
        body(k, at, values);
      }
    }
  }
};

// The same of a slice of `length` elements with gaps of `inner`: threads with one threadIdx.x take turns with its elements, and
// neighbours have neighbouring slices. The next pass finds what the first one read in the cache, unless the slices are long.
template <typename T> struct Columns {
  i64 length, inner;
  const T* slice;
  __device__ __forceinline__ Columns(i64 length, i64 inner, const T* slice) : length(length), inner(inner), slice(slice) {}
  template <typename Body> __device__ __forceinline__ void packs(Body body) const {
    for (i64 at = threadIdx.y; at < length; at += blockDim.y) {
      const Accumulator<T> value[1][1] = {{widened(slice[at * inner])}};
      body(at, value);
    }
  }
};

// The largest of numbers and the sum of exp(x - largest), found in one pass. NaN and inf make the sum NaN; of no number above
// -inf it is 0 once it is combined.
template <typename A> struct ExpSum {
  A top = -infinity<A>(), sum = 0;

  template <int N> __device__ __forceinline__ void add(const A (&x)[N]) {
    A most = top;
#pragma unroll
    for (int j = 0; j < N; ++j) most = Max()(most, x[j]);
    if (most != top) {  // NaN too
      sum = top == -infinity<A>() ? A(0) : sum * exp_(top - most);
      top = most;
    }
#pragma unroll
    for (int j = 0; j < N; ++j) sum += exp_(x[j] - top);  // NaN while all are -inf: whoever asks for the sum looks at `top` first
  }
  // Of all threads: reduce(value, operation, identity) is their reduction.
  template <typename Reduce> __device__ __forceinline__ void combine(Reduce reduce) {
    const A all = reduce(top, Max(), -infinity<A>());
    sum = reduce(top == -infinity<A>() ? A(0) : sum * exp_(top - all), Sum(), A(0));
    top = all;
  }
};

// What threads with one threadIdx.x have, reduced over threadIdx.y in this order. All threads of the block call; `scratch` holds
// a value for each.
template <typename A, typename Op> __device__ __forceinline__ A turns_reduce(A value, Op op, A* scratch) {
  if (blockDim.y == 1) return value;
  __syncthreads();  // `scratch` may still be read from the previous reduction
  scratch[threadIdx.y * blockDim.x + threadIdx.x] = value;
  __syncthreads();
  value = scratch[threadIdx.x];
  for (int k = 1; k < blockDim.y; ++k) value = op(value, scratch[k * blockDim.x + threadIdx.x]);
  return value;
}
