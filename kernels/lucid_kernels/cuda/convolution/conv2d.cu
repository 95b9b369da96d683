// instantiate: conv2d_tile<float>, conv2d_tile<double>, conv2d_direct<float>, conv2d_direct<double>
// instantiate: conv2d_direct<__half>, conv2d_direct<__nv_bfloat16>
// instantiate: conv2d_grad_input_tile<float>, conv2d_grad_input_tile<double>
// instantiate: conv2d_grad_input_direct<float>, conv2d_grad_input_direct<double>
// instantiate: conv2d_grad_input_direct<__half>, conv2d_grad_input_direct<__nv_bfloat16>
// instantiate: conv2d_grad_weight_tile<float>, conv2d_grad_weight_tile<double>
// instantiate: conv2d_grad_weight_direct<float>, conv2d_grad_weight_direct<double>
// instantiate: conv2d_grad_weight_direct<__half>, conv2d_grad_weight_direct<__nv_bfloat16>
// instantiate: conv2d_sum_slices<float>, conv2d_sum_slices<double>
//
// 2-d convolution, NCHW, and its two gradients, as implicit matrix products: nothing like im2col is ever stored.
//
//   forward          Y[o, p]  = sum_k  W[o, k]  X[k, p]     p: output pixel (n, oh, ow),  k: (c, kh, kw)
//   input gradient   DX[c, p] = sum_k  W[k, c]  G[k, p]     p: input pixel (n, h, w),     k: (o, kh, kw)
//   weight gradient  DW[o, j] = sum_p  G[o, p]  X[p, j]     j: (c, kh, kw),               p: output pixel
//
// each for one group. A block computes a 64x64 tile of the product, a thread 4x4 of it; the sum runs over slabs of 16
// that are staged through shared memory, double buffered, so that the loads of the next slab overlap the arithmetic.
// A tile is wasteful where a group has a few channels only (depthwise): the `direct` kernels take those, halves too, whose
// sums are float.
// Every sum has a fixed order: the results do not depend on the schedule.
//
// __launch_bounds__(256, 1): without the 1 ptxas aims at full occupancy and spills registers for it.
#include "conv_elements.cuh"

// 16 integers instead of a struct argument: CuPy checks and passes plain scalars.
#define GEOMETRY_ARGUMENTS                                                                                    \
  int batch, int in_channels, int in_h, int in_w, int out_channels, int kernel_h, int kernel_w, int out_h,    \
      int out_w, int stride_h, int stride_w, int pad_h, int pad_w, int dilation_h, int dilation_w, int groups

constexpr int TILE = 64;              // rows and columns of the product that one block computes
constexpr int SLAB = 16;              // terms of the sum staged at a time
constexpr int MICRO = 4;              // rows and columns of one thread
constexpr int THREADS = 256;          // (TILE / MICRO) squared
constexpr int LOADS = TILE * SLAB / THREADS;  // elements of one operand that a thread stages per slab
constexpr int PITCH = TILE + 4;       // keeps rows 16-byte aligned and spreads the staging stores over the banks

// Counts in mixed radix, like an odometer: (major, mid, minor) of a flat index, advanced by a fixed step without a
// division. One advance per slab replaces two integer divisions per element.
struct Odometer {
  int mids, minors, step_major, step_mid, step_minor, major, mid, minor;
  __device__ Odometer(i64 start, int mids_, int minors_, int step) : mids(mids_), minors(minors_) {
    step_minor = step % minors; step_mid = step / minors % mids; step_major = step / minors / mids;
    minor = (int)(start % minors); mid = (int)(start / minors % mids); major = (int)(start / minors / mids);
  }
  __device__ __forceinline__ void advance() {
    minor += step_minor; mid += step_mid; major += step_major;
    if (minor >= minors) { minor -= minors; ++mid; }
    if (mid >= mids) { mid -= mids; ++major; }
  }
};

// Where a thread stages its elements of a slab: along the terms (for operands contiguous in memory along the terms),
// or along the rows or columns of the product.
struct AlongTerms {
  static __device__ __forceinline__ int term(int) { return threadIdx.x % SLAB; }
  static __device__ __forceinline__ int line(int i) { return threadIdx.x / SLAB + i * (THREADS / SLAB); }
};
struct AlongLines {
  static __device__ __forceinline__ int term(int i) { return threadIdx.x / TILE + i * (THREADS / TILE); }
  static __device__ __forceinline__ int line(int) { return threadIdx.x % TILE; }
};

// The common part. `a.fetch(values)` reads this thread's elements of the next slab of the left operand into registers,
// zero where there is none; likewise `b` for the right operand.
template <typename T, typename A, typename B>
__device__ __forceinline__ void multiply_tile(A& a, B& b, int slabs, T (&sum)[MICRO][MICRO]) {
  __shared__ __align__(16) T rows[2][SLAB][PITCH];
  __shared__ __align__(16) T cols[2][SLAB][PITCH];
  const int row = threadIdx.x / (TILE / MICRO) * MICRO, col = threadIdx.x % (TILE / MICRO) * MICRO;
  T next_a[LOADS], next_b[LOADS];
#pragma unroll
  for (int i = 0; i < MICRO; ++i)
#pragma unroll
    for (int j = 0; j < MICRO; ++j) sum[i][j] = T(0);
  for (int slab = -1; slab < slabs; ++slab) {
    const bool more = slab + 1 < slabs;
    if (more) { a.fetch(next_a); b.fetch(next_b); }
    if (slab >= 0) {
      const int now = slab & 1;
#pragma unroll
      for (int k = 0; k < SLAB; ++k) {
        T left[MICRO], right[MICRO];
#pragma unroll
        for (int i = 0; i < MICRO; ++i) { left[i] = rows[now][k][row + i]; right[i] = cols[now][k][col + i]; }
#pragma unroll
        for (int i = 0; i < MICRO; ++i)
#pragma unroll
          for (int j = 0; j < MICRO; ++j) sum[i][j] += left[i] * right[j];
      }
    }
    if (more) {
      const int then = (slab + 1) & 1;
#pragma unroll
      for (int i = 0; i < LOADS; ++i) {
        rows[then][A::Layout::term(i)][A::Layout::line(i)] = next_a[i];
        cols[then][B::Layout::term(i)][B::Layout::line(i)] = next_b[i];
      }
    }
    __syncthreads();  // one is enough: the buffer that the next round writes was read before this barrier
  }
}

// ---- forward ---------------------------------------------------------------------------------------------------
template <typename T> struct WeightRows {  // W[o, k] of one group: contiguous along k
  using Layout = AlongTerms;
  const T* weight; int term, terms, first, lines;
  __device__ __forceinline__ void fetch(T (&v)[LOADS]) {
#pragma unroll
    for (int i = 0; i < LOADS; ++i) {
      const int o = first + Layout::line(i);
      v[i] = term < terms && o < lines ? weight[(i64)o * terms + term] : T(0);
    }
    term += SLAB;
  }
};

template <typename T> struct InputPatches {  // X[k, p]: a thread keeps its pixel and walks over (c, kh, kw)
  using Layout = AlongLines;
  const T* x; Odometer at; int channels, in_h, in_w, dilation_h, dilation_w, h0, w0; bool inside;
  __device__ __forceinline__ void fetch(T (&v)[LOADS]) {
#pragma unroll
    for (int i = 0; i < LOADS; ++i) {
      const int h = h0 + at.mid * dilation_h, w = w0 + at.minor * dilation_w;
      const bool ok = inside && at.major < channels && h >= 0 && h < in_h && w >= 0 && w < in_w;
      v[i] = ok ? x[((i64)at.major * in_h + h) * in_w + w] : T(0);
      at.advance();  // THREADS / TILE terms further: the next element of this slab, at last the first of the next slab
    }
  }
};

template <typename T>
__global__ void __launch_bounds__(THREADS)
conv2d_tile(const T* __restrict__ x, const T* __restrict__ weight, const T* __restrict__ bias, int has_bias,
            T* __restrict__ y, GEOMETRY_ARGUMENTS) {
  const int group_in = in_channels / groups, group_out = out_channels / groups;
  const int terms = group_in * kernel_h * kernel_w;
  const i64 plane = (i64)out_h * out_w, pixels = batch * plane;
  const i64 tiles = (pixels + TILE - 1) / TILE;
  const int group = (int)(blockIdx.x / tiles);  // the group is part of grid x: y and z end at 65535
  const i64 first_pixel = blockIdx.x % tiles * TILE;
  const int first_row = blockIdx.y * TILE;

  WeightRows<T> a{weight + (i64)group * group_out * terms, AlongTerms::term(0), terms, first_row, group_out};
  const i64 p = first_pixel + AlongLines::line(0);
  const i64 n = p / plane, in_plane = p % plane;
  InputPatches<T> b{x + (n * in_channels + (i64)group * group_in) * in_h * in_w,
                    Odometer(AlongLines::term(0), kernel_h, kernel_w, THREADS / TILE),
                    group_in, in_h, in_w, dilation_h, dilation_w,
                    (int)(in_plane / out_w) * stride_h - pad_h, (int)(in_plane % out_w) * stride_w - pad_w, p < pixels};
  T sum[MICRO][MICRO];
  multiply_tile<T>(a, b, (terms + SLAB - 1) / SLAB, sum);

  const int row = first_row + threadIdx.x / (TILE / MICRO) * MICRO;
  const i64 col = first_pixel + threadIdx.x % (TILE / MICRO) * MICRO;
#pragma unroll
  for (int j = 0; j < MICRO; ++j) {
    if (col + j >= pixels) break;
    T* out = y + ((col + j) / plane * out_channels + (i64)group * group_out) * plane + (col + j) % plane;
#pragma unroll
    for (int i = 0; i < MICRO; ++i)
      if (row + i < group_out)
        out[(row + i) * plane] = sum[i][j] + (has_bias ? bias[group * group_out + row + i] : T(0));
  }
}

// One thread per output element.
template <typename T>
__global__ void __launch_bounds__(256, 1)
conv2d_direct(const T* __restrict__ x, const T* __restrict__ weight, const T* __restrict__ bias, int has_bias,
              T* __restrict__ y, GEOMETRY_ARGUMENTS) {
  const int group_in = in_channels / groups, group_out = out_channels / groups;
  GRID_STRIDE(e, (i64)batch * out_channels * out_h * out_w) {
    const int w0 = (int)(e % out_w) * stride_w - pad_w, h0 = (int)(e / out_w % out_h) * stride_h - pad_h;
    const i64 image = e / out_w / out_h;
    const int o = (int)(image % out_channels);
    const T* plane = x + (image / out_channels * in_channels + (i64)(o / group_out) * group_in) * in_h * in_w;
    const T* filter = weight + (i64)o * group_in * kernel_h * kernel_w;
    Accumulator<T> sum = 0;
    for (int c = 0; c < group_in; ++c, plane += (i64)in_h * in_w)
      for (int kh = 0; kh < kernel_h; ++kh)
        for (int kw = 0; kw < kernel_w; ++kw, ++filter) {
          const int h = h0 + kh * dilation_h, w = w0 + kw * dilation_w;
          if (h >= 0 && h < in_h && w >= 0 && w < in_w) sum += widened(*filter) * widened(plane[(i64)h * in_w + w]);
        }
    y[e] = narrowed<T>(has_bias ? sum + widened(bias[o]) : sum);
  }
}

// ---- input gradient --------------------------------------------------------------------------------------------
// With a stride only some taps of the kernel reach a given pixel: those with (h + pad - kh * dilation) % stride == 0.
// Pixels with the same (h + pad) % stride, a phase, are reached by the same taps, every `tap_step`-th one. A block
// handles pixels of one phase, so that no term of its sum is zero for that reason.
struct Phase {
  int first_pixel, pixels;         // the pixels first_pixel + i * stride < size
  int first_tap, tap_step, taps;   // the taps first_tap + i * tap_step < kernel
  __device__ Phase(int phase, int size, int kernel, int stride, int pad, int dilation) {
    first_pixel = (phase - pad % stride + stride) % stride;
    pixels = first_pixel < size ? (size - first_pixel + stride - 1) / stride : 0;
    tap_step = 1;
    while ((i64)tap_step * dilation % stride) ++tap_step;
    first_tap = 0;
    while (first_tap < tap_step && (i64)first_tap * dilation % stride != phase) ++first_tap;
    taps = first_tap < tap_step && first_tap < kernel ? (kernel - first_tap + tap_step - 1) / tap_step : 0;
  }
};

template <typename T> struct WeightColumns {  // W[k, c]: the taps of one phase, of all output channels
  using Layout = AlongLines;
  const T* weight; Odometer at; int outputs, inputs, c, kernel_h, kernel_w, tap_h, tap_w, tap_step_h, tap_step_w;
  __device__ __forceinline__ void fetch(T (&v)[LOADS]) {
#pragma unroll
    for (int i = 0; i < LOADS; ++i) {
      const int kh = tap_h + at.mid * tap_step_h, kw = tap_w + at.minor * tap_step_w;
      v[i] = at.major < outputs && c < inputs
                 ? weight[(((i64)at.major * inputs + c) * kernel_h + kh) * kernel_w + kw] : T(0);
      at.advance();
    }
  }
};

template <typename T> struct GradientPatches {  // G[k, p]: for one input pixel, the output pixels that used it
  using Layout = AlongLines;
  const T* g; Odometer at; int outputs, out_h, out_w, h, w, stride_h, stride_w, back_h, back_w; bool inside;
  __device__ __forceinline__ void fetch(T (&v)[LOADS]) {
#pragma unroll
    for (int i = 0; i < LOADS; ++i) {
      const int oh = (h - at.mid * back_h) / stride_h, ow = (w - at.minor * back_w) / stride_w;
      const bool ok = inside && at.major < outputs && h >= at.mid * back_h && oh < out_h && w >= at.minor * back_w &&
                      ow < out_w;
      v[i] = ok ? g[((i64)at.major * out_h + oh) * out_w + ow] : T(0);
      at.advance();
    }
  }
};

template <typename T>
__global__ void __launch_bounds__(THREADS)
conv2d_grad_input_tile(const T* __restrict__ g, const T* __restrict__ weight, T* __restrict__ dx, i64 tiles,
                       GEOMETRY_ARGUMENTS) {
  // grid x = (group, phase of h, phase of w, tile); `tiles` is the largest number of tiles of a phase
  const i64 rest = blockIdx.x / tiles;
  const int group = (int)(rest / stride_w / stride_h);
  const Phase ph((int)(rest / stride_w % stride_h), in_h, kernel_h, stride_h, pad_h, dilation_h);
  const Phase pw((int)(rest % stride_w), in_w, kernel_w, stride_w, pad_w, dilation_w);
  const i64 plane = (i64)ph.pixels * pw.pixels, pixels = batch * plane;
  const i64 first = blockIdx.x % tiles * TILE;
  if (first >= pixels) return;  // the whole block: no barrier is skipped by a part of it

  const int group_in = in_channels / groups, group_out = out_channels / groups, first_row = blockIdx.y * TILE;
  const int taps_h = ph.taps > 0 ? ph.taps : 1, taps_w = pw.taps > 0 ? pw.taps : 1;
  const int terms = group_out * ph.taps * pw.taps;  // 0 where the stride jumps over these pixels: then dx is 0
  const Odometer start(AlongLines::term(0), taps_h, taps_w, THREADS / TILE);
  WeightColumns<T> a{weight + (i64)group * group_out * group_in * kernel_h * kernel_w, start, group_out, group_in,
                     first_row + AlongLines::line(0), kernel_h, kernel_w, ph.first_tap, pw.first_tap, ph.tap_step,
                     pw.tap_step};
  const i64 p = first + AlongLines::line(0), n = p / plane, in_plane = p % plane;
  GradientPatches<T> b{
      g + (n * out_channels + (i64)group * group_out) * out_h * out_w, start, group_out, out_h, out_w,
      ph.first_pixel + (int)(in_plane / pw.pixels) * stride_h + pad_h - ph.first_tap * dilation_h,
      pw.first_pixel + (int)(in_plane % pw.pixels) * stride_w + pad_w - pw.first_tap * dilation_w, stride_h, stride_w,
      ph.tap_step * dilation_h, pw.tap_step * dilation_w, p < pixels};
  T sum[MICRO][MICRO];
  multiply_tile<T>(a, b, (terms + SLAB - 1) / SLAB, sum);

  const int row = first_row + threadIdx.x / (TILE / MICRO) * MICRO;
  const i64 col = first + threadIdx.x % (TILE / MICRO) * MICRO, in_size = (i64)in_h * in_w;
#pragma unroll
  for (int j = 0; j < MICRO; ++j) {
    if (col + j >= pixels) break;
    const i64 q = (col + j) % plane;
    const i64 h = ph.first_pixel + q / pw.pixels * stride_h, w = pw.first_pixel + q % pw.pixels * stride_w;
    T* out = dx + ((col + j) / plane * in_channels + (i64)group * group_in) * in_size + h * in_w + w;
#pragma unroll
    for (int i = 0; i < MICRO; ++i)
      if (row + i < group_in) out[(row + i) * in_size] = sum[i][j];
  }
}

// One thread per input element: it gathers from the outputs that used it.
template <typename T>
__global__ void __launch_bounds__(256, 1)
conv2d_grad_input_direct(const T* __restrict__ g, const T* __restrict__ weight, T* __restrict__ dx,
                         GEOMETRY_ARGUMENTS) {
  const int group_in = in_channels / groups, group_out = out_channels / groups;
  GRID_STRIDE(e, (i64)batch * in_channels * in_h * in_w) {
    const int w = (int)(e % in_w) + pad_w, h = (int)(e / in_w % in_h) + pad_h;
    const i64 image = e / in_w / in_h;
    const int c = (int)(image % in_channels), o0 = c / group_in * group_out;
    Accumulator<T> sum = 0;
    for (int o = o0; o < o0 + group_out; ++o) {
      const T* plane = g + (image / in_channels * out_channels + o) * out_h * out_w;
      const T* filter = weight + ((i64)o * group_in + c % group_in) * kernel_h * kernel_w;
      for (int kh = 0; kh < kernel_h; ++kh) {
        const int above = h - kh * dilation_h, oh = above / stride_h;
        if (above < 0 || above % stride_h || oh >= out_h) continue;
        for (int kw = 0; kw < kernel_w; ++kw) {
          const int left = w - kw * dilation_w, ow = left / stride_w;
          if (left < 0 || left % stride_w || ow >= out_w) continue;
          sum += widened(filter[kh * kernel_w + kw]) * widened(plane[(i64)oh * out_w + ow]);
        }
      }
    }
    dx[e] = narrowed<T>(sum);
  }
}

// ---- weight gradient -------------------------------------------------------------------------------------------
// The product is small and its sum is long, so the sum is cut into `slices` that run in parallel; each writes its part
// and conv2d_sum_slices adds the parts in order. Float atomics would do it in one kernel, with other bits every run.
template <typename T> struct GradientRows {  // G[o, p]: a thread walks over output pixels, contiguous in memory
  using Layout = AlongTerms;
  const T* g; Odometer at; i64 term, end, image, plane; int out_w, first, lines;
  __device__ __forceinline__ void fetch(T (&v)[LOADS]) {
#pragma unroll
    for (int i = 0; i < LOADS; ++i) {
      const int o = first + Layout::line(i);
      v[i] = term < end && o < lines ? g[at.major * image + o * plane + (i64)at.mid * out_w + at.minor] : T(0);
    }
    term += SLAB;
    at.advance();
  }
};

template <typename T> struct InputColumns {  // X[p, j]: the same output pixels, each with the input pixel under tap j
  using Layout = AlongTerms;
  const T* x; Odometer at; i64 term, end, image;
  int in_h, in_w, stride_h, stride_w;
  i64 offset[LOADS]; int dh[LOADS], dw[LOADS];  // of the taps of this thread: channel, and shift of the pixel
  __device__ __forceinline__ void fetch(T (&v)[LOADS]) {
#pragma unroll
    for (int i = 0; i < LOADS; ++i) {
      const int h = at.mid * stride_h + dh[i], w = at.minor * stride_w + dw[i];
      const bool ok = term < end && offset[i] >= 0 && h >= 0 && h < in_h && w >= 0 && w < in_w;
      v[i] = ok ? x[at.major * image + offset[i] + (i64)h * in_w + w] : T(0);
    }
    term += SLAB;
    at.advance();
  }
};

template <typename T>
__global__ void __launch_bounds__(THREADS)
conv2d_grad_weight_tile(const T* __restrict__ g, const T* __restrict__ x, T* __restrict__ parts, int slices,
                        int slabs_per_slice, GEOMETRY_ARGUMENTS) {
  // grid x = (group, slice, column tile), grid y = row tile; parts is (slices, *weight.shape)
  const int group_in = in_channels / groups, group_out = out_channels / groups;
  const int columns = group_in * kernel_h * kernel_w, tiles = (columns + TILE - 1) / TILE;
  const int first_col = blockIdx.x % tiles * TILE, slice = blockIdx.x / tiles % slices;
  const int group = blockIdx.x / tiles / slices, first_row = blockIdx.y * TILE;
  const i64 out_plane = (i64)out_h * out_w, in_plane = (i64)in_h * in_w, terms = batch * out_plane;
  const i64 begin = (i64)slice * slabs_per_slice * SLAB, left = terms - begin;
  const int slabs = left <= 0 ? 0 : (int)min((i64)slabs_per_slice, (left + SLAB - 1) / SLAB);

  const i64 term = begin + AlongTerms::term(0);
  const Odometer start(term, out_h, out_w, SLAB);
  GradientRows<T> a{g + (i64)group * group_out * out_plane, start, term, terms, out_channels * out_plane,
                    out_plane, out_w, first_row, group_out};
  InputColumns<T> b{x + (i64)group * group_in * in_plane, start, term, terms, in_channels * in_plane,
                    in_h, in_w, stride_h, stride_w, {}, {}, {}};
#pragma unroll
  for (int i = 0; i < LOADS; ++i) {
    const int j = first_col + AlongTerms::line(i);
    b.offset[i] = j < columns ? j / kernel_w / kernel_h * in_plane : -1;
    b.dh[i] = j / kernel_w % kernel_h * dilation_h - pad_h;
    b.dw[i] = j % kernel_w * dilation_w - pad_w;
  }
  T sum[MICRO][MICRO];
  multiply_tile<T>(a, b, slabs, sum);

  const int row = first_row + threadIdx.x / (TILE / MICRO) * MICRO;
  const int col = first_col + threadIdx.x % (TILE / MICRO) * MICRO;
  T* part = parts + ((i64)slice * out_channels + (i64)group * group_out) * columns;
#pragma unroll
  for (int i = 0; i < MICRO; ++i)
#pragma unroll
    for (int j = 0; j < MICRO; ++j)
      if (row + i < group_out && col + j < columns) part[(i64)(row + i) * columns + col + j] = sum[i][j];
}

template <typename T>
__global__ void __launch_bounds__(256, 1)
conv2d_sum_slices(const T* __restrict__ parts, T* __restrict__ dw, int slices, i64 size) {
  GRID_STRIDE(e, size) {
    T sum = T(0);
    for (int s = 0; s < slices; ++s) sum += parts[s * size + e];
    dw[e] = sum;
  }
}

// One block of 256 threads per weight element.
template <typename T>
__global__ void __launch_bounds__(256, 1)
conv2d_grad_weight_direct(const T* __restrict__ g, const T* __restrict__ x, T* __restrict__ dw, GEOMETRY_ARGUMENTS) {
  __shared__ Accumulator<T> scratch[32];
  const int group_in = in_channels / groups, group_out = out_channels / groups;
  const int kw = blockIdx.x % kernel_w, kh = blockIdx.x / kernel_w % kernel_h;
  const int o = blockIdx.x / kernel_w / kernel_h / group_in;
  const int c = o / group_out * group_in + blockIdx.x / kernel_w / kernel_h % group_in;
  const int h0 = kh * dilation_h - pad_h, w0 = kw * dilation_w - pad_w;
  Accumulator<T> sum = 0;
  for (Odometer at(threadIdx.x, out_h, out_w, 256); at.major < batch; at.advance()) {
    const int h = at.mid * stride_h + h0, w = at.minor * stride_w + w0;
    if (h >= 0 && h < in_h && w >= 0 && w < in_w)
      sum += widened(g[(((i64)at.major * out_channels + o) * out_h + at.mid) * out_w + at.minor]) *
             widened(x[(((i64)at.major * in_channels + c) * in_h + h) * in_w + w]);
  }
  sum = block_reduce(sum, Sum(), Accumulator<T>(0), scratch);
  if (threadIdx.x == 0) dw[blockIdx.x] = narrowed<T>(sum);
}
