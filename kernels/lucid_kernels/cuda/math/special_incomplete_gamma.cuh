// The regularised incomplete gamma functions P and Q = 1 - P in double; the formulas of cpu/_special_incomplete_gamma.py.
#pragma once
#include "special_series.cuh"

#define TWO_PI 6.28318530717958647693
#define EPS 1.1e-16
#define EULER_GAMMA 0.57721566490153286
#define TEMME_ROWS 7
#define TEMME_COLUMNS 18

// lgamma(1 + a), exact to its last digits near 0 too; |a| <= 1/2. Abramowitz & Stegun 6.1.33.
__device__ inline double lgamma1p(double a) {
  const int count = sizeof(ZETA_MINUS_ONE) / sizeof(double);
  double alternating = 0.0;
  for (int i = 0; i < count; ++i) alternating = alternating * -a + ZETA_MINUS_ONE[i] / (count + 1 - i);
  return a * (1.0 - EULER_GAMMA) - log1p(a) + a * a * alternating;
}

// u - log(1 + u), without cancellation near 0: with s = u / (2 + u) the logarithm is 2 (s + s^3 / 3 + ...).
__device__ inline double excess(double u) {
  if (fabs(u) > 0.5) return u - log1p(u);
  const double s = u / (2.0 + u), square = s * s;
  double total = 0.0;
  for (int k = 18; k > 0; --k) total = total * square + 1.0 / (2 * k + 1);
  return u * s - 2.0 * s * square * total;
}

// x^a exp(-x) / Gamma(a + 1). For large `a` relative to its peak: the powers would cancel.
__device__ inline double gamma_density(double a, double x) {
  if (a < 10.0) return exp(a * log(x) - x - (a <= 0.5 ? lgamma1p(a) : lgamma(a + 1.0)));
  const double stirling = polynomial(STIRLING, 1.0 / (a * a)) / a;
  return exp(-a * excess((x - a) / a) - stirling) / sqrt(TWO_PI * a);
}

// P by its power series, DLMF 8.11.4.
__device__ inline double series_p(double a, double x) {
  double term = 1.0, total = 1.0, n = a;
  for (int i = 0; i < 2000; ++i) {
    n += 1.0;
    term *= x / n;
    total += term;
    if (term <= EPS * total) break;
  }
  return total * gamma_density(a, x);
}

// Q for small `a` and `x` by the power series of P (DLMF 8.7.3), from which 1 has been taken away.
__device__ inline double series_q(double a, double x) {
  double term = 1.0, total = 0.0;
  for (int n = 1; n < 2000; ++n) {
    term *= -x / n;
    total += term / (a + n);
    if (fabs(term) <= EPS * fabs(total) * (a + n)) break;
  }
  const double power = a * log(x) - (a <= 0.5 ? lgamma1p(a) : lgamma(a + 1.0));
  return -expm1(power) - a * exp(power) * total;
}

// Q by its continued fraction, DLMF 8.9.2, evaluated by Lentz's method (Numerical Recipes, 5.2).
__device__ inline double fraction_q(double a, double x) {
  double b = x + 1.0 - a, c = 1e300, d = 1.0 / b, h = d;
  for (int i = 1; i < 2000; ++i) {
    const double numerator = -i * (i - a);
    b += 2.0;
    d = numerator * d + b;
    d = 1.0 / (fabs(d) > 1e-300 ? d : 1e-300);
    c = b + numerator / c;
    c = fabs(c) > 1e-300 ? c : 1e-300;
    h *= d * c;
    if (fabs(d * c - 1.0) <= 2.0 * EPS) break;
  }
  return a * gamma_density(a, x) * h;
}

// P (`sign` -1) or Q (1) for large `a` and x near it: Temme's uniform expansion, DLMF 8.12.3-8.12.8.
__device__ inline double uniform_expansion(double a, double x, double sign) {
  const double u = (x - a) / a, exponent = excess(u), eta = copysign(sqrt(2.0 * exponent), u);
  double total = 0.0;
  for (int k = TEMME_ROWS - 1; k >= 0; --k) {
    double row = 0.0;
    for (int n = TEMME_COLUMNS - 1; n >= 0; --n) row = row * eta + TEMME[k * TEMME_COLUMNS + n];
    total = total / a + row;
  }
  const double rest = exp(-a * exponent) / sqrt(TWO_PI * a) * total;
  return 0.5 * erfc(sign * eta * sqrt(0.5 * a)) + sign * rest;
}

// P (`sign` -1) or Q (1) where one of the expansions is not needed: NaN outside the domain, and the limits. `found` says whether.
__device__ inline double limit(double a, double x, double sign, bool& found) {
  const double at_zero = sign > 0.0 ? 1.0 : 0.0, infinite = infinity<double>();
  found = true;
  if (!(a >= 0.0 && x >= 0.0) || (a == 0.0 && x == 0.0) || (a == infinite && x == infinite)) return CUDART_NAN;
  if (a == 0.0 || x == infinite) return 1.0 - at_zero;
  if (x == 0.0 || a == infinite) return at_zero;
  found = a > 200.0 && fabs(x - a) < 0.3 * a;
  return found ? uniform_expansion(a, x, sign) : 0.0;
}

__device__ inline double gammaincc_(double a, double x) {
  bool found;
  const double value = limit(a, x, 1.0, found);
  if (found) return value;
  if (x > 1.1) return x > a ? fraction_q(a, x) : 1.0 - series_p(a, x);
  const bool from_p = x <= 0.5 ? -0.4 / log(x) < a : 1.1 * x < a;
  return from_p ? 1.0 - series_p(a, x) : series_q(a, x);
}

__device__ inline double gammainc_(double a, double x) {
  bool found;
  const double value = limit(a, x, -1.0, found);
  if (found) return value;
  return x > 1.0 && x > a ? 1.0 - gammaincc_(a, x) : series_p(a, x);
}
