// The error function and the normal distribution in double; the formulas of cpu/_special_normal.py.
#pragma once
#include "special_series.cuh"

#define SQRT_HALF 0.70710678118654752440
#define SQRT_HALF_LOW -4.833646656726457e-17  // sqrt(1/2) minus the double nearest to it
#define SQRT_PI 1.7724538509055160273

// exp(x^2) erfc(x). Beyond 25 the asymptotic series, Abramowitz & Stegun 7.1.23.
__device__ inline double erfcx_(double x) {
  if (x > 25.0) {
    const double r = 0.5 / (x * x);
    const double series = 1.0 - r * (1.0 - 3.0 * r * (1.0 - 5.0 * r * (1.0 - 7.0 * r * (1.0 - 9.0 * r * (1.0 - 11.0 * r)))));
    return series / (x * SQRT_PI);
  }
  if (x < -27.0) return infinity<double>();
  const double square = x * x;
  return erfc(x) * (exp(square) * (1.0 + fma(x, x, -square)));  // the rounding error of x^2 is put back
}

// erfc(-x / sqrt 2) / 2, with the rounding error of the argument put back.
__device__ inline double ndtr_(double x) {
  const double t = -x * SQRT_HALF;
  double tail = erfc(t);
  if (t > -1.0 && t < 28.0) {
    const double error = -fma(x, SQRT_HALF, t) - x * SQRT_HALF_LOW;
    tail -= 2.0 / SQRT_PI * exp(-t * t) * error;
  }
  return 0.5 * tail;
}

__device__ inline double log_ndtr_(double x) {
  return x < -1.0 ? log(0.5 * erfcx_(-x * SQRT_HALF)) - 0.5 * x * x : log1p(-ndtr_(-x));
}

// The normal quantile of 1/2 + q; `tail` is 1/2 - |q|, without cancellation. Wichura (1988), algorithm AS 241.
__device__ inline double normal_quantile(double q, double tail) {
  if (fabs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(QUANTILE_CENTRE_P, r) / polynomial(QUANTILE_CENTRE_Q, r);
  }
  const double r = sqrt(-log(tail));
  const double x = r <= 5.0 ? polynomial(QUANTILE_TAIL_P, r - 1.6) / polynomial(QUANTILE_TAIL_Q, r - 1.6)
                            : polynomial(QUANTILE_FAR_P, r - 5.0) / polynomial(QUANTILE_FAR_Q, r - 5.0);
  return copysign(x, q);
}

__device__ inline double ndtri_(double p) {
  if (p == 0.0 || p == 1.0) return p == 0.0 ? -infinity<double>() : infinity<double>();
  if (!(p > 0.0 && p < 1.0)) return CUDART_NAN;
  return normal_quantile(p - 0.5, p < 0.5 ? p : 1.0 - p);
}

__device__ inline double erfinv_(double y) {
  if (fabs(y) == 1.0) return copysign(infinity<double>(), y);
  if (!(fabs(y) < 1.0)) return CUDART_NAN;
  return SQRT_HALF * normal_quantile(0.5 * y, 0.5 * (1.0 - fabs(y)));
}
