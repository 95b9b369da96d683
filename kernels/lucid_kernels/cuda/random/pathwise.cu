// Pathwise gradients of gamma and Dirichlet numbers, in double, rounded once.
// instantiate: standard_gamma_grad<float>, standard_gamma_grad<double>, dirichlet_grad<float>, dirichlet_grad<double>
#include "special_pathwise.cuh"

template <typename T>
__global__ void __launch_bounds__(256)
standard_gamma_grad(const T* __restrict__ a, const T* __restrict__ x, T* __restrict__ y, i64 n) {
  GRID_STRIDE(i, n) y[i] = (T)gamma_slope((double)a[i], (double)x[i]);
}

template <typename T>
__global__ void __launch_bounds__(256)
dirichlet_grad(const T* __restrict__ x, const T* __restrict__ a, const T* __restrict__ total, T* __restrict__ y, i64 n) {
  GRID_STRIDE(i, n) y[i] = (T)beta_slope((double)a[i], (double)total[i] - (double)a[i], (double)x[i]);
}
