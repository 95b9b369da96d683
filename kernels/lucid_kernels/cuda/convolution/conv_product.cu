// one module an instance
// instantiate: conv_product<Tf32, false, 128, 128, 64, 64, 3>, conv_product<Tf32, false, 128, 64, 64, 32, 3>
// instantiate: conv_product<Tf32, false, 128, 32, 32, 32, 4>, conv_product<Tf32, false, 64, 64, 32, 32, 4>
// instantiate: conv_product<Tf32, true, 128, 128, 64, 64, 3>, conv_product<Tf32, true, 128, 64, 64, 32, 3>
// instantiate: conv_product<Tf32, true, 128, 32, 32, 32, 4>, conv_product<Tf32, true, 64, 64, 32, 32, 4>
// instantiate: conv_product<Float32, false, 128, 64, 64, 32, 3>, conv_product<Float32, false, 128, 32, 32, 32, 4>
// instantiate: conv_product<Float32, false, 64, 64, 32, 32, 4>
// instantiate: conv_product<Float32, true, 128, 64, 64, 32, 3>, conv_product<Float32, true, 128, 32, 32, 32, 4>
// instantiate: conv_product<Float32, true, 64, 64, 32, 32, 4>
// instantiate: conv_product<Float16, true, 128, 128, 64, 64, 3>, conv_product<Float16, true, 128, 64, 64, 32, 3>
// instantiate: conv_product<Float16, true, 128, 32, 32, 32, 4>, conv_product<Float16, true, 64, 64, 32, 32, 4>
// instantiate: conv_product<Bfloat16, true, 128, 128, 64, 64, 3>, conv_product<Bfloat16, true, 128, 64, 64, 32, 3>
// instantiate: conv_product<Bfloat16, true, 128, 32, 32, 32, 4>, conv_product<Bfloat16, true, 64, 64, 32, 32, 4>
//
// Convolution and its input gradient on tensor cores, as implicit matrix products of each group:
//
//   forward          Y[p, o]  = sum_k  X[p, k]  W[o, k]    p: output pixel,              k: (tap, input channel)
//   input gradient   DX[p, c] = sum_k  G[p, k]  W[c, k]    p: input pixel of one phase,  k: (tap of it, output channel)
//
// The source is (N, C, D, H, W) as it lies, or with the channels last. The weight is packed (conv_pack.cu): for each result
// channel a row of (tap, channel), the channels filled up to whole chunks of 16 bytes. A slab of the sum is 8 chunks. Slabs
// come to shared memory by asynchronous copies, STAGES - 1 of them ahead of the arithmetic.
//
// A few results with a long sum are cut along the sum into `slices`, which conv_pack.cu adds in order.
#include "conv_mma.cuh"
#include "conv_geometry.cuh"

// Copies the pixels of a source with the channels last: a thread has one chunk of every LINES-th pixel of the tile. Rows of
// 128 bytes, whose chunks are swizzled by the row, so that neither copies nor ldmatrix have bank conflicts.
template <typename Kind, int BM, int THREADS> struct SourceLast {
  using Element = typename Kind::Element;
  static constexpr int BYTES = BM * 128, LINES = THREADS / 8, COPIES = BM / LINES;
  const Element* x;
  int at[COPIES], d[COPIES], h[COPIES], w[COPIES];  // the source under the first tap: element, place
  int size_d, size_h, size_w, channels;             // of all groups
  u32 inside;

  __device__ __forceinline__ SourceLast(const Element* x_, int size_d_, int size_h_, int size_w_, int channels_, int first_channel,
                                        int, int, int)
      : x(x_ + first_channel), size_d(size_d_), size_h(size_h_), size_w(size_w_), channels(channels_), inside(0) {}

  __device__ __forceinline__ void pixel(int i, bool there, int n, int d_, int h_, int w_) {
    at[i] = ((n * size_d + d_) * size_h + h_) * size_w * channels + w_ * channels;
    d[i] = there ? d_ : -(1 << 28);
    h[i] = h_;
    w[i] = w_;
  }
  __device__ __forceinline__ void find(int shift_d, int shift_h, int shift_w) {  // the pixels under a tap
    inside = 0;
#pragma unroll
    for (int i = 0; i < COPIES; ++i)
      inside |= (u32)((unsigned)(d[i] + shift_d) < (unsigned)size_d && (unsigned)(h[i] + shift_h) < (unsigned)size_h &&
                      (unsigned)(w[i] + shift_w) < (unsigned)size_w) << i;
  }
  __device__ __forceinline__ void copy(Shared to, int shift_d, int shift_h, int shift_w, int channel, bool there) {
    const int shift = ((shift_d * size_h + shift_h) * size_w + shift_w) * channels + channel;
    const int line = threadIdx.x >> 3;
    to += line * 128 + ((threadIdx.x ^ line) & 7) * 16;
#pragma unroll
    for (int i = 0; i < COPIES; ++i) {
      const bool ok = there && (inside >> i & 1);
      copy16(to + i * LINES * 128, x + (ok ? at[i] + shift : 0), ok ? 16 : 0);
    }
  }
};

// Copies the pixels of a float source (N, C, D, H, W): a thread has one pixel and every TOGETHER-th term of a slab. A tap shifts
// the pixels by any number of words, so copies are of 4 bytes; those of a warp are neighbours. Rows are terms; 8 words behind
// each let the four terms that a warp reads at a time lie in different banks.
template <int BM, int THREADS> struct SourcePlanar {
  static constexpr int PITCH = (BM + 8) * 4, BYTES = 32 * PITCH, TOGETHER = THREADS / BM, COPIES = 32 / TOGETHER;
  static_assert(THREADS % BM == 0 && TOGETHER <= 4, "a thread copies one pixel and passes one tap at a time");
  const float* image;
  int d, h, w, size_d, size_h, size_w, channels, padded, c, volume, present;
  Tap tap;
  const float* from;

  __device__ __forceinline__ SourcePlanar(const float* x, int size_d_, int size_h_, int size_w_, int group_channels, int padded_,
                                          int first_term, int taps_h, int taps_w)
      : image(x), size_d(size_d_), size_h(size_h_), size_w(size_w_), channels(group_channels), padded(padded_),
        c(first_term % padded_ + threadIdx.x / BM), volume(size_d_ * size_h_ * size_w_), present(0),
        tap(first_term / padded_, taps_h, taps_w), from(x) {}

  __device__ __forceinline__ void find(const Axis& ad, const Axis& ah, const Axis& aw) {
    const int at_d = d + tap.d * ad.shift, at_h = h + tap.h * ah.shift, at_w = w + tap.w * aw.shift;
    const bool ok = tap.d < ad.taps && c < channels && (unsigned)at_d < (unsigned)size_d && (unsigned)at_h < (unsigned)size_h &&
                    (unsigned)at_w < (unsigned)size_w;
    present = ok ? 4 : 0;
    from = image + (ok ? c * volume + (at_d * size_h + at_h) * size_w + at_w : 0);
  }
  __device__ __forceinline__ void turn(const Axis& ad, const Axis& ah, const Axis& aw) {
    if (c >= padded) {
      c -= padded;
      tap.next(ah.taps, aw.taps);
    }
    find(ad, ah, aw);
  }
  __device__ __forceinline__ void copy(Shared to, const Axis& ad, const Axis& ah, const Axis& aw) {
    to += threadIdx.x / BM * PITCH + threadIdx.x % BM * 4;
    if (channels % 32 == 0) {  // a slab has one tap
#pragma unroll
      for (int i = 0; i < COPIES; ++i) {
        copy4(to + i * TOGETHER * PITCH, from, present);
        if (present) from += volume * TOGETHER;
      }
      c += 32;
      if (c >= channels) turn(ad, ah, aw);
    } else {
#pragma unroll 4
      for (int i = 0; i < COPIES; ++i) {
        copy4(to + i * TOGETHER * PITCH, from, present);
        c += TOGETHER;
        if (c >= padded) turn(ad, ah, aw);
        else if (c >= channels) present = 0;
        else if (present) from += volume * TOGETHER;
      }
    }
  }
};

template <typename Kind, bool LAST, int BM, int THREADS> struct SourceOf {
  using Type = SourceLast<Kind, BM, THREADS>;
};
template <typename Kind, int BM, int THREADS> struct SourceOf<Kind, false, BM, THREADS> {
  using Type = SourcePlanar<BM, THREADS>;
};

// `gradient`: x is G and y is DX. `last`: the channels of y lie last. Grid: (phase, group, slice, row tile, column tile) with
// `row_tiles` for the largest phase. `packed_rows`: rows of the packed weight for a group, whole tiles. With slices > 1 the
// results go to `parts`, (slices, *y.shape), without bias, residual and ReLU. `residual` is added; it lies as y does.
template <typename Kind, bool LAST, int BM, int BN, int WM, int WN, int STAGES>
__global__ void __launch_bounds__(BM / WM * (BN / WN) * 32, 2)
conv_product(const typename Kind::Element* __restrict__ x, const typename Kind::Element* __restrict__ weight,
             const typename Kind::Element* __restrict__ bias, int has_bias, const typename Kind::Element* __restrict__ residual,
             int has_residual, int relu, typename Kind::Element* __restrict__ y, float* __restrict__ parts, int slices,
             int slabs_per_slice, int gradient, int last, int row_tiles, int packed_rows, CONVOLUTION_ARGUMENTS) {
  using Element = typename Kind::Element;
  constexpr int CHUNK = Kind::CHUNK, THREADS = BM / WM * (BN / WN) * 32, LINES = THREADS / 8, B_COPIES = BN / LINES;
  using Source = typename SourceOf<Kind, LAST, BM, THREADS>::Type;
  constexpr int STAGE = Source::BYTES + BN * 128, MT = WM / 16, NT = WN / 8;
  extern __shared__ __align__(128) unsigned char memory[];

  // ---- what this block computes
  const int source_channels = gradient ? out_channels : in_channels, target_channels = gradient ? in_channels : out_channels;
  const int terms = source_channels / groups, columns = target_channels / groups;
  const int column_tiles = (columns + BN - 1) / BN;
  int rest = blockIdx.x;
  const int first_column = rest % column_tiles * BN;
  rest /= column_tiles;
  const int first_row = rest % row_tiles * BM;
  rest /= row_tiles;
  const int slice = rest % slices;
  rest /= slices;
  const int group = rest % groups, phase = rest / groups;
  const Axis ad = gradient ? gradient_axis(phase / stride_w / stride_h, in_d, kernel_d, stride_d, pad_d, dilation_d)
                           : forward_axis(out_d, kernel_d, stride_d, pad_d, dilation_d);
  const Axis ah = gradient ? gradient_axis(phase / stride_w % stride_h, in_h, kernel_h, stride_h, pad_h, dilation_h)
                           : forward_axis(out_h, kernel_h, stride_h, pad_h, dilation_h);
  const Axis aw = gradient ? gradient_axis(phase % stride_w, in_w, kernel_w, stride_w, pad_w, dilation_w)
                           : forward_axis(out_w, kernel_w, stride_w, pad_w, dilation_w);
  const int area = ah.count * aw.count, volume = ad.count * area, rows = batch * volume;
  if (first_row >= rows) return;  // the whole block
  const int size_d = gradient ? out_d : in_d, size_h = gradient ? out_h : in_h, size_w = gradient ? out_w : in_w;
  const int padded = (terms + CHUNK - 1) / CHUNK * CHUNK, chunks = padded / CHUNK;
  const int taps_h = max(ah.taps, 1), taps_w = max(aw.taps, 1);
  const int all_chunks = ad.taps * ah.taps * aw.taps * chunks;
  const int first_slab = slice * slabs_per_slice;
  const int slabs = max(0, min(slabs_per_slice, (all_chunks + 7) / 8 - first_slab));

  // ---- copies: of the source by pixels, of the weight this thread has chunk threadIdx.x % 8 of every LINES-th row
  int chunk = first_slab * 8 + (threadIdx.x & 7), c = chunk % chunks;
  Tap tap(chunk / chunks, taps_h, taps_w);
  const auto weight_tap = [&]() {
    return ((ad.first_tap + tap.d * ad.tap_step) * kernel_h + ah.first_tap + tap.h * ah.tap_step) * kernel_w + aw.first_tap +
           tap.w * aw.tap_step;
  };
  const int row_size = kernel_d * kernel_h * kernel_w * padded, line = threadIdx.x >> 3;
  const Element* const b_rows = weight + (i64)(group * packed_rows + first_column + line) * row_size;
  Source source(x, size_d, size_h, size_w, LAST ? groups * padded : terms, LAST ? group * padded : padded, first_slab * 8 * CHUNK,
                taps_h, taps_w);
  if constexpr (LAST) {
#pragma unroll
    for (int i = 0; i < Source::COPIES; ++i) {
      const int p = first_row + line + i * LINES, q = p % volume;
      source.pixel(i, p < rows, p / volume, q / area * ad.step + ad.first, q % area / aw.count * ah.step + ah.first,
                   q % aw.count * aw.step + aw.first);
    }
    source.find(tap.d * ad.shift, tap.h * ah.shift, tap.w * aw.shift);
  } else {
    const int p = first_row + threadIdx.x % BM, q = p % volume;
    source.image += (i64)(min(p / volume, batch - 1) * source_channels + group * terms) * size_d * size_h * size_w;
    source.d = p < rows ? q / area * ad.step + ad.first : -(1 << 28);
    source.h = q % area / aw.count * ah.step + ah.first;
    source.w = q % aw.count * aw.step + aw.first;
    source.turn(ad, ah, aw);
  }
  const Shared base = shared_of(memory);
  Shared stage_in = base, stage_out = base;
  const auto copy_slab = [&]() {
    const bool there = chunk < all_chunks;
    if constexpr (LAST)
      source.copy(stage_in, tap.d * ad.shift, tap.h * ah.shift, tap.w * aw.shift, c * CHUNK, there);
    else
      source.copy(stage_in, ad, ah, aw);
    const Element* from = b_rows + weight_tap() * padded + c * CHUNK;
    const Shared to = stage_in + Source::BYTES + line * 128 + ((threadIdx.x ^ line) & 7) * 16;
#pragma unroll
    for (int i = 0; i < B_COPIES; ++i) copy16(to + i * LINES * 128, from + i * LINES * row_size, there ? 16 : 0);
    chunk += 8;
    c += 8;
    if (c >= chunks) {
      do {
        c -= chunks;
        tap.next(taps_h, taps_w);
      } while (c >= chunks);
      if constexpr (LAST) source.find(tap.d * ad.shift, tap.h * ah.shift, tap.w * aw.shift);
    }
    stage_in = stage_in == base + (STAGES - 1) * STAGE ? base : stage_in + STAGE;
  };

  // ---- arithmetic
  float sum[MT][NT][4];
#pragma unroll
  for (int i = 0; i < MT; ++i)
#pragma unroll
    for (int j = 0; j < NT; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) sum[i][j][e] = 0.f;
#pragma unroll
  for (int s = 0; s < STAGES - 1; ++s) {
    if (s < slabs) copy_slab();
    copies_commit();
  }
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, matrix = lane >> 3, in_matrix = lane & 7;
  const int warp_row = warp / (BN / WN) * WM, warp_column = warp % (BN / WN) * WN;
  // Matrices of the weight: columns 0-7 of the first and of the second chunk of a step, columns 8-15 of both. Of the source:
  // pixels 0-7 and 8-15 of the first chunk, the same of the second.
  const u32 b_at = Source::BYTES + (warp_column + (matrix >> 1) * 8 + in_matrix) * 128 + ((matrix & 1) ^ in_matrix) * 16;
  const u32 a_at = LAST ? (warp_row + (matrix & 1) * 8 + in_matrix) * 128 + ((matrix >> 1) ^ in_matrix) * 16
                        : ((lane & 3) * (BM + 8) + warp_row + (lane >> 2)) * 4;
  for (int slab = 0; slab < slabs; ++slab) {
    copies_wait<STAGES - 2>();
    __syncthreads();  // the slab is there for all, and nobody reads any longer the stage that is copied to next
    if (slab + STAGES - 1 < slabs) copy_slab();
    copies_commit();
#pragma unroll(Kind::SPLIT ? 1 : 4)
    for (int step = 0; step < 4; ++step) {
      u32 a[MT][4], b[NT][2];
#pragma unroll
      for (int i = 0; i < MT; ++i) {
        if constexpr (LAST) {
          load_matrices(a[i], ((stage_out + a_at) ^ (step * 32)) + i * 16 * 128);
        } else {
          constexpr int PITCH = (BM + 8) * 4;
          const Shared at = stage_out + a_at + step * 8 * PITCH + i * 64;
          a[i][0] = load_word(at);
          a[i][1] = load_word(at + 32);
          a[i][2] = load_word(at + 4 * PITCH);
          a[i][3] = load_word(at + 4 * PITCH + 32);
        }
#pragma unroll
        for (int e = 0; e < 4; ++e) a[i][e] = Kind::rounded(a[i][e]);  // the weight was rounded when it was packed
      }
#pragma unroll
      for (int j = 0; j < NT; j += 2) {
        u32 r[4];
        load_matrices(r, ((stage_out + b_at) ^ (step * 32)) + j * 8 * 128);
        b[j][0] = r[0];
        b[j][1] = r[1];
        b[j + 1][0] = r[2];
        b[j + 1][1] = r[3];
      }
      multiply_add<Kind>(sum, a, b);
    }
    stage_out = stage_out == base + (STAGES - 1) * STAGE ? base : stage_out + STAGE;
  }
  copies_wait<0>();

  // ---- results: a thread has two columns of a pixel at a time
  const int target_d = gradient ? in_d : out_d, target_h = gradient ? in_h : out_h, target_w = gradient ? in_w : out_w;
  const int target_volume = target_d * target_h * target_w;
  const int pixel_stride = last ? target_channels : 1, column_stride = last ? 1 : target_volume;
#pragma unroll
  for (int i = 0; i < MT; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int p = first_row + warp_row + i * 16 + half * 8 + (lane >> 2);
      if (p >= rows) continue;
      const int q = p % volume;
      const int pixel = ((ad.at + q / area * ad.apart) * target_h + ah.at + q % area / aw.count * ah.apart) * target_w + aw.at +
                        q % aw.count * aw.apart;
      const int at = p / volume * target_channels * target_volume + pixel * pixel_stride + group * columns * column_stride;
#pragma unroll
      for (int j = 0; j < NT; ++j)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int column = first_column + warp_column + j * 8 + (lane & 3) * 2 + e;
          if (column >= columns) continue;
          float value = sum[i][j][half * 2 + e];
          if (slices > 1) {
            parts[(i64)slice * batch * target_channels * target_volume + at + column * column_stride] = value;
          } else {
            if (has_bias) value += widened(bias[group * columns + column]);
            if (has_residual) value += widened(residual[at + column * column_stride]);
            y[at + column * column_stride] = narrowed<Element>(relu ? positive(value) : value);
          }
        }
    }
}
