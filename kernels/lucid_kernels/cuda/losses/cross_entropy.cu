// Cross entropy of class indices over (N, C, S), with the gradient in the same pass. L is the type of the losses: that of the
// logits, or that of sums where they are added up.
// instantiate: cross_entropy_rows<float, float, 4>, cross_entropy_rows<float, float, 1>
// instantiate: cross_entropy_rows<double, double, 2>, cross_entropy_rows<double, double, 1>
// instantiate: cross_entropy_rows<__half, float, 8>, cross_entropy_rows<__half, float, 1>
// instantiate: cross_entropy_rows<__half, __half, 8>, cross_entropy_rows<__half, __half, 1>
// instantiate: cross_entropy_rows<__nv_bfloat16, float, 8>, cross_entropy_rows<__nv_bfloat16, float, 1>
// instantiate: cross_entropy_rows<__nv_bfloat16, __nv_bfloat16, 8>, cross_entropy_rows<__nv_bfloat16, __nv_bfloat16, 1>
// instantiate: cross_entropy_columns<float, float>, cross_entropy_columns<double, double>
// instantiate: cross_entropy_columns<__half, float>, cross_entropy_columns<__half, __half>
// instantiate: cross_entropy_columns<__nv_bfloat16, float>, cross_entropy_columns<__nv_bfloat16, __nv_bfloat16>
// one module an instance
//
// __launch_bounds__(_, 1): without the 1 ptxas aims at more threads and spills registers for it.
#include "rows.cuh"

// loss = -(1 - s) w_t log p_t - s/C sum_c w_c log p_c, with smoothing s; the gradient is multiplied by `scale`.
template <typename A> struct Options {
  const A* weight;
  int weighted;
  A smoothing, scale;
  int with_grad;
  i64 C;
  __device__ __forceinline__ A weight_of(i64 c) const { return weighted ? weight[c] : A(1); }
};

// How the weight of all labels divides the gradient (reduction 'mean').
enum Division { NOT, BY_TOTAL, BY_SUM };

// What the gradient is multiplied by: 1, 1 / *total, or of a few labels the sum of their weights, which each block adds up and the
// first one leaves in *total. All threads of the block call; `scratch` holds 32 values.
template <typename A>
__device__ __forceinline__ A scale_of(int divide, const i64* target, const A* weight, int weighted, A* total, i64 labels, i64 C,
                                      i64 ignore_index, A* scratch) {
  if (divide == NOT) return A(1);
  if (divide == BY_TOTAL) return A(1) / *total;
  const int thread = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y;
  A sum = 0;
  for (i64 i = thread; i < labels; i += threads) {
    const i64 t = target[i];
    if (t != ignore_index && t >= 0 && t < C) sum += weighted ? weight[t] : A(1);
  }
  sum = warp_reduce(sum, Sum());
  if (thread % 32 == 0) scratch[thread / 32] = sum;
  __syncthreads();
  sum = warp_reduce(thread % 32 < threads / 32 ? scratch[thread % 32] : A(0), Sum());
  if (blockIdx.x == 0 && thread == 0) *total = sum;
  return A(1) / sum;
}

// One label: x and grad are the first elements of its slice, whose elements lie `inner` apart; reduce(value, operation, identity)
// reduces over its threads, of which one is the leader. A label that does not count has no gradient, or NaN where the logits
// have no probabilities, as in PyTorch.
template <int N, typename T, typename L, typename Slice, typename Reduce>
__device__ __forceinline__ void cross_entropy_of(const Slice& slice, const T* x, T* grad, i64 inner, L* loss, i64 t, bool counts,
                                                 bool leader, const Options<Accumulator<T>>& o, Reduce reduce) {
  typedef Accumulator<T> A;
  ExpSum<A> of;
  slice.packs([&](i64, const A (&value)[1][N]) { of.add(value[0]); });
  of.combine(reduce);
  const A keep = A(1) - o.smoothing, spread = o.smoothing / A(o.C), log_sum = log_(of.sum);
  A smooth = 0, weights = 0;  // sums over the classes of w_c log p_c and of w_c
  if (o.smoothing > A(0)) {
    slice.packs([&](i64 c, const A (&value)[1][N]) {
#pragma unroll
      for (int j = 0; j < N; ++j) {
        const A w = o.weight_of(c + j);
        smooth += w * (value[0][j] - of.top - log_sum);
        weights += w;
      }
    });
    smooth = reduce(smooth, Sum(), A(0));
    weights = reduce(weights, Sum(), A(0));
  }
  const A label_weight = counts ? o.weight_of(t) : A(0), on_label = keep * label_weight;
  if (counts && leader) {
    A value = -on_label * (widened(x[t * inner]) - of.top - log_sum);
    if (o.smoothing > A(0)) value -= spread * smooth;
    *loss = narrowed<L>(value);
  }
  if (!o.with_grad) return;
  const A nothing = of.top - of.top;
  slice.packs([&](i64 c, const A (&value)[1][N]) {
    A result[N];
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const A w = o.weight_of(c + j), p = exp_(value[0][j] - of.top) / of.sum;
      result[j] = counts ? (p * (on_label + spread * weights) - (c + j == t ? on_label : A(0)) - spread * w) * o.scale : nothing;
    }
    store<N>(grad + c * inner, result);
  });
}

template <typename T, typename L, int N>
__global__ void __launch_bounds__(512, 1)
cross_entropy_rows(const T* __restrict__ x, const i64* __restrict__ target, const Accumulator<T>* __restrict__ weight, int weighted,
                   L* __restrict__ loss, T* __restrict__ grad, int with_grad, Accumulator<T>* __restrict__ total, int divide,
                   i64 slices, i64 C, i64 ignore_index, Accumulator<T> smoothing, int* __restrict__ flag, int code) {
  typedef Accumulator<T> A;
  typedef Slices<true> S;
  __shared__ A scratch[32];
  const A scale = scale_of(divide, target, weight, weighted, total, slices, C, ignore_index, scratch);
  const Options<A> options{weight, weighted, smoothing, scale, with_grad, C};
  for (i64 i = S::first(); i < slices; i += S::step()) {
    const i64 t = target[i];
    const bool leader = threadIdx.x == 0, counts = t != ignore_index && t >= 0 && t < C;  // the same for all threads of a row
    if (!counts && leader) {
      if (t != ignore_index) set_error(flag, code, t, C);
      loss[i] = narrowed<L>(A(0));
    }
    if (!counts && !with_grad) continue;
    const Rows<T, N> row(C, x + i * C);
    cross_entropy_of<N>(row, x + i * C, grad + i * C, 1, loss + i, t, counts, leader, options,
                        [&](A value, auto op, A identity) { return S::reduce(value, op, identity, scratch); });
  }
}

// Threads as in `Columns`.
template <typename T, typename L>
__global__ void __launch_bounds__(256, 1)
cross_entropy_columns(const T* __restrict__ x, const i64* __restrict__ target, const Accumulator<T>* __restrict__ weight,
                      int weighted, L* __restrict__ loss, T* __restrict__ grad, int with_grad,
                      Accumulator<T>* __restrict__ total, int divide, i64 slices, i64 C, i64 ignore_index,
                      Accumulator<T> smoothing, int* __restrict__ flag, int code, i64 inner) {
  typedef Accumulator<T> A;
  __shared__ A scratch[256];
  const A scale = scale_of(divide, target, weight, weighted, total, slices, C, ignore_index, scratch);
  const Options<A> options{weight, weighted, smoothing, scale, with_grad, C};
  for (i64 first = (i64)blockIdx.x * blockDim.x; first < slices; first += (i64)gridDim.x * blockDim.x) {
    const i64 i = first + threadIdx.x;
    const bool inside = i < slices, leader = inside && threadIdx.y == 0;
    const i64 t = inside ? target[i] : ignore_index, base = i / inner * C * inner + i % inner;
    const bool counts = t != ignore_index && t >= 0 && t < C;
    if (!counts && leader) {
      if (t != ignore_index) set_error(flag, code, t, C);
      loss[i] = narrowed<L>(A(0));
    }
    const Columns<T> slice(inside && (counts || with_grad) ? C : 0, inner, x + base);
    cross_entropy_of<1>(slice, x + base, grad + base, inner, loss + i, t, counts, leader, options,
                        [&](A value, auto op, A) { return turns_reduce(value, op, scratch); });
  }
}
