// The negative log-likelihood of class indices over (N, C, S), its sum or mean, and its gradient.
// instantiate: nll_loss<float>, nll_loss<double>, nll_loss<__half>, nll_loss<__nv_bfloat16>
// instantiate: nll_sums<float>, nll_sums<double>, nll_sums<__half>, nll_sums<__nv_bfloat16>
// instantiate: nll_total<float>, nll_total<double>, nll_total<__half>, nll_total<__nv_bfloat16>
// instantiate: nll_loss_grad<float, 4>, nll_loss_grad<float, 1>, nll_loss_grad<double, 2>, nll_loss_grad<double, 1>
// instantiate: nll_loss_grad<__half, 8>, nll_loss_grad<__half, 1>
// instantiate: nll_loss_grad<__nv_bfloat16, 8>, nll_loss_grad<__nv_bfloat16, 1>
//
// __launch_bounds__(256, 1): without the 1 ptxas aims at more threads and spills registers for it.
#include "halves.cuh"

// The labels, and what they weigh: `weighted` says whether there are weights of the classes.
template <typename A> struct Labels {
  const i64* target;
  const A* weight;
  int weighted;
  i64 C, ignore_index;
  __device__ __forceinline__ bool is_class(i64 t) const { return t >= 0 && t < C; }
  // Of the label i; nothing of one that is ignored, or out of range.
  __device__ __forceinline__ A weight_of(i64 i) const {
    const i64 t = target[i];
    return t == ignore_index || !is_class(t) ? A(0) : weighted ? weight[t] : A(1);
  }
};

// -x at the class times its weight; 0 for labels that are ignored, or out of range, which sets the flag.
template <typename T>
__device__ __forceinline__ Accumulator<T> loss_of(const T* x, const Labels<Accumulator<T>>& labels, i64 i, i64 inner, int* flag,
                                                  int code) {
  typedef Accumulator<T> A;
  const i64 t = labels.target[i];
  if (t == labels.ignore_index) return A(0);
  if (!labels.is_class(t)) {
    set_error(flag, code, t, labels.C);
    return A(0);
  }
  return -widened(x[(i / inner * labels.C + t) * inner + i % inner]) * (labels.weighted ? labels.weight[t] : A(1));
}

template <typename T>
__global__ void __launch_bounds__(256, 1)
nll_loss(const T* __restrict__ x, const i64* __restrict__ target, const Accumulator<T>* __restrict__ weight, int weighted,
         T* __restrict__ loss, i64 n, i64 C, i64 inner, i64 ignore_index, int* __restrict__ flag, int code) {
  const Labels<Accumulator<T>> labels = {target, weight, weighted, C, ignore_index};
  GRID_STRIDE(i, n) loss[i] = narrowed<T>(loss_of(x, labels, i, inner, flag, code));
}

// Block b adds up the losses and the weights of the labels [b * chunk, (b + 1) * chunk) to sums[2 * b] and [2 * b + 1]; the only
// block writes the loss.
template <typename T>
__global__ void __launch_bounds__(256, 1)
nll_sums(const T* __restrict__ x, const i64* __restrict__ target, const Accumulator<T>* __restrict__ weight, int weighted,
         Accumulator<T>* __restrict__ sums, T* __restrict__ loss, int divide, i64 n, i64 chunk, i64 C, i64 inner, i64 ignore_index,
         int* __restrict__ flag, int code) {
  typedef Accumulator<T> A;
  __shared__ A scratch[32];
  const Labels<A> labels = {target, weight, weighted, C, ignore_index};
  const i64 first = blockIdx.x * chunk, last = first + chunk < n ? first + chunk : n;
  A sum = 0, total = 0;
  for (i64 i = first + threadIdx.x; i < last; i += blockDim.x) {
    sum += loss_of(x, labels, i, inner, flag, code);
    total += labels.weight_of(i);
  }
  sum = block_reduce(sum, Sum(), A(0), scratch);
  total = block_reduce(total, Sum(), A(0), scratch);
  if (threadIdx.x != 0) return;
  if (gridDim.x == 1) {
    *loss = narrowed<T>(divide ? sum / total : sum);
  } else {
    sums[2 * blockIdx.x] = sum;
    sums[2 * blockIdx.x + 1] = total;
  }
}

// The loss of so many chunks; of none the sum is 0, and the mean NaN.
template <typename T>
__global__ void __launch_bounds__(256, 1)
nll_total(const Accumulator<T>* __restrict__ sums, T* __restrict__ loss, int divide, i64 chunks) {
  typedef Accumulator<T> A;
  __shared__ A scratch[32];
  A sum = 0, total = 0;
  for (i64 b = threadIdx.x; b < chunks; b += blockDim.x) {
    sum += sums[2 * b];
    total += sums[2 * b + 1];
  }
  sum = block_reduce(sum, Sum(), A(0), scratch);
  total = block_reduce(total, Sum(), A(0), scratch);
  if (threadIdx.x == 0) *loss = narrowed<T>(divide ? sum / total : sum);
}

// -g times the weight at the class of each label, 0 elsewhere. With `divide` (reduction 'mean') over the weights of all labels,
// which each block adds up: of `chunks` sums in `parts`, or where there are none of all labels. `single` says that g is one number
// for all labels. N > 1 classes are neighbours: inner is 1, and C a multiple of N.
template <typename T, int N>
__global__ void __launch_bounds__(256, 1)
nll_loss_grad(const T* __restrict__ g, int single, const i64* __restrict__ target, const Accumulator<T>* __restrict__ weight,
              int weighted, const Accumulator<T>* __restrict__ parts, i64 chunks, int divide, T* __restrict__ dx, i64 n, i64 C,
              i64 inner, i64 ignore_index) {
  typedef Accumulator<T> A;
  __shared__ A scratch[32];
  const Labels<A> labels = {target, weight, weighted, C, ignore_index};
  A total = 1;
  if (divide) {
    A sum = 0;
    for (i64 i = threadIdx.x; i < (chunks ? chunks : n); i += blockDim.x) sum += chunks ? parts[i] : labels.weight_of(i);
    total = block_reduce(sum, Sum(), A(0), scratch);
  }
  GRID_STRIDE(p, n * C / N) {
    const i64 e = p * N, row = e / inner, c = row % C, i = row / C * inner + e % inner, t = target[i];
    A result[N];
#pragma unroll
    for (int j = 0; j < N; ++j) result[j] = A(0);
    if (t != ignore_index && t >= c && t < c + N) {
      const A slope = -widened(g[single ? 0 : i]) * (weighted ? weight[t] : A(1));
#pragma unroll
      for (int j = 0; j < N; ++j)
        if (c + j == t) result[j] = slope / total;
    }
    store<N>(dx + e, result);
  }
}
