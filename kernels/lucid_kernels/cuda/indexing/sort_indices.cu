// A stable sort of indices by counting: each is compared with each, in registers. Of some ten thousands that takes less than the passes
// of another sort.
// instantiate: sort_counts, sort_places
#include "common.cuh"

#define THREADS 256
#define KEYS 4  // of a thread

// An index as a number that is compared: all that are out of range are the largest.
__device__ __forceinline__ unsigned key_of(i64 index, i64 rows) { return (unsigned)(index < 0 || index >= rows ? rows : index); }

// counts[s, i] = how many of the indices of share s come before index i in order. Grid (of KEYS * THREADS indices, shares of `share`
// indices, a multiple of THREADS).
__global__ void __launch_bounds__(THREADS)
sort_counts(const i64* __restrict__ indices, int* __restrict__ counts, i64 count, i64 rows, i64 share) {
  __shared__ uint4 tile[THREADS / 4];
  const i64 own = (i64)blockIdx.x * (KEYS * THREADS) + threadIdx.x;
  unsigned keys[KEYS];
  int found[KEYS] = {};
#pragma unroll
  for (int k = 0; k < KEYS; ++k) {
    const i64 i = own + k * THREADS;
    keys[k] = i < count ? key_of(indices[i], rows) : 0;
  }
  const i64 end = (blockIdx.y + 1) * share < count ? (blockIdx.y + 1) * share : count;
  for (i64 first = blockIdx.y * share; first < end; first += THREADS) {
    __syncthreads();  // the tile may still be read
    const i64 j = first + threadIdx.x;
    reinterpret_cast<unsigned*>(tile)[threadIdx.x] = j < count ? key_of(indices[j], rows) : 0xffffffffu;
    __syncthreads();
    const bool before = first + THREADS <= own - threadIdx.x;  // all of the tile stand before all of the block: equal ones count
    if (before || first >= own - threadIdx.x + KEYS * THREADS) {
#pragma unroll 4
      for (int n = 0; n < THREADS / 4; ++n) {
        const uint4 other = tile[n];
#pragma unroll
        for (int k = 0; k < KEYS; ++k) {
          const unsigned limit = keys[k] + before;
          found[k] += (other.x < limit) + (other.y < limit) + (other.z < limit) + (other.w < limit);
        }
      }
    } else {
      for (int n = 0; n < THREADS; ++n) {
        const unsigned other = reinterpret_cast<const unsigned*>(tile)[n];
#pragma unroll
        for (int k = 0; k < KEYS; ++k) found[k] += other < keys[k] + (first + n < own + k * THREADS);
      }
    }
  }
#pragma unroll
  for (int k = 0; k < KEYS; ++k)
    if (own + k * THREADS < count) counts[blockIdx.y * count + own + k * THREADS] = found[k];
}

// order[q] = the place of the q-th index, sorted[q] = that index.
__global__ void __launch_bounds__(THREADS)
sort_places(const i64* __restrict__ indices, const int* __restrict__ counts, i64* __restrict__ order, i64* __restrict__ sorted,
            i64 count, i64 shares) {
  GRID_STRIDE(i, count) {
    i64 place = 0;
#pragma unroll 8
    for (i64 s = 0; s < shares; ++s) place += counts[s * count + i];
    order[place] = i;
    sorted[place] = indices[i];
  }
}
