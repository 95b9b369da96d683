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
FORMULA_BINARY(hypot)
FORMULA_BINARY(copysign)

template <typename T> __device__ __forceinline__ T sigmoid_(T x) { return T(1) / (T(1) + exp_(-x)); }
// erfc keeps its digits in the lower tail, where 1 + erf cancels.
template <typename T> __device__ __forceinline__ T normal_cdf_(T x) { return T(0.5) * erfc_(x * T(-0.70710678118654752440)); }
template <typename T> __device__ __forceinline__ T gauss_(T x) { return exp_(T(-0.5) * x * x); }
template <typename T> __device__ __forceinline__ T abs_(T x) { return x < T(0) || x == T(0) ? T(0) - x : x; }  // -0 gives 0
// NaN wins.
template <typename T> __device__ __forceinline__ T maximum_(T a, T b) { return a > b || a != a ? a : b; }
template <typename T> __device__ __forceinline__ T minimum_(T a, T b) { return a < b || a != a ? a : b; }

template <typename T> constexpr bool is_whole = T(1) / T(2) == T(0);
// Whole numbers have no quotient by 0, which somebody has refused; that by -1 wraps around.
template <typename T> __device__ __forceinline__ bool is_minus_one(T b) { return T(-1) < T(0) && b == T(-1); }
template <typename T> __device__ __forceinline__ T fmod_(T a, T b) { return b == T(0) || is_minus_one(b) ? T(0) : T(a % b); }
template <typename T> __device__ __forceinline__ T trunc_divide_(T a, T b) {
  return b == T(0) ? T(0) : is_minus_one(b) ? T(u64(0) - u64(a)) : T(a / b);
}

// As Python's: the remainder has the sign of the divisor, and the quotient is the largest whole number below. From the exact
// remainder, since a / b may be rounded up to a whole number, and an infinite divisor leaves nothing of a - floor(a / b) * b.
template <typename T> __device__ __forceinline__ T remainder_(T a, T b) {
  const T rest = fmod_(a, b);
  if constexpr (!is_whole<T>)
    if (rest == T(0)) return copysign_(T(0), b);
  return rest != T(0) && (rest < T(0)) != (b < T(0)) ? T(rest + b) : rest;
}
template <typename T> __device__ __forceinline__ T floor_divide_(T a, T b) {
  if constexpr (is_whole<T>) {
    if (b == T(0)) return T(0);
    if (is_minus_one(b)) return T(u64(0) - u64(a));
  } else {
    if (b == T(0)) return a / b;
  }
  const T rest = fmod_(a, b);
  const T below = rest != T(0) && (rest < T(0)) != (b < T(0)) ? T(1) : T(0);
  const T quotient = T(a - rest) / b - below;  // a whole number, but for rounding
  if constexpr (is_whole<T>)
    return quotient;
  else
    return quotient == T(0) ? copysign_(T(0), a / b) : rint_(quotient);
}

// Shifts by a negative count or beyond the width: nothing of the number is left but its sign.
template <typename T> __device__ __forceinline__ T bitwise_left_shift_(T a, T b) {
  return b >= T(0) && b < T(8 * sizeof(T)) ? T(u64(a) << u64(b)) : T(0);
}
template <typename T> __device__ __forceinline__ T bitwise_right_shift_(T a, T b) {
  return b >= T(0) && b < T(8 * sizeof(T)) ? T(a >> b) : a < T(0) ? T(-1) : T(0);
}
