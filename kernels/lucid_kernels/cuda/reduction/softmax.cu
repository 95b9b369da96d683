// Softmax and log-softmax along one dimension of (outer, C, inner), with their gradients.
// instantiate: softmax<float, false, true>, softmax<float, false, false>, softmax<float, true, true>
// instantiate: softmax<float, true, false>, softmax<double, false, true>, softmax<double, false, false>
// instantiate: softmax<double, true, true>, softmax<double, true, false>
// instantiate: softmax_grad<float, false, true>, softmax_grad<float, false, false>, softmax_grad<float, true, true>
// instantiate: softmax_grad<float, true, false>, softmax_grad<double, false, true>, softmax_grad<double, false, false>
// instantiate: softmax_grad<double, true, true>, softmax_grad<double, true, false>
#include "common.cuh"

// A slice is read three times; the second and third time it comes from the cache. A row of -inf gives NaN, as in torch.
template <typename T, bool LOG, bool ROWS>
__global__ void __launch_bounds__(256, 3)
softmax(const T* __restrict__ x, T* __restrict__ y, i64 slices, i64 C, i64 inner) {
  typedef Slices<ROWS> S;
  __shared__ T scratch[32];
  for (i64 i = S::first(); i < slices; i += S::step()) {
    const i64 base = S::base(i, C, inner);
    T top = -infinity<T>();
    for (i64 c = S::begin(); c < C; c += S::stride()) top = Max()(top, x[base + c * inner]);
    top = S::reduce(top, Max(), -infinity<T>(), scratch);
    T sum = 0;
    for (i64 c = S::begin(); c < C; c += S::stride()) sum += exp_(x[base + c * inner] - top);
    sum = S::reduce(sum, Sum(), T(0), scratch);
    const T shift = LOG ? log_(sum) : T(0);
    for (i64 c = S::begin(); c < C; c += S::stride()) {
      const T centred = x[base + c * inner] - top;
      y[base + c * inner] = LOG ? centred - shift : exp_(centred) / sum;
    }
  }
}

// softmax: y * (g - sum(g * y)); log-softmax: g - exp(y) * sum(g).
template <typename T, bool LOG, bool ROWS>
__global__ void __launch_bounds__(256, 3)
softmax_grad(const T* __restrict__ g, const T* __restrict__ y, T* __restrict__ dx, i64 slices, i64 C, i64 inner) {
  typedef Slices<ROWS> S;
  __shared__ T scratch[32];
  for (i64 i = S::first(); i < slices; i += S::step()) {
    const i64 base = S::base(i, C, inner);
    T sum = 0;
    for (i64 c = S::begin(); c < C; c += S::stride()) {
      const i64 at = base + c * inner;
      sum += LOG ? g[at] : g[at] * y[at];
    }
    sum = S::reduce(sum, Sum(), T(0), scratch);
    for (i64 c = S::begin(); c < C; c += S::stride()) {
      const i64 at = base + c * inner;
      dx[at] = LOG ? g[at] - exp_(y[at]) * sum : y[at] * (g[at] - sum);
    }
  }
}
