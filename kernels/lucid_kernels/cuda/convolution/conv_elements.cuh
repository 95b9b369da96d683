// Elements of convolutions: halves are loaded and stored as they are, and computed in float.
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

// ReLU. NaN stays.
__device__ __forceinline__ float positive(float x) { return x <= 0.f ? 0.f : x; }
