// Modified Bessel functions of the first kind in double; the formulas of cpu/_special_bessel.py.
#pragma once
#include "special_series.cuh"

// Up to 8 the power series, all of whose terms are positive; beyond that, Chebyshev series of the scaled function.
__device__ inline double i0e_(double x) {
  const double size = fabs(x);
  if (size <= 8.0) return exp(-size) * polynomial(I0_SERIES, 0.25 * x * x);
  return chebyshev(I0_LARGE, 16.0 / size - 1.0) / sqrt(size);
}

__device__ inline double i1e_(double x) {
  const double size = fabs(x);
  if (size <= 8.0) return exp(-size) * x * polynomial(I1_SERIES, 0.25 * x * x);
  return copysign(chebyshev(I1_LARGE, 16.0 / size - 1.0) / sqrt(size), x);
}

// `scaled` times exp(size), in two steps, so that it overflows no earlier than the result.
__device__ inline double grow(double scaled, double size) {
  const double half = exp(0.5 * size);
  return size > 714.0 ? copysign(infinity<double>(), scaled) : scaled * half * half;
}

__device__ inline double i0_(double x) {
  return fabs(x) <= 8.0 ? polynomial(I0_SERIES, 0.25 * x * x) : grow(i0e_(x), fabs(x));
}

__device__ inline double i1_(double x) {
  return fabs(x) <= 8.0 ? x * polynomial(I1_SERIES, 0.25 * x * x) : grow(i1e_(x), fabs(x));
}
