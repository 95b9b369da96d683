// Products of float by three of TF32: of the high and the low parts of both numbers. That is as exact as float32 as long as both are
// finite; 0 * inf would be added elsewhere, so inf, NaN and numbers that TF32 rounds to inf are split with `CAREFUL`.
#pragma once
#include "tensor_cores.cuh"

// Bits without the sign, from which on a float has no high and low part: TF32 would round it to inf.
constexpr u32 TOO_LARGE = 0x7f7ff000u;

// N numbers of float. mma ignores their last 13 bits. `crossed` are the high parts where they meet low ones.
template <int N> struct Parts {
  u32 high[N], low[N], crossed[N];
  template <bool CAREFUL> __device__ __forceinline__ void set(int i, u32 word) {
    const u32 near = (word + 0x1000u) & 0xffffe000u;
    high[i] = crossed[i] = near;
    low[i] = __float_as_uint(__uint_as_float(word) - __uint_as_float(near));
    if (CAREFUL && (word & 0x7fffffffu) >= TOO_LARGE) {
      high[i] = (word & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : word;  // a NaN's only bits could be ignored ones
      low[i] = crossed[i] = 0u;
    }
  }
};
// TRANSPOSED gives, bit for bit, the transposed result of the same product with the operands exchanged.
// Without HIGH or LOW, some of its terms are left out.
template <bool TRANSPOSED, bool HIGH = true, bool LOW = true>
__device__ __forceinline__ void multiply(float* d, const Parts<4>& a, const Parts<2>& b) {
  if (LOW && !TRANSPOSED) mma_tf32(d, a.low, b.crossed);
  if (LOW) mma_tf32(d, a.crossed, b.low);
  if (LOW && TRANSPOSED) mma_tf32(d, a.low, b.crossed);
  if (HIGH) mma_tf32(d, a.high, b.high);
}
