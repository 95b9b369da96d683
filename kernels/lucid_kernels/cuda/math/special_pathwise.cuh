// How gamma and beta numbers move with a parameter at a fixed probability, in double; the formulas of cpu/math/pathwise.py.
#pragma once
#include "special_gamma.cuh"
#include "special_incomplete_gamma.cuh"

#define SLOPE_TOLERANCE 1e-15
#define SLOPE_STEPS 20000
#define SLOPE_TINY 1e-300

__device__ inline double not_tiny(double x) { return fabs(x) > SLOPE_TINY ? x : SLOPE_TINY; }

// A continued fraction h and its derivative, by Lentz's method (Numerical Recipes, 5.2). The next terms are `numerator` and b.
struct Fraction {
  double c, c_slope, d, d_slope, h, slope;

  __device__ Fraction(double c_, double d_, double d_slope_)
      : c(c_), c_slope(0.0), d(d_), d_slope(d_slope_), h(d_), slope(d_slope_) {}

  // Whether the fraction has ended.
  __device__ bool step(double numerator, double numerator_slope, double b, double b_slope) {
    d_slope = numerator_slope * d + numerator * d_slope + b_slope;
    d = 1.0 / not_tiny(numerator * d + b);
    d_slope *= -d * d;
    c_slope = numerator_slope / c - numerator * c_slope / (c * c) + b_slope;
    c = not_tiny(b + numerator / c);
    const double factor = c * d, change = slope * (factor - 1.0) + h * (c_slope * d + c * d_slope);
    slope += change;
    h *= factor;
    return fabs(factor - 1.0) <= SLOPE_TOLERANCE && fabs(change) <= SLOPE_TOLERANCE * fabs(slope);
  }
};

// By the power series of P (DLMF 8.11.4), in which each factor x / (a + k) gives a term -1 / (a + k).
__device__ inline double gamma_slope_series(double a, double x) {
  double n = a, term = 1.0, total = 1.0, reciprocals = 0.0, slope = 0.0;
  for (int i = 0; i < SLOPE_STEPS; ++i) {
    n += 1.0;
    term *= x / n;
    reciprocals += 1.0 / n;
    total += term;
    slope -= term * reciprocals;
    if (term <= SLOPE_TOLERANCE * total && -term * reciprocals >= SLOPE_TOLERANCE * slope) break;
  }
  return -x / a * (total * (log(x) - digamma_(a + 1.0)) + slope);
}

// By the continued fraction of Q = 1 - P (DLMF 8.9.2).
__device__ inline double gamma_slope_fraction(double a, double x) {
  double b = x + 1.0 - a;
  Fraction fraction(1.0 / SLOPE_TINY, 1.0 / b, 1.0 / (b * b));
  for (int i = 1; i < SLOPE_STEPS; ++i) {
    b += 2.0;
    if (fraction.step(-i * (i - a), i, b, -1.0)) break;
  }
  return x * (fraction.h * (log(x) - digamma_(a)) + fraction.slope);
}

// By Temme's uniform expansion, DLMF 8.12.3-8.12.8, for large `a` and x near it.
__device__ inline double gamma_slope_uniform(double a, double x) {
  const double u = (x - a) / a, eta = copysign(sqrt(2.0 * excess(u)), u), ratio = eta != 0.0 ? u / eta : 1.0;
  double total = 0.0, by_eta = 0.0, by_a = 0.0;
  for (int k = TEMME_ROWS - 1; k >= 0; --k) {
    double row = 0.0, row_slope = 0.0;
    for (int n = TEMME_COLUMNS - 1; n >= 0; --n) {
      row_slope = row_slope * eta + row;
      row = row * eta + TEMME[k * TEMME_COLUMNS + n];
    }
    by_a = (by_a - total / a) / a;
    total = total / a + row;
    by_eta = by_eta / a + row_slope;
  }
  const double slope = ratio - 0.5 * eta + total * (log1p(u) - 0.5 / a) - by_eta * ratio / a + by_a;
  return x / a * exp(polynomial(STIRLING, 1.0 / (a * a)) / a) * slope;
}

// dx/da of a number x from the gamma distribution of shape a and rate 1.
__device__ inline double gamma_slope(double a, double x) {
  if (!(a > 0.0 && x >= 0.0 && a < CUDART_INF && x < CUDART_INF)) return CUDART_NAN;
  if (x == 0.0) return 0.0;
  if (a > 200.0 && fabs(x - a) < 0.3 * a) return gamma_slope_uniform(a, x);
  return x <= a || x < 1.5 ? gamma_slope_series(a, x) : gamma_slope_fraction(a, x);
}

// The continued fraction of the incomplete beta function (DLMF 8.17.22) and its derivative by p (`by_p` 1) or q (0).
__device__ inline Fraction beta_fraction(double p, double q, double x, double by_p) {
  const double by_q = 1.0 - by_p, total = p + q, d = 1.0 / not_tiny(1.0 - total * x / (p + 1.0));
  Fraction fraction(1.0, d, d * d * x / (p + 1.0) * (1.0 - total * by_p / (p + 1.0)));
  for (int i = 2; i < SLOPE_STEPS; ++i) {
    const double m = i / 2, even = p + 2.0 * m, before = even - 1.0;
    double numerator, slope;
    if (i % 2 == 0) {
      const double shared = m * x / (before * even);
      numerator = shared * (q - m);
      slope = shared * by_q - numerator * by_p * (1.0 / before + 1.0 / even);
    } else {
      numerator = -(p + m) * (total + m) * x / (even * (even + 1.0));
      slope = numerator * (by_p / (p + m) + 1.0 / (total + m) - by_p / even - by_p / (even + 1.0));
    }
    if (fraction.step(numerator, slope, 1.0, 0.0)) break;
  }
  return fraction;
}

// (dx/da) / (1 - x) of a number x from the beta distribution of a and b.
__device__ inline double beta_slope(double a, double b, double x) {
  if (!(a > 0.0 && b > 0.0 && x >= 0.0 && x <= 1.0 && a + b < CUDART_INF)) return CUDART_NAN;
  if (x == 0.0) return 0.0;
  if (x == 1.0) x = 1.0 - 1.1102230246251565e-16;  // the slope's limit, of the largest number below 1
  if (fmin(a, b) > 1e7)  // the logit is nearly normal, of variance 1 / a + 1 / b
    return x * (1.0 / a - log(x / (1.0 - x) * (b / a)) / (2.0 * a * a * (1.0 / a + 1.0 / b)));
  const double centre = log(x) - digamma_(a) + digamma_(a + b);
  if (x < (a + 1.0) / (a + b + 2.0)) {
    const Fraction fraction = beta_fraction(a, b, x, 1.0);
    return -x / a * (fraction.h * (centre - 1.0 / a) + fraction.slope);
  }
  const Fraction fraction = beta_fraction(b, a, 1.0 - x, 0.0);
  return x / b * (fraction.h * centre + fraction.slope);
}
