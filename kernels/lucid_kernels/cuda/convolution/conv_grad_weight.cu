// one module an instance
// on compute capability 9.0: sm_90a
// instantiate: conv_grad_weight<Tf32, 128, 128, 64, 64, 3>, conv_grad_weight<Tf32, 128, 64, 64, 32, 3>
// instantiate: conv_grad_weight<Tf32, 128, 32, 32, 32, 4>, conv_grad_weight<Tf32, 64, 64, 32, 32, 4>
// instantiate: conv_grad_weight<Float32, 128, 64, 64, 32, 3>, conv_grad_weight<Float32, 128, 32, 32, 32, 4>
// instantiate: conv_grad_weight<Float32, 64, 64, 32, 32, 4>
// instantiate: conv_grad_weight<Float16, 128, 128, 64, 64, 3>, conv_grad_weight<Float16, 128, 64, 64, 32, 3>
// instantiate: conv_grad_weight<Float16, 128, 32, 32, 32, 4>, conv_grad_weight<Float16, 64, 64, 32, 32, 4>
// instantiate: conv_grad_weight<Float16, 128, 128, 16, 128, 3>, conv_grad_weight<Float16, 128, 64, 16, 64, 4>
// instantiate: conv_grad_weight<Float16, 128, 256, 16, 256, 4>, conv_grad_weight<Float16, 64, 128, 16, 128, 4>
// instantiate: conv_grad_weight<Float16, 64, 64, 16, 64, 4>
// instantiate: conv_grad_weight<Bfloat16, 128, 128, 64, 64, 3>, conv_grad_weight<Bfloat16, 128, 64, 64, 32, 3>
// instantiate: conv_grad_weight<Bfloat16, 128, 32, 32, 32, 4>, conv_grad_weight<Bfloat16, 64, 64, 32, 32, 4>
// instantiate: conv_grad_weight<Bfloat16, 128, 128, 16, 128, 3>, conv_grad_weight<Bfloat16, 128, 64, 16, 64, 4>
// instantiate: conv_grad_weight<Bfloat16, 128, 256, 16, 256, 4>, conv_grad_weight<Bfloat16, 64, 128, 16, 128, 4>
// instantiate: conv_grad_weight<Bfloat16, 64, 64, 16, 64, 4>
//
// The weight gradient of a convolution on tensor cores, as an implicit matrix product of each group:
//
//   DW[o, j] = sum_p  G[p, o]  X[p, j]      p: output pixel,  j: (tap, input channel)
//
// Both operands have their channels last, those of each group in whole chunks of 16 bytes (conv_pack.cu brings others into that
// order). They lie across the terms: rows are pixels. 16-bit elements are turned by ldmatrix; floats are read one by one, and 8
// words behind each row let the four pixels of a read lie in different banks. In tiles whose warps have 16 rows and all columns,
// warpgroups multiply 16-bit elements where they lie (warpgroups.cuh).
//
// The product is small and the sum long: it is cut into `slices`, which conv_pack.cu adds in order. A slab of the sum is 32
// pixels. Slabs come to shared memory by asynchronous copies, STAGES - 1 of them ahead of the arithmetic.
#include "conv_mma.cuh"
#include "conv_geometry.cuh"

// An output pixel, and how to go 32 pixels further without a division.
struct Pixel {
  int n, d, h, w, step_n, step_d, step_h, step_w;
  __device__ __forceinline__ Pixel(unsigned start, int out_d, int out_h, int out_w) {
    split(start, out_d, out_h, out_w, n, d, h, w);
    split(32, out_d, out_h, out_w, step_n, step_d, step_h, step_w);
  }
  static __device__ __forceinline__ void split(unsigned pixel, int out_d, int out_h, int out_w, int& n, int& d, int& h, int& w) {
    const unsigned row = pixel / (unsigned)out_w, plane = row / (unsigned)out_h;
    w = pixel - row * out_w;
    h = row - plane * out_h;
    n = out_d == 1 ? plane : plane / (unsigned)out_d;
    d = plane - n * out_d;
  }
  __device__ __forceinline__ void advance(int out_d, int out_h, int out_w) {
    w += step_w;
    h += step_h;
    d += step_d;
    n += step_n;
    if (w >= out_w) { w -= out_w; ++h; }
    if (h >= out_h) { h -= out_h; ++d; }
    if (d >= out_d) { d -= out_d; ++n; }
  }
};

// Where a slab has a chunk of a pixel: in rows of pixels, or as warpgroups.cuh wants them, 64 channels in 32 rows of their own.
template <bool WARPGROUPS> __device__ __forceinline__ Shared place(int pixel, int chunk, int pitch) {
  return WARPGROUPS ? (chunk / 8 * 32 + pixel) * 128 + ((chunk ^ pixel) & 7) * 16 : pixel * pitch + chunk * 16;
}

template <typename Kind> struct Fragments {
  static __device__ __forceinline__ u32 lines_at(int pitch) {  // lines 0-7 and 8-15 of pixels 0-7, the same of pixels 8-15
    const int lane = threadIdx.x & 31, matrix = lane >> 3;
    return ((matrix >> 1) * 8 + (lane & 7)) * pitch + (matrix & 1) * 16;
  }
  static __device__ __forceinline__ u32 columns_at(int pitch) {  // columns 0-7 of both halves of the pixels, 8-15 of both
    const int lane = threadIdx.x & 31, matrix = lane >> 3;
    return ((matrix & 1) * 8 + (lane & 7)) * pitch + (matrix >> 1) * 16;
  }
  static __device__ __forceinline__ void lines(u32* r, Shared at, int) { load_matrices_transposed(r, at); }
  static __device__ __forceinline__ void columns(u32 (*b)[2], Shared at, int) {
    u32 r[4];
    load_matrices_transposed(r, at);
#pragma unroll
    for (int e = 0; e < 4; ++e) b[e / 2][e % 2] = r[e];
  }
};
struct FloatFragments {
  static __device__ __forceinline__ u32 lines_at(int pitch) {
    const int lane = threadIdx.x & 31;
    return (lane & 3) * pitch + (lane >> 2) * 4;
  }
  static __device__ __forceinline__ u32 columns_at(int pitch) { return lines_at(pitch); }
  static __device__ __forceinline__ void lines(u32* r, Shared at, int pitch) {
#pragma unroll
    for (int e = 0; e < 4; ++e) r[e] = load_word(at + (e & 1) * 32 + (e >> 1) * 4 * pitch);
  }
  static __device__ __forceinline__ void columns(u32 (*b)[2], Shared at, int pitch) {
#pragma unroll
    for (int e = 0; e < 4; ++e) b[e / 2][e % 2] = load_word(at + (e >> 1) * 32 + (e & 1) * 4 * pitch);
  }
};
template <> struct Fragments<Tf32> : FloatFragments {};
template <> struct Fragments<Float32> : FloatFragments {};

// `rows` and `channels` of G and X are those of a group, filled up to whole chunks; `out_channels` and `in_channels` of
// all groups. parts: (slice, group, row, column), columns are (tap, channel) with the filled-up channels, rows those of a group as
// they are: `stored_rows`. Grid: x = (row tile, column tile), y = slice, z = group.
template <typename Kind, int BM, int BN, int WM, int WN, int STAGES>
__global__ void __launch_bounds__(BM / WM * (BN / WN) * 32, BM + BN > 256 ? 1 : 2)
conv_grad_weight(const typename Kind::Element* __restrict__ g, const typename Kind::Element* __restrict__ x,
                 float* __restrict__ parts, int column_tiles, int slabs_per_slice, int stored_rows, CONVOLUTION_ARGUMENTS) {
  using Element = typename Kind::Element;
  constexpr int CHUNK = Kind::CHUNK, THREADS = BM / WM * (BN / WN) * 32, SIZE = 16 / CHUNK;
  constexpr int LANES = THREADS / 32, A_COPIES = BM / CHUNK / LANES, B_COPIES = BN / CHUNK / LANES;
  constexpr bool WARPGROUPS = WM == 16;
  constexpr int BEHIND = WARPGROUPS ? 0 : 8, A_PITCH = (BM + BEHIND) * SIZE, B_PITCH = (BN + BEHIND) * SIZE;
  constexpr int STAGE = 32 * (A_PITCH + B_PITCH);
  constexpr int MT = WM / 16, NT = WN / 8;
  static_assert(BM % (CHUNK * LANES) == 0 && BN % (CHUNK * LANES) == 0, "as many chunks for each thread");
  extern __shared__ __align__(1024) unsigned char memory[];
  const int warp = threadIdx.x >> 5;
  const int rows = groups == 1 ? out_channels : out_channels / groups, channels = groups == 1 ? in_channels : in_channels / groups;
  const int columns = kernel_d * kernel_h * kernel_w * channels, pixels = batch * out_d * out_h * out_w;
  const int row_tile = blockIdx.x / (unsigned)column_tiles, slice = blockIdx.y, group = blockIdx.z;
  const int first_row = row_tile * BM, first_column = (blockIdx.x - row_tile * column_tiles) * BN;
  const int begin = slice * slabs_per_slice * 32, slabs = max(0, min(slabs_per_slice, (pixels - begin + 31) / 32));

  // ---- copies: a thread has one pixel of a slab, and of it every LANES-th chunk of the rows and of the columns. Where eight threads
  // have two pixels, those are 2 apart, or 4 where they are swizzled: so they lie in different banks.
  constexpr int APART = LANES == 4 ? WARPGROUPS ? 2 : 1 : 0;
  const int turn = threadIdx.x / LANES, lane_of = threadIdx.x % LANES;
  const int own = (turn & ~(1 | 1 << APART)) | (turn & 1) << APART | (turn >> APART & 1);
  int p = begin + own;
  Pixel at(p, out_d, out_h, out_w);
  int shift[B_COPIES], taps[B_COPIES];  // of a chunk of columns: how far it lies from the pixel, and its tap in 7, 12 and 12 bits
  {
    int c = first_column + lane_of * CHUNK;
    Tap tap(c / (unsigned)channels, kernel_h, kernel_w);
    c %= (unsigned)channels;
#pragma unroll
    for (int i = 0; i < B_COPIES; ++i) {
      const int d = tap.d * dilation_d, h = tap.h * dilation_h, w = tap.w * dilation_w;
      shift[i] = ((d * in_h + h) * in_w + w) * in_channels + c;
      taps[i] = tap.d < kernel_d ? d << 24 | h << 12 | w : -1;
      for (c += LANES * CHUNK; c >= channels && tap.d < kernel_d; c -= channels) tap.next(kernel_h, kernel_w);
    }
  }
  const Shared base = shared_of(memory);
  Shared stage_in = base, stage_out = base;
  const auto copy_slab = [&]() {
    const bool there = p < pixels;
    const Element* const g_from = g + p * out_channels + group * rows + first_row + lane_of * CHUNK;
#pragma unroll
    for (int i = 0; i < A_COPIES; ++i) {
      const bool ok = there && first_row + (lane_of + i * LANES) * CHUNK < rows;
      copy16(stage_in + place<WARPGROUPS>(own, lane_of + i * LANES, A_PITCH), g_from + i * LANES * CHUNK, ok ? 16 : 0);
    }
    const int d0 = at.d * stride_d - pad_d, h0 = at.h * stride_h - pad_h, w0 = at.w * stride_w - pad_w;
    const Element* const x_from = x + (((at.n * in_d + d0) * in_h + h0) * in_w + w0) * in_channels + group * channels;
#pragma unroll
    for (int i = 0; i < B_COPIES; ++i) {
      const int d = d0 + (taps[i] >> 24), h = h0 + (taps[i] >> 12 & 4095), w = w0 + (taps[i] & 4095);
      const bool ok = there && taps[i] >= 0 && (unsigned)d < (unsigned)in_d && (unsigned)h < (unsigned)in_h &&
                      (unsigned)w < (unsigned)in_w;
      copy16(stage_in + 32 * A_PITCH + place<WARPGROUPS>(own, lane_of + i * LANES, B_PITCH), x_from + shift[i], ok ? 16 : 0);
    }
    p += 32;
    at.advance(out_d, out_h, out_w);
    stage_in = stage_in == base + (STAGES - 1) * STAGE ? base : stage_in + STAGE;
  };

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
  const int warp_row = warp / (BN / WN) * WM, warp_column = warp % (BN / WN) * WN;
  const u32 a_at = warp_row * SIZE + Fragments<Kind>::lines_at(A_PITCH);
  const u32 b_at = 32 * A_PITCH + warp_column * SIZE + Fragments<Kind>::columns_at(B_PITCH);
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
      for (int step = 0; step < 2; ++step)
#pragma unroll
        for (int j = 0; j < NT; j += 16)
          Kind::template warpgroup<min_of(BN, 128), true>(sum[0] + j, stage_out + warp / 4 * 32 * 128,
                                                          stage_out + 32 * A_PITCH + j / 8 * 32 * 128, step);
      warpgroup_commit();
    }
    if (slab + STAGES - 1 < slabs) copy_slab();
    copies_commit();
    if constexpr (!WARPGROUPS) {
#pragma unroll(Kind::SPLIT ? 1 : 4)
      for (int step = 0; step < 32 / Kind::DEPTH; ++step) {
        u32 a[MT][4], b[NT][2];
#pragma unroll
        for (int i = 0; i < MT; ++i)
          Fragments<Kind>::lines(a[i], stage_out + a_at + step * Kind::DEPTH * A_PITCH + i * 16 * SIZE, A_PITCH);
#pragma unroll
        for (int j = 0; j < NT; j += 2)
          Fragments<Kind>::columns(b + j, stage_out + b_at + step * Kind::DEPTH * B_PITCH + j * 8 * SIZE, B_PITCH);
        multiply_add<Kind>(sum, a, b);
      }
    }
    stage_out = stage_out == base + (STAGES - 1) * STAGE ? base : stage_out + STAGE;
  }
  if constexpr (WARPGROUPS) warpgroup_wait();
  copies_wait<0>();

  // ---- results: a thread has two columns of a row at a time; there are whole chunks of columns
  const int lane = threadIdx.x & 31;
  float* const to_parts = parts + (i64)(slice * groups + group) * stored_rows * columns;
#pragma unroll
  for (int i = 0; i < MT; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first_row + warp_row + i * 16 + half * 8 + (lane >> 2);
      if (row >= stored_rows) continue;
#pragma unroll
      for (int j = 0; j < NT; ++j) {
        const int column = first_column + warp_column + j * 8 + (lane & 3) * 2;
        if (column < columns) store<2>(to_parts + (i64)row * columns + column, sum[i][j] + half * 2);
      }
    }
}
