// The numbers of a convolution over volumes (images are volumes of depth 1) and what they mean along one axis.
#pragma once

// Integers instead of a struct: CuPy checks and passes plain scalars. Channels are those of all groups.
#define CONVOLUTION_ARGUMENTS                                                                                     \
  int batch, int in_channels, int in_d, int in_h, int in_w, int out_channels, int out_d, int out_h, int out_w,    \
      int kernel_d, int kernel_h, int kernel_w, int stride_d, int stride_h, int stride_w, int pad_d, int pad_h,   \
      int pad_w, int dilation_d, int dilation_h, int dilation_w, int groups

// One axis of a launch that computes `count` results from a source. Result i under the launch's tap j reads the source at
// i * step + first + j * shift, and is at + i * apart in the target. Tap j is tap first_tap + j * tap_step of the weight.
struct Axis {
  int count, taps, step, first, shift, at, apart, first_tap, tap_step;
};

__device__ __forceinline__ Axis forward_axis(int out, int kernel, int stride, int pad, int dilation) {
  return {out, kernel, stride, -pad, dilation, 0, 1, 0, 1};
}

// The input gradient has a launch's worth of results for each phase: with a stride, the pixels at + i * stride are reached by
// the same taps, those with (at + pad - tap * dilation) % stride == 0, and by no others.
__device__ __forceinline__ Axis gradient_axis(int phase, int in, int kernel, int stride, int pad, int dilation) {
  if (stride == 1) return {in, kernel, 1, pad, -dilation, 0, 1, 0, 1};
  int first_tap = 0, tap_step = 1;
  while (first_tap < kernel && (phase + pad - first_tap * dilation) % stride) ++first_tap;
  while (tap_step * dilation % stride) ++tap_step;
  return {phase < in ? (in - phase + stride - 1) / stride : 0,
          (kernel - first_tap + tap_step - 1) / tap_step,
          1,
          (phase + pad - first_tap * dilation) / stride,
          -(tap_step * dilation / stride),
          phase,
          stride,
          first_tap,
          tap_step};
}

// A tap of a launch: counts along the width, then the height, then the depth.
struct Tap {
  int d, h, w;
  __device__ __forceinline__ Tap(int index, int taps_h, int taps_w)
      : d(0), h(0), w(0) {
    if (index == 0) return;
    d = index / taps_w / taps_h;
    h = index / taps_w % taps_h;
    w = index % taps_w;
  }
  __device__ __forceinline__ void next(int taps_h, int taps_w) {
    if (++w < taps_w) return;
    w = 0;
    if (++h < taps_h) return;
    h = 0;
    ++d;
  }
};
