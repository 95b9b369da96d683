// Elements as they are stored, and as they are computed: halves in float, everything else as it is. `halves.cuh` has the halves.
#pragma once
#include "common.cuh"

template <typename T> struct ComputedOf {
  using Type = T;
};
template <typename T> using Computed = typename ComputedOf<T>::Type;
template <typename T> __device__ __forceinline__ T widened(T x) { return x; }
template <typename T> struct Narrowed {
  template <typename C> static __device__ __forceinline__ T of(C x) { return (T)x; }
};
template <typename T, typename C> __device__ __forceinline__ T narrowed(C x) { return Narrowed<T>::of(x); }

// ---- vectors: V elements that are moved at once
template <int BYTES> struct Bits;
template <> struct Bits<16> {
  using Type = uint4;
};
template <> struct Bits<8> {
  using Type = uint2;
};
template <> struct Bits<4> {
  using Type = unsigned;
};
template <> struct Bits<2> {
  using Type = unsigned short;
};
template <> struct Bits<1> {
  using Type = unsigned char;
};
template <typename T, int V> struct alignas(sizeof(T) * V) Pack {
  using Whole = typename Bits<sizeof(T) * V>::Type;
  T item[V];
  __device__ __forceinline__ Pack() {}
  __device__ __forceinline__ explicit Pack(const T* from) { *(Whole*)item = *(const Whole*)from; }
  __device__ __forceinline__ void store(T* to) const { *(Whole*)to = *(const Whole*)item; }
};
