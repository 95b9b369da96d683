// Softmax and log-softmax along one dimension of (outer, C, inner), with their gradients. `logarithm` says which.
// instantiate: softmax_rows<float, 4, 1>, softmax_rows<float, 4, 2>, softmax_rows<float, 4, 8>, softmax_rows<float, 1, 8>
// instantiate: softmax_rows<double, 2, 1>, softmax_rows<double, 2, 2>, softmax_rows<double, 2, 8>, softmax_rows<double, 1, 8>
// instantiate: softmax_rows<__half, 8, 1>, softmax_rows<__half, 8, 2>, softmax_rows<__half, 8, 4>, softmax_rows<__half, 1, 8>
// instantiate: softmax_rows<__nv_bfloat16, 8, 1>, softmax_rows<__nv_bfloat16, 8, 2>, softmax_rows<__nv_bfloat16, 8, 4>
// instantiate: softmax_rows<__nv_bfloat16, 1, 8>
// instantiate: softmax_rows_grad<float, 4, 1>, softmax_rows_grad<float, 4, 2>, softmax_rows_grad<float, 4, 4>
// instantiate: softmax_rows_grad<float, 1, 4>, softmax_rows_grad<double, 2, 1>, softmax_rows_grad<double, 2, 2>
// instantiate: softmax_rows_grad<double, 2, 4>, softmax_rows_grad<double, 1, 4>, softmax_rows_grad<__half, 8, 1>
// instantiate: softmax_rows_grad<__half, 8, 2>, softmax_rows_grad<__half, 1, 4>, softmax_rows_grad<__nv_bfloat16, 8, 1>
// instantiate: softmax_rows_grad<__nv_bfloat16, 8, 2>, softmax_rows_grad<__nv_bfloat16, 1, 4>
// instantiate: softmax_columns<float>, softmax_columns<double>, softmax_columns<__half>, softmax_columns<__nv_bfloat16>
// instantiate: softmax_columns_grad<float>, softmax_columns_grad<double>
// instantiate: softmax_columns_grad<__half>, softmax_columns_grad<__nv_bfloat16>
// one module an instance
//
// A row of -inf gives NaN, as in torch.
//
// __launch_bounds__(_, 1): without the 1 ptxas aims at more threads and spills registers for it.
#include "rows.cuh"

template <typename A> __device__ __forceinline__ A softmax_of(A x, const ExpSum<A>& of, A log_sum, A share, int logarithm) {
  return logarithm ? x - of.top - log_sum : exp_(x - of.top) * share;
}

// softmax: y * (g - sum(g * y)); log-softmax: g - exp(y) * sum(g).
template <typename A> __device__ __forceinline__ A softmax_gradient_of(A g, A y, A sum, int logarithm) {
  return logarithm ? g - exp_(y) * sum : y * (g - sum);
}

// e to the power x, for results that are rounded to a T: of halves by one instruction, whose error of |x| / 2^24 they do not show.
template <typename T> __device__ __forceinline__ Accumulator<T> exp_for(Accumulator<T> x) {
  if constexpr (sizeof(T) == 2) return __expf(x);
  else return exp_(x);
}

// What becomes of a row that its threads hold in registers. The exponentials of floats stay there, those of halves are cheap and those
// of doubles would not fit.
template <typename T, int N, int K, typename Reduce>
__device__ __forceinline__ void softmax_of_kept(const Rows<T, N, 1, K>& row, T* y, int logarithm, Reduce reduce) {
  typedef Accumulator<T> A;
  constexpr bool STAYS = sizeof(T) == 4;
  A top = -infinity<A>(), sum = 0, e[K][N];
  row.own([&](int, i64, const A (&value)[1][N]) {
#pragma unroll
    for (int j = 0; j < N; ++j) top = Max()(top, value[0][j]);
  });
  top = reduce(top, Max(), -infinity<A>());
  row.own([&](int k, i64, const A (&value)[1][N]) {
#pragma unroll
    for (int j = 0; j < N; ++j) sum += e[k][j] = exp_for<T>(value[0][j] - top);
  });
  sum = reduce(sum, Sum(), A(0));
  const A log_sum = logarithm ? log_(sum) : A(0), share = A(1) / sum;
  row.own([&](int k, i64 c, const A (&value)[1][N]) {
    A result[N];
#pragma unroll
    for (int j = 0; j < N; ++j)
      result[j] = logarithm ? value[0][j] - top - log_sum : (STAYS ? e[k][j] : exp_for<T>(value[0][j] - top)) * share;
    store<N>(y + c, result);
  });
}

// inner is 1.
template <typename T, int N, int K>
__global__ void __launch_bounds__(512, 1)
softmax_rows(const T* __restrict__ x, T* __restrict__ y, int logarithm, i64 slices, i64 C) {
  typedef Accumulator<T> A;
  typedef Slices<true> S;
  __shared__ A scratch[32];
  for (i64 i = S::first(); i < slices; i += S::step()) {
    const Rows<T, N, 1, K> row(C, x + i * C);
    const auto reduce = [&](A value, auto op, A identity) { return S::reduce(value, op, identity, scratch); };
    if (C <= K * (i64)N * blockDim.x) {
      softmax_of_kept(row, y + i * C, logarithm, reduce);
      continue;
    }
    ExpSum<A> of;
    row.packs([&](i64, const A (&value)[1][N]) { of.add(value[0]); });
    of.combine(reduce);
    const A log_sum = logarithm ? log_(of.sum) : A(0), share = A(1) / of.sum;
    row.packs([&](i64 c, const A (&value)[1][N]) {
      A result[N];
#pragma unroll
      for (int j = 0; j < N; ++j) result[j] = softmax_of(value[0][j], of, log_sum, share, logarithm);
      store<N>(y + i * C + c, result);
    });
  }
}

template <typename T, int N, int K>
__global__ void __launch_bounds__(512, 1)
softmax_rows_grad(const T* __restrict__ g, const T* __restrict__ y, T* __restrict__ dx, int logarithm, i64 slices, i64 C) {
  typedef Accumulator<T> A;
  typedef Slices<true> S;
  __shared__ A scratch[32];
  for (i64 i = S::first(); i < slices; i += S::step()) {
    const Rows<T, N, 2, K> rows(C, g + i * C, y + i * C);
    A sum = 0;
    rows.packs([&](i64, const A (&value)[2][N]) {
#pragma unroll
      for (int j = 0; j < N; ++j) sum += logarithm ? value[0][j] : value[0][j] * value[1][j];
    });
    sum = S::reduce(sum, Sum(), A(0), scratch);
    rows.packs([&](i64 c, const A (&value)[2][N]) {
      A result[N];
#pragma unroll
      for (int j = 0; j < N; ++j) result[j] = softmax_gradient_of(value[0][j], value[1][j], sum, logarithm);
      store<N>(dx + i * C + c, result);
    });
  }
}

// A thread has every blockDim.y-th element of a slice; neighbouring threads read neighbouring slices. The second pass finds
// what the first one read in the cache, unless the slices are long.
template <typename T>
__global__ void __launch_bounds__(256, 1)
softmax_columns(const T* __restrict__ x, T* __restrict__ y, int logarithm, i64 slices, i64 C, i64 inner) {
  typedef Accumulator<T> A;
  __shared__ A scratch[256];
  for (i64 first = (i64)blockIdx.x * blockDim.x; first < slices; first += (i64)gridDim.x * blockDim.x) {
    const i64 i = first + threadIdx.x, length = i < slices ? C : 0, base = i / inner * C * inner + i % inner;
    ExpSum<A> of;
    for (i64 c = threadIdx.y; c < length; c += blockDim.y) {
      const A value[1] = {widened(x[base + c * inner])};
      of.add(value);
    }
    of.combine([&](A value, auto op, A) { return turns_reduce(value, op, scratch); });
    const A log_sum = logarithm ? log_(of.sum) : A(0), share = A(1) / of.sum;
    for (i64 c = threadIdx.y; c < length; c += blockDim.y)
      y[base + c * inner] = narrowed<T>(softmax_of(widened(x[base + c * inner]), of, log_sum, share, logarithm));
  }
}

template <typename T>
__global__ void __launch_bounds__(256, 1)
softmax_columns_grad(const T* __restrict__ g, const T* __restrict__ y, T* __restrict__ dx, int logarithm, i64 slices, i64 C,
                     i64 inner) {
  typedef Accumulator<T> A;
  __shared__ A scratch[256];
  for (i64 first = (i64)blockIdx.x * blockDim.x; first < slices; first += (i64)gridDim.x * blockDim.x) {
    const i64 i = first + threadIdx.x, length = i < slices ? C : 0, base = i / inner * C * inner + i % inner;
    A sum = 0;
    for (i64 c = threadIdx.y; c < length; c += blockDim.y) {
      const A grad = widened(g[base + c * inner]);
      sum += logarithm ? grad : grad * widened(y[base + c * inner]);
    }
    sum = turns_reduce(sum, Sum(), scratch);
    for (i64 c = threadIdx.y; c < length; c += blockDim.y) {
      const i64 at = base + c * inner;
      dx[at] = narrowed<T>(softmax_gradient_of(widened(g[at]), widened(y[at]), sum, logarithm));
    }
  }
}
