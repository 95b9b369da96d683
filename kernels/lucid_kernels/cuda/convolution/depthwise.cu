// Depthwise 2-d convolution, one input and one output channel a group, and its gradients, with square kernels and one stride.
// Bound by memory: a thread computes R results below one another, and reads each row of the image that they share once.
// Images are planes, of which a warp reads a row, or have their channels last; then a thread computes V neighbouring channels.
// Every sum has a fixed order: the results do not depend on the schedule.
// instantiate: depthwise<float, 1, 3, 1>, depthwise<float, 1, 3, 2>, depthwise_grad_input<float, 1, 3, 1, 0>
// instantiate: depthwise_grad_input<float, 1, 3, 2, 0>, depthwise_grad_input<float, 1, 3, 2, 1>, depthwise<float, 1, 5, 1>
// instantiate: depthwise<float, 1, 5, 2>, depthwise_grad_input<float, 1, 5, 1, 0>, depthwise_grad_input<float, 1, 5, 2, 0>
// instantiate: depthwise_grad_input<float, 1, 5, 2, 1>, depthwise<float, 1, 7, 1>, depthwise<float, 1, 7, 2>
// instantiate: depthwise_grad_input<float, 1, 7, 1, 0>, depthwise_grad_input<float, 1, 7, 2, 0>
// instantiate: depthwise_grad_input<float, 1, 7, 2, 1>, depthwise<float, 2, 3, 1>, depthwise<float, 2, 3, 2>
// instantiate: depthwise_grad_input<float, 2, 3, 1, 0>, depthwise_grad_input<float, 2, 3, 2, 0>
// instantiate: depthwise_grad_input<float, 2, 3, 2, 1>, depthwise<float, 2, 5, 1>, depthwise<float, 2, 5, 2>
// instantiate: depthwise_grad_input<float, 2, 5, 1, 0>, depthwise_grad_input<float, 2, 5, 2, 0>
// instantiate: depthwise_grad_input<float, 2, 5, 2, 1>, depthwise<float, 2, 7, 1>, depthwise<float, 2, 7, 2>
// instantiate: depthwise_grad_input<float, 2, 7, 1, 0>, depthwise_grad_input<float, 2, 7, 2, 0>
// instantiate: depthwise_grad_input<float, 2, 7, 2, 1>, depthwise_grad_weight<float, 3, 1>, depthwise_grad_weight<float, 3, 2>
// instantiate: depthwise_grad_weight<float, 5, 1>, depthwise_grad_weight<float, 5, 2>, depthwise_grad_weight<float, 7, 1>
// instantiate: depthwise_grad_weight<float, 7, 2>, depthwise_sum_slices<float>, depthwise<double, 1, 3, 1>
// instantiate: depthwise<double, 1, 3, 2>, depthwise_grad_input<double, 1, 3, 1, 0>, depthwise_grad_input<double, 1, 3, 2, 0>
// instantiate: depthwise_grad_input<double, 1, 3, 2, 1>, depthwise<double, 1, 5, 1>, depthwise<double, 1, 5, 2>
// instantiate: depthwise_grad_input<double, 1, 5, 1, 0>, depthwise_grad_input<double, 1, 5, 2, 0>
// instantiate: depthwise_grad_input<double, 1, 5, 2, 1>, depthwise<double, 1, 7, 1>, depthwise<double, 1, 7, 2>
// instantiate: depthwise_grad_input<double, 1, 7, 1, 0>, depthwise_grad_input<double, 1, 7, 2, 0>
// instantiate: depthwise_grad_input<double, 1, 7, 2, 1>, depthwise_grad_weight<double, 3, 1>
// instantiate: depthwise_grad_weight<double, 3, 2>, depthwise_grad_weight<double, 5, 1>, depthwise_grad_weight<double, 5, 2>
// instantiate: depthwise_grad_weight<double, 7, 1>, depthwise_grad_weight<double, 7, 2>, depthwise_sum_slices<double>
// instantiate: depthwise<__half, 1, 3, 1>, depthwise<__half, 1, 3, 2>, depthwise_grad_input<__half, 1, 3, 1, 0>
// instantiate: depthwise_grad_input<__half, 1, 3, 2, 0>, depthwise_grad_input<__half, 1, 3, 2, 1>, depthwise<__half, 1, 5, 1>
// instantiate: depthwise<__half, 1, 5, 2>, depthwise_grad_input<__half, 1, 5, 1, 0>, depthwise_grad_input<__half, 1, 5, 2, 0>
// instantiate: depthwise_grad_input<__half, 1, 5, 2, 1>, depthwise<__half, 1, 7, 1>, depthwise<__half, 1, 7, 2>
// instantiate: depthwise_grad_input<__half, 1, 7, 1, 0>, depthwise_grad_input<__half, 1, 7, 2, 0>
// instantiate: depthwise_grad_input<__half, 1, 7, 2, 1>, depthwise<__half, 2, 3, 1>, depthwise<__half, 2, 3, 2>
// instantiate: depthwise_grad_input<__half, 2, 3, 1, 0>, depthwise_grad_input<__half, 2, 3, 2, 0>
// instantiate: depthwise_grad_input<__half, 2, 3, 2, 1>, depthwise<__half, 2, 5, 1>, depthwise<__half, 2, 5, 2>
// instantiate: depthwise_grad_input<__half, 2, 5, 1, 0>, depthwise_grad_input<__half, 2, 5, 2, 0>
// instantiate: depthwise_grad_input<__half, 2, 5, 2, 1>, depthwise<__half, 2, 7, 1>, depthwise<__half, 2, 7, 2>
// instantiate: depthwise_grad_input<__half, 2, 7, 1, 0>, depthwise_grad_input<__half, 2, 7, 2, 0>
// instantiate: depthwise_grad_input<__half, 2, 7, 2, 1>, depthwise_grad_weight<__half, 3, 1>
// instantiate: depthwise_grad_weight<__half, 3, 2>, depthwise_grad_weight<__half, 5, 1>, depthwise_grad_weight<__half, 5, 2>
// instantiate: depthwise_grad_weight<__half, 7, 1>, depthwise_grad_weight<__half, 7, 2>, depthwise_sum_slices<__half>
// instantiate: depthwise<__nv_bfloat16, 1, 3, 1>, depthwise<__nv_bfloat16, 1, 3, 2>
// instantiate: depthwise_grad_input<__nv_bfloat16, 1, 3, 1, 0>, depthwise_grad_input<__nv_bfloat16, 1, 3, 2, 0>
// instantiate: depthwise_grad_input<__nv_bfloat16, 1, 3, 2, 1>, depthwise<__nv_bfloat16, 1, 5, 1>
// instantiate: depthwise<__nv_bfloat16, 1, 5, 2>, depthwise_grad_input<__nv_bfloat16, 1, 5, 1, 0>
// instantiate: depthwise_grad_input<__nv_bfloat16, 1, 5, 2, 0>, depthwise_grad_input<__nv_bfloat16, 1, 5, 2, 1>
// instantiate: depthwise<__nv_bfloat16, 1, 7, 1>, depthwise<__nv_bfloat16, 1, 7, 2>
// instantiate: depthwise_grad_input<__nv_bfloat16, 1, 7, 1, 0>, depthwise_grad_input<__nv_bfloat16, 1, 7, 2, 0>
// instantiate: depthwise_grad_input<__nv_bfloat16, 1, 7, 2, 1>, depthwise<__nv_bfloat16, 2, 3, 1>
// instantiate: depthwise<__nv_bfloat16, 2, 3, 2>, depthwise_grad_input<__nv_bfloat16, 2, 3, 1, 0>
// instantiate: depthwise_grad_input<__nv_bfloat16, 2, 3, 2, 0>, depthwise_grad_input<__nv_bfloat16, 2, 3, 2, 1>
// instantiate: depthwise<__nv_bfloat16, 2, 5, 1>, depthwise<__nv_bfloat16, 2, 5, 2>
// instantiate: depthwise_grad_input<__nv_bfloat16, 2, 5, 1, 0>, depthwise_grad_input<__nv_bfloat16, 2, 5, 2, 0>
// instantiate: depthwise_grad_input<__nv_bfloat16, 2, 5, 2, 1>, depthwise<__nv_bfloat16, 2, 7, 1>
// instantiate: depthwise<__nv_bfloat16, 2, 7, 2>, depthwise_grad_input<__nv_bfloat16, 2, 7, 1, 0>
// instantiate: depthwise_grad_input<__nv_bfloat16, 2, 7, 2, 0>, depthwise_grad_input<__nv_bfloat16, 2, 7, 2, 1>
// instantiate: depthwise_grad_weight<__nv_bfloat16, 3, 1>, depthwise_grad_weight<__nv_bfloat16, 3, 2>
// instantiate: depthwise_grad_weight<__nv_bfloat16, 5, 1>, depthwise_grad_weight<__nv_bfloat16, 5, 2>
// instantiate: depthwise_grad_weight<__nv_bfloat16, 7, 1>, depthwise_grad_weight<__nv_bfloat16, 7, 2>
// instantiate: depthwise_sum_slices<__nv_bfloat16>
// one module an instance
//
// __launch_bounds__(256, 1): without the 1 ptxas aims at full occupancy and spills registers for it.
#include "halves.cuh"

// What a thread computes: some rows of a strip, one column, of an image and a channel, or of V > 1 channels that lie last.
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

// N pixels of V channels of a row from column `left`; zero outside of the image.
template <int V, int N, typename T>
__device__ __forceinline__ void load_row(const T* image, int row, int left, int height, int width, int step, Accumulator<T> (&to)[N][V]) {
  const bool inside = row >= 0 && row < height;
  const T* from = image + ((i64)row * width + left) * step;
#pragma unroll
  for (int i = 0; i < N; ++i) {
#pragma unroll
    for (int j = 0; j < V; ++j) to[i][j] = Accumulator<T>(0);
    if (inside && left + i >= 0 && left + i < width) load<V>(from + (i64)i * step, to[i]);
  }
}

constexpr int strip_rows(int stride) { return stride == 1 ? 8 : 4; }

template <typename T, int V, int K, int S, int R = strip_rows(S)>
__global__ void __launch_bounds__(256, 1)
depthwise(const T* __restrict__ x, const T* __restrict__ weight, const T* __restrict__ bias, int has_bias, T* __restrict__ y,
          unsigned threads, int channels, int in_h, int in_w, int out_h, int out_w, int pad_h, int pad_w) {
  typedef Accumulator<T> A;
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  if (thread >= threads) return;
  const Place<V> at(thread, out_w, (out_h + R - 1) / R, channels);
  const int step = V > 1 ? channels : 1, top = (int)at.strip * R * S - pad_h, left = (int)at.column * S - pad_w;
  A w[K * K][V], sum[R][V];
  load_weights<V, K>(weight, at.channel, channels, w);
#pragma unroll
  for (int r = 0; r < R; ++r)
#pragma unroll
    for (int j = 0; j < V; ++j) sum[r][j] = has_bias ? widened(bias[at.channel + j]) : A(0);
  const T* source = x + at.base((i64)in_h * in_w, channels);
#pragma unroll
  for (int i = 0; i < (R - 1) * S + K; ++i) {
    A value[K][V];
    load_row<V, K>(source, top + i, left, in_h, in_w, step, value);
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const int kh = i - r * S;
      if (kh < 0 || kh >= K) continue;
#pragma unroll
      for (int kw = 0; kw < K; ++kw)
#pragma unroll
        for (int j = 0; j < V; ++j) sum[r][j] += w[kh * K + kw][j] * value[kw][j];
    }
  }
  T* target = y + at.base((i64)out_h * out_w, channels);
#pragma unroll
  for (int r = 0; r < R; ++r) {
    const int row = (int)at.strip * R + r;
    if (row < out_h) store<V>(target + ((i64)row * out_w + at.column) * step, sum[r]);
  }
}

// The gradient of the input. Pixel p of the padded image is reached by the taps k with (p - k) % S == 0, from result (p - k) / S: a
// thread computes the S x S pixels that differ in which taps reach them, and R such squares below one another. P is pad % S, so
// that their taps are known here: pixel e of square q has p = (q + pad / S) * S + P + e, and its taps are d * S + P + e, from the
// results q + pad / S - d.
template <typename T, int V, int K, int S, int P, int R = strip_rows(S)>
__global__ void __launch_bounds__(256, 1)
depthwise_grad_input(const T* __restrict__ g, const T* __restrict__ weight, T* __restrict__ dx, unsigned threads, int paired,
                     int channels, int in_h, int in_w, int out_h, int out_w, int pad_h, int pad_w) {
  typedef Accumulator<T> A;
  constexpr int LAST = (K - 1 - P) / S, D = LAST + (P + S - 1) / S + 1;  // the last d, and how many there are
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  if (thread >= threads) return;
  const int squares_h = (in_h + S - 1) / S, squares_w = (in_w + S - 1) / S;
  const Place<V> at(thread, squares_w, (squares_h + R - 1) / R, channels);
  const int step = V > 1 ? channels : 1;
  const int top = (int)at.strip * R + pad_h / S - LAST, left = (int)at.column + pad_w / S - LAST;
  A w[K * K][V], sum[R][S][S][V];
  load_weights<V, K>(weight, at.channel, channels, w);
#pragma unroll
  for (int r = 0; r < R; ++r)
#pragma unroll
    for (int eh = 0; eh < S; ++eh)
#pragma unroll
      for (int ew = 0; ew < S; ++ew)
#pragma unroll
        for (int j = 0; j < V; ++j) sum[r][eh][ew][j] = A(0);
  const T* source = g + at.base((i64)out_h * out_w, channels);
#pragma unroll
  for (int i = 0; i < R + D - 1; ++i) {
    A value[D][V];
    load_row<V, D>(source, top + i, left, out_h, out_w, step, value);
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int eh = 0; eh < S; ++eh) {
        const int kh = (LAST - i + r) * S + P + eh;
        if (i < r || i - r >= D || kh < 0 || kh >= K) continue;
#pragma unroll
        for (int ew = 0; ew < S; ++ew)
#pragma unroll
          for (int d = 0; d < D; ++d) {
            const int kw = (LAST - d) * S + P + ew;
            if (kw < 0 || kw >= K) continue;
#pragma unroll
            for (int j = 0; j < V; ++j) sum[r][eh][ew][j] += w[kh * K + kw][j] * value[d][j];
          }
      }
  }
  T* target = dx + at.base((i64)in_h * in_w, channels);
#pragma unroll
  for (int r = 0; r < R; ++r)
#pragma unroll
    for (int eh = 0; eh < S; ++eh) {
      const int row = ((int)at.strip * R + r) * S + eh, column = at.column * S;
      if (row >= in_h) continue;
      T* to = target + ((i64)row * in_w + column) * step;
      if (V == 1 && S == 2 && paired) {
        const A two[2] = {sum[r][eh][0][0], sum[r][eh][S - 1][0]};
        store<2>(to, two);
        continue;
      }
#pragma unroll
      for (int ew = 0; ew < S; ++ew)
        if (column + ew < in_w) store<V>(to + (i64)ew * step, sum[r][eh][ew]);
    }
}

// The gradient of the weight, of planes. A block sums over a slice of all results of one channel; parts is (slices, weights).
template <typename T, int K, int S, int R = strip_rows(S)>
__global__ void __launch_bounds__(256, 1)
depthwise_grad_weight(const T* __restrict__ g, const T* __restrict__ x, Accumulator<T>* __restrict__ parts, int slices, int batch,
                      int channels, int in_h, int in_w, int out_h, int out_w, int pad_h, int pad_w) {
  typedef Accumulator<T> A;
  __shared__ A sums[8][K * K];
  const unsigned channel = blockIdx.x % channels, slice = blockIdx.x / channels, strips = (out_h + R - 1) / R;
  const unsigned items = batch * strips * out_w, share = (items + slices - 1) / slices, end = min(items, (slice + 1) * share);
  A sum[K * K];
#pragma unroll
  for (int tap = 0; tap < K * K; ++tap) sum[tap] = A(0);
  for (unsigned item = slice * share + threadIdx.x; item < end; item += 256) {
    const int column = item % out_w, strip = item / out_w % strips;
    const i64 plane = (i64)(item / out_w / strips) * channels + channel;
    A gradient[R][1];
#pragma unroll
    for (int r = 0; r < R; ++r) {
      gradient[r][0] = A(0);
      if (strip * R + r < out_h) load<1>(g + (plane * out_h + strip * R + r) * out_w + column, gradient[r]);
    }
    const T* source = x + plane * in_h * in_w;
#pragma unroll
    for (int i = 0; i < (R - 1) * S + K; ++i) {
      A value[K][1];
      load_row<1, K>(source, strip * R * S - pad_h + i, column * S - pad_w, in_h, in_w, 1, value);
#pragma unroll
      for (int r = 0; r < R; ++r) {
        const int kh = i - r * S;
        if (kh < 0 || kh >= K) continue;
#pragma unroll
        for (int kw = 0; kw < K; ++kw) sum[kh * K + kw] += gradient[r][0] * value[kw][0];
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

// dw = the sum of the slices, in order.
template <typename T>
__global__ void __launch_bounds__(256, 1)
depthwise_sum_slices(const Accumulator<T>* __restrict__ parts, T* __restrict__ dw, int slices, i64 size) {
  GRID_STRIDE(e, size) {
    Accumulator<T> sum = 0;
    for (int s = 0; s < slices; ++s) sum += parts[s * size + e];
    dw[e] = narrowed<T>(sum);
  }
}
