// What numbers are made of random words: bit for bit lucid_kernels.cpu.random.random, whose docstring has the formulas.
//
// Numbers are computed with __fmul_rn and its kin: the compiler contracts a * b + c into one fma where it likes, and then
// the last bit depends on its version. No intermediate value is denormal, but for uniform numbers of ranges as small as
// that: -ftz=true changes nothing.
#pragma once
#include "philox.cuh"

// ---- exact arithmetic: never contracted, never approximated
__device__ __forceinline__ float mul(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ double mul(double a, double b) { return __dmul_rn(a, b); }
__device__ __forceinline__ float add(float a, float b) { return __fadd_rn(a, b); }
__device__ __forceinline__ double add(double a, double b) { return __dadd_rn(a, b); }
__device__ __forceinline__ float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ __forceinline__ double fused(double a, double b, double c) { return __fma_rn(a, b, c); }

// The polynomial with coefficients c, highest power first.
template <int N, typename T> __device__ __forceinline__ T horner(const T (&c)[N], T x) {
  T p = fused(c[0], x, c[1]);
#pragma unroll
  for (int i = 2; i < N; ++i) p = fused(p, x, c[i]);
  return p;
}

// ---- log(u) for u = 2^e (1 + f) in (0, 1], sqrt(1/2) <= 1 + f < sqrt(2)
__device__ __forceinline__ void split(float u, float& e, float& f) {
  const int shifted = __float_as_int(u) + (0x3F800000 - 0x3F3504F3);
  e = (float)((shifted >> 23) - 127);
  f = add(__int_as_float((shifted & 0x007FFFFF) + 0x3F3504F3), -1.0f);
}
__device__ __forceinline__ void split(double u, double& e, double& f) {
  const i64 shifted = __double_as_longlong(u) + (0x3FF0000000000000LL - 0x3FE6A09E667F3BCDLL);
  e = (double)((shifted >> 52) - 1023);
  f = add(__longlong_as_double((shifted & 0x000FFFFFFFFFFFFFLL) + 0x3FE6A09E667F3BCDLL), -1.0);
}
__device__ __forceinline__ float log_split(float e, float f) {
  const float c[9] = {7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f, 1.4249322787e-1f,
                      -1.6668057665e-1f, 2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f};
  const float z = mul(f, f);
  float y = mul(mul(horner(c, f), f), z);
  y = fused(e, -2.12194440e-4f, y);
  y = fused(-0.5f, z, y);
  return fused(e, 0.693359375f, add(f, y));
}
__device__ __forceinline__ double log_split(double e, double f) {
  const double c[7] = {1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01,
                       2.222219843214978396e-01, 2.857142874366239149e-01, 3.999999999940941908e-01,
                       6.666666666666735130e-01};
  const double s = __ddiv_rn(f, add(2.0, f)), z = mul(s, s);
  const double r = mul(horner(c, z), z), h = mul(mul(0.5, f), f);
  const double y = fused(s, add(h, r), mul(e, 1.90821492927058770002e-10));
  return fused(e, 6.93147180369123816490e-01, add(f, -add(h, -y)));
}

template <typename T> __device__ __forceinline__ T log_unit(T u) {
  T e, f;
  split(u, e, f);
  return log_split(e, f);
}

// ---- sine and cosine for |x| <= pi / 4
template <int M, int N, typename T>
__device__ __forceinline__ void sine_cosine(const T (&sines)[M], const T (&cosines)[N], T x, T& sine, T& cosine) {
  const T z = mul(x, x);
  sine = fused(mul(horner(sines, z), z), x, x);
  cosine = fused(mul(horner(cosines, z), z), z, fused(T(-0.5), z, T(1)));
}

template <typename T>
__device__ __forceinline__ void polar(T radius, unsigned quadrant, T sine, T cosine, T& first, T& second) {
  first = quadrant & 1 ? sine : cosine;
  second = quadrant & 1 ? cosine : sine;
  first = mul(radius, (quadrant + 1) & 2 ? -first : first);
  second = mul(radius, quadrant & 2 ? -second : second);
}

// ---- two normal numbers from a number for the radius and one for the angle
__device__ __forceinline__ void box_muller(unsigned m, unsigned v, float& first, float& second) {
  const float sines[3] = {-1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f};
  const float cosines[3] = {2.443315711809948e-5f, -1.388731625493765e-3f, 4.166664568298827e-2f};
  const float u = fused(__uint2float_rn(m), 2.3283064365386963e-10f, 1.1641532182693481e-10f);  // 2^-32, 2^-33
  const float radius = __fsqrt_rn(mul(-2.0f, log_unit(u)));
  const unsigned t = v + (1u << 29);
  const int d = (int)(t & ((1u << 30) - 1)) - (1 << 29);
  const float x = mul(__int2float_rn(d + d + 1), 7.3145906e-10f);  // pi * 2^-32
  float sine, cosine;
  sine_cosine(sines, cosines, x, sine, cosine);
  polar(radius, t >> 30, sine, cosine, first, second);
}
__device__ __forceinline__ void box_muller(i64 m, i64 v, double& first, double& second) {
  const double sines[6] = {1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
                           -1.98412698298579493134e-04, 8.33333333332248946124e-03, -1.66666666666666324348e-01};
  const double cosines[6] = {-1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07,
                             2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02};
  const double u = fused((double)m, 1.1102230246251565e-16, 5.551115123125783e-17);  // 2^-53, 2^-54
  const double radius = __dsqrt_rn(mul(-2.0, log_unit(u)));
  const i64 t = (v + (1LL << 50)) & ((1LL << 53) - 1);
  const i64 d = (t & ((1LL << 51) - 1)) - (1LL << 50);
  const double x = mul((double)(2 * d + 1), 3.487868498008632e-16);  // pi * 2^-53
  double sine, cosine;
  sine_cosine(sines, cosines, x, sine, cosine);
  polar(radius, (unsigned)(t >> 51), sine, cosine, first, second);
}

// ---- -log(u), where u is `unit` and 1 - u is `rest`, which is exact near 0
template <typename T> __device__ __forceinline__ T exponential(T unit, T rest) {
  T e, f;
  split(unit, e, f);
  return -log_split(e, e == T(0) ? -rest : f);
}
__device__ __forceinline__ float exponential(unsigned m) {
  const float scale = 2.3283064365386963e-10f, half = 1.1641532182693481e-10f;  // 2^-32, 2^-33
  return exponential(fused(__uint2float_rn(m), scale, half), fused(__uint2float_rn(~m), scale, half));
}
__device__ __forceinline__ double exponential(i64 m) {
  const double scale = 1.1102230246251565e-16, half = 5.551115123125783e-17;  // 2^-53, 2^-54
  return exponential(fused((double)m, scale, half), fused((double)((1LL << 53) - 1 - m), scale, half));
}

__device__ __forceinline__ i64 bits53(unsigned a, unsigned b) { return ((i64)(a >> 5) << 26) + (b >> 6); }
