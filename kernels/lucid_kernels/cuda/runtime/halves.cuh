// Halves among the elements of `elements.cuh`: read and written as they are, computed in float, rounded once.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include "elements.cuh"

template <> struct AccumulatorOf<__half> {
  using Type = float;
};
template <> struct AccumulatorOf<__nv_bfloat16> {
  using Type = float;
};
__device__ __forceinline__ float widened(__half x) { return __half2float(x); }
__device__ __forceinline__ float widened(__nv_bfloat16 x) { return __bfloat162float(x); }
// Of doubles and whole numbers by way of float, as in PyTorch.
template <> struct Narrowed<__half> {
  template <typename C> static __device__ __forceinline__ __half of(C x) { return __float2half_rn((float)x); }
};
template <> struct Narrowed<__nv_bfloat16> {
  template <typename C> static __device__ __forceinline__ __nv_bfloat16 of(C x) { return __float2bfloat16_rn((float)x); }
};
