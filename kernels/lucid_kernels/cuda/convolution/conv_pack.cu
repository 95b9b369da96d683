// instantiate: conv_pack_weight<Tf32>, conv_pack_weight<Float32>, conv_pack_weight<Float16>, conv_pack_weight<Bfloat16>
// instantiate: conv_pack_channels<Tf32>, conv_pack_channels<Float32>, conv_pack_channels<Float16>, conv_pack_channels<Bfloat16>
// instantiate: conv_add_slices<float>, conv_add_slices<__half>, conv_add_slices<__nv_bfloat16>
// instantiate: conv_add_weight_slices<float>, conv_add_weight_slices<__half>, conv_add_weight_slices<__nv_bfloat16>
//
// What is done once in front of a convolution on tensor cores (conv_product.cu, conv_grad_weight.cu) and behind it. No array here
// has 2^31 elements.
#include "conv_mma.cuh"

template <typename Kind> __device__ __forceinline__ float rounded(float x) { return __uint_as_float(Kind::rounded(__float_as_uint(x))); }
template <typename Kind, typename E> __device__ __forceinline__ E rounded(E x) { return x; }

// The weight (O, C / groups, taps) as rows (group, row, tap, term): a row for each result channel, `packed_rows` a group, and
// `padded` terms; zeros fill up. `gradient`: rows are input channels and terms output channels, else
// the other way round. `last`: it lies as (O, taps, C / groups). A thread packs 16 bytes; neighbours read neighbours.
template <typename Kind>
__global__ void __launch_bounds__(256)
conv_pack_weight(const typename Kind::Element* __restrict__ weight, typename Kind::Element* __restrict__ packed, int out_channels,
                 int group_in, int taps, int groups, int packed_rows, int padded, int gradient, int last) {
  using Element = typename Kind::Element;
  constexpr int CHUNK = Kind::CHUNK;
  const int group_out = out_channels / groups, rows = gradient ? group_in : group_out, terms = gradient ? group_out : group_in;
  const unsigned chunks = padded / CHUNK;
  const unsigned outer_size = gradient ? chunks : packed_rows, inner_size = gradient ? packed_rows : chunks;
  const unsigned size = groups * packed_rows * taps * chunks;
  for (unsigned e = blockIdx.x * blockDim.x + threadIdx.x; e < size; e += gridDim.x * blockDim.x) {
    const unsigned fast = e % (last ? inner_size : taps), rest = e / (last ? inner_size : taps);
    const unsigned slow = rest % (last ? taps : inner_size), outside = rest / (last ? taps : inner_size);
    const int tap = last ? slow : fast, inner = last ? fast : slow, outer = outside % outer_size, group = outside / outer_size;
    const int row = gradient ? inner : outer, first = (gradient ? outer : inner) * CHUNK;
    Pack<Element, CHUNK> pack;
#pragma unroll
    for (int i = 0; i < CHUNK; ++i) {
      const int term = first + i, o = group * group_out + (gradient ? term : row), c = gradient ? row : term;
      const int at = last ? (o * taps + tap) * group_in + c : (o * group_in + c) * taps + tap;
      pack.element[i] = row < rows && term < terms ? rounded<Kind>(weight[at]) : narrowed<Element>(0.f);
    }
    pack.store(packed + ((i64)(group * packed_rows + row) * taps + tap) * padded + first);
  }
}

// x (N, groups * channels, pixels), or with `last` (N, pixels, groups * channels), as (N, pixels, groups * padded), zeros behind
// the channels of each group. Without `last` a block turns tiles of 8 * CHUNK channels and 128 pixels: threads read CHUNK pixels
// of a channel and write CHUNK channels of a pixel. The pixels of a channel are swizzled, CHUNK together, by the channel, so that
// neither have bank conflicts. `aligned`: 16 bytes of x are read at once.
template <typename Kind>
__global__ void __launch_bounds__(256)
conv_pack_channels(const typename Kind::Element* __restrict__ x, typename Kind::Element* __restrict__ packed, int samples,
                   int channels, int padded, int groups, int pixels, int last, int aligned) {
  using Element = typename Kind::Element;
  constexpr int CHUNK = Kind::CHUNK, CHANNELS = 8 * CHUNK, PIXELS = 128, TURNS = CHANNELS * PIXELS / CHUNK / 256;
  __shared__ __align__(16) Element tile[CHANNELS * PIXELS];
  const Element zero = narrowed<Element>(0.f);
  const int all = groups * padded, chunks = all / CHUNK;
  if (last) {
    for (int e = blockIdx.x * 256 + threadIdx.x; e < samples * pixels * chunks; e += gridDim.x * 256) {
      const int pixel = e / chunks, in_all = e % chunks * CHUNK, group = in_all / padded, c = in_all % padded;
      const Element* const from = x + (pixel * groups + group) * channels + c;
      Pack<Element, CHUNK> pack;
      if (aligned) pack = Pack<Element, CHUNK>(from);
#pragma unroll
      for (int i = 0; i < CHUNK; ++i)
        pack.element[i] = c + i < channels ? rounded<Kind>(aligned ? pack.element[i] : from[i]) : zero;
      pack.store(packed + pixel * all + in_all);
    }
    return;
  }
  const int channel_tiles = (all + CHANNELS - 1) / CHANNELS, pixel_tiles = (pixels + PIXELS - 1) / PIXELS;
  for (int block = blockIdx.x; block < samples * channel_tiles * pixel_tiles; block += gridDim.x) {
    const int first_channel = block % channel_tiles * CHANNELS, first_pixel = block / channel_tiles % pixel_tiles * PIXELS;
    const int n = block / channel_tiles / pixel_tiles;
    Pack<Element, CHUNK> read[TURNS];
#pragma unroll
    for (int turn = 0; turn < TURNS; ++turn) {
      const int i = turn * 256 + threadIdx.x, pixel = first_pixel + i % (PIXELS / CHUNK) * CHUNK;
      const int in_all = first_channel + i / (PIXELS / CHUNK), group = in_all / padded, c = in_all % padded;
      const Element* const from = x + (n * groups * channels + group * channels + c) * pixels + pixel;
      const int there = in_all < all && c < channels ? pixels - pixel : 0;  // pixels from here on
      if (aligned && there > 0) read[turn] = Pack<Element, CHUNK>(from);
      else
#pragma unroll
        for (int j = 0; j < CHUNK; ++j) read[turn].element[j] = j < there ? from[j] : zero;
    }
#pragma unroll
    for (int turn = 0; turn < TURNS; ++turn) {
      const int i = turn * 256 + threadIdx.x, row = i / (PIXELS / CHUNK), column = i % (PIXELS / CHUNK);
#pragma unroll
      for (int j = 0; j < CHUNK; ++j) read[turn].element[j] = rounded<Kind>(read[turn].element[j]);
      *reinterpret_cast<Pack<Element, CHUNK>*>(tile + row * PIXELS + (column ^ (row / CHUNK & 7)) * CHUNK) = read[turn];
    }
    __syncthreads();
#pragma unroll
    for (int turn = 0; turn < TURNS; ++turn) {
      const int i = turn * 256 + threadIdx.x, column = i / 8, in_all = first_channel + i % 8 * CHUNK, pixel = first_pixel + column;
      if (in_all >= all || pixel >= pixels) continue;
      Pack<Element, CHUNK> pack;
#pragma unroll
      for (int j = 0; j < CHUNK; ++j)
        pack.element[j] = tile[(i % 8 * CHUNK + j) * PIXELS + ((column / CHUNK) ^ (i % 8)) * CHUNK + column % CHUNK];
      pack.store(packed + (n * pixels + pixel) * all + in_all);
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
    float sum = has_bias ? widened(bias[(int)e / inner % channels]) : 0.f;
    for (int s = 0; s < slices; ++s) sum += parts[s * size + e];
    if (has_residual) sum += widened(residual[e]);
    y[e] = narrowed<E>(relu ? positive(sum) : sum);
  }
}

// The weight gradient (O, channels, taps) of slices (slice, O, taps, padded), added in an order that `threads` gives: so many
// threads of a block share an element, 256 / `threads` neighbours in a slice are added at a time. Each adds every `threads`-th
// slice, and the first adds their sums.
template <typename E>
__global__ void __launch_bounds__(256)
conv_add_weight_slices(const float* __restrict__ parts, E* __restrict__ dw, int slices, int threads, int channels, int padded,
                       int taps, int size) {
  __shared__ float sums[256];
  const int together = 256 / threads, own = threadIdx.x % together, first_slice = threadIdx.x / together;
  for (int begin = blockIdx.x * together; begin < size; begin += gridDim.x * together) {  // size: of a slice
    const int e = begin + own;
    float sum = 0.f;
    if (e < size)
#pragma unroll 4
      for (int s = first_slice; s < slices; s += threads) sum += parts[(i64)s * size + e];
    if (threads > 1) {
      sums[threadIdx.x] = sum;
      __syncthreads();
      for (int i = together; i < 256 && first_slice == 0; i += together) sum += sums[i + own];
      __syncthreads();  // the next sums take the place of these
    }
    const int c = e % padded, tap = e / padded % taps, o = e / padded / taps;
    if (first_slice == 0 && e < size && c < channels) dw[(o * channels + c) * taps + tap] = narrowed<E>(sum);
  }
}
