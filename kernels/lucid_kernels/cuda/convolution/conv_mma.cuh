// The numbers of a product on tensor cores.
#pragma once
#include "conv_elements.cuh"
#include "tensor_cores.cuh"

// The nearest number of TF32, of which the hardware ignores the last 13 bits. inf stays inf. A NaN gets a bit that is not
// ignored: to add half a place would make -0 of some, to ignore bits inf of others.
#if defined(LUCID_SIMULATOR) || __CUDA_ARCH__ < 900
__device__ __forceinline__ u32 round_tf32(u32 bits) {
  if ((bits & 0x7fffffffu) > 0x7f800000u) return bits | 0x00400000u;
  return (bits + 0xfffu + (bits >> 13 & 1u)) & 0xffffe000u;
}
#else
__device__ __forceinline__ u32 round_tf32(u32 bits) {
  u32 r;
  asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(r) : "f"(__uint_as_float(bits)));
  return r;
}
#endif

// ---- the numbers of a product: float as TF32, float16 or bfloat16. Sums are float in all of them.
// CHUNK: elements in the 16 bytes of a copy; DEPTH: terms that one mma adds. A row of 16 bytes has the same place in the
// registers for all of them.
struct Tf32 {
  using Element = float;
  static constexpr int CHUNK = 4, DEPTH = 8;
  static __device__ __forceinline__ u32 rounded(u32 word) { return round_tf32(word); }
  static __device__ __forceinline__ void mma(float* d, const u32* a, const u32* b) { mma_tf32(d, a, b); }
};
struct Float16 {
  using Element = __half;
  static constexpr int CHUNK = 8, DEPTH = 16;
  static __device__ __forceinline__ u32 rounded(u32 word) { return word; }
  static __device__ __forceinline__ void mma(float* d, const u32* a, const u32* b) { mma_float16(d, a, b); }
};
struct Bfloat16 {
  using Element = __nv_bfloat16;
  static constexpr int CHUNK = 8, DEPTH = 16;
  static __device__ __forceinline__ u32 rounded(u32 word) { return word; }
  static __device__ __forceinline__ void mma(float* d, const u32* a, const u32* b) { mma_bfloat16(d, a, b); }
};
