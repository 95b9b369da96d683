// Functions for the formulas of `fused`, for float and double.
#pragma once
#include "common.cuh"

#define FORMULA_UNARY(name)                                                               \
  __device__ __forceinline__ float name##_(float x) { return name##f(x); }                \
  __device__ __forceinline__ double name##_(double x) { return name(x); }
#define FORMULA_BINARY(name)                                                              \
  __device__ __forceinline__ float name##_(float x, float y) { return name##f(x, y); }    \
  __device__ __forceinline__ double name##_(double x, double y) { return name(x, y); }

FORMULA_UNARY(expm1)
FORMULA_UNARY(log1p)
FORMULA_UNARY(log2)
FORMULA_UNARY(log10)
FORMULA_UNARY(sin)
FORMULA_UNARY(cos)
FORMULA_UNARY(tan)
FORMULA_UNARY(sinh)
FORMULA_UNARY(cosh)
FORMULA_UNARY(asin)
FORMULA_UNARY(acos)
FORMULA_UNARY(atan)
FORMULA_UNARY(asinh)
FORMULA_UNARY(acosh)
FORMULA_UNARY(atanh)
FORMULA_UNARY(erf)
FORMULA_UNARY(floor)
FORMULA_UNARY(ceil)
FORMULA_UNARY(trunc)
FORMULA_UNARY(rint)
FORMULA_BINARY(pow)
FORMULA_BINARY(fmod)
FORMULA_BINARY(atan2)

template <typename T> __device__ __forceinline__ T sigmoid_(T x) { return T(1) / (T(1) + exp_(-x)); }
// erfc keeps its digits in the lower tail, where 1 + erf cancels.
template <typename T> __device__ __forceinline__ T normal_cdf_(T x) { return T(0.5) * erfc_(x * T(-0.70710678118654752440)); }
template <typename T> __device__ __forceinline__ T gauss_(T x) { return exp_(T(-0.5) * x * x); }
template <typename T> __device__ __forceinline__ T abs_(T x) { return x < T(0) || x == T(0) ? T(0) - x : x; }  // -0 gives 0
// NaN wins.
template <typename T> __device__ __forceinline__ T maximum_(T a, T b) { return a > b || a != a ? a : b; }
template <typename T> __device__ __forceinline__ T minimum_(T a, T b) { return a < b || a != a ? a : b; }
