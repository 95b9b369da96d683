// Depthwise 2-d convolution, one input and one output channel a group, and its gradients, with square kernels and one stride.
// Bound by memory: a thread computes R x C results, and reads each row of the image that they share once. Images are planes, or have
// their channels last; then a thread computes V > 1 neighbouring channels. With C > 1 the convolution keeps the size of planes, or
// divides it by the stride, and rows are whole packs. R, C and V are those that were the fastest on an H100.
// Every sum has a fixed order: the results do not depend on the schedule.
// instantiate: depthwise<float, 1, 1, 3, 1>, depthwise_grad_input<float, 1, 1, 3, 1, 0>, depthwise<float, 1, 2, 3, 1>
// instantiate: depthwise_grad_input<float, 1, 2, 3, 1, 0>, depthwise<float, 1, 4, 3, 1>
// instantiate: depthwise_grad_input<float, 1, 4, 3, 1, 0>, depthwise<float, 2, 1, 3, 1>
// instantiate: depthwise_grad_input<float, 2, 1, 3, 1, 0>, depthwise<float, 2, 4, 3, 1>
// instantiate: depthwise_grad_input<float, 2, 4, 3, 1, 0>, depthwise_grad_weight<float, 1, 3, 1>
// instantiate: depthwise_grad_weight<float, 2, 3, 1>, depthwise_grad_weight<float, 4, 3, 1>
// instantiate: depthwise_grad_weight_last<float, 3, 1>, depthwise<float, 1, 1, 3, 2>
// instantiate: depthwise_grad_input<float, 1, 1, 3, 2, 0>, depthwise_grad_input<float, 1, 1, 3, 2, 1>
// instantiate: depthwise<float, 1, 2, 3, 2>, depthwise_grad_input<float, 1, 2, 3, 2, 1>, depthwise<float, 2, 1, 3, 2>
// instantiate: depthwise_grad_input<float, 2, 1, 3, 2, 0>, depthwise_grad_input<float, 2, 1, 3, 2, 1>
// instantiate: depthwise_grad_weight<float, 1, 3, 2>, depthwise_grad_weight<float, 2, 3, 2>
// instantiate: depthwise_grad_weight_last<float, 3, 2>, depthwise<float, 1, 1, 5, 1>
// instantiate: depthwise_grad_input<float, 1, 1, 5, 1, 0>, depthwise<float, 1, 2, 5, 1>
// instantiate: depthwise_grad_input<float, 1, 2, 5, 1, 0>, depthwise<float, 1, 4, 5, 1>
// instantiate: depthwise_grad_input<float, 1, 4, 5, 1, 0>, depthwise<float, 2, 1, 5, 1>
// instantiate: depthwise_grad_input<float, 2, 1, 5, 1, 0>, depthwise_grad_weight<float, 1, 5, 1>
// instantiate: depthwise_grad_weight<float, 2, 5, 1>, depthwise_grad_weight<float, 4, 5, 1>
// instantiate: depthwise_grad_weight_last<float, 5, 1>, depthwise<float, 1, 1, 5, 2>
// instantiate: depthwise_grad_input<float, 1, 1, 5, 2, 0>, depthwise_grad_input<float, 1, 1, 5, 2, 1>
// instantiate: depthwise<float, 1, 2, 5, 2>, depthwise_grad_input<float, 1, 2, 5, 2, 0>, depthwise<float, 2, 1, 5, 2>
// instantiate: depthwise_grad_input<float, 2, 1, 5, 2, 0>, depthwise_grad_input<float, 2, 1, 5, 2, 1>
// instantiate: depthwise_grad_weight<float, 1, 5, 2>, depthwise_grad_weight<float, 2, 5, 2>
// instantiate: depthwise_grad_weight_last<float, 5, 2>, depthwise<float, 1, 1, 7, 1>
// instantiate: depthwise_grad_input<float, 1, 1, 7, 1, 0>, depthwise<float, 1, 2, 7, 1>
// instantiate: depthwise_grad_input<float, 1, 2, 7, 1, 0>, depthwise<float, 1, 4, 7, 1>
// instantiate: depthwise_grad_input<float, 1, 4, 7, 1, 0>, depthwise<float, 2, 1, 7, 1>
// instantiate: depthwise_grad_input<float, 2, 1, 7, 1, 0>, depthwise_grad_weight<float, 1, 7, 1>
// instantiate: depthwise_grad_weight<float, 2, 7, 1>, depthwise_grad_weight<float, 4, 7, 1>
// instantiate: depthwise_grad_weight_last<float, 7, 1>, depthwise_sum_slices<float>, depthwise<__half, 1, 1, 3, 1>
// instantiate: depthwise_grad_input<__half, 1, 1, 3, 1, 0>, depthwise<__half, 1, 4, 3, 1>
// instantiate: depthwise_grad_input<__half, 1, 4, 3, 1, 0>, depthwise<__half, 1, 8, 3, 1>
// instantiate: depthwise_grad_input<__half, 1, 8, 3, 1, 0>, depthwise<__half, 4, 1, 3, 1>
// instantiate: depthwise_grad_input<__half, 4, 1, 3, 1, 0>, depthwise<__half, 4, 4, 3, 1>
// instantiate: depthwise_grad_input<__half, 4, 4, 3, 1, 0>, depthwise_grad_weight<__half, 1, 3, 1>
// instantiate: depthwise_grad_weight<__half, 4, 3, 1>, depthwise_grad_weight<__half, 8, 3, 1>
// instantiate: depthwise_grad_weight_last<__half, 3, 1>, depthwise<__half, 1, 1, 3, 2>
// instantiate: depthwise_grad_input<__half, 1, 1, 3, 2, 0>, depthwise_grad_input<__half, 1, 1, 3, 2, 1>
// instantiate: depthwise<__half, 1, 4, 3, 2>, depthwise_grad_input<__half, 1, 4, 3, 2, 1>, depthwise<__half, 4, 1, 3, 2>
// instantiate: depthwise_grad_input<__half, 4, 1, 3, 2, 0>, depthwise_grad_input<__half, 4, 1, 3, 2, 1>
// instantiate: depthwise_grad_weight<__half, 1, 3, 2>, depthwise_grad_weight<__half, 4, 3, 2>
// instantiate: depthwise_grad_weight_last<__half, 3, 2>, depthwise<__half, 1, 1, 5, 1>
// instantiate: depthwise_grad_input<__half, 1, 1, 5, 1, 0>, depthwise<__half, 1, 4, 5, 1>
// instantiate: depthwise_grad_input<__half, 1, 4, 5, 1, 0>, depthwise<__half, 1, 8, 5, 1>
// instantiate: depthwise_grad_input<__half, 1, 8, 5, 1, 0>, depthwise<__half, 2, 1, 5, 1>
// instantiate: depthwise_grad_input<__half, 2, 1, 5, 1, 0>, depthwise_grad_weight<__half, 1, 5, 1>
// instantiate: depthwise_grad_weight<__half, 4, 5, 1>, depthwise_grad_weight<__half, 8, 5, 1>
// instantiate: depthwise_grad_weight_last<__half, 5, 1>, depthwise<__half, 1, 1, 5, 2>
// instantiate: depthwise_grad_input<__half, 1, 1, 5, 2, 0>, depthwise_grad_input<__half, 1, 1, 5, 2, 1>
// instantiate: depthwise<__half, 1, 4, 5, 2>, depthwise_grad_input<__half, 1, 4, 5, 2, 0>, depthwise<__half, 2, 1, 5, 2>
// instantiate: depthwise_grad_input<__half, 2, 1, 5, 2, 0>, depthwise_grad_input<__half, 2, 1, 5, 2, 1>
// instantiate: depthwise_grad_weight<__half, 1, 5, 2>, depthwise_grad_weight<__half, 4, 5, 2>
// instantiate: depthwise_grad_weight_last<__half, 5, 2>, depthwise<__half, 1, 1, 7, 1>
// instantiate: depthwise_grad_input<__half, 1, 1, 7, 1, 0>, depthwise<__half, 1, 4, 7, 1>
// instantiate: depthwise_grad_input<__half, 1, 4, 7, 1, 0>, depthwise<__half, 1, 8, 7, 1>
// instantiate: depthwise_grad_input<__half, 1, 8, 7, 1, 0>, depthwise<__half, 2, 1, 7, 1>
// instantiate: depthwise_grad_input<__half, 2, 1, 7, 1, 0>, depthwise_grad_weight<__half, 1, 7, 1>
// instantiate: depthwise_grad_weight<__half, 4, 7, 1>, depthwise_grad_weight<__half, 8, 7, 1>
// instantiate: depthwise_grad_weight_last<__half, 7, 1>, depthwise_sum_slices<__half>, depthwise<__nv_bfloat16, 1, 1, 3, 1>
// instantiate: depthwise_grad_input<__nv_bfloat16, 1, 1, 3, 1, 0>, depthwise<__nv_bfloat16, 1, 4, 3, 1>
// instantiate: depthwise_grad_input<__nv_bfloat16, 1, 4, 3, 1, 0>, depthwise<__nv_bfloat16, 1, 8, 3, 1>
// instantiate: depthwise_grad_input<__nv_bfloat16, 1, 8, 3, 1, 0>, depthwise<__nv_bfloat16, 4, 1, 3, 1>
// instantiate: depthwise_grad_input<__nv_bfloat16, 4, 1, 3, 1, 0>, depthwise<__nv_bfloat16, 4, 4, 3, 1>
// instantiate: depthwise_grad_input<__nv_bfloat16, 4, 4, 3, 1, 0>, depthwise_grad_weight<__nv_bfloat16, 1, 3, 1>
// instantiate: depthwise_grad_weight<__nv_bfloat16, 4, 3, 1>, depthwise_grad_weight<__nv_bfloat16, 8, 3, 1>
// instantiate: depthwise_grad_weight_last<__nv_bfloat16, 3, 1>, depthwise<__nv_bfloat16, 1, 1, 3, 2>
// instantiate: depthwise_grad_input<__nv_bfloat16, 1, 1, 3, 2, 0>, depthwise_grad_input<__nv_bfloat16, 1, 1, 3, 2, 1>
// instantiate: depthwise<__nv_bfloat16, 1, 4, 3, 2>, depthwise_grad_input<__nv_bfloat16, 1, 4, 3, 2, 1>
// instantiate: depthwise<__nv_bfloat16, 4, 1, 3, 2>, depthwise_grad_input<__nv_bfloat16, 4, 1, 3, 2, 0>
// instantiate: depthwise_grad_input<__nv_bfloat16, 4, 1, 3, 2, 1>, depthwise_grad_weight<__nv_bfloat16, 1, 3, 2>
// instantiate: depthwise_grad_weight<__nv_bfloat16, 4, 3, 2>, depthwise_grad_weight_last<__nv_bfloat16, 3, 2>
// instantiate: depthwise<__nv_bfloat16, 1, 1, 5, 1>, depthwise_grad_input<__nv_bfloat16, 1, 1, 5, 1, 0>
// instantiate: depthwise<__nv_bfloat16, 1, 4, 5, 1>, depthwise_grad_input<__nv_bfloat16, 1, 4, 5, 1, 0>
// instantiate: depthwise<__nv_bfloat16, 1, 8, 5, 1>, depthwise_grad_input<__nv_bfloat16, 1, 8, 5, 1, 0>
// instantiate: depthwise<__nv_bfloat16, 2, 1, 5, 1>, depthwise_grad_input<__nv_bfloat16, 2, 1, 5, 1, 0>
// instantiate: depthwise_grad_weight<__nv_bfloat16, 1, 5, 1>, depthwise_grad_weight<__nv_bfloat16, 4, 5, 1>
// instantiate: depthwise_grad_weight<__nv_bfloat16, 8, 5, 1>, depthwise_grad_weight_last<__nv_bfloat16, 5, 1>
// instantiate: depthwise<__nv_bfloat16, 1, 1, 5, 2>, depthwise_grad_input<__nv_bfloat16, 1, 1, 5, 2, 0>
// instantiate: depthwise_grad_input<__nv_bfloat16, 1, 1, 5, 2, 1>, depthwise<__nv_bfloat16, 1, 4, 5, 2>
// instantiate: depthwise_grad_input<__nv_bfloat16, 1, 4, 5, 2, 0>, depthwise<__nv_bfloat16, 2, 1, 5, 2>
// instantiate: depthwise_grad_input<__nv_bfloat16, 2, 1, 5, 2, 0>, depthwise_grad_input<__nv_bfloat16, 2, 1, 5, 2, 1>
// instantiate: depthwise_grad_weight<__nv_bfloat16, 1, 5, 2>, depthwise_grad_weight<__nv_bfloat16, 4, 5, 2>
// instantiate: depthwise_grad_weight_last<__nv_bfloat16, 5, 2>, depthwise<__nv_bfloat16, 1, 1, 7, 1>
// instantiate: depthwise_grad_input<__nv_bfloat16, 1, 1, 7, 1, 0>, depthwise<__nv_bfloat16, 1, 4, 7, 1>
// instantiate: depthwise_grad_input<__nv_bfloat16, 1, 4, 7, 1, 0>, depthwise<__nv_bfloat16, 1, 8, 7, 1>
// instantiate: depthwise_grad_input<__nv_bfloat16, 1, 8, 7, 1, 0>, depthwise<__nv_bfloat16, 2, 1, 7, 1>
// instantiate: depthwise_grad_input<__nv_bfloat16, 2, 1, 7, 1, 0>, depthwise_grad_weight<__nv_bfloat16, 1, 7, 1>
// instantiate: depthwise_grad_weight<__nv_bfloat16, 4, 7, 1>, depthwise_grad_weight<__nv_bfloat16, 8, 7, 1>
// instantiate: depthwise_grad_weight_last<__nv_bfloat16, 7, 1>, depthwise_sum_slices<__nv_bfloat16>
// one module an instance
//
// __launch_bounds__(256, 1): without the 1 ptxas aims at full occupancy and spills registers for it.
#include "halves.cuh"

// More would spill registers where there are many weights.
constexpr int rows_of(int V, int C, int K, int S) { return S > 1 || C == 8 || (V > 1 && (C > 1 || K == 7)) ? 4 : 8; }

// What a thread computes: C columns, of a strip of rows, of an image and a channel, or of V > 1 channels that lie last.
template <int V> struct Place {
  unsigned column, strip, image, channel;
  __device__ __forceinline__ Place(unsigned thread, unsigned columns, unsigned strips, unsigned channels) {
    if (V > 1) {
      channel = thread % (channels / V) * V;
      thread /= channels / V;
    }
    column = thread % columns;
    thread /= columns;
    strip = thread % strips;
    image = thread / strips;
    if (V == 1) {
      channel = image % channels;
      image /= channels;
    }
  }
  // Element 0 of the plane of this place, of images with `size` pixels.
  __device__ __forceinline__ i64 base(i64 size, int channels) const {
    return V > 1 ? image * size * channels + channel : (image * (i64)channels + channel) * size;
  }
};

// The weights of a channel (channels, K * K), or of V channels that lie last (K * K, channels).
template <int V, int K, typename T>
__device__ __forceinline__ void load_weights(const T* weight, unsigned channel, int channels, Accumulator<T> (&to)[K * K][V]) {
#pragma unroll
  for (int tap = 0; tap < K * K; ++tap)
    load<V>(V > 1 ? weight + (i64)tap * channels + channel : weight + (i64)channel * K * K + tap, to[tap]);
}

// N pixels from `first` of a row of `width` pixels that are `step` apart, each of V channels; zero where there is none. The M pixels
// from the L-th are a pack of the row.
template <int V, int N, int L, int M, typename T>
__device__ __forceinline__ void load_row(const T* row, bool inside, int first, int width, int step, Accumulator<T> (&to)[N][V]) {
#pragma unroll
  for (int i = 0; i < N; ++i)
#pragma unroll
    for (int j = 0; j < V; ++j) to[i][j] = Accumulator<T>(0);
  if (M > 1 && inside) load<M>(row + L, &to[L][0]);
#pragma unroll
  for (int i = 0; i < N; ++i)
    if ((M == 1 || i < L || i >= L + M) && (inside & (first + i >= 0) & (first + i < width))) load<V>(row + (i64)i * step, to[i]);
}

// N pixels of V channels, `step` apart; of planes whole packs.
template <int V, int N, typename T> __device__ __forceinline__ void store_row(T* to, int step, const Accumulator<T>* from) {
  constexpr int AT_ONCE = V > 1 ? V : N * sizeof(T) <= 16 ? N : 16 / sizeof(T);
#pragma unroll
  for (int i = 0; i < N * V; i += AT_ONCE) store<AT_ONCE>(to + (i64)(i / V) * step, from + i);
}

template <typename T, int V, int C, int K, int S, int R = rows_of(V, C, K, S)>
__global__ void __launch_bounds__(256, 1)
depthwise(const T* __restrict__ x, const T* __restrict__ weight, const T* __restrict__ bias, int has_bias, T* __restrict__ y,
          unsigned threads, int channels, int in_h, int in_w, int out_h, int out_w, int pad_h, int pad_w) {
  typedef Accumulator<T> A;
  constexpr int N = (C - 1) * S + K;
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  if (thread >= threads) return;
  const Place<V> at(thread, out_w / C, (out_h + R - 1) / R, channels);
  const int step = V > 1 ? channels : 1, top = (int)at.strip * R * S - pad_h;
  const int left = (int)at.column * C * S - (V == 1 && C > 1 ? K / 2 : pad_w);
  A w[K * K][V], sum[R][C][V];
  load_weights<V, K>(weight, at.channel, channels, w);
#pragma unroll
  for (int r = 0; r < R; ++r)
#pragma unroll
    for (int c = 0; c < C; ++c)
#pragma unroll
      for (int j = 0; j < V; ++j) sum[r][c][j] = has_bias ? widened(bias[at.channel + j]) : A(0);
  const T* row = x + at.base((i64)in_h * in_w, channels) + ((i64)top * in_w + left) * step;
#pragma unroll
  for (int i = 0; i < (R - 1) * S + K; ++i) {
    A value[N][V];
    load_row<V, N, K / 2, (V == 1 && C > 1) ? C * S : 1>(row, (unsigned)(top + i) < (unsigned)in_h, left, in_w, step, value);
    row += (i64)in_w * step;
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const int kh = i - r * S;
      if (kh < 0 || kh >= K) continue;
#pragma unroll
      for (int kw = 0; kw < K; ++kw)
#pragma unroll
        for (int c = 0; c < C; ++c)
#pragma unroll
          for (int j = 0; j < V; ++j) sum[r][c][j] += w[kh * K + kw][j] * value[c * S + kw][j];
    }
  }
  T* target = y + at.base((i64)out_h * out_w, channels) + ((i64)at.strip * R * out_w + at.column * C) * step;
#pragma unroll
  for (int r = 0; r < R; ++r, target += (i64)out_w * step)
    if ((int)at.strip * R + r < out_h) store_row<V, C>(target, step, &sum[r][0][0]);
}

// The gradient of the input. Pixel p of the padded image is reached by the taps k with (p - k) % S == 0, from result (p - k) / S: a
// thread computes squares of the S x S pixels that differ in which taps reach them. P is pad % S, so that their taps are known
// here: pixel e of square q has p = (q + pad / S) * S + P + e, and its taps are d * S + P + e, from the results q + pad / S - d.
template <typename T, int V, int C, int K, int S, int P, int R = rows_of(V, C, K, S)>
__global__ void __launch_bounds__(256, 1)
depthwise_grad_input(const T* __restrict__ g, const T* __restrict__ weight, T* __restrict__ dx, unsigned threads, int channels,
                     int in_h, int in_w, int out_h, int out_w, int pad_h, int pad_w) {
  typedef Accumulator<T> A;
  constexpr int LAST = (K - 1 - P) / S, D = LAST + (P + S - 1) / S + 1;  // the last d, and how many there are
  constexpr int N = C - 1 + D, L = LAST - K / 2 / S;
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  if (thread >= threads) return;
  const int squares_h = (in_h + S - 1) / S, squares_w = (in_w + S - 1) / S;
  const Place<V> at(thread, squares_w / C, (squares_h + R - 1) / R, channels);
  const int step = V > 1 ? channels : 1, top = (int)at.strip * R + pad_h / S - LAST;
  const int left = (int)at.column * C - (V == 1 && C > 1 ? L : LAST - pad_w / S);
  A w[K * K][V], sum[R][S][C][S][V];
  load_weights<V, K>(weight, at.channel, channels, w);
#pragma unroll
  for (int r = 0; r < R; ++r)
#pragma unroll
    for (int e = 0; e < S; ++e)
#pragma unroll
      for (int c = 0; c < C; ++c)
#pragma unroll
        for (int f = 0; f < S; ++f)
#pragma unroll
          for (int j = 0; j < V; ++j) sum[r][e][c][f][j] = A(0);
  const T* row = g + at.base((i64)out_h * out_w, channels) + ((i64)top * out_w + left) * step;
#pragma unroll
  for (int i = 0; i < R + D - 1; ++i) {
    A value[N][V];
    load_row<V, N, L, V == 1 ? C : 1>(row, (unsigned)(top + i) < (unsigned)out_h, left, out_w, step, value);
    row += (i64)out_w * step;
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int e = 0; e < S; ++e) {
        const int kh = (LAST - i + r) * S + P + e;
        if (i < r || i - r >= D || kh < 0 || kh >= K) continue;
#pragma unroll
        for (int f = 0; f < S; ++f)
#pragma unroll
          for (int d = 0; d < D; ++d) {
            const int kw = (LAST - d) * S + P + f;
            if (kw < 0 || kw >= K) continue;
#pragma unroll
            for (int c = 0; c < C; ++c)
#pragma unroll
              for (int j = 0; j < V; ++j) sum[r][e][c][f][j] += w[kh * K + kw][j] * value[c + d][j];
          }
      }
  }
  const int column = (int)at.column * C * S;
  T* target = dx + at.base((i64)in_h * in_w, channels) + ((i64)at.strip * R * S * in_w + column) * step;
#pragma unroll
  for (int r = 0; r < R * S; ++r, target += (i64)in_w * step) {
    if ((int)at.strip * R * S + r >= in_h) break;
    if (C > 1 || S == 1) {
      store_row<V, C * S>(target, step, &sum[r / S][r % S][0][0][0]);
    } else {
#pragma unroll
      for (int f = 0; f < S; ++f)
        if (column + f < in_w) store<V>(target + (i64)f * step, sum[r / S][r % S][0][f]);
    }
  }
}

// The gradient of the weight, of planes. A block sums over a slice of all results of one channel; parts is (slices, weights).
template <typename T, int C, int K, int S, int R = rows_of(1, C, K, S)>
__global__ void __launch_bounds__(256, 1)
depthwise_grad_weight(const T* __restrict__ g, const T* __restrict__ x, Accumulator<T>* __restrict__ parts, int slices, int batch,
                      int channels, int in_h, int in_w, int out_h, int out_w, int pad_h, int pad_w) {
  typedef Accumulator<T> A;
  constexpr int N = (C - 1) * S + K;
  __shared__ A sums[8][K * K];
  const unsigned channel = blockIdx.x % channels, slice = blockIdx.x / channels, strips = (out_h + R - 1) / R, columns = out_w / C;
  const unsigned items = batch * strips * columns, share = (items + slices - 1) / slices, end = min(items, (slice + 1) * share);
  A sum[K * K];
#pragma unroll
  for (int tap = 0; tap < K * K; ++tap) sum[tap] = A(0);
  for (unsigned item = slice * share + threadIdx.x; item < end; item += 256) {
    const int column = item % columns * C, strip = item / columns % strips;
    const i64 plane = (i64)(item / columns / strips) * channels + channel;
    const int top = strip * R * S - pad_h, left = column * S - (C > 1 ? K / 2 : pad_w);
    A gradient[R][C];
    const T* from = g + (plane * out_h + strip * R) * out_w + column;
#pragma unroll
    for (int r = 0; r < R; ++r, from += out_w) {
#pragma unroll
      for (int c = 0; c < C; ++c) gradient[r][c] = A(0);
      if (strip * R + r < out_h) load<C>(from, gradient[r]);
    }
    const T* row = x + (plane * in_h + top) * in_w + left;
#pragma unroll
    for (int i = 0; i < (R - 1) * S + K; ++i, row += in_w) {
      A value[N][1];
      load_row<1, N, K / 2, C == 1 ? 1 : C * S>(row, (unsigned)(top + i) < (unsigned)in_h, left, in_w, 1, value);
#pragma unroll
      for (int r = 0; r < R; ++r) {
        const int kh = i - r * S;
        if (kh < 0 || kh >= K) continue;
#pragma unroll
        for (int kw = 0; kw < K; ++kw)
#pragma unroll
          for (int c = 0; c < C; ++c) sum[kh * K + kw] += gradient[r][c] * value[c * S + kw][0];
      }
    }
  }
#pragma unroll
  for (int tap = 0; tap < K * K; ++tap) {
    const A total = warp_reduce(sum[tap], Sum());
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32][tap] = total;
  }
  __syncthreads();
  if (threadIdx.x < K * K) {
    A total = A(0);
    for (int warp = 0; warp < 8; ++warp) total += sums[warp][threadIdx.x];
    parts[((i64)slice * channels + channel) * K * K + threadIdx.x] = total;
  }
}

// The same of images whose channels lie last. Blocks of (lanes, groups) threads: a lane has V channels, and groups walk over the
// results of their slice side by side. C columns, of which there may be fewer in the end.
template <typename T, int K, int S, int V = 2, int C = K == 3 ? 4 : K == 5 ? 2 : 1, int R = K == 7 ? 2 : 4>
__global__ void __launch_bounds__(256, 1)
depthwise_grad_weight_last(const T* __restrict__ g, const T* __restrict__ x, Accumulator<T>* __restrict__ parts, int slices, int batch,
                           int channels, int in_h, int in_w, int out_h, int out_w, int pad_h, int pad_w) {
  typedef Accumulator<T> A;
  constexpr int N = (C - 1) * S + K;
  __shared__ A sums[256][V];
  const unsigned blocks = (channels / V + blockDim.x - 1) / blockDim.x, channel = (blockIdx.x % blocks * blockDim.x + threadIdx.x) * V;
  const unsigned slice = blockIdx.x / blocks, strips = (out_h + R - 1) / R, columns = (out_w + C - 1) / C;
  const unsigned items = batch * strips * columns, share = (items + slices - 1) / slices;
  const unsigned end = channel < channels ? min(items, (slice + 1) * share) : 0;
  A sum[K * K][V];
#pragma unroll
  for (int tap = 0; tap < K * K; ++tap)
#pragma unroll
    for (int j = 0; j < V; ++j) sum[tap][j] = A(0);
  for (unsigned item = slice * share + threadIdx.y; item < end; item += blockDim.y) {
    const int column = item % columns * C, strip = item / columns % strips;
    const i64 image = item / columns / strips;
    const int top = strip * R * S - pad_h, left = column * S - pad_w;
    A gradient[R][C][V];
    const T* from = g + ((image * out_h + strip * R) * out_w + column) * channels + channel;
#pragma unroll
    for (int r = 0; r < R; ++r, from += (i64)out_w * channels)
      load_row<V, C, 0, 1>(from, strip * R + r < out_h, column, out_w, channels, gradient[r]);
    const T* row = x + ((image * in_h + top) * in_w + left) * channels + channel;
#pragma unroll
    for (int i = 0; i < (R - 1) * S + K; ++i, row += (i64)in_w * channels) {
      A value[N][V];
      load_row<V, N, 0, 1>(row, (unsigned)(top + i) < (unsigned)in_h, left, in_w, channels, value);
#pragma unroll
      for (int r = 0; r < R; ++r) {
        const int kh = i - r * S;
        if (kh < 0 || kh >= K) continue;
#pragma unroll
        for (int kw = 0; kw < K; ++kw)
#pragma unroll
          for (int c = 0; c < C; ++c)
#pragma unroll
            for (int j = 0; j < V; ++j) sum[kh * K + kw][j] += gradient[r][c][j] * value[c * S + kw][j];
      }
    }
  }
  const int lane = threadIdx.y * blockDim.x + threadIdx.x;
#pragma unroll
  for (int tap = 0; tap < K * K; ++tap) {
#pragma unroll
    for (int j = 0; j < V; ++j) sums[lane][j] = sum[tap][j];
    __syncthreads();
    if (threadIdx.y < V && channel < channels) {
      A total = A(0);
#pragma unroll 1
      for (int group = 0; group < blockDim.y; ++group) total += sums[group * blockDim.x + threadIdx.x][threadIdx.y];
      parts[((i64)slice * channels + channel + threadIdx.y) * K * K + tap] = total;
    }
    __syncthreads();  // the next tap goes where these sums were
  }
}

// dw = the sum of the slices. Blocks of (32, 8) threads: a row of them adds every eighth slice.
template <typename T>
__global__ void __launch_bounds__(256, 1)
depthwise_sum_slices(const Accumulator<T>* __restrict__ parts, T* __restrict__ dw, int slices, int size) {
  __shared__ Accumulator<T> sums[8][32];
  const int e = blockIdx.x * 32 + threadIdx.x;
  Accumulator<T> sum = 0;
  if (e < size)
    for (int s = threadIdx.y; s < slices; s += 8) sum += parts[(i64)s * size + e];
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y || e >= size) return;
  for (int row = 1; row < 8; ++row) sum += sums[row][threadIdx.x];
  dw[e] = narrowed<T>(sum);
}
