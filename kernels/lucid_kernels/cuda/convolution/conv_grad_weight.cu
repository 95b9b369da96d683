// one module an instance
// instantiate: conv_grad_weight_planar<Tf32, 128, 128, 64, 64, 3>, conv_grad_weight_planar<Tf32, 128, 64, 64, 32, 3>
// instantiate: conv_grad_weight_planar<Tf32, 128, 32, 32, 32, 4>, conv_grad_weight_planar<Tf32, 64, 64, 32, 32, 4>
// instantiate: conv_grad_weight_planar<Float32, 128, 64, 64, 32, 3>
// instantiate: conv_grad_weight_planar<Float32, 128, 32, 32, 32, 4>, conv_grad_weight_planar<Float32, 64, 64, 32, 32, 4>
// instantiate: conv_grad_weight_last<Tf32, 128, 128, 64, 64, 3>, conv_grad_weight_last<Tf32, 128, 64, 64, 32, 3>
// instantiate: conv_grad_weight_last<Tf32, 128, 32, 32, 32, 4>, conv_grad_weight_last<Tf32, 64, 64, 32, 32, 4>
// instantiate: conv_grad_weight_last<Float32, 128, 64, 64, 32, 3>
// instantiate: conv_grad_weight_last<Float32, 128, 32, 32, 32, 4>, conv_grad_weight_last<Float32, 64, 64, 32, 32, 4>
// instantiate: conv_grad_weight_last<Float16, 128, 128, 64, 64, 3>, conv_grad_weight_last<Float16, 128, 64, 64, 32, 3>
// instantiate: conv_grad_weight_last<Float16, 128, 32, 32, 32, 4>, conv_grad_weight_last<Float16, 64, 64, 32, 32, 4>
// instantiate: conv_grad_weight_last<Bfloat16, 128, 128, 64, 64, 3>, conv_grad_weight_last<Bfloat16, 128, 64, 64, 32, 3>
// instantiate: conv_grad_weight_last<Bfloat16, 128, 32, 32, 32, 4>, conv_grad_weight_last<Bfloat16, 64, 64, 32, 32, 4>
//
// The weight gradient of a convolution on tensor cores, as an implicit matrix product of each group:
//
//   DW[o, j] = sum_p  G[p, o]  X[p, j]      p: output pixel,  j: (tap, input channel)
//
// The product is small and the sum long: it is cut into `slices`, which conv_pack.cu adds in order. A slab of the sum is 32
// pixels. Slabs come to shared memory by asynchronous copies, STAGES - 1 of them ahead of the arithmetic.
#include "conv_mma.cuh"
#include "conv_geometry.cuh"

// An output pixel, and how to go `step` pixels further without a division.
struct Pixel {
  int n, d, h, w, step_n, step_d, step_h, step_w;
  __device__ __forceinline__ Pixel(int start, int step, int out_d, int out_h, int out_w)
      : n(start / out_w / out_h / out_d), d(start / out_w / out_h % out_d), h(start / out_w % out_h), w(start % out_w),
        step_n(step / out_w / out_h / out_d), step_d(step / out_w / out_h % out_d), step_h(step / out_w % out_h),
        step_w(step % out_w) {}
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

// What a block computes: grid x = (group, slice, row tile, column tile).
struct Block {
  int group, slice, first_row, first_column, begin, slabs;
  template <int BM, int BN>
  static __device__ __forceinline__ Block of(int rows, int columns, int slices, int slabs_per_slice, int pixels) {
    const int column_tiles = (columns + BN - 1) / BN, row_tiles = (rows + BM - 1) / BM;
    Block found;
    int rest = blockIdx.x;
    found.first_column = rest % column_tiles * BN;
    rest /= column_tiles;
    found.first_row = rest % row_tiles * BM;
    rest /= row_tiles;
    found.slice = rest % slices;
    found.group = rest / slices;
    found.begin = found.slice * slabs_per_slice * 32;
    found.slabs = max(0, min(slabs_per_slice, (pixels - found.begin + 31) / 32));
    return found;
  }
};

template <int MT, int NT> __device__ __forceinline__ void clear(float (&sum)[MT][NT][4]) {
#pragma unroll
  for (int i = 0; i < MT; ++i)
#pragma unroll
    for (int j = 0; j < NT; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) sum[i][j][e] = 0.f;
}

// parts: (slice, group, row, column)
template <int MT, int NT>
__device__ __forceinline__ void store(const float (&sum)[MT][NT][4], float* parts, int first_row, int first_column, int rows,
                                      int columns) {
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int i = 0; i < MT; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first_row + i * 16 + half * 8 + (lane >> 2);
      if (row >= rows) continue;
#pragma unroll
      for (int j = 0; j < NT; ++j)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int column = first_column + j * 8 + (lane & 3) * 2 + e;
          if (column < columns) parts[(i64)row * columns + column] = sum[i][j][half * 2 + e];
        }
    }
}

// ---- float (N, C, D, H, W) as it lies. Both operands lie along the terms, the pixels: rows of 32 pixels, 128 bytes,
// whose chunks are swizzled by the row. A lane copies one pixel of a slab, a warp every WARPS-th row.
template <typename Kind, int BM, int BN, int WM, int WN, int STAGES>
__global__ void __launch_bounds__(BM / WM * (BN / WN) * 32, 2)
conv_grad_weight_planar(const float* __restrict__ g, const float* __restrict__ x, float* __restrict__ parts, int slices,
                        int slabs_per_slice, CONVOLUTION_ARGUMENTS) {
  constexpr int WARPS = BM / WM * (BN / WN), STAGE = (BM + BN) * 128, MT = WM / 16, NT = WN / 8;
  extern __shared__ __align__(128) unsigned char memory[];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int rows = out_channels / groups, channels = in_channels / groups;
  const int columns = kernel_d * kernel_h * kernel_w * channels;
  const int out_volume = out_d * out_h * out_w, in_volume = in_d * in_h * in_w, pixels = batch * out_volume;
  const Block block = Block::of<BM, BN>(rows, columns, slices, slabs_per_slice, pixels);
  int p = block.begin + lane;
  Pixel at(p, 32, out_d, out_h, out_w);
  const int first_column = block.first_column + warp;
  const int first_c = first_column % channels;
  const Tap first_tap(first_column / channels, kernel_h, kernel_w);
  const Shared base = shared_of(memory);
  Shared stage_in = base, stage_out = base;
  const auto copy_slab = [&]() {
    const bool there = p < pixels;
    const float* const g_from = g + (there ? (at.n * out_channels + block.group * rows) * out_volume + p % out_volume : 0);
    const float* const image = x + (there ? (at.n * in_channels + block.group * channels) * in_volume : 0);
    const int place = lane >> 2, word = (lane & 3) * 4;
#pragma unroll(Kind::SPLIT ? 8 : BM / WARPS)  // ptxas would spill registers
    for (int i = 0; i < BM / WARPS; ++i) {
      const int row = warp + i * WARPS, o = block.first_row + row;
      const bool ok = there && o < rows;
      copy4(stage_in + row * 128 + ((place ^ row) & 7) * 16 + word, ok ? g_from + o * out_volume : g, ok ? 4 : 0);
    }
    int c = first_c;  // this and the tap are the same for all lanes
    Tap tap = first_tap;
    const int d0 = at.d * stride_d - pad_d, h0 = at.h * stride_h - pad_h, w0 = at.w * stride_w - pad_w;
#pragma unroll 4
    for (int i = 0; i < BN / WARPS; ++i) {
      const int row = warp + i * WARPS;
      const int d = d0 + tap.d * dilation_d, h = h0 + tap.h * dilation_h, w = w0 + tap.w * dilation_w;
      const bool ok = there && tap.d < kernel_d && (unsigned)d < (unsigned)in_d && (unsigned)h < (unsigned)in_h &&
                      (unsigned)w < (unsigned)in_w;
      copy4(stage_in + BM * 128 + row * 128 + ((place ^ row) & 7) * 16 + word,
            ok ? image + c * in_volume + (d * in_h + h) * in_w + w : x, ok ? 4 : 0);
      c += WARPS;
      while (c >= channels) {
        c -= channels;
        tap.next(kernel_h, kernel_w);
      }
    }
    p += 32;
    at.advance(out_d, out_h, out_w);
    stage_in = stage_in == base + (STAGES - 1) * STAGE ? base : stage_in + STAGE;
  };

  float sum[MT][NT][4];
  clear(sum);
#pragma unroll
  for (int s = 0; s < STAGES - 1; ++s) {
    if (s < block.slabs) copy_slab();
    copies_commit();
  }
  const int warp_row = warp / (BN / WN) * WM, warp_column = warp % (BN / WN) * WN, matrix = lane >> 3, in_matrix = lane & 7;
  const u32 a_at = (warp_row + (matrix & 1) * 8 + in_matrix) * 128 + ((matrix >> 1) ^ in_matrix) * 16;
  const u32 b_at = (BM + warp_column + (matrix >> 1) * 8 + in_matrix) * 128 + ((matrix & 1) ^ in_matrix) * 16;
  for (int slab = 0; slab < block.slabs; ++slab) {
    copies_wait<STAGES - 2>();
    __syncthreads();  // the slab is there for all, and nobody reads any longer the stage that is copied to next
    if (slab + STAGES - 1 < block.slabs) copy_slab();
    copies_commit();
#pragma unroll(Kind::SPLIT ? 1 : 4)
    for (int step = 0; step < 4; ++step) {
      u32 a[MT][4], b[NT][2];
#pragma unroll
      for (int i = 0; i < MT; ++i) {
        load_matrices(a[i], ((stage_out + a_at) ^ (step * 32)) + i * 16 * 128);
#pragma unroll
        for (int e = 0; e < 4; ++e) a[i][e] = Kind::rounded(a[i][e]);
      }
#pragma unroll
      for (int j = 0; j < NT; j += 2) {
        u32 r[4];
        load_matrices(r, ((stage_out + b_at) ^ (step * 32)) + j * 8 * 128);
#pragma unroll
        for (int e = 0; e < 4; ++e) b[j + e / 2][e % 2] = Kind::rounded(r[e]);
      }
      multiply_add<Kind>(sum, a, b);
    }
    stage_out = stage_out == base + (STAGES - 1) * STAGE ? base : stage_out + STAGE;
  }
  copies_wait<0>();
  store(sum, parts + (i64)(block.slice * groups + block.group) * rows * columns, block.first_row + warp_row,
        block.first_column + warp_column, rows, columns);
}

// ---- channels last, whole chunks of 16 bytes a group. Both operands lie across the terms: rows are pixels. 16-bit elements are
// turned by ldmatrix; floats are read one by one, and 8 words behind each row let the four pixels of a read lie in different
// banks.
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
template <typename Kind> struct FloatFragments {
  static __device__ __forceinline__ u32 lines_at(int pitch) {
    const int lane = threadIdx.x & 31;
    return (lane & 3) * pitch + (lane >> 2) * 4;
  }
  static __device__ __forceinline__ u32 columns_at(int pitch) { return lines_at(pitch); }
  static __device__ __forceinline__ void lines(u32* r, Shared at, int pitch) {
#pragma unroll
    for (int e = 0; e < 4; ++e) r[e] = Kind::rounded(load_word(at + (e & 1) * 32 + (e >> 1) * 4 * pitch));
  }
  static __device__ __forceinline__ void columns(u32 (*b)[2], Shared at, int pitch) {
#pragma unroll
    for (int e = 0; e < 4; ++e) b[e / 2][e % 2] = Kind::rounded(load_word(at + (e >> 1) * 32 + (e & 1) * 4 * pitch));
  }
};
template <> struct Fragments<Tf32> : FloatFragments<Tf32> {};
template <> struct Fragments<Float32> : FloatFragments<Float32> {};

// `rows` and `channels` of G and X are those of a group, filled up to whole chunks; `out_channels` and `in_channels` of
// all groups. Columns of `parts` are (tap, channel) with the filled-up channels; its rows end with `stored_rows`.
template <typename Kind, int BM, int BN, int WM, int WN, int STAGES>
__global__ void __launch_bounds__(BM / WM * (BN / WN) * 32, 2)
conv_grad_weight_last(const typename Kind::Element* __restrict__ g, const typename Kind::Element* __restrict__ x,
                      float* __restrict__ parts, int slices, int slabs_per_slice, int stored_rows, CONVOLUTION_ARGUMENTS) {
  using Element = typename Kind::Element;
  constexpr int CHUNK = Kind::CHUNK, THREADS = BM / WM * (BN / WN) * 32, SIZE = 16 / CHUNK;
  constexpr int A_CHUNKS = BM / CHUNK, B_CHUNKS = BN / CHUNK, A_LINES = THREADS / A_CHUNKS, B_LINES = THREADS / B_CHUNKS;
  constexpr int A_PITCH = BM * SIZE + 8 * SIZE, B_PITCH = BN * SIZE + 8 * SIZE, STAGE = 32 * (A_PITCH + B_PITCH);
  constexpr int MT = WM / 16, NT = WN / 8;
  static_assert(32 % A_LINES == 0 && 32 % B_LINES == 0, "whole rows of a slab");
  extern __shared__ __align__(128) unsigned char memory[];
  const int warp = threadIdx.x >> 5;
  const int rows = out_channels / groups, channels = in_channels / groups;
  const int columns = kernel_d * kernel_h * kernel_w * channels, pixels = batch * out_d * out_h * out_w;
  const Block block = Block::of<BM, BN>(rows, columns, slices, slabs_per_slice, pixels);

  const int row = block.first_row + threadIdx.x % A_CHUNKS * CHUNK, column = block.first_column + threadIdx.x % B_CHUNKS * CHUNK;
  const bool row_there = row < rows, column_there = column < columns;
  const Tap tap(column / channels, kernel_h, kernel_w);
  const int d0 = tap.d * dilation_d - pad_d, h0 = tap.h * dilation_h - pad_h, w0 = tap.w * dilation_w - pad_w;
  const Element* const x_from = x + block.group * channels + column % channels;
  int q = block.begin + threadIdx.x / A_CHUNKS, p = block.begin + threadIdx.x / B_CHUNKS;
  Pixel at(p, B_LINES, out_d, out_h, out_w);
  const Shared base = shared_of(memory);
  Shared stage_in = base, stage_out = base;
  const auto copy_slab = [&]() {
    const Shared a_to = stage_in + threadIdx.x / A_CHUNKS * A_PITCH + threadIdx.x % A_CHUNKS * 16;
    const Shared b_to = stage_in + 32 * A_PITCH + threadIdx.x / B_CHUNKS * B_PITCH + threadIdx.x % B_CHUNKS * 16;
#pragma unroll
    for (int i = 0; i < 32 / A_LINES; ++i) {
      const bool ok = row_there && q < pixels;
      copy16(a_to + i * A_LINES * A_PITCH, g + (ok ? q * out_channels + block.group * rows + row : 0), ok ? 16 : 0);
      q += A_LINES;
    }
#pragma unroll
    for (int i = 0; i < 32 / B_LINES; ++i) {
      const int d = at.d * stride_d + d0, h = at.h * stride_h + h0, w = at.w * stride_w + w0;
      const bool ok = column_there && p < pixels && (unsigned)d < (unsigned)in_d && (unsigned)h < (unsigned)in_h &&
                      (unsigned)w < (unsigned)in_w;
      copy16(b_to + i * B_LINES * B_PITCH, ok ? x_from + (((at.n * in_d + d) * in_h + h) * in_w + w) * in_channels : x, ok ? 16 : 0);
      p += B_LINES;
      at.advance(out_d, out_h, out_w);
    }
    stage_in = stage_in == base + (STAGES - 1) * STAGE ? base : stage_in + STAGE;
  };

  float sum[MT][NT][4];
  clear(sum);
#pragma unroll
  for (int s = 0; s < STAGES - 1; ++s) {
    if (s < block.slabs) copy_slab();
    copies_commit();
  }
  const int warp_row = warp / (BN / WN) * WM, warp_column = warp % (BN / WN) * WN;
  const u32 a_at = warp_row * SIZE + Fragments<Kind>::lines_at(A_PITCH);
  const u32 b_at = 32 * A_PITCH + warp_column * SIZE + Fragments<Kind>::columns_at(B_PITCH);
  for (int slab = 0; slab < block.slabs; ++slab) {
    copies_wait<STAGES - 2>();
    __syncthreads();  // the slab is there for all, and nobody reads any longer the stage that is copied to next
    if (slab + STAGES - 1 < block.slabs) copy_slab();
    copies_commit();
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
    stage_out = stage_out == base + (STAGES - 1) * STAGE ? base : stage_out + STAGE;
  }
  copies_wait<0>();
  store(sum, parts + (i64)(block.slice * groups + block.group) * stored_rows * columns, block.first_row + warp_row,
        block.first_column + warp_column, stored_rows, columns);
}
