// 2-d pooling of images and of batches with their channels last. Gradients gather or walk in a fixed order: no float atomics, the
// same bits every time. A thread computes one output, or of channels that come last N neighbouring ones.
// instantiate: max_pool2d<float, 4>, max_pool2d<float, 1>, max_pool2d<double, 2>, max_pool2d<double, 1>, max_pool2d<__half, 8>
// instantiate: max_pool2d<__half, 1>, max_pool2d<__nv_bfloat16, 8>, max_pool2d<__nv_bfloat16, 1>
// instantiate: adaptive_max_pool2d<float, 4>, adaptive_max_pool2d<float, 1>, adaptive_max_pool2d<double, 2>
// instantiate: adaptive_max_pool2d<double, 1>, adaptive_max_pool2d<__half, 8>, adaptive_max_pool2d<__half, 1>
// instantiate: adaptive_max_pool2d<__nv_bfloat16, 8>, adaptive_max_pool2d<__nv_bfloat16, 1>
// instantiate: avg_pool2d<float, 4>, avg_pool2d<float, 1>, avg_pool2d<double, 2>, avg_pool2d<double, 1>, avg_pool2d<__half, 8>
// instantiate: avg_pool2d<__half, 1>, avg_pool2d<__nv_bfloat16, 8>, avg_pool2d<__nv_bfloat16, 1>
// instantiate: avg_pool2d_grad<float, 4>, avg_pool2d_grad<float, 1>, avg_pool2d_grad<double, 2>, avg_pool2d_grad<double, 1>
// instantiate: avg_pool2d_grad<__half, 8>, avg_pool2d_grad<__half, 1>, avg_pool2d_grad<__nv_bfloat16, 8>
// instantiate: avg_pool2d_grad<__nv_bfloat16, 1>
// instantiate: adaptive_avg_pool2d<float, 4>, adaptive_avg_pool2d<float, 1>, adaptive_avg_pool2d<double, 2>
// instantiate: adaptive_avg_pool2d<double, 1>, adaptive_avg_pool2d<__half, 8>, adaptive_avg_pool2d<__half, 1>
// instantiate: adaptive_avg_pool2d<__nv_bfloat16, 8>, adaptive_avg_pool2d<__nv_bfloat16, 1>
// instantiate: adaptive_avg_pool2d_grad<float, 4>, adaptive_avg_pool2d_grad<float, 1>, adaptive_avg_pool2d_grad<double, 2>
// instantiate: adaptive_avg_pool2d_grad<double, 1>, adaptive_avg_pool2d_grad<__half, 8>, adaptive_avg_pool2d_grad<__half, 1>
// instantiate: adaptive_avg_pool2d_grad<__nv_bfloat16, 8>, adaptive_avg_pool2d_grad<__nv_bfloat16, 1>
// instantiate: max_pool2d_grad<float>, max_pool2d_grad<double>, max_pool2d_grad<__half>, max_pool2d_grad<__nv_bfloat16>
// instantiate: max_pool2d_grad_windows<float, 4>, max_pool2d_grad_windows<float, 1>, max_pool2d_grad_windows<double, 2>
// instantiate: max_pool2d_grad_windows<double, 1>, max_pool2d_grad_windows<__half, 8>, max_pool2d_grad_windows<__half, 1>
// instantiate: max_pool2d_grad_windows<__nv_bfloat16, 8>, max_pool2d_grad_windows<__nv_bfloat16, 1>
// instantiate: max_pool2d_gather<float>, max_pool2d_gather<double>, max_pool2d_gather<__half>, max_pool2d_gather<__nv_bfloat16>
// instantiate: adaptive_avg_pool2d_warp<float, 4>, adaptive_avg_pool2d_warp<float, 1>, adaptive_avg_pool2d_warp<double, 2>
// instantiate: adaptive_avg_pool2d_warp<double, 1>, adaptive_avg_pool2d_warp<__half, 8>, adaptive_avg_pool2d_warp<__half, 1>
// instantiate: adaptive_avg_pool2d_warp<__nv_bfloat16, 8>, adaptive_avg_pool2d_warp<__nv_bfloat16, 1>
// instantiate: max_pool2d_spread<float, 4>, max_pool2d_spread<float, 1>, max_pool2d_spread<double, 2>, max_pool2d_spread<double, 1>
// instantiate: max_pool2d_spread<__half, 8>, max_pool2d_spread<__half, 1>, max_pool2d_spread<__nv_bfloat16, 8>
// instantiate: max_pool2d_spread<__nv_bfloat16, 1>
// one module an instance
//
// __launch_bounds__(256, 1): without the 1 ptxas aims at full occupancy and spills registers for it.
#include "halves.cuh"

// Output e, or pack e of N outputs: its place in the plane, the element of the input where its plane begins, and how far apart
// neighbouring pixels lie there. `channels` is 0 for planes (h, w), else images are (h, w, channels).
template <int N> struct Place {
  i64 h, w, base, step;
  __device__ __forceinline__ Place(i64 e, i64 channels, int out_h, int out_w, i64 in_size) : base(0), step(1) {
    if (e >> 32) place<i64>(e, channels, out_h, out_w, in_size);
    else place<unsigned>((unsigned)e, (unsigned)channels, out_h, out_w, in_size);  // the long division takes five times as long
  }
  template <typename I> __device__ __forceinline__ void place(I e, I channels, I out_h, I out_w, i64 in_size) {
    if (channels) {
      const I packs = channels / N;
      base = e % packs * N;
      step = channels;
      e /= packs;
    }
    w = e % out_w;
    e /= out_w;
    h = e % out_h;
    base += e / out_h * in_size * step;
  }
};

template <int N, typename A> __device__ __forceinline__ void fill(A (&values)[N], A value) {
#pragma unroll
  for (int j = 0; j < N; ++j) values[j] = value;
}

// ---- indices of maxima: 8 or 4 bytes; or 1, the place of the maximum in a window of 2x2, and 4 for none ---------
__device__ __forceinline__ i64 load_index(const void* indices, i64 at, int size) {
  return size == 4 ? ((const int*)indices)[at] : ((const i64*)indices)[at];
}
__device__ __forceinline__ void store_index(void* indices, i64 at, i64 index, int size) {
  if (size == 4) ((int*)indices)[at] = (int)index;
  else ((i64*)indices)[at] = index;
}

// ---- max -------------------------------------------------------------------------------------------------------
template <int N, typename T>
__device__ __forceinline__ void take_maxima(const T* from, i64 place, Accumulator<T> (&best)[N], i64 (&where)[N]) {
  Accumulator<T> value[N];
  load<N>(from, value);
#pragma unroll
  for (int j = 0; j < N; ++j)
    if (value[j] > best[j] || value[j] != value[j]) {
      best[j] = value[j];
      where[j] = place;
    }
}

template <typename T, int N>
__global__ void __launch_bounds__(256, 1)
max_pool2d(const T* __restrict__ x, T* __restrict__ y, void* __restrict__ indices, i64 packs, i64 channels, int in_h, int in_w,
           int out_h, int out_w, int kernel_h, int kernel_w, int stride_h, int stride_w, int pad_h, int pad_w,
           int dilation_h, int dilation_w, int relu, int index_size) {
  typedef Accumulator<T> A;
  GRID_STRIDE(e, packs) {
    const Place<N> out(e, channels, out_h, out_w, (i64)in_h * in_w);
    // 64 bits: a dilated window may end beyond 2^31. Taps in the padding above and to the left are skipped.
    i64 h0 = out.h * stride_h - pad_h, w0 = out.w * stride_w - pad_w;
    const i64 h1 = min(h0 + (i64)(kernel_h - 1) * dilation_h + 1, (i64)in_h);
    const i64 w1 = min(w0 + (i64)(kernel_w - 1) * dilation_w + 1, (i64)in_w);
    if (h0 < 0) h0 += (dilation_h - 1 - h0) / dilation_h * dilation_h;
    if (w0 < 0) w0 += (dilation_w - 1 - w0) / dilation_w * dilation_w;
    A best[N];
    i64 where[N];
    fill(best, -infinity<A>());
    fill(where, h0 * in_w + w0);  // also the answer for a window of -inf only
    for (i64 h = h0; h < h1; h += dilation_h)
      for (i64 w = w0; w < w1; w += dilation_w)
        take_maxima(x + out.base + (h * in_w + w) * out.step, h * in_w + w, best, where);
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const bool none = relu && best[j] <= A(0);
      if (index_size == 1) {
        const i64 place = where[j] - (out.h * 2 * in_w + out.w * 2);
        ((unsigned char*)indices)[e * N + j] = none ? 4 : place < in_w ? place : place - in_w + 2;
      } else {
        store_index(indices, e * N + j, none ? -1 : where[j], index_size);
      }
      if (relu && best[j] < A(0)) best[j] = A(0);
    }
    store<N>(y + e * N, best);
  }
}

// dx[plane, indices[plane, i]] += g[plane, i], in the order of i for every element of dx; without `add` the last one stays. The
// sums are in their own type, of halves in an array `sums` of their own, and rounded in the end.
// A warp owns a band of rows of one plane of dx. It walks over all outputs of that plane, 32 at a time, and adds those
// that fall in its band. Lanes with the same target all compute the same sum; the first of them stores it. The plane
// is cut into bands only to have enough warps when there are few planes; the result does not depend on it.
template <typename T>
__global__ void __launch_bounds__(256, 1)
max_pool2d_grad(const T* __restrict__ g, const void* __restrict__ indices, int index_size, Accumulator<T>* sums, T* dx, i64 planes,
                i64 in_size, i64 out_size, int bands, int add, int relu, int* flag, int code) {
  typedef Accumulator<T> A;
  const int lane = threadIdx.x & 31;
  const i64 band_size = (in_size + bands - 1) / bands;
  // Whole warps go round this loop together: the loop variable is the same in all lanes.
  for (i64 warp = (i64)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5); warp < planes * bands;
       warp += (i64)gridDim.x * (blockDim.x >> 5)) {
    const i64 plane = warp / bands, begin = warp % bands * band_size, end = min(begin + band_size, in_size);
    A* to = sums + plane * in_size;
    for (i64 i = begin + lane; i < end; i += 32) to[i] = A(0);
    __syncwarp();  // the zeros of other lanes are added to below
    for (i64 i0 = 0; i0 < out_size; i0 += 32) {
      const i64 i = i0 + lane;
      const i64 target = i < out_size ? load_index(indices, plane * out_size + i, index_size) : -1;
      if (i < out_size && (target < (relu ? -1 : 0) || target >= in_size)) set_error(flag, code, target, in_size);
      const bool mine = target >= begin && target < end;
      const unsigned takers = __ballot_sync(0xffffffffu, mine);
      if (!takers) continue;
      const A value = mine ? widened(g[plane * out_size + i]) : A(0);
      A sum = mine ? to[target] : A(0);
      int first = 32;
      for (unsigned rest = takers; rest; rest &= rest - 1) {  // every lane that takes part, in order
        const int source = __ffs((int)rest) - 1;
        const i64 other = __shfl_sync(0xffffffffu, target, source);
        const A term = __shfl_sync(0xffffffffu, value, source);
        if (mine && other == target) {
          sum = add ? sum + term : term;
          first = min(first, source);
        }
      }
      __syncwarp();  // all lanes have read their pixel
      if (first == lane) to[target] = sum;
      __syncwarp();  // the next 32 outputs may hit the same pixel
    }
    if (sizeof(T) < sizeof(A))
      for (i64 i = begin + lane; i < end; i += 32) dx[plane * in_size + i] = narrowed<T>(to[i]);
  }
}

// A bit for each of the N indices at `from` that is `index`.
template <int N, typename I> __device__ __forceinline__ unsigned matches(const I* from, I index) {
  constexpr int AT_ONCE = N * sizeof(I) <= 16 ? N : 16 / sizeof(I);
  unsigned found = 0;
#pragma unroll
  for (int i = 0; i < N; i += AT_ONCE) {
    const Pack<I, AT_ONCE> pack(from + i);
#pragma unroll
    for (int j = 0; j < AT_ONCE; ++j) found |= (unsigned)(pack.element[j] == index) << (i + j);
  }
  return found;
}

// The first window that starts at pixel x or behind.
__device__ __forceinline__ int first_from(i64 x, int stride) { return (int)(((unsigned)x + (unsigned)stride - 1u) / (unsigned)stride); }

// The same sums where the indices are those of windows: an element looks into all windows that reach it, in their order.
template <typename T, int N>
__global__ void __launch_bounds__(256, 1)
max_pool2d_grad_windows(const T* __restrict__ g, T* __restrict__ dx, const void* __restrict__ indices, i64 packs, i64 channels,
                        int in_h, int in_w, int out_h, int out_w, int kernel_h, int kernel_w, int stride_h, int stride_w, int pad_h,
                        int pad_w, int dilation_h, int dilation_w, int index_size) {
  typedef Accumulator<T> A;
  const i64 reach_h = (i64)(kernel_h - 1) * dilation_h, reach_w = (i64)(kernel_w - 1) * dilation_w;
  GRID_STRIDE(e, packs) {
    const Place<N> in(e, channels, in_h, in_w, (i64)out_h * out_w);
    const i64 own = in.h * in_w + in.w, h = in.h + pad_h, w = in.w + pad_w;  // in the padded plane, where windows start at 0
    const int oh0 = h > reach_h ? first_from(h - reach_h, stride_h) : 0, oh1 = min(first_from(h + 1, stride_h), out_h);
    const int ow0 = w > reach_w ? first_from(w - reach_w, stride_w) : 0, ow1 = min(first_from(w + 1, stride_w), out_w);
    A sum[N];
    fill(sum, A(0));
    for (int oh = oh0; oh < oh1; ++oh)
      for (int ow = ow0; ow < ow1; ++ow) {
        const i64 at = in.base + ((i64)oh * out_w + ow) * in.step;
        const unsigned hits = index_size == 4 ? matches<N>((const int*)indices + at, (int)own) : matches<N>((const i64*)indices + at, own);
        if (!hits) continue;
        A value[N];
        load<N>(g + at, value);
#pragma unroll
        for (int j = 0; j < N; ++j)
          if (hits >> j & 1) sum[j] += value[j];
      }
    store<N>(dx + e * N, sum);
  }
}

// dx = g where it was the largest of its window of 2x2, by indices of 1 byte; else 0.
template <typename T, int N>
__global__ void __launch_bounds__(256, 1)
max_pool2d_spread(const T* __restrict__ g, const unsigned char* __restrict__ places, T* __restrict__ dx, i64 packs, i64 channels,
                  int in_h, int in_w, int out_h, int out_w) {
  typedef Accumulator<T> A;
  GRID_STRIDE(e, packs) {
    const Place<N> in(e, channels, in_h, in_w, (i64)out_h * out_w);
    A value[N];
    fill(value, A(0));
    if (in.h / 2 < out_h && in.w / 2 < out_w) {
      const i64 at = in.base + (in.h / 2 * out_w + in.w / 2) * in.step;
      load<N>(g + at, value);
#pragma unroll
      for (int j = 0; j < N; ++j)
        if (places[at + j] != in.h % 2 * 2 + in.w % 2) value[j] = A(0);
    }
    store<N>(dx + e * N, value);
  }
}

template <typename T>
__global__ void __launch_bounds__(256, 1)
max_pool2d_gather(const T* __restrict__ x, const void* __restrict__ indices, int index_size, T* __restrict__ y, i64 planes,
                  i64 in_size, i64 out_size, int in_w, int out_w, int* flag, int code) {
  GRID_STRIDE(e, planes * out_size) {
    const T* plane = x + e / out_size * in_size;
    if (index_size == 1) {
      const int place = ((const unsigned char*)indices)[e];
      const i64 h = e % out_size / out_w * 2 + place / 2, w = e % out_w * 2 + place % 2;
      y[e] = place == 4 ? narrowed<T>(0) : plane[h * in_w + w];
      continue;
    }
    const i64 index = load_index(indices, e, index_size);
    if (index < 0 || index >= in_size) {
      set_error(flag, code, index, in_size);
      y[e] = narrowed<T>(0);
    } else {
      y[e] = plane[index];
    }
  }
}

// ---- average ---------------------------------------------------------------------------------------------------
// One dimension of an averaging window: the pixels [begin, end), and `padded`, its length with the padding that it
// covers (a window may reach beyond even that in ceil mode; those pixels never count).
struct Window {
  i64 begin, end, padded;
  __device__ __forceinline__ Window(i64 out, int size, int kernel, int stride, int pad) {
    begin = out * stride - pad;
    end = min(begin + kernel, (i64)size + pad);
    padded = end - begin;
    begin = max(begin, (i64)0);
    end = min(end, (i64)size);
  }
};
// The number that the sum over a window is divided by; 0 for a window without a pixel, whose average is 0.
__device__ __forceinline__ i64 window_divisor(const Window& h, const Window& w, int count_include_pad, i64 override_) {
  if (h.begin >= h.end || w.begin >= w.end) return 0;
  if (override_) return override_;
  return count_include_pad ? h.padded * w.padded : (h.end - h.begin) * (w.end - w.begin);
}

// sum += the N elements at `from`, over `divisor`.
template <int N, typename T>
__device__ __forceinline__ void add(const T* from, Accumulator<T> (&sum)[N], Accumulator<T> divisor) {
  Accumulator<T> value[N];
  load<N>(from, value);
#pragma unroll
  for (int j = 0; j < N; ++j) sum[j] += value[j] / divisor;
}

template <typename T, int N>
__global__ void __launch_bounds__(256, 1)
avg_pool2d(const T* __restrict__ x, T* __restrict__ y, i64 packs, i64 channels, int in_h, int in_w, int out_h, int out_w,
           int kernel_h, int kernel_w, int stride_h, int stride_w, int pad_h, int pad_w, int count_include_pad,
           i64 divisor_override) {
  typedef Accumulator<T> A;
  GRID_STRIDE(e, packs) {
    const Place<N> out(e, channels, out_h, out_w, (i64)in_h * in_w);
    const Window h(out.h, in_h, kernel_h, stride_h, pad_h), w(out.w, in_w, kernel_w, stride_w, pad_w);
    const i64 divisor = window_divisor(h, w, count_include_pad, divisor_override);
    A sum[N];
    fill(sum, A(0));
    for (i64 i = h.begin; i < h.end; ++i)
      for (i64 j = w.begin; j < w.end; ++j) add<N>(x + out.base + (i * in_w + j) * out.step, sum, A(1));
#pragma unroll
    for (int j = 0; j < N; ++j) sum[j] = divisor ? sum[j] / (A)divisor : A(0);
    store<N>(y + e * N, sum);
  }
}

// Every input pixel gathers from the windows that cover it.
template <typename T, int N>
__global__ void __launch_bounds__(256, 1)
avg_pool2d_grad(const T* __restrict__ g, T* __restrict__ dx, i64 packs, i64 channels, int in_h, int in_w, int out_h, int out_w,
                int kernel_h, int kernel_w, int stride_h, int stride_w, int pad_h, int pad_w, int count_include_pad,
                i64 divisor_override) {
  typedef Accumulator<T> A;
  GRID_STRIDE(e, packs) {
    const Place<N> in(e, channels, in_h, in_w, (i64)out_h * out_w);
    const i64 h = in.h + pad_h, w = in.w + pad_w;  // in the padded plane, where windows start at 0
    const i64 oh0 = h < kernel_h ? 0 : (h - kernel_h) / stride_h + 1, oh1 = min(h / stride_h + 1, (i64)out_h);
    const i64 ow0 = w < kernel_w ? 0 : (w - kernel_w) / stride_w + 1, ow1 = min(w / stride_w + 1, (i64)out_w);
    A sum[N];
    fill(sum, A(0));
    for (i64 oh = oh0; oh < oh1; ++oh) {
      const Window rows(oh, in_h, kernel_h, stride_h, pad_h);
      for (i64 ow = ow0; ow < ow1; ++ow) {
        const Window columns(ow, in_w, kernel_w, stride_w, pad_w);
        const i64 divisor = window_divisor(rows, columns, count_include_pad, divisor_override);
        add<N>(g + in.base + (oh * out_w + ow) * in.step, sum, (A)divisor);
      }
    }
    store<N>(dx + e * N, sum);
  }
}

// ---- adaptive --------------------------------------------------------------------------------------------------
// The window of output i of `out`: the input pixels [floor(i * in / out), ceil((i + 1) * in / out)).
__device__ __forceinline__ i64 adaptive_begin(i64 i, i64 in, i64 out) { return i * in / out; }
__device__ __forceinline__ i64 adaptive_end(i64 i, i64 in, i64 out) { return ((i + 1) * in + out - 1) / out; }

template <typename T, int N>
__global__ void __launch_bounds__(256, 1)
adaptive_max_pool2d(const T* __restrict__ x, T* __restrict__ y, i64* __restrict__ indices, i64 packs, i64 channels, int in_h,
                    int in_w, int out_h, int out_w) {
  typedef Accumulator<T> A;
  GRID_STRIDE(e, packs) {
    const Place<N> out(e, channels, out_h, out_w, (i64)in_h * in_w);
    const i64 h0 = adaptive_begin(out.h, in_h, out_h), h1 = adaptive_end(out.h, in_h, out_h);
    const i64 w0 = adaptive_begin(out.w, in_w, out_w), w1 = adaptive_end(out.w, in_w, out_w);
    A best[N];
    i64 where[N];
    fill(best, -infinity<A>());
    fill(where, h0 * in_w + w0);  // also the answer for a window of -inf only
    for (i64 h = h0; h < h1; ++h)
      for (i64 w = w0; w < w1; ++w) take_maxima(x + out.base + (h * in_w + w) * out.step, h * in_w + w, best, where);
#pragma unroll
    for (int j = 0; j < N; ++j) indices[e * N + j] = where[j];
    store<N>(y + e * N, best);
  }
}

// One thread for an output: small windows, and channels that come last.
template <typename T, int N>
__global__ void __launch_bounds__(256, 1)
adaptive_avg_pool2d(const T* __restrict__ x, T* __restrict__ y, i64 packs, i64 channels, int in_h, int in_w, int out_h, int out_w) {
  typedef Accumulator<T> A;
  GRID_STRIDE(e, packs) {
    const Place<N> out(e, channels, out_h, out_w, (i64)in_h * in_w);
    const i64 h0 = adaptive_begin(out.h, in_h, out_h), h1 = adaptive_end(out.h, in_h, out_h);
    const i64 w0 = adaptive_begin(out.w, in_w, out_w), w1 = adaptive_end(out.w, in_w, out_w);
    A sum[N];
    fill(sum, A(0));
    for (i64 h = h0; h < h1; ++h)
      for (i64 w = w0; w < w1; ++w) add<N>(x + out.base + (h * in_w + w) * out.step, sum, A(1));
#pragma unroll
    for (int j = 0; j < N; ++j) sum[j] /= (A)((h1 - h0) * (w1 - w0));
    store<N>(y + e * N, sum);
  }
}

// One warp for an output: large windows of planes. With N > 1 there is one window, the whole plane, which is read in packs.
template <typename T, int N>
__global__ void __launch_bounds__(256, 1)
adaptive_avg_pool2d_warp(const T* __restrict__ x, T* __restrict__ y, i64 planes, int in_h, int in_w, int out_h,
                         int out_w) {
  typedef Accumulator<T> A;
  const int lane = threadIdx.x & 31;
  for (i64 e = (i64)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5); e < planes * out_h * out_w;
       e += (i64)gridDim.x * (blockDim.x >> 5)) {
    const i64 oh = e / out_w % out_h, ow = e % out_w;
    const i64 h0 = adaptive_begin(oh, in_h, out_h), rows = adaptive_end(oh, in_h, out_h) - h0;
    const i64 w0 = adaptive_begin(ow, in_w, out_w), columns = adaptive_end(ow, in_w, out_w) - w0;
    const T* corner = x + (e / out_w / out_h * in_h + h0) * in_w + w0;
    A sums[N], sum = 0;
    fill(sums, A(0));
    for (i64 i = lane * N; i < rows * columns; i += 32 * N)
      add<N>(N > 1 ? corner + i : corner + i / columns * in_w + i % columns, sums, A(1));
#pragma unroll
    for (int j = 0; j < N; ++j) sum += sums[j];
    sum = warp_reduce(sum, Sum());
    if (lane == 0) y[e] = narrowed<T>(sum / (A)(rows * columns));
  }
}

template <typename T, int N>
__global__ void __launch_bounds__(256, 1)
adaptive_avg_pool2d_grad(const T* __restrict__ g, T* __restrict__ dx, i64 packs, i64 channels, int in_h, int in_w, int out_h,
                         int out_w) {
  typedef Accumulator<T> A;
  GRID_STRIDE(e, packs) {
    const Place<N> in(e, channels, in_h, in_w, (i64)out_h * out_w);
    const i64 h = in.h, w = in.w;
    // begin(i) <= h < end(i)  <=>  floor(h * out / in) <= i <= ((h + 1) * out - 1) / in
    const i64 oh0 = h * out_h / in_h, oh1 = ((h + 1) * out_h - 1) / in_h;
    const i64 ow0 = w * out_w / in_w, ow1 = ((w + 1) * out_w - 1) / in_w;
    A sum[N];
    fill(sum, A(0));
    for (i64 oh = oh0; oh <= oh1; ++oh) {
      const i64 rows = adaptive_end(oh, in_h, out_h) - adaptive_begin(oh, in_h, out_h);
      for (i64 ow = ow0; ow <= ow1; ++ow) {
        const i64 columns = adaptive_end(ow, in_w, out_w) - adaptive_begin(ow, in_w, out_w);
        add<N>(g + in.base + (oh * out_w + ow) * in.step, sum, (A)(rows * columns));
      }
    }
    store<N>(dx + e * N, sum);
  }
}
