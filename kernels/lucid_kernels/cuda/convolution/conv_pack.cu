// instantiate: conv_pack_weight<Tf32>, conv_pack_weight<Float32>, conv_pack_weight<Float16>, conv_pack_weight<Bfloat16>
// instantiate: conv_pack_channels<float>, conv_pack_channels<__half>, conv_pack_channels<__nv_bfloat16>
// instantiate: conv_add_slices<float>, conv_add_slices<__half>, conv_add_slices<__nv_bfloat16>
// instantiate: conv_add_weight_slices<float>, conv_add_weight_slices<__half>, conv_add_weight_slices<__nv_bfloat16>
//
// What is done once in front of a convolution on tensor cores (conv_product.cu, conv_grad_weight.cu) and behind it.
#include "conv_mma.cuh"

template <typename Kind> __device__ __forceinline__ float rounded(float x) { return __uint_as_float(Kind::rounded(__float_as_uint(x))); }
template <typename Kind, typename E> __device__ __forceinline__ E rounded(E x) { return x; }

// The weight (O, C / groups, taps) as rows (group, row, tap, term): a row for each result channel, `packed_rows` a group, and
// `padded` terms; zeros fill up. `gradient`: rows are input channels and terms output channels, else the other way round.
// `last`: it lies as (O, taps, C / groups).
template <typename Kind>
__global__ void __launch_bounds__(256)
conv_pack_weight(const typename Kind::Element* __restrict__ weight, typename Kind::Element* __restrict__ packed, int out_channels,
                 int group_in, int taps, int groups, int packed_rows, int padded, int gradient, int last) {
  using Element = typename Kind::Element;
  const int group_out = out_channels / groups, rows = gradient ? group_in : group_out, terms = gradient ? group_out : group_in;
  GRID_STRIDE(e, (i64)groups * packed_rows * taps * padded) {
    const int term = (int)(e % padded), tap = (int)(e / padded % taps), row = (int)(e / padded / taps % packed_rows);
    const int group = (int)(e / padded / taps / packed_rows);
    const int o = group * group_out + (gradient ? term : row), c = gradient ? row : term;
    const i64 at = last ? ((i64)o * taps + tap) * group_in + c : ((i64)o * group_in + c) * taps + tap;
    packed[e] = row < rows && term < terms ? rounded<Kind>(weight[at]) : narrowed<Element>(0.f);
  }
}

// x (N, groups * channels, pixels) as (N, pixels, groups * padded), zeros behind the channels of each group. A block turns
// 32 x 32 at a time; grid: (tiles of pixels, tiles of channels, samples). With `last` x has its channels last already, and
// only the zeros are new.
template <typename E>
__global__ void __launch_bounds__(256)
conv_pack_channels(const E* __restrict__ x, E* __restrict__ packed, int samples, int channels, int padded, int groups, int pixels,
                   int last) {
  __shared__ E tile[32][33];
  const int all = groups * padded, channel_tiles = (all + 31) / 32, pixel_tiles = (pixels + 31) / 32;
  for (i64 block = blockIdx.x; block < (i64)samples * channel_tiles * pixel_tiles; block += gridDim.x) {
    const int first_channel = (int)(block % channel_tiles) * 32;
    const int first_pixel = (int)(block / channel_tiles % pixel_tiles) * 32;
    const i64 n = block / channel_tiles / pixel_tiles;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
#pragma unroll
    for (int i = 0; i < 32; i += 8) {
      const int row = last ? lane : warp + i, column = last ? warp + i : lane;  // channel, pixel: neighbours in memory are of a warp
      const int in_all = first_channel + row, pixel = first_pixel + column, group = in_all / padded, c = in_all % padded;
      if (in_all < all && pixel < pixels) {
        const int from = group * channels + c;
        const i64 at = last ? (n * pixels + pixel) * groups * channels + from : (n * groups * channels + from) * pixels + pixel;
        tile[row][column] = c < channels ? x[at] : narrowed<E>(0.f);
      }
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 32; i += 8) {
      const int in_all = first_channel + lane, pixel = first_pixel + warp + i;
      if (in_all < all && pixel < pixels) packed[(n * pixels + pixel) * all + in_all] = tile[lane][warp + i];
    }
    __syncthreads();  // the next tile takes the place of this one
  }
}

// y = the slices of a product, added in order, plus bias and residual, with `relu` no less than 0. Channel of element e:
// e / inner % channels.
template <typename E>
__global__ void __launch_bounds__(256)
conv_add_slices(const float* __restrict__ parts, const E* __restrict__ bias, int has_bias, const E* __restrict__ residual,
                int has_residual, int relu, E* __restrict__ y, int slices, int channels, int inner, i64 size) {
  GRID_STRIDE(e, size) {
    float sum = has_bias ? widened(bias[e / inner % channels]) : 0.f;
    for (int s = 0; s < slices; ++s) sum += parts[s * size + e];
    if (has_residual) sum += widened(residual[e]);
    y[e] = narrowed<E>(relu ? positive(sum) : sum);
  }
}

// The weight gradient (O, channels, taps) of slices (slice, O, taps, padded), added in order.
template <typename E>
__global__ void __launch_bounds__(256)
conv_add_weight_slices(const float* __restrict__ parts, E* __restrict__ dw, int slices, int channels, int padded, int taps,
                       i64 size) {
  const i64 part = size / channels * padded;
  GRID_STRIDE(e, size) {
    const int tap = (int)(e % taps), c = (int)(e / taps % channels);
    const i64 at = (e / taps / channels * taps + tap) * padded + c;
    float sum = 0.f;
    for (int s = 0; s < slices; ++s) sum += parts[s * part + at];
    dw[e] = narrowed<E>(sum);
  }
}
