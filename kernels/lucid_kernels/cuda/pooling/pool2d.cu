// instantiate: max_pool2d<float>, max_pool2d<double>, max_pool2d_grad<float>, max_pool2d_grad<double>
// instantiate: max_pool2d_gather<float>, max_pool2d_gather<double>
// instantiate: adaptive_max_pool2d<float>, adaptive_max_pool2d<double>
// instantiate: avg_pool2d<float>, avg_pool2d<double>, avg_pool2d_grad<float>, avg_pool2d_grad<double>
// instantiate: adaptive_avg_pool2d<float>, adaptive_avg_pool2d<double>
// instantiate: adaptive_avg_pool2d_warp<float>, adaptive_avg_pool2d_warp<double>
// instantiate: adaptive_avg_pool2d_grad<float>, adaptive_avg_pool2d_grad<double>
//
// 2-d pooling. `planes` is batch * channels; a plane is a contiguous h*w image. Gradients gather or walk in a fixed
// order: no float atomics, the same bits every time.
//
// __launch_bounds__(256, 1): without the 1 ptxas aims at full occupancy and spills registers for it.
#include "common.cuh"

// ---- max -------------------------------------------------------------------------------------------------------
template <typename T>
__device__ __forceinline__ void take_maximum(T value, i64 place, T* best, i64* where) {
  if (value > *best || value != value) { *best = value; *where = place; }
}

template <typename T>
__global__ void __launch_bounds__(256, 1)
max_pool2d(const T* __restrict__ x, T* __restrict__ y, i64* __restrict__ indices, i64 planes, int in_h, int in_w,
           int out_h, int out_w, int kernel_h, int kernel_w, int stride_h, int stride_w, int pad_h, int pad_w,
           int dilation_h, int dilation_w, int relu) {
  GRID_STRIDE(e, planes * out_h * out_w) {
    const i64 oh = e / out_w % out_h, ow = e % out_w;
    // 64 bits: a dilated window may end beyond 2^31. Taps in the padding above and to the left are skipped.
    i64 h0 = oh * stride_h - pad_h, w0 = ow * stride_w - pad_w;
    const i64 h1 = min(h0 + (i64)(kernel_h - 1) * dilation_h + 1, (i64)in_h);
    const i64 w1 = min(w0 + (i64)(kernel_w - 1) * dilation_w + 1, (i64)in_w);
    if (h0 < 0) h0 += (dilation_h - 1 - h0) / dilation_h * dilation_h;
    if (w0 < 0) w0 += (dilation_w - 1 - w0) / dilation_w * dilation_w;
    const T* plane = x + e / out_w / out_h * in_h * in_w;
    T best = -infinity<T>();
    i64 where = h0 * in_w + w0;  // also the answer for a window of -inf only
    for (i64 h = h0; h < h1; h += dilation_h)
      for (i64 w = w0; w < w1; w += dilation_w) take_maximum(plane[h * in_w + w], h * in_w + w, &best, &where);
    y[e] = relu && best < 0 ? T(0) : best;
    indices[e] = relu && best <= 0 ? -1 : where;
  }
}

// dx[plane, indices[plane, i]] += g[plane, i], in the order of i for every element of dx; without `add` the last one stays.
// A warp owns a band of rows of one plane of dx. It walks over all outputs of that plane, 32 at a time, and adds those
// that fall in its band. Lanes with the same target all compute the same sum; the first of them stores it. The plane
// is cut into bands only to have enough warps when there are few planes; the result does not depend on it.
template <typename T>
__global__ void __launch_bounds__(256, 1)
max_pool2d_grad(const T* __restrict__ g, const i64* __restrict__ indices, T* dx, i64 planes, i64 in_size, i64 out_size,
                int bands, int add, int relu, int* flag, int code) {
  const int lane = threadIdx.x & 31;
  const i64 band_size = (in_size + bands - 1) / bands;
  // Whole warps go round this loop together: the loop variable is the same in all lanes.
  for (i64 warp = (i64)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5); warp < planes * bands;
       warp += (i64)gridDim.x * (blockDim.x >> 5)) {
    const i64 plane = warp / bands, begin = warp % bands * band_size, end = min(begin + band_size, in_size);
    T* to = dx + plane * in_size;
    for (i64 i = begin + lane; i < end; i += 32) to[i] = T(0);
    __syncwarp();  // the zeros of other lanes are added to below
    for (i64 i0 = 0; i0 < out_size; i0 += 32) {
      const i64 i = i0 + lane;
      const i64 target = i < out_size ? indices[plane * out_size + i] : -1;
      if (i < out_size && (target < (relu ? -1 : 0) || target >= in_size)) set_error(flag, code, target, in_size);
      const bool mine = target >= begin && target < end;
      const unsigned takers = __ballot_sync(0xffffffffu, mine);
      if (!takers) continue;
      const T value = mine ? g[plane * out_size + i] : T(0);
      T sum = mine ? to[target] : T(0);
      int first = 32;
      for (unsigned rest = takers; rest; rest &= rest - 1) {  // every lane that takes part, in order
        const int source = __ffs((int)rest) - 1;
        const i64 other = __shfl_sync(0xffffffffu, target, source);
        const T term = __shfl_sync(0xffffffffu, value, source);
        if (mine && other == target) {
          sum = add ? sum + term : term;
          first = min(first, source);
        }
      }
      __syncwarp();  // all lanes have read their pixel
      if (first == lane) to[target] = sum;
      __syncwarp();  // the next 32 outputs may hit the same pixel
    }
  }
}

template <typename T>
__global__ void __launch_bounds__(256, 1)
max_pool2d_gather(const T* __restrict__ x, const i64* __restrict__ indices, T* __restrict__ y, i64 planes, i64 in_size,
                  i64 out_size, int* flag, int code) {
  GRID_STRIDE(e, planes * out_size) {
    const i64 index = indices[e];
    if (index < 0 || index >= in_size) {
      set_error(flag, code, index, in_size);
      y[e] = T(0);
    } else {
      y[e] = x[e / out_size * in_size + index];
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

template <typename T>
__global__ void __launch_bounds__(256, 1)
avg_pool2d(const T* __restrict__ x, T* __restrict__ y, i64 planes, int in_h, int in_w, int out_h, int out_w,
           int kernel_h, int kernel_w, int stride_h, int stride_w, int pad_h, int pad_w, int count_include_pad,
           i64 divisor_override) {
  GRID_STRIDE(e, planes * out_h * out_w) {
    const Window h(e / out_w % out_h, in_h, kernel_h, stride_h, pad_h), w(e % out_w, in_w, kernel_w, stride_w, pad_w);
    const i64 divisor = window_divisor(h, w, count_include_pad, divisor_override);
    const T* plane = x + e / out_w / out_h * in_h * in_w;
    T sum = T(0);
    for (i64 i = h.begin; i < h.end; ++i)
      for (i64 j = w.begin; j < w.end; ++j) sum += plane[i * in_w + j];
    y[e] = divisor ? sum / (T)divisor : T(0);
  }
}

// Every input pixel gathers from the windows that cover it.
template <typename T>
__global__ void __launch_bounds__(256, 1)
avg_pool2d_grad(const T* __restrict__ g, T* __restrict__ dx, i64 planes, int in_h, int in_w, int out_h, int out_w,
                int kernel_h, int kernel_w, int stride_h, int stride_w, int pad_h, int pad_w, int count_include_pad,
                i64 divisor_override) {
  GRID_STRIDE(e, planes * in_h * in_w) {
    const i64 h = e / in_w % in_h + pad_h, w = e % in_w + pad_w;  // in the padded plane, where windows start at 0
    const i64 oh0 = h < kernel_h ? 0 : (h - kernel_h) / stride_h + 1, oh1 = min(h / stride_h + 1, (i64)out_h);
    const i64 ow0 = w < kernel_w ? 0 : (w - kernel_w) / stride_w + 1, ow1 = min(w / stride_w + 1, (i64)out_w);
    const T* plane = g + e / in_w / in_h * out_h * out_w;
    T sum = T(0);
    for (i64 oh = oh0; oh < oh1; ++oh) {
      const Window rows(oh, in_h, kernel_h, stride_h, pad_h);
      for (i64 ow = ow0; ow < ow1; ++ow) {
        const Window columns(ow, in_w, kernel_w, stride_w, pad_w);
        sum += plane[oh * out_w + ow] / (T)window_divisor(rows, columns, count_include_pad, divisor_override);
      }
    }
    dx[e] = sum;
  }
}

// ---- adaptive --------------------------------------------------------------------------------------------------
// The window of output i of `out`: the input pixels [floor(i * in / out), ceil((i + 1) * in / out)).
__device__ __forceinline__ i64 adaptive_begin(i64 i, i64 in, i64 out) { return i * in / out; }
__device__ __forceinline__ i64 adaptive_end(i64 i, i64 in, i64 out) { return ((i + 1) * in + out - 1) / out; }

template <typename T>
__global__ void __launch_bounds__(256, 1)
adaptive_max_pool2d(const T* __restrict__ x, T* __restrict__ y, i64* __restrict__ indices, i64 planes, int in_h, int in_w,
                    int out_h, int out_w) {
  GRID_STRIDE(e, planes * out_h * out_w) {
    const i64 oh = e / out_w % out_h, ow = e % out_w;
    const i64 h0 = adaptive_begin(oh, in_h, out_h), h1 = adaptive_end(oh, in_h, out_h);
    const i64 w0 = adaptive_begin(ow, in_w, out_w), w1 = adaptive_end(ow, in_w, out_w);
    const T* plane = x + e / out_w / out_h * in_h * in_w;
    T best = -infinity<T>();
    i64 where = h0 * in_w + w0;  // also the answer for a window of -inf only
    for (i64 h = h0; h < h1; ++h)
      for (i64 w = w0; w < w1; ++w) take_maximum(plane[h * in_w + w], h * in_w + w, &best, &where);
    y[e] = best;
    indices[e] = where;
  }
}

// One thread per output: small windows.
template <typename T>
__global__ void __launch_bounds__(256, 1)
adaptive_avg_pool2d(const T* __restrict__ x, T* __restrict__ y, i64 planes, int in_h, int in_w, int out_h, int out_w) {
  GRID_STRIDE(e, planes * out_h * out_w) {
    const i64 oh = e / out_w % out_h, ow = e % out_w;
    const i64 h0 = adaptive_begin(oh, in_h, out_h), h1 = adaptive_end(oh, in_h, out_h);
    const i64 w0 = adaptive_begin(ow, in_w, out_w), w1 = adaptive_end(ow, in_w, out_w);
    const T* plane = x + e / out_w / out_h * in_h * in_w;
    T sum = T(0);
    for (i64 h = h0; h < h1; ++h)
      for (i64 w = w0; w < w1; ++w) sum += plane[h * in_w + w];
    y[e] = sum / (T)((h1 - h0) * (w1 - w0));
  }
}

// One warp per output: large windows, global average pooling above all.
template <typename T>
__global__ void __launch_bounds__(256, 1)
adaptive_avg_pool2d_warp(const T* __restrict__ x, T* __restrict__ y, i64 planes, int in_h, int in_w, int out_h,
                         int out_w) {
  const int lane = threadIdx.x & 31;
  for (i64 e = (i64)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5); e < planes * out_h * out_w;
       e += (i64)gridDim.x * (blockDim.x >> 5)) {
    const i64 oh = e / out_w % out_h, ow = e % out_w;
    const i64 h0 = adaptive_begin(oh, in_h, out_h), rows = adaptive_end(oh, in_h, out_h) - h0;
    const i64 w0 = adaptive_begin(ow, in_w, out_w), columns = adaptive_end(ow, in_w, out_w) - w0;
    const T* corner = x + (e / out_w / out_h * in_h + h0) * in_w + w0;
    T sum = T(0);
    for (i64 i = lane; i < rows * columns; i += 32) sum += corner[i / columns * in_w + i % columns];
    sum = warp_reduce(sum, Sum());
    if (lane == 0) y[e] = sum / (T)(rows * columns);
  }
}

template <typename T>
__global__ void __launch_bounds__(256, 1)
adaptive_avg_pool2d_grad(const T* __restrict__ g, T* __restrict__ dx, i64 planes, int in_h, int in_w, int out_h,
                         int out_w) {
  GRID_STRIDE(e, planes * in_h * in_w) {
    const i64 h = e / in_w % in_h, w = e % in_w;
    // begin(i) <= h < end(i)  <=>  floor(h * out / in) <= i <= ((h + 1) * out - 1) / in
    const i64 oh0 = h * out_h / in_h, oh1 = ((h + 1) * out_h - 1) / in_h;
    const i64 ow0 = w * out_w / in_w, ow1 = ((w + 1) * out_w - 1) / in_w;
    const T* plane = g + e / in_w / in_h * out_h * out_w;
    T sum = T(0);
    for (i64 oh = oh0; oh <= oh1; ++oh) {
      const i64 rows = adaptive_end(oh, in_h, out_h) - adaptive_begin(oh, in_h, out_h);
      for (i64 ow = ow0; ow <= ow1; ++ow) {
        const i64 columns = adaptive_end(ow, in_w, out_w) - adaptive_begin(ow, in_w, out_w);
        sum += plane[oh * out_w + ow] / (T)(rows * columns);
      }
    }
    dx[e] = sum;
  }
}
