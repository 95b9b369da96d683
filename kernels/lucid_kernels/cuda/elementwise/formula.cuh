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

// exp(-x^2 / 2), to 2 ulp: what is lost in the square and in the power of 2 is brought in afterwards.
__device__ __forceinline__ float gauss_(float x) {
  const float high = -7.213475108e-1f, low = -9.629815e-9f;  // their sum is -log2(e) / 2
  x = fabsf(x) > 16.0f ? 16.0f : fabsf(x);                    // the square of infinity would give NaN
  const float square = __fmul_rn(x, x), power = __fmul_rn(square, high);
  const float lost = fmaf(square, low, fmaf(fmaf(x, x, -square), high, fmaf(square, high, -power)));
  const float e = exp2f(power);
  return fmaf(e, lost * 6.931471825e-1f, e);
}
__device__ __forceinline__ double gauss_(double x) { return exp(-0.5 * x * x); }

// The normal distribution function, to 4 ulp, also in the lower tail, where 1 + erf would cancel: gauss(x) times a polynomial in
// 1 / (1 + 0.4 |x|), which is minimax in the relative error up to where gauss(x) is 0.
__device__ __forceinline__ float normal_cdf_(float x) {
  const float t = __fdividef(1.0f, fmaf(0.4f, fabsf(x), 1.0f));
  float tail = fmaf(3.222768009e-2f, t, -1.768741012e-1f);
  tail = fmaf(tail, t, 3.824081719e-1f);
  tail = fmaf(tail, t, -3.741005361e-1f);
  tail = fmaf(tail, t, 1.194764301e-1f);
  tail = fmaf(tail, t, -2.679282799e-2f);
  tail = fmaf(tail, t, 9.130401164e-2f);
  tail = fmaf(tail, t, 1.331491172e-1f);
  tail = fmaf(tail, t, 1.596260965e-1f);
  tail = fmaf(tail, t, 1.595759690e-1f);
  tail = __fmul_rn(tail, t) * gauss_(x);
  return x > 0.0f ? 1.0f - tail : tail;
}
// erfc keeps the digits of the tail.
__device__ __forceinline__ double normal_cdf_(double x) { return 0.5 * erfc(x * -0.70710678118654752440); }
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
