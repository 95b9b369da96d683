// The input gradient of convolutions of images with a few channels, such as the first layer of a network: a tile of tensor cores
// would be almost empty. One group, square kernels.
// instantiate: few_channels_grad_input<float, 1, 7, 2, 1, 1>, few_channels_grad_input<float, 1, 7, 2, 1, 4>
// instantiate: few_channels_grad_input<float, 1, 3, 2, 0, 2>, few_channels_grad_input<float, 1, 3, 2, 1, 2>
// instantiate: few_channels_grad_input<float, 3, 7, 2, 1, 1>, few_channels_grad_input<float, 3, 7, 2, 1, 4>
// instantiate: few_channels_grad_input<float, 3, 3, 2, 0, 2>, few_channels_grad_input<float, 3, 3, 2, 1, 2>
// instantiate: few_channels_grad_input<__half, 1, 7, 2, 1, 1>, few_channels_grad_input<__half, 1, 7, 2, 1, 4>
// instantiate: few_channels_grad_input<__half, 1, 3, 2, 0, 2>, few_channels_grad_input<__half, 1, 3, 2, 1, 2>
// instantiate: few_channels_grad_input<__half, 3, 7, 2, 1, 1>, few_channels_grad_input<__half, 3, 7, 2, 1, 4>
// instantiate: few_channels_grad_input<__half, 3, 3, 2, 0, 2>, few_channels_grad_input<__half, 3, 3, 2, 1, 2>
// instantiate: few_channels_grad_input<__nv_bfloat16, 1, 7, 2, 1, 1>, few_channels_grad_input<__nv_bfloat16, 1, 7, 2, 1, 4>
// instantiate: few_channels_grad_input<__nv_bfloat16, 1, 3, 2, 0, 2>, few_channels_grad_input<__nv_bfloat16, 1, 3, 2, 1, 2>
// instantiate: few_channels_grad_input<__nv_bfloat16, 3, 7, 2, 1, 1>, few_channels_grad_input<__nv_bfloat16, 3, 7, 2, 1, 4>
// instantiate: few_channels_grad_input<__nv_bfloat16, 3, 3, 2, 0, 2>, few_channels_grad_input<__nv_bfloat16, 3, 3, 2, 1, 2>
// one module an instance
#include "halves.cuh"

constexpr int THREADS = 128;
constexpr int CHUNK = 8;  // channels of the gradient whose weights are in shared memory at a time

// Pixel p of the padded image is reached by the taps k with (p - k) % S == 0, from result (p - k) / S. A thread computes the S x S
// pixels that differ in which taps reach them, and R such squares below one another, of all C channels. P is pad % S, so that their
// taps are known here: pixel e of square q has p = (q + pad / S) * S + P + e, and its taps are d * S + P + e, from the results
// q + pad / S - d.
template <typename T, int C, int K, int S, int P, int R>
__global__ void __launch_bounds__(THREADS, 1)
few_channels_grad_input(const T* __restrict__ g, const T* __restrict__ weight, T* __restrict__ dx, unsigned threads, int out_channels,
                        int in_h, int in_w, int out_h, int out_w, int pad_h, int pad_w) {
  typedef Accumulator<T> A;
  constexpr int LAST = (K - 1 - P) / S, D = LAST + (P + S - 1) / S + 1;  // the last d, and how many there are
  constexpr int ROW = (K * C + 3) / 4 * 4;                               // weights of a row of taps: whole packs of 4
  __shared__ __align__(16) A weights[CHUNK][K][ROW];
  const unsigned thread = blockIdx.x * THREADS + threadIdx.x;
  const unsigned squares_w = (in_w + S - 1) / S, strips = ((in_h + S - 1) / S + R - 1) / R;
  const int square = thread % squares_w, strip = thread / squares_w % strips;
  const i64 image = thread / squares_w / strips;
  const int top = strip * R + pad_h / S - LAST, left = square + pad_w / S - LAST;
  A sum[R][S][S][C];
#pragma unroll
  for (int r = 0; r < R; ++r)
#pragma unroll
    for (int eh = 0; eh < S; ++eh)
#pragma unroll
      for (int ew = 0; ew < S; ++ew)
#pragma unroll
        for (int c = 0; c < C; ++c) sum[r][eh][ew][c] = A(0);
  for (int first = 0; first < out_channels; first += CHUNK) {
    const int count = min(CHUNK, out_channels - first);
    __syncthreads();  // the weights of the chunk before have been read
    for (int i = threadIdx.x; i < count * C * K * K; i += THREADS) {
      const int kw = i % K, kh = i / K % K, c = i / (K * K) % C, o = i / (K * K * C);
      weights[o][kh][kw * C + c] = widened(weight[(i64)first * C * K * K + i]);
    }
    __syncthreads();
    if (thread >= threads) continue;
    for (int o = 0; o < count; ++o) {
      const T* source = g + (image * out_channels + first + o) * out_h * out_w;
      A value[R + D - 1][D];
#pragma unroll
      for (int i = 0; i < R + D - 1; ++i) {
        const bool inside = top + i >= 0 && top + i < out_h;
#pragma unroll
        for (int d = 0; d < D; ++d)
          value[i][d] = inside && left + d >= 0 && left + d < out_w ? widened(source[(i64)(top + i) * out_w + left + d]) : A(0);
      }
#pragma unroll
      for (int kh = 0; kh < K; ++kh) {
        const int i = LAST - (kh + S - P) / S + 1, eh = (kh + S - P) % S;  // kh = d * S + P + eh with d = LAST - i
        A w[ROW];
#pragma unroll
        for (int k = 0; k < ROW; k += 4) load<4>(&weights[o][kh][k], w + k);
#pragma unroll
        for (int kw = 0; kw < K; ++kw) {
          const int d = LAST - (kw + S - P) / S + 1, ew = (kw + S - P) % S;
#pragma unroll
          for (int r = 0; r < R; ++r)
#pragma unroll
            for (int c = 0; c < C; ++c) sum[r][eh][ew][c] += w[kw * C + c] * value[i + r][d];
        }
      }
    }
  }
  if (thread >= threads) return;
#pragma unroll
  for (int c = 0; c < C; ++c) {
    T* target = dx + (image * C + c) * in_h * in_w;
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int eh = 0; eh < S; ++eh) {
        const int row = (strip * R + r) * S + eh, column = square * S;
        if (row >= in_h) continue;
        T* to = target + (i64)row * in_w + column;
#pragma unroll
        for (int ew = 0; ew < S; ++ew)
          if (column + ew < in_w) to[ew] = narrowed<T>(sum[r][eh][ew][c]);
      }
  }
}
