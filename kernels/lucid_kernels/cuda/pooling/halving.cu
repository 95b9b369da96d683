// Pooling that halves the width of planes: windows of 2x2 side by side, or of 3x3 with stride 2 and padding 1. A thread computes V
// results of a row from packs of 16 bytes, or pairs. How many rows there are is free: those beyond the plane do not count.
// instantiate: max_pool2d_halving<float, 4, 2>, avg_pool2d_halving<float, 4, 2>, avg_pool2d_grad_halving<float, 4, 2>
// instantiate: max_pool2d_halving<float, 4, 3>, avg_pool2d_halving<float, 4, 3>, avg_pool2d_grad_halving<float, 4, 3>
// instantiate: max_pool2d_halving<float, 1, 2>, avg_pool2d_halving<float, 1, 2>, avg_pool2d_grad_halving<float, 1, 2>
// instantiate: max_pool2d_halving<float, 1, 3>, avg_pool2d_halving<float, 1, 3>, avg_pool2d_grad_halving<float, 1, 3>
// instantiate: max_pool2d_expand<float, 1>, max_pool2d_expand<float, 2>, max_pool2d_halving<double, 2, 2>
// instantiate: avg_pool2d_halving<double, 2, 2>, avg_pool2d_grad_halving<double, 2, 2>, max_pool2d_halving<double, 2, 3>
// instantiate: avg_pool2d_halving<double, 2, 3>, avg_pool2d_grad_halving<double, 2, 3>, max_pool2d_halving<double, 1, 2>
// instantiate: avg_pool2d_halving<double, 1, 2>, avg_pool2d_grad_halving<double, 1, 2>, max_pool2d_halving<double, 1, 3>
// instantiate: avg_pool2d_halving<double, 1, 3>, avg_pool2d_grad_halving<double, 1, 3>, max_pool2d_expand<double, 1>
// instantiate: max_pool2d_halving<__half, 8, 2>, avg_pool2d_halving<__half, 8, 2>, avg_pool2d_grad_halving<__half, 8, 2>
// instantiate: max_pool2d_halving<__half, 8, 3>, avg_pool2d_halving<__half, 8, 3>, avg_pool2d_grad_halving<__half, 8, 3>
// instantiate: max_pool2d_halving<__half, 1, 2>, avg_pool2d_halving<__half, 1, 2>, avg_pool2d_grad_halving<__half, 1, 2>
// instantiate: max_pool2d_halving<__half, 1, 3>, avg_pool2d_halving<__half, 1, 3>, avg_pool2d_grad_halving<__half, 1, 3>
// instantiate: max_pool2d_expand<__half, 1>, max_pool2d_expand<__half, 4>, max_pool2d_halving<__nv_bfloat16, 8, 2>
// instantiate: avg_pool2d_halving<__nv_bfloat16, 8, 2>, avg_pool2d_grad_halving<__nv_bfloat16, 8, 2>
// instantiate: max_pool2d_halving<__nv_bfloat16, 8, 3>, avg_pool2d_halving<__nv_bfloat16, 8, 3>
// instantiate: avg_pool2d_grad_halving<__nv_bfloat16, 8, 3>, max_pool2d_halving<__nv_bfloat16, 1, 2>
// instantiate: avg_pool2d_halving<__nv_bfloat16, 1, 2>, avg_pool2d_grad_halving<__nv_bfloat16, 1, 2>
// instantiate: max_pool2d_halving<__nv_bfloat16, 1, 3>, avg_pool2d_halving<__nv_bfloat16, 1, 3>
// instantiate: avg_pool2d_grad_halving<__nv_bfloat16, 1, 3>, max_pool2d_expand<__nv_bfloat16, 1>
// instantiate: max_pool2d_expand<__nv_bfloat16, 4>
// one module an instance
#include "halves.cuh"

// V results of a row: the row among those of all planes, its plane, and the first column.
template <int V> struct Row {
  unsigned row, plane, column;
  __device__ __forceinline__ Row(unsigned pack, unsigned width, unsigned height) {
    column = pack % (width / V) * V;
    pack /= width / V;
    row = pack % height;
    plane = pack / height;
  }
};

// The pixels [2 * column - 1, 2 * column + 2 * V) of a row, of which windows of 2 do not need the first; `edge` is what lies beyond.
template <int V, int K, typename T>
__device__ __forceinline__ void load_pixels(const T* row, int column, Accumulator<T> edge, Accumulator<T> (&to)[2 * V + 1]) {
  to[0] = edge;
  if (K == 3 && column > 0) to[0] = widened(row[2 * column - 1]);
  load<2 * V>(row + 2 * column, to + 1);
}

template <int V, typename I> __device__ __forceinline__ void store_indices(void* to, i64 at, const int (&values)[V]) {
  I* indices = (I*)to + at;
  constexpr int AT_ONCE = V * sizeof(I) <= 16 ? V : 16 / sizeof(I);
#pragma unroll
  for (int i = 0; i < V; i += AT_ONCE) {
    Pack<I, AT_ONCE> pack;
#pragma unroll
    for (int j = 0; j < AT_ONCE; ++j) pack.element[j] = (I)values[i + j];
    pack.store(indices + i);
  }
}

// Indices of the maxima into their plane, of `index_size` bytes; of one byte, for windows of 2 alone, their place in the window, and 4
// instead of -1. The first of equal maxima, the last NaN.
template <typename T, int V, int K>
__global__ void __launch_bounds__(256)
max_pool2d_halving(const T* __restrict__ x, T* __restrict__ y, void* __restrict__ indices, int index_size, unsigned packs, int in_h,
                   int in_w, int out_h, int out_w, int relu) {
  typedef Accumulator<T> A;
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  if (thread >= packs) return;
  const Row<V> at(thread, out_w, out_h);
  const int top = 2 * (int)at.row - (K == 3), left = 2 * (int)at.column - (K == 3);
  const T* plane = x + (i64)at.plane * in_h * in_w;
  A best[V];
  int where[V], tap[V];
#pragma unroll
  for (int j = 0; j < V; ++j) {
    best[j] = -infinity<A>();
    tap[j] = 0;
    where[j] = max(top, 0) * in_w + max(left + 2 * j, 0);  // also the answer for a window of -inf only
  }
#pragma unroll
  for (int kh = 0; kh < K; ++kh) {
    const int h = top + kh;
    if (h < 0 || h >= in_h) continue;
    A value[2 * V + 1];
    load_pixels<V, K>(plane + (i64)h * in_w, at.column, -infinity<A>(), value);
#pragma unroll
    for (int j = 0; j < V; ++j)
#pragma unroll
      for (int kw = 0; kw < K; ++kw) {
        const A next = value[2 * j + kw + (K == 2)];
        if (next > best[j] || next != next) {
          best[j] = next;
          where[j] = h * in_w + left + 2 * j + kw;
          tap[j] = kh * K + kw;
        }
      }
  }
#pragma unroll
  for (int j = 0; j < V; ++j) {
    if (relu && best[j] <= A(0)) {
      where[j] = -1;
      tap[j] = 4;
    }
    if (relu && best[j] < A(0)) best[j] = A(0);
  }
  const i64 e = ((i64)at.plane * out_h + at.row) * out_w + at.column;
  store<V>(y + e, best);
  if (index_size == 1) store_indices<V, unsigned char>(indices, e, tap);
  else if (index_size == 4) store_indices<V, int>(indices, e, where);
  else store_indices<V, i64>(indices, e, where);
}

// dx = g where it was the largest of its window of 2x2, by the places of max_pool2d_halving, else 0. Of planes with twice the rows and
// columns. A thread writes packs of 2 * V pixels.
template <typename T, int V>
__global__ void __launch_bounds__(256)
max_pool2d_expand(const T* __restrict__ g, const unsigned char* __restrict__ places, T* __restrict__ dx, unsigned packs, int out_w) {
  typedef Accumulator<T> A;
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  if (thread >= packs) return;
  const unsigned row = thread / (out_w / V), column = thread % (out_w / V) * V;  // a row among those of all planes
  A value[V];
  load<V>(g + (i64)row * out_w + column, value);
  const Pack<unsigned char, V> place(places + (i64)row * out_w + column);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    A to[2 * V];
#pragma unroll
    for (int j = 0; j < 2 * V; ++j) to[j] = place.element[j / 2] == 2 * h + j % 2 ? value[j / 2] : A(0);
    store<2 * V>(dx + ((i64)row * 2 + h) * 2 * out_w + 2 * column, to);
  }
}

// The number of pixels that the sum over the window of result `out` is divided by, along one axis: with or without the padding.
template <int K> __device__ __forceinline__ int length(int out, int size, int padded) {
  const int begin = 2 * out - (K == 3), end = min(begin + K, size + (K == 3));
  return padded ? end - begin : min(end, size) - max(begin, 0);
}

template <typename T, int V, int K>
__global__ void __launch_bounds__(256)
avg_pool2d_halving(const T* __restrict__ x, T* __restrict__ y, unsigned packs, int in_h, int in_w, int out_h, int out_w,
                   int count_include_pad, i64 divisor_override) {
  typedef Accumulator<T> A;
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  if (thread >= packs) return;
  const Row<V> at(thread, out_w, out_h);
  const int top = 2 * (int)at.row - (K == 3);
  const T* plane = x + (i64)at.plane * in_h * in_w;
  A sum[V];
#pragma unroll
  for (int j = 0; j < V; ++j) sum[j] = A(0);
#pragma unroll
  for (int kh = 0; kh < K; ++kh) {
    const int h = top + kh;
    if (h < 0 || h >= in_h) continue;
    A value[2 * V + 1];
    load_pixels<V, K>(plane + (i64)h * in_w, at.column, A(0), value);
#pragma unroll
    for (int j = 0; j < V; ++j)
#pragma unroll
      for (int kw = 0; kw < K; ++kw) sum[j] += value[2 * j + kw + (K == 2)];
  }
  const int rows = length<K>(at.row, in_h, count_include_pad);
#pragma unroll
  for (int j = 0; j < V; ++j)
    sum[j] /= (A)(divisor_override ? divisor_override : (i64)rows * length<K>(at.column + j, in_w, count_include_pad));
  store<V>(y + ((i64)at.plane * out_h + at.row) * out_w + at.column, sum);
}

// A thread computes the 2 * V pixels of a row that lie in the windows of V results, and in those beside them.
template <typename T, int V, int K>
__global__ void __launch_bounds__(256)
avg_pool2d_grad_halving(const T* __restrict__ g, T* __restrict__ dx, unsigned packs, int in_h, int in_w, int out_h, int out_w,
                        int count_include_pad, i64 divisor_override) {
  typedef Accumulator<T> A;
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  if (thread >= packs) return;
  const Row<V> at(thread, out_w, in_h);
  A sum[2 * V];
#pragma unroll
  for (int j = 0; j < 2 * V; ++j) sum[j] = A(0);
#pragma unroll
  for (int kh = 0; kh < K - 1; ++kh) {
    // Windows of 2 lie side by side; those of 3 share their odd rows.
    const int oh = (int)at.row / 2 + kh;
    if (oh >= out_h || (kh && at.row % 2 == 0)) continue;
    const T* row = g + ((i64)at.plane * out_h + oh) * out_w;
    const int rows = length<K>(oh, in_h, count_include_pad);
    A value[V + 1];
    load<V>(row + at.column, value);
    value[V] = K == 3 && (int)at.column + V < out_w ? widened(row[at.column + V]) : A(0);
#pragma unroll
    for (int j = 0; j < V + (K == 3); ++j)
      value[j] /= (A)(divisor_override ? divisor_override : (i64)rows * max(1, length<K>(at.column + j, in_w, count_include_pad)));
#pragma unroll
    for (int j = 0; j < V; ++j) {
      sum[2 * j] += value[j];
      sum[2 * j + 1] += K == 3 ? value[j] + value[j + 1] : value[j];
    }
  }
  T* to = dx + ((i64)at.plane * in_h + at.row) * in_w + 2 * at.column;
  if constexpr (V == 1) {
    store<2>(to, sum);
  } else {
    store<V>(to, sum);
    store<V>(to + V, sum + V);
  }
}
