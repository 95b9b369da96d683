// Elements in memory: loaded and stored as they are, computed in the type of sums, neighbours moved 16 bytes at a time. `halves.cuh`
// has the halves; without them a kernel compiles in half the time.
#pragma once
#include "common.cuh"

template <typename T> struct AccumulatorOf {
  using Type = T;
};
template <typename T> using Accumulator = typename AccumulatorOf<T>::Type;
template <typename T> __device__ __forceinline__ T widened(T x) { return x; }
template <typename T> struct Narrowed {
  template <typename C> static __device__ __forceinline__ T of(C x) { return (T)x; }
};
template <typename T, typename C> __device__ __forceinline__ T narrowed(C x) { return Narrowed<T>::of(x); }

// N neighbours that are moved at once: their address is a multiple of their size, which is at most 16 bytes.
template <typename T, int N> struct alignas(sizeof(T) * N) Pack {
  T element[N];
  __device__ __forceinline__ Pack() {}
  __device__ __forceinline__ explicit Pack(const T* from) { *this = *reinterpret_cast<const Pack*>(from); }
  __device__ __forceinline__ void store(T* to) const {
    if constexpr (sizeof(Pack) == 16) {  // the elements of a struct may be stored one by one
      uint4 words;
      memcpy(&words, element, 16);
      __stwb(reinterpret_cast<uint4*>(to), words);
    } else {
      *reinterpret_cast<Pack*>(to) = *this;
    }
  }
};

// The N elements at `from`, in loads of at most 16 bytes.
template <int N, typename T> __device__ __forceinline__ void load(const T* from, Accumulator<T>* to) {
  constexpr int AT_ONCE = N * sizeof(T) <= 16 ? N : 16 / sizeof(T);
#pragma unroll
  for (int i = 0; i < N; i += AT_ONCE) {
    const Pack<T, AT_ONCE> pack(from + i);
#pragma unroll
    for (int j = 0; j < AT_ONCE; ++j) to[i + j] = widened(pack.element[j]);
  }
}

template <int N, typename T> __device__ __forceinline__ void store(T* to, const Accumulator<T>* from) {
  Pack<T, N> pack;
#pragma unroll
  for (int j = 0; j < N; ++j) pack.element[j] = narrowed<T>(from[j]);
  pack.store(to);
}
