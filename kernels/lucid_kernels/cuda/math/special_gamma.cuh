// The derivatives of lgamma and the Hurwitz zeta function in double; the formulas of cpu/_special_gamma.py.
#pragma once
#include "special_series.cuh"

#define PI 3.14159265358979323846
// The zero of digamma in three parts, each exact where it is subtracted.
#define ZERO_HIGH (1569415565.0 / 1073741824.0)
#define ZERO_MIDDLE (381566830.0 / 1073741824.0 / 1073741824.0)
#define ZERO_LOW 9.016312093258695918615e-20

// Reflection for negative x, recurrence down to [1, 2] or the asymptotic series, Abramowitz & Stegun 6.3.
__device__ inline double digamma_(double x) {
  if (x == 0.0) return copysign(infinity<double>(), -x);
  double reflected = 0.0;
  if (x < 0.0) {
    if (x == floor(x)) return CUDART_NAN;
    reflected = -PI / tan(PI * (x - rint(x)));  // the difference is exact; tan has the period pi
    x = 1.0 - x;
  }
  if (x >= 10.0) {
    const double r = 1.0 / (x * x);
    return reflected + (log(x) - 0.5 / x - r * polynomial(DIGAMMA_ASYMPTOTIC, r));
  }
  double shift = 0.0;
  while (x > 2.0) {
    x -= 1.0;
    shift += 1.0 / x;
  }
  double t = x - 1.0, from_zero = x - ZERO_HIGH - ZERO_MIDDLE - ZERO_LOW;
  if (x < 1.0) {
    shift -= 1.0 / x;
    t = x;
    from_zero = (x + (1.0 - ZERO_HIGH)) - ZERO_MIDDLE - ZERO_LOW;
  }
  const double ratio = polynomial(DIGAMMA_P, t) / polynomial(DIGAMMA_Q, t);
  return reflected + (shift + from_zero * (0.99558162689208984375 + ratio));
}

// Ten terms or more, and the Euler-Maclaurin correction for the rest: Cephes, zeta.c.
__device__ inline double zeta_(double x, double q) {
  if (x == 1.0) return infinity<double>();
  if (!(x > 1.0) || q != q) return CUDART_NAN;
  if (q <= 0.0) {
    if (q == floor(q)) return infinity<double>();
    if (x != floor(x)) return CUDART_NAN;
  }
  double total = pow(q, -x), a = q, term = 0.0;
  for (int i = 0; i < 9 || a <= 9.0; ++i) {
    a += 1.0;
    term = pow(a, -x);
    total += term;
    if (fabs(term) < 1.1e-16 * fabs(total)) return total;
  }
  total += term * a / (x - 1.0) - 0.5 * term;
  double factor = 1.0, k = 0.0;
  for (int i = 0; i < 12; ++i) {
    factor *= x + k;
    term /= a;
    const double correction = factor * term / EULER_MACLAURIN[i];
    total += correction;
    if (fabs(correction) < 1.1e-16 * fabs(total)) return total;
    k += 1.0;
    factor *= x + k;
    term /= a;
    k += 1.0;
  }
  return total;
}

// `factor` is (-1)^(n+1) n!. Abramowitz & Stegun 6.4.10; the first derivative of negative x is reflected (6.4.7).
__device__ inline double polygamma_(double x, double n, double factor) {
  if (n == 1.0 && fabs(x) == infinity<double>()) return x > 0.0 ? 0.0 : CUDART_NAN;
  if (n == 1.0 && x < 0.0 && x != floor(x)) {
    const double ratio = PI / sin(PI * (x - rint(x)));
    return ratio * ratio - zeta_(2.0, 1.0 - x);
  }
  return factor * zeta_(n + 1.0, x);
}
