// The kernels of reductions, for an operation `Op` as those of `reduce.cuh`: rows, columns, and what makes results of the accumulators
// of chunks.
#pragma once
#include "map.cuh"
#include "packed_again.cuh"
#include "reduce.cuh"

// All lanes of a group of `width` lanes call, a power of two; the first one gets the result.
template <typename Op> __device__ __forceinline__ typename Op::Acc over_lanes(typename Op::Acc acc, int width) {
  constexpr int WORDS = sizeof(typename Op::Acc) / 4;
  for (int offset = width / 2; offset > 0; offset >>= 1) {
    typename Op::Acc other;
#pragma unroll
    for (int word = 0; word < WORDS; ++word) {
      unsigned moved = ((const unsigned*)&acc)[word];
      ((unsigned*)&other)[word] = __shfl_xor_sync(0xffffffffu, moved, offset);
    }
    acc = Op::merged(acc, other);
  }
  return acc;
}

// The accumulator of chunk blockIdx.y, or the results where that is the only one.
template <typename Op>
__device__ __forceinline__ void deliver(typename Op::Acc acc, typename Op::Result* y, typename Op::Second* second, void* parts,
                                        i64 at, i64 output, i64 outputs, double p, double q) {
  if (gridDim.y == 1)
    Op::finish(acc, p, q, y + at, second + at);
  else
    ((typename Op::Acc*)parts)[blockIdx.y * outputs + output] = acc;
}

// A row of elements that lie close together for each output: blockDim.x threads share it, by groups of V elements side by side.
template <typename Op, typename T>
__device__ __forceinline__ void reduce_rows(typename Op::Result* y, typename Op::Second* second, void* parts, const T* x,
                                            const Layout<2>& kept, const Layout<1>& reduced, i64 outputs, i64 groups, i64 chunk,
                                            double p, double q) {
  constexpr int V = 16 / sizeof(T) > 8 ? 8 : 16 / sizeof(T);
  constexpr int AT_ONCE = 4;  // groups that are on their way, where all have V elements side by side
  __shared__ double scratch[16 * sizeof(typename Op::Acc) / 8];  // an accumulator for each warp
  typename Op::Acc* shared = (typename Op::Acc*)scratch;
  const int lanes = blockDim.x < 32 ? blockDim.x : 32;
  const i64 start = blockIdx.y * chunk, end = start + chunk < groups ? start + chunk : groups;
  const i64 output = (i64)blockIdx.x * blockDim.y + threadIdx.y;
  i64 places[2] = {0, 0};
  typename Op::Acc acc = Op::start();
  if (output < outputs) {
    locate<1>(kept, output, places);
    if (reduced.is_wide(0) && reduced.size[0] % V == 0) {
      for (i64 first = start + threadIdx.x; first < end; first += AT_ONCE * blockDim.x) {
        Pack<T, V> packs[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
          i64 at[1];
          if (first + k * blockDim.x >= end) continue;
          locate<V>(reduced, first + k * blockDim.x, at);
          packs[k] = Pack<T, V>(x + places[1] + at[0]);
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
          if (first + k * blockDim.x >= end) continue;
          packed_again(packs[k]);
          Accumulated<T> elements[V];
#pragma unroll
          for (int v = 0; v < V; ++v) elements[v] = (Accumulated<T>)widened(packs[k].element[v]);
          Op::template add<V>(acc, elements, V, (first + k * blockDim.x) * V, p);
        }
      }
    } else {
      for (i64 group = start + threadIdx.x; group < end; group += blockDim.x) {
        i64 at[1];
        Accumulated<T> elements[V];
        const int count = locate<V>(reduced, group, at);
        read<V>(reduced, 0, x + places[1], at[0], count, elements);
        Op::template add<V>(acc, elements, count, group * V, p);
      }
    }
  }
  acc = over_lanes<Op>(acc, lanes);  // of all threads of a warp
  if (blockDim.x > 32) {             // one row a block
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = acc;
    __syncthreads();
    if (threadIdx.x == 0)
      for (int warp = 1; warp < blockDim.x / 32; ++warp) acc = Op::merged(acc, shared[warp]);
  }
  if (threadIdx.x == 0 && output < outputs) deliver<Op>(acc, y, second, parts, places[0], output, outputs, p, q);
}

// Outputs beside each other read elements beside each other: a thread walks down N columns, and blockDim.y threads share them. With
// N > 1 the rows of N elements start at multiples of their size.
template <typename Op, int N, typename T>
__device__ __forceinline__ void reduce_columns(typename Op::Result* y, typename Op::Second* second, void* parts, const T* x,
                                               const Layout<2>& kept, const Layout<1>& reduced, i64 outputs, i64 length, i64 chunk,
                                               double p, double q) {
  constexpr int V = 4;  // rows that are on their way at once
  __shared__ double scratch[256 * sizeof(typename Op::Acc) / 8];
  typename Op::Acc* shared = (typename Op::Acc*)scratch;
  const i64 start = blockIdx.y * chunk, end = start + chunk < length ? start + chunk : length;
  const i64 output = ((i64)blockIdx.x * blockDim.x + threadIdx.x) * N;
  i64 places[2] = {0, 0};
  typename Op::Acc acc[N];
#pragma unroll
  for (int n = 0; n < N; ++n) acc[n] = Op::start();
  if (output < outputs) {
    locate<1>(kept, output, places);
    for (i64 first = start + (i64)threadIdx.y * V; first < end; first += blockDim.y * V) {
      const int count = end - first < V ? (int)(end - first) : V;
      Pack<T, N> packs[V];
      Accumulated<T> elements[V];
#pragma unroll
      for (int v = 0; v < V; ++v) {
        i64 at[1];
        locate<1>(reduced, first + (v < count ? v : count - 1), at);
        packs[v] = Pack<T, N>(x + places[1] + at[0]);
      }
#pragma unroll
      for (int n = 0; n < N; ++n) {
#pragma unroll
        for (int v = 0; v < V; ++v) elements[v] = (Accumulated<T>)widened(packs[v].element[n]);
        Op::template add<V>(acc[n], elements, count, first, p);
      }
    }
  }
#pragma unroll
  for (int n = 0; n < N; ++n) {
    if (blockDim.y > 1) {
      if (n) __syncthreads();  // the accumulators may still be read
      shared[threadIdx.y * blockDim.x + threadIdx.x] = acc[n];
      __syncthreads();
      if (threadIdx.y == 0)
        for (int turn = 1; turn < blockDim.y; ++turn) acc[n] = Op::merged(acc[n], shared[turn * blockDim.x + threadIdx.x]);
    }
    if (threadIdx.y == 0 && output < outputs)
      deliver<Op>(acc[n], y, second, parts, places[0] + n * kept.step[0][0], output + n, outputs, p, q);
  }
}

template <typename Op>
__global__ void __launch_bounds__(512, 2)
rows(typename Op::Result* y, typename Op::Second* second, void* parts, const typename Op::Element* x, Layout<2> kept,
     Layout<1> reduced, i64 outputs, i64 groups, i64 chunk, double p, double q) {
  reduce_rows<Op>(y, second, parts, x, kept, reduced, outputs, groups, chunk, p, q);
}
// With N > 1 ptxas would spill for more threads than a multiprocessor gets: its two blocks have enough loads on their way.
template <typename Op, int N>
__global__ void __launch_bounds__(256, N > 1 ? 2 : 0)
columns(typename Op::Result* y, typename Op::Second* second, void* parts, const typename Op::Element* x, Layout<2> kept,
        Layout<1> reduced, i64 outputs, i64 length, i64 chunk, double p, double q) {
  reduce_columns<Op, N>(y, second, parts, x, kept, reduced, outputs, length, chunk, p, q);
}

// The results from the accumulators of all chunks: blockDim.y threads for each, which take turns. Extremes of doubles spill 8 bytes on
// sm_80 and sm_100; a few results do that once.
template <typename Op>
__global__ void __launch_bounds__(512)
combine(typename Op::Result* y, typename Op::Second* second, const void* parts, Layout<2> kept, i64 outputs, i64 chunks, double p,
        double q) {
  __shared__ double scratch[512 * sizeof(typename Op::Acc) / 8];
  typename Op::Acc* shared = (typename Op::Acc*)scratch;
  const int thread = threadIdx.y * blockDim.x + threadIdx.x;
  const i64 output = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  typename Op::Acc acc = Op::start();
  if (output < outputs)
#pragma unroll 4
    for (i64 chunk = threadIdx.y; chunk < chunks; chunk += blockDim.y)
      acc = Op::merged(acc, ((const typename Op::Acc*)parts)[chunk * outputs + output]);
  shared[thread] = acc;
  for (int half = blockDim.y / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.y < half) shared[thread] = acc = Op::merged(acc, shared[thread + half * blockDim.x]);
  }
  if (threadIdx.y == 0 && output < outputs) {
    i64 places[2];
    locate<1>(kept, output, places);
    Op::finish(acc, p, q, y + places[0], second + places[0]);
  }
}
