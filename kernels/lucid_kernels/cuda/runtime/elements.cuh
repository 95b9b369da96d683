// Elements in memory: halves are loaded and stored as they are, and computed in float; neighbours are moved 16 bytes at a time.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include "common.cuh"

template <typename T> struct AccumulatorOf {
  using Type = T;
};
template <> struct AccumulatorOf<__half> {
  using Type = float;
};
template <> struct AccumulatorOf<__nv_bfloat16> {
  using Type = float;
};
template <typename T> using Accumulator = typename AccumulatorOf<T>::Type;

__device__ __forceinline__ float widened(float x) { return x; }
__device__ __forceinline__ double widened(double x) { return x; }
__device__ __forceinline__ float widened(__half x) { return __half2float(x); }
__device__ __forceinline__ float widened(__nv_bfloat16 x) { return __bfloat162float(x); }
template <typename T> __device__ __forceinline__ T narrowed(Accumulator<T> x);
template <> __device__ __forceinline__ float narrowed<float>(float x) { return x; }
template <> __device__ __forceinline__ double narrowed<double>(double x) { return x; }
template <> __device__ __forceinline__ __half narrowed<__half>(float x) { return __float2half_rn(x); }
template <> __device__ __forceinline__ __nv_bfloat16 narrowed<__nv_bfloat16>(float x) { return __float2bfloat16_rn(x); }

// N neighbours that are moved at once: their address is a multiple of their size, which is at most 16 bytes.
template <typename T, int N> struct alignas(sizeof(T) * N) Pack {
  T element[N];
};

// The N elements at `from`, in loads of at most 16 bytes.
template <int N, typename T> __device__ __forceinline__ void load(const T* from, Accumulator<T>* to) {
  constexpr int AT_ONCE = N * sizeof(T) <= 16 ? N : 16 / sizeof(T);
#pragma unroll
  for (int i = 0; i < N; i += AT_ONCE) {
    const Pack<T, AT_ONCE> pack = *reinterpret_cast<const Pack<T, AT_ONCE>*>(from + i);
#pragma unroll
    for (int j = 0; j < AT_ONCE; ++j) to[i + j] = widened(pack.element[j]);
  }
}

template <int N, typename T> __device__ __forceinline__ void store(T* to, const Accumulator<T>* from) {
  Pack<T, N> pack;
#pragma unroll
  for (int j = 0; j < N; ++j) pack.element[j] = narrowed<T>(from[j]);
  if constexpr (sizeof(pack) == 16) {  // the elements of a struct may be stored one by one
    uint4 words;
    memcpy(&words, &pack, 16);
    __stwb(reinterpret_cast<uint4*>(to), words);
  } else {
    *reinterpret_cast<Pack<T, N>*>(to) = pack;
  }
}
