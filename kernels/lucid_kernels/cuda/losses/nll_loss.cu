// The negative log-likelihood of class indices over (N, C, S), and its gradient. L is the type of the losses: that of x, or that
// of sums where they are added up.
// instantiate: nll_loss<float, float>, nll_loss<double, double>, nll_loss<__half, float>, nll_loss<__half, __half>
// instantiate: nll_loss<__nv_bfloat16, float>, nll_loss<__nv_bfloat16, __nv_bfloat16>
// instantiate: nll_loss_grad<float, 4>, nll_loss_grad<float, 1>, nll_loss_grad<double, 2>, nll_loss_grad<double, 1>
// instantiate: nll_loss_grad<__half, 8>, nll_loss_grad<__half, 1>
// instantiate: nll_loss_grad<__nv_bfloat16, 8>, nll_loss_grad<__nv_bfloat16, 1>
//
// __launch_bounds__(256, 1): without the 1 ptxas aims at more threads and spills registers for it.
#include "halves.cuh"

// -x at the class times its weight; 0 for labels that are ignored, or out of range, which sets the flag.
template <typename T, typename L>
__global__ void __launch_bounds__(256)
nll_loss(const T* __restrict__ x, const i64* __restrict__ target, const Accumulator<T>* __restrict__ weight, int weighted,
         L* __restrict__ loss, i64 n, i64 C, i64 inner, i64 ignore_index, int* __restrict__ flag, int code) {
  typedef Accumulator<T> A;
  GRID_STRIDE(i, n) {
    const i64 t = target[i];
    A value = 0;
    if (t != ignore_index) {
      if (t < 0 || t >= C)
        set_error(flag, code, t, C);
      else
        value = -widened(x[(i / inner * C + t) * inner + i % inner]) * (weighted ? weight[t] : A(1));
    }
    loss[i] = narrowed<L>(value);
  }
}

// -g times the weight at the class of each label, 0 elsewhere. `total` divides it (reduction 'mean'). `single` says that g is one
// number for all labels. N > 1 classes are neighbours: inner is 1, and C a multiple of N.
template <typename T, int N>
__global__ void __launch_bounds__(256, 1)
nll_loss_grad(const T* __restrict__ g, int single, const i64* __restrict__ target, const Accumulator<T>* __restrict__ weight,
              int weighted, const Accumulator<T>* __restrict__ total, int divide, T* __restrict__ dx, i64 n, i64 C, i64 inner,
              i64 ignore_index) {
  typedef Accumulator<T> A;
  GRID_STRIDE(p, n * C / N) {
    const i64 e = p * N, row = e / inner, c = row % C, i = row / C * inner + e % inner, t = target[i];
    A result[N];
#pragma unroll
    for (int j = 0; j < N; ++j) result[j] = A(0);
    if (t != ignore_index && t >= c && t < c + N) {
      const A slope = -widened(g[single ? 0 : i]) * (weighted ? weight[t] : A(1));
#pragma unroll
      for (int j = 0; j < N; ++j)
        if (c + j == t) result[j] = divide ? slope / *total : slope;
    }
    store<N>(dx + e, result);
  }
}
