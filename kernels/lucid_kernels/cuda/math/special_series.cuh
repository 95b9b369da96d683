// Sums that several special functions share.
#pragma once
#include "common.cuh"
#include "special_tables.cuh"

// The coefficient of the highest power comes first (Horner).
template <int N> __device__ inline double polynomial(const double (&coefficients)[N], double x) {
  double total = coefficients[0];
#pragma unroll
  for (int i = 1; i < N; ++i) total = total * x + coefficients[i];
  return total;
}

// The coefficient of the highest order comes first, x in [-1, 1] (Clenshaw, 1955).
template <int N> __device__ inline double chebyshev(const double (&coefficients)[N], double x) {
  double b = 0.0, previous = 0.0;
#pragma unroll
  for (int i = 0; i < N - 1; ++i) {
    const double next = 2.0 * x * b - previous + coefficients[i];
    previous = b;
    b = next;
  }
  return x * b - previous + coefficients[N - 1];
}
