// Loops over arrays of any strides that are broadcast together, in vectors where they lie side by side.
//
// A thread computes V elements beside each other in the innermost dimension: it finds their place once, reads each array by one
// vector where that lies in steps of 1 at aligned places, and keeps the elements in the type in which it computes. All are read
// before one is written, so that a result may be an argument. Bytes moved: those of the arrays, once.
#pragma once
#include "elements.cuh"

template <int ARRAYS> struct Layout {
  static constexpr int DIMS = ARRAYS <= 32 ? 8 : 1;  // the parameters of a kernel have 4096 bytes
  i64 size[DIMS];          // the innermost dimension first
  i64 step[ARRAYS][DIMS];  // in elements; 0 where an array is broadcast
  i64 first[ARRAYS];       // where the first element is: in front of it lies what has negative steps
  i64 groups;              // of V elements in the innermost dimension
  int dims;
  unsigned wide[(ARRAYS + 31) / 32];  // a bit for each array: whether it is read or written by vectors
  __device__ __forceinline__ bool is_wide(int array) const { return wide[array / 32] >> array % 32 & 1; }
};

// The places of the first elements of a group in all arrays; returns how many elements it has.
template <int V, int ARRAYS> __device__ __forceinline__ int locate(const Layout<ARRAYS>& layout, i64 group, i64* at) {
  i64 rest = 0, inner = group;
  if (layout.dims > 1) {
    rest = group / layout.groups;
    inner = group - rest * layout.groups;
  }
  inner *= V;
#pragma unroll
  for (int a = 0; a < ARRAYS; ++a) at[a] = layout.first[a] + inner * layout.step[a][0];
#pragma unroll 1
  for (int d = 1; d < layout.dims; ++d) {
    const i64 quotient = d < layout.dims - 1 ? rest / layout.size[d] : 0, index = rest - quotient * layout.size[d];
#pragma unroll
    for (int a = 0; a < ARRAYS; ++a) at[a] += index * layout.step[a][d];
    rest = quotient;
  }
  const i64 left = layout.size[0] - inner;
  return left < V ? (int)left : V;
}

// The elements of a group; those behind its end are the last one.
template <int V, int ARRAYS, typename T, typename C>
__device__ __forceinline__ void read(const Layout<ARRAYS>& layout, int array, const T* x, i64 at, int count, C* elements) {
  if (layout.is_wide(array) && count == V) {
    const Pack<T, V> pack(x + at);
#pragma unroll
    for (int v = 0; v < V; ++v) elements[v] = (C)widened(pack.element[v]);
  } else {
    const i64 step = layout.step[array][0];
#pragma unroll
    for (int v = 0; v < V; ++v) elements[v] = (C)widened(x[at + (v < count ? v : count - 1) * step]);
  }
}

template <int V, int ARRAYS, typename T, typename C>
__device__ __forceinline__ void write(const Layout<ARRAYS>& layout, int array, T* y, i64 at, int count, const C* elements) {
  if (layout.is_wide(array) && count == V) {
    Pack<T, V> pack;
#pragma unroll
    for (int v = 0; v < V; ++v) pack.element[v] = narrowed<T>(elements[v]);
    pack.store(y + at);
  } else {
    const i64 step = layout.step[array][0];
#pragma unroll
    for (int v = 0; v < V; ++v)
      if (v < count) y[at + v * step] = narrowed<T>(elements[v]);
  }
}
