// Floating-point numbers of 8 bits and float32: the formats F are those of `FORMATS` in float8.py. Five bytes are moved an element.
// Rounded to the nearest, ties to even, as PyTorch does on a CPU: beyond the largest number e4m3fn saturates, e5m2 is infinite, and the
// two without a negative zero are NaN. e8m0fnu is a power of two without a sign; zero is its smallest.
// instantiate: narrow_float8<0>, narrow_float8<1>, narrow_float8<2>, narrow_float8<3>, narrow_float8<4>
// instantiate: widen_float8<0>, widen_float8<1>, widen_float8<2>, widen_float8<3>, widen_float8<4>
#include "common.cuh"

#define E4M3FN 0
#define E4M3FNUZ 1
#define E5M2 2
#define E5M2FNUZ 3
#define E8M0FNU 4

// The bits of the fraction, and what is added to the exponent.
template <int F> __device__ __forceinline__ constexpr int fraction() { return F == E4M3FN || F == E4M3FNUZ ? 3 : 2; }
template <int F> __device__ __forceinline__ constexpr int bias() {
  return F == E4M3FN ? 7 : F == E4M3FNUZ ? 8 : F == E5M2 ? 15 : 16;
}

template <int F> __device__ __forceinline__ unsigned narrowed_bits(float x) {
  const unsigned bits = __float_as_uint(x), size = bits & 0x7fffffffu;
  if (F == E8M0FNU) {
    const unsigned power = size >> 23;
    if (power == 0xff) return 0xff;
    const bool half = size & 0x400000u, more = size & 0x3fffffu;
    return power + (half && (more || power > 0));
  }
  const unsigned sign = bits >> 24 & 0x80u;
  const bool one_zero = F == E4M3FNUZ || F == E5M2FNUZ;
  if (size > 0x7f800000u) return one_zero ? 0x80u : sign | 0x7fu;
  unsigned code;
  if (size >= unsigned(128 - bias<F>()) << 23) {
    const unsigned last = size >> (23 - fraction<F>()) & 1u;
    code = ((size + (1u << (22 - fraction<F>())) - 1u + last) >> (23 - fraction<F>())) - (unsigned(127 - bias<F>()) << fraction<F>());
  } else {
    code = __float2int_rn(__uint_as_float(size) * float(1 << (bias<F>() - 1 + fraction<F>())));
  }
  if (one_zero) return code > 0x7fu ? 0x80u : code ? sign | code : 0u;
  const unsigned most = F == E4M3FN ? 0x7eu : 0x7cu;
  return sign | (code > most ? most : code);
}

template <int F> __device__ __forceinline__ float widened_bits(unsigned bits) {
  if (F == E8M0FNU) return __uint_as_float(bits == 0xff ? 0x7fc00000u : bits ? bits << 23 : 0x400000u);
  const unsigned size = bits & 0x7fu, sign = (bits & 0x80u) << 24;
  if (F == E4M3FN && size == 0x7fu) return __uint_as_float(sign | 0x7fc00000u);
  if (F == E5M2 && size >= 0x7cu) return __uint_as_float(sign | 0x7f800000u | (size & 3u) << 21);
  if ((F == E4M3FNUZ || F == E5M2FNUZ) && bits == 0x80u) return __uint_as_float(0x7fc00000u);
  if (size >> fraction<F>())
    return __uint_as_float(sign | ((size << (23 - fraction<F>())) + (unsigned(127 - bias<F>()) << 23)));
  const float small = float(size) * (1.0f / float(1 << (bias<F>() - 1 + fraction<F>())));
  return __uint_as_float(sign | __float_as_uint(small));
}

template <int F>
__global__ void __launch_bounds__(256, 1) narrow_float8(const float* __restrict__ x, unsigned char* __restrict__ y, i64 n) {
  GRID_STRIDE(i, n) y[i] = narrowed_bits<F>(x[i]);
}

template <int F>
__global__ void __launch_bounds__(256, 1) widen_float8(const unsigned char* __restrict__ x, float* __restrict__ y, i64 n) {
  GRID_STRIDE(i, n) y[i] = widened_bits<F>(x[i]);
}
