// Where indices point to: arrays y, values and K arrays of indices, broadcast together.
#pragma once
#include "map.cuh"

// The dimensions of y that are indexed: steps in elements, and lengths.
struct Indexed {
  i64 step[3], length[3];
};

// Moves at[0], the place in y, to the element that the indices at at[2], ... name. False of one out of range, which somebody has
// reported; negative ones count from the end.
template <int K>
__device__ __forceinline__ bool find(const Indexed& indexed, i64* at, const i64* a, const i64* b, const i64* c) {
  const i64* const indices[3] = {a, b, c};
  bool there = true;
#pragma unroll
  for (int k = 0; k < K; ++k) {
    i64 index = indices[k][at[2 + k]];
    if (index < 0) index += indexed.length[k];
    there = there && index >= 0 && index < indexed.length[k];
    at[0] += index * indexed.step[k];
  }
  return there;
}
