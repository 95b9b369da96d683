// Cross entropy of class indices over (N, C, S), with the gradient in the same pass.
// instantiate: cross_entropy<float, true>, cross_entropy<float, false>
// instantiate: cross_entropy<double, true>, cross_entropy<double, false>
// instantiate: label_weights<float>, label_weights<double>, sum_chunks<float>, sum_chunks<double>
#include "common.cuh"

// The weight of each label: 0 for those that are ignored or out of range.
template <typename T>
__global__ void __launch_bounds__(256)
label_weights(const i64* __restrict__ target, const T* __restrict__ weight, int weighted, T* __restrict__ result, i64 n,
              i64 C, i64 ignore_index) {
  GRID_STRIDE(i, n) {
    const i64 t = target[i];
    const bool counts = t != ignore_index && t >= 0 && t < C;
    result[i] = !counts ? T(0) : weighted ? weight[t] : T(1);
  }
}

// sums[b] = sum of values[b * chunk ... (b + 1) * chunk), over *divisor if `divide`. The chunks are fixed by n alone, so
// the result is the same on every device.
template <typename T>
__global__ void __launch_bounds__(256)
sum_chunks(const T* __restrict__ values, T* __restrict__ sums, i64 n, i64 chunk, const T* __restrict__ divisor, int divide) {
  __shared__ T scratch[32];
  const i64 first = blockIdx.x * chunk, last = first + chunk < n ? first + chunk : n;
  T sum = 0;
  for (i64 i = first + threadIdx.x; i < last; i += blockDim.x) sum += values[i];
  sum = block_reduce(sum, Sum(), T(0), scratch);
  if (threadIdx.x == 0) sums[blockIdx.x] = divide ? sum / *divisor : sum;
}

// loss = -(1 - s) w_t log p_t - s/C sum_c w_c log p_c, with smoothing s; `total` divides the gradient (reduction 'mean').
template <typename T, bool ROWS>
__global__ void __launch_bounds__(256, 3)
cross_entropy(const T* __restrict__ x, const i64* __restrict__ target, const T* __restrict__ weight, int weighted,
              T* __restrict__ loss, T* __restrict__ grad, int with_grad, const T* __restrict__ total, int divide,
              i64 slices, i64 C, i64 inner, i64 ignore_index, T smoothing, int* __restrict__ flag, int code) {
  typedef Slices<ROWS> S;
  __shared__ T scratch[32];
  const T keep = T(1) - smoothing, spread = smoothing / T(C);
  for (i64 i = S::first(); i < slices; i += S::step()) {
    const i64 base = S::base(i, C, inner), t = target[i];
    const bool leader = S::begin() == 0;
    const bool counts = !(t == ignore_index || t < 0 || t >= C);  // the same for all threads of the slice
    if (!counts && leader) {
      if (t != ignore_index) set_error(flag, code, t, C);
      loss[i] = T(0);
    }
    if (!counts && !with_grad) continue;
    T top = -infinity<T>();
    for (i64 c = S::begin(); c < C; c += S::stride()) top = Max()(top, x[base + c * inner]);
    top = S::reduce(top, Max(), -infinity<T>(), scratch);
    T sum = 0;
    for (i64 c = S::begin(); c < C; c += S::stride()) sum += exp_(x[base + c * inner] - top);
    sum = S::reduce(sum, Sum(), T(0), scratch);
    if (!counts) {  // no gradient; NaN where logits have no probabilities, as in PyTorch
      for (i64 c = S::begin(); c < C; c += S::stride()) grad[base + c * inner] = sum - sum;
      continue;
    }
    const T log_sum = log_(sum), label_weight = weighted ? weight[t] : T(1);

    T smooth = 0, weights = 0;  // sums over the classes of w_c log p_c and of w_c
    if (smoothing > T(0)) {
      for (i64 c = S::begin(); c < C; c += S::stride()) {
        const T w = weighted ? weight[c] : T(1);
        smooth += w * (x[base + c * inner] - top - log_sum);
        weights += w;
      }
      smooth = S::reduce(smooth, Sum(), T(0), scratch);
      weights = S::reduce(weights, Sum(), T(0), scratch);
    }
    if (leader) {
      T value = -keep * label_weight * (x[base + t * inner] - top - log_sum);
      if (smoothing > T(0)) value -= spread * smooth;
      loss[i] = value;
    }
    if (with_grad) {
      const T scale = divide ? T(1) / *total : T(1), on_label = keep * label_weight;
      for (i64 c = S::begin(); c < C; c += S::stride()) {
        const T w = weighted ? weight[c] : T(1), p = exp_(x[base + c * inner] - top) / sum;
        grad[base + c * inner] = (p * (on_label + spread * weights) - (c == t ? on_label : T(0)) - spread * w) * scale;
      }
    }
  }
}
