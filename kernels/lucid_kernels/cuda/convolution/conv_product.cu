// one module an instance
// on compute capability 9.0: sm_90a
// instantiate: conv_product<Tf32, 128, 128, 64, 64, 3>, conv_product<Tf32, 128, 64, 64, 32, 3>
// instantiate: conv_product<Tf32, 128, 32, 32, 32, 4>, conv_product<Tf32, 64, 64, 32, 32, 4>
// instantiate: conv_product<Tf32, 128, 128, 16, 128, 3>, conv_product<Tf32, 128, 64, 16, 64, 4>
// instantiate: conv_product<Tf32, 128, 256, 16, 256, 4>, conv_product<Tf32, 64, 128, 16, 128, 4>
// instantiate: conv_product<Tf32, 64, 64, 16, 64, 4>
// instantiate: conv_product<Float32, 128, 64, 64, 32, 3>, conv_product<Float32, 128, 32, 32, 32, 4>
// instantiate: conv_product<Float32, 64, 64, 32, 32, 4>
// instantiate: conv_product<Float16, 128, 128, 64, 64, 3>, conv_product<Float16, 128, 64, 64, 32, 3>
// instantiate: conv_product<Float16, 128, 32, 32, 32, 4>, conv_product<Float16, 64, 64, 32, 32, 4>
// instantiate: conv_product<Float16, 128, 128, 16, 128, 3>, conv_product<Float16, 128, 64, 16, 64, 4>
// instantiate: conv_product<Float16, 128, 256, 16, 256, 4>, conv_product<Float16, 64, 128, 16, 128, 4>
// instantiate: conv_product<Float16, 64, 64, 16, 64, 4>
// instantiate: conv_product<Bfloat16, 128, 128, 64, 64, 3>, conv_product<Bfloat16, 128, 64, 64, 32, 3>
// instantiate: conv_product<Bfloat16, 128, 32, 32, 32, 4>, conv_product<Bfloat16, 64, 64, 32, 32, 4>
// instantiate: conv_product<Bfloat16, 128, 128, 16, 128, 3>, conv_product<Bfloat16, 128, 64, 16, 64, 4>
// instantiate: conv_product<Bfloat16, 128, 256, 16, 256, 4>, conv_product<Bfloat16, 64, 128, 16, 128, 4>
// instantiate: conv_product<Bfloat16, 64, 64, 16, 64, 4>
//
// Convolution and its input gradient on tensor cores, as implicit matrix products of each group:
//
//   forward          Y[p, o]  = sum_k  X[p, k]  W[o, k]    p: output pixel,              k: (tap, input channel)
//   input gradient   DX[p, c] = sum_k  G[p, k]  W[c, k]    p: input pixel of one phase,  k: (tap of it, output channel)
//
// The source has its channels last, those of each group in whole chunks of 16 bytes (conv_pack.cu brings others into that order);
// the result may have them last or not. The weight is packed (conv_pack.cu): for each result channel a row of (tap, channel). A
// slab of the sum is 8 chunks. Slabs come to shared memory by asynchronous copies, STAGES - 1 of them ahead of the arithmetic.
//
// In tiles whose warps have 16 rows and all columns, warpgroups multiply the slabs where they lie (warpgroups.cuh).
//
// A few results with a long sum are cut along the sum into `slices`, which conv_pack.cu adds in order.
#include "conv_mma.cuh"
#include "conv_geometry.cuh"

// Copies the pixels of the source: a thread has one chunk of every LINES-th pixel of the tile. Rows of 128 bytes, whose chunks
// are swizzled by the row, so that neither copies nor ldmatrix have bank conflicts.
template <typename Kind, int BM, int THREADS> struct Source {
  using Element = typename Kind::Element;
  static constexpr int LINES = THREADS / 8, COPIES = BM / LINES;
  const Element* x;
  int at[COPIES], d[COPIES], h[COPIES], w[COPIES];  // the source under the first tap: element, place
  int size_d, size_h, size_w, channels;             // of all groups
  u32 inside;

  __device__ __forceinline__ Source(const Element* x_, const int4* pixels, int size_d_, int size_h_, int size_w_, int channels_)
      : x(x_), size_d(size_d_), size_h(size_h_), size_w(size_w_), channels(channels_), inside(0) {
#pragma unroll
    for (int i = 0; i < COPIES; ++i) {
      const int4 pixel = pixels[(threadIdx.x >> 3) + i * LINES];
      at[i] = pixel.x;
      d[i] = pixel.y;
      h[i] = pixel.z;
      w[i] = pixel.w;
    }
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

template <int V> struct Width {
  static constexpr int VALUE = V;
};
constexpr int log2_of(int n) { return n > 1 ? 1 + log2_of(n / 2) : 0; }

// `gradient`: x is G and y is DX. `last`: the channels of y lie last. Grid: x = (row tile, column tile) with the row tiles of the
// largest phase, y = slice, z = (phase, group). `packed_rows`: rows of the packed weight for a group, whole tiles. With slices > 1
// the results go to `parts`, (slices, *y.shape), without bias, residual and ReLU. `residual` is added; it lies as y does.
// Shared memory: the stages, of each row of the tile the pixel of the source (int4) and the place of the result (int).
template <typename Kind, int BM, int BN, int WM, int WN, int STAGES>
__global__ void __launch_bounds__(BM / WM * (BN / WN) * 32, BM + BN > 256 ? 1 : 2)
conv_product(const typename Kind::Element* __restrict__ x, const typename Kind::Element* __restrict__ weight,
             const typename Kind::Element* __restrict__ bias, int has_bias, const typename Kind::Element* __restrict__ residual,
             int has_residual, int relu, typename Kind::Element* __restrict__ y, float* __restrict__ parts, int slices,
             int slabs_per_slice, int gradient, int last, int column_tiles, int packed_rows, CONVOLUTION_ARGUMENTS) {
  using Element = typename Kind::Element;
  constexpr int CHUNK = Kind::CHUNK, THREADS = BM / WM * (BN / WN) * 32, LINES = THREADS / 8, B_COPIES = BN / LINES;
  constexpr int STAGE = (BM + BN) * 128, MT = WM / 16, NT = WN / 8;
  constexpr bool WARPGROUPS = WM == 16;
  static_assert(THREADS >= BM, "a thread for each row");
  extern __shared__ __align__(1024) unsigned char memory[];
  int4* const pixels = reinterpret_cast<int4*>(memory + STAGES * STAGE);
  int* const places = reinterpret_cast<int*>(pixels + BM);

  // ---- what this block computes. It is short: divisions take longer than all else here, and most are by 1.
  const int source_channels = gradient ? out_channels : in_channels, target_channels = gradient ? in_channels : out_channels;
  const int terms = groups == 1 ? source_channels : source_channels / groups;
  const int columns = groups == 1 ? target_channels : target_channels / groups;
  const int row_tile = blockIdx.x / (unsigned)column_tiles, slice = blockIdx.y;
  const int first_column = (blockIdx.x - row_tile * column_tiles) * BN, first_row = row_tile * BM;
  const int phase = groups == 1 ? blockIdx.z : blockIdx.z / groups, group = blockIdx.z - phase * groups;
  const bool whole = !gradient || stride_d * stride_h * stride_w == 1;  // all pixels, not those of a phase
  const int phase_dh = whole ? 0 : phase / stride_w, phase_d = whole ? 0 : phase_dh / stride_h;
  const int phase_h = phase_dh - phase_d * stride_h, phase_w = phase - phase_dh * stride_w;
  const Axis ad = gradient ? gradient_axis(phase_d, in_d, kernel_d, stride_d, pad_d, dilation_d)
                           : forward_axis(out_d, kernel_d, stride_d, pad_d, dilation_d);
  const Axis ah = gradient ? gradient_axis(phase_h, in_h, kernel_h, stride_h, pad_h, dilation_h)
                           : forward_axis(out_h, kernel_h, stride_h, pad_h, dilation_h);
  const Axis aw = gradient ? gradient_axis(phase_w, in_w, kernel_w, stride_w, pad_w, dilation_w)
                           : forward_axis(out_w, kernel_w, stride_w, pad_w, dilation_w);
  const int area = ah.count * aw.count, volume = ad.count * area, rows = batch * volume;
  if (first_row >= rows) return;  // the whole block
  const int size_d = gradient ? out_d : in_d, size_h = gradient ? out_h : in_h, size_w = gradient ? out_w : in_w;
  const int target_d = gradient ? in_d : out_d, target_h = gradient ? in_h : out_h, target_w = gradient ? in_w : out_w;
  const int target_volume = target_d * target_h * target_w;
  const int chunks = (terms + CHUNK - 1) / CHUNK, channels = groups * chunks * CHUNK;  // of a group, of all
  const int taps_h = max(ah.taps, 1), taps_w = max(aw.taps, 1);
  const int all_chunks = ad.taps * ah.taps * aw.taps * chunks;
  const int first_slab = slice * slabs_per_slice;
  const int slabs = max(0, min(slabs_per_slice, (all_chunks + 7) / 8 - first_slab));

  if (threadIdx.x < BM) {
    const unsigned p = first_row + threadIdx.x, n = p / (unsigned)volume, q = p - n * volume;
    const int in_d_ = ad.count == 1 ? 0 : q / (unsigned)area, in_plane = q - in_d_ * area;  // in the phase
    const int in_h_ = in_plane / (unsigned)aw.count, in_w_ = in_plane - in_h_ * aw.count;
    const int d = in_d_ * ad.step + ad.first, h = in_h_ * ah.step + ah.first, w = in_w_ * aw.step + aw.first;
    const int pixel = ((ad.at + in_d_ * ad.apart) * target_h + ah.at + in_h_ * ah.apart) * target_w + aw.at + in_w_ * aw.apart;
    const bool there = (int)p < rows;
    pixels[threadIdx.x] = make_int4((((int)n * size_d + d) * size_h + h) * size_w * channels + w * channels,
                                    there ? d : -(1 << 28), h, w);
    places[threadIdx.x] = there ? (int)n * target_channels * target_volume + pixel * (last ? target_channels : 1) : -1;
  }
  __syncthreads();

  // ---- copies: of the source by pixels, of the weight this thread has chunk threadIdx.x % 8 of every LINES-th row
  int chunk = first_slab * 8 + (threadIdx.x & 7);
  const int first_tap = chunk < chunks ? 0 : chunk / chunks;
  int c = chunk - first_tap * chunks;
  Tap tap(first_tap, taps_h, taps_w);
  const int row_size = kernel_d * kernel_h * kernel_w * chunks * CHUNK, line = threadIdx.x >> 3;
  const Element* const b_rows = weight + (i64)(group * packed_rows + first_column + line) * row_size;
  Source<Kind, BM, THREADS> source(x + group * chunks * CHUNK, pixels, size_d, size_h, size_w, channels);
  source.find(tap.d * ad.shift, tap.h * ah.shift, tap.w * aw.shift);
  const Shared base = shared_of(memory);
  Shared stage_in = base, stage_out = base;
  const auto copy_slab = [&]() {
    const bool there = chunk < all_chunks;
    source.copy(stage_in, tap.d * ad.shift, tap.h * ah.shift, tap.w * aw.shift, c * CHUNK, there);
    const int weight_tap = ((ad.first_tap + tap.d * ad.tap_step) * kernel_h + ah.first_tap + tap.h * ah.tap_step) * kernel_w +
                           aw.first_tap + tap.w * aw.tap_step;
    const Element* from = b_rows + (weight_tap * chunks + c) * CHUNK;
    const Shared to = stage_in + BM * 128 + line * 128 + ((threadIdx.x ^ line) & 7) * 16;
#pragma unroll
    for (int i = 0; i < B_COPIES; ++i) copy16(to + i * LINES * 128, from + i * LINES * row_size, there ? 16 : 0);
    chunk += 8;
    c += 8;
    if (c >= chunks) {
      do {
        c -= chunks;
        tap.next(taps_h, taps_w);
      } while (c >= chunks);
      source.find(tap.d * ad.shift, tap.h * ah.shift, tap.w * aw.shift);
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
  // Matrices of the source: pixels 0-7 and 8-15 of the first chunk of a step, the same of the second. Of the weight: columns 0-7
  // of both chunks, columns 8-15 of both.
  const u32 a_at = (warp_row + (matrix & 1) * 8 + in_matrix) * 128 + ((matrix >> 1) ^ in_matrix) * 16;
  const u32 b_at = (BM + warp_column + (matrix >> 1) * 8 + in_matrix) * 128 + ((matrix & 1) ^ in_matrix) * 16;
  for (int slab = 0; slab < slabs; ++slab) {
    copies_wait<STAGES - 2>();
    if constexpr (WARPGROUPS) {
      copies_for_warpgroups();
      warpgroup_wait();
    }
    __syncthreads();  // the slab is there for all, and nobody reads any longer the stage that is copied to next
    if constexpr (WARPGROUPS) {
      warpgroup_begin();
#pragma unroll
      for (int step = 0; step < 4; ++step)
#pragma unroll
        for (int j = 0; j < NT; j += 16)
          Kind::template warpgroup<min_of(BN, 128)>(sum[0] + j, stage_out + warp / 4 * 64 * 128, stage_out + (BM + j * 8) * 128,
                                                    step);
      warpgroup_commit();
    }
    if (slab + STAGES - 1 < slabs) copy_slab();
    copies_commit();
    if constexpr (!WARPGROUPS) {
#pragma unroll(Kind::SPLIT ? 1 : 4)
      for (int step = 0; step < 4; ++step) {
        u32 a[MT][4], b[NT][2];
#pragma unroll
        for (int i = 0; i < MT; ++i) load_matrices(a[i], ((stage_out + a_at) ^ (step * 32)) + i * 16 * 128);
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
    }
    stage_out = stage_out == base + (STAGES - 1) * STAGE ? base : stage_out + STAGE;
  }
  if constexpr (WARPGROUPS) warpgroup_wait();
  copies_wait<0>();
  __syncthreads();  // nobody reads the stages any longer

  // ---- results, by way of shared memory: lines of what lies side by side in y, the columns of a row or the rows of a column.
  // The words behind each line let the lanes of a write lie in different banks.
  float* const staged = reinterpret_cast<float*>(memory);
  const int pitch = last ? BN + 8 : BM + 4, of_row = last ? pitch : 1, of_column = last ? 1 : pitch;
#pragma unroll
  for (int i = 0; i < MT; ++i)
#pragma unroll
    for (int j = 0; j < NT; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        staged[(warp_row + i * 16 + (e >> 1) * 8 + (lane >> 2)) * of_row +
               (warp_column + j * 8 + (lane & 3) * 2 + (e & 1)) * of_column] = sum[i][j][e];
  __syncthreads();
  const int side_by_side = last ? columns : whole ? volume : 1;
  const auto deliver = [&](auto width, auto to_parts) {
    constexpr int V = decltype(width)::VALUE;
    constexpr bool PARTS = decltype(to_parts)::VALUE;
    const int bits = last ? log2_of(BN / V) : log2_of(BM / V);
#pragma unroll 4
    for (int turn = 0; turn < BM * BN / V / THREADS; ++turn) {
      const int i = turn * THREADS + threadIdx.x, line_ = i >> bits, first = (i & ((1 << bits) - 1)) * V;
      const int column = first_column + (last ? first : line_), place = places[last ? line_ : first];
      if (place < 0 || column >= columns) continue;
      const int in_all = group * columns + column;
      const i64 at = place + (i64)in_all * (last ? 1 : target_volume);
      float values[V];
      load<V>(staged + line_ * pitch + first, values);
      if constexpr (PARTS) {
        store<V>(parts + (i64)slice * batch * target_channels * target_volume + at, values);
      } else {
        if (has_bias)
#pragma unroll
          for (int e = 0; e < V; ++e) values[e] += widened(bias[in_all + (last ? e : 0)]);
        if (has_residual) {
          float added[V];
          load<V>(residual + at, added);
#pragma unroll
          for (int e = 0; e < V; ++e) values[e] += added[e];
        }
        if (relu)
#pragma unroll
          for (int e = 0; e < V; ++e) values[e] = positive(values[e]);
        store<V>(y + at, values);
      }
    }
  };
  const bool aligned = ((u64)y | (has_residual ? (u64)residual : 0)) % 16 == 0;
  if (slices > 1) {
    if (side_by_side % 4 == 0) deliver(Width<4>(), Width<true>());
    else deliver(Width<1>(), Width<true>());
  } else {
    if (side_by_side % CHUNK == 0 && aligned) deliver(Width<CHUNK>(), Width<false>());
    else deliver(Width<1>(), Width<false>());
  }
}
