// The numbers of a product on tensor cores.
#pragma once
#include "conv_elements.cuh"
#include "split_tf32.cuh"
#include "warpgroups.cuh"

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

// ---- the numbers of a product: float as TF32 or by three products of its parts, float16 or bfloat16. Sums are float in all of
// them.
// CHUNK: elements in the 16 bytes of a copy; DEPTH: terms that one mma adds. A row of 16 bytes has the same place in the
// registers for all of them. `rounded`: a word as conv_pack.cu writes it.
struct Tf32 {
  using Element = float;
  static constexpr int CHUNK = 4, DEPTH = 8;
  static constexpr bool SPLIT = false;
  static __device__ __forceinline__ u32 rounded(u32 word) { return round_tf32(word); }
  static __device__ __forceinline__ void mma(float* d, const u32* a, const u32* b) { mma_tf32(d, a, b); }
  template <int COLUMNS, bool TURNED = false>
  static __device__ __forceinline__ void warpgroup(float (*d)[4], Shared a, Shared b, int step) {
    warpgroup_tf32<COLUMNS, TURNED>(d, a, b, step);
  }
};
struct Float32 {
  using Element = float;
  static constexpr int CHUNK = 4, DEPTH = 8;
  static constexpr bool SPLIT = true;
  static __device__ __forceinline__ u32 rounded(u32 word) { return word; }
};
struct Float16 {
  using Element = __half;
  static constexpr int CHUNK = 8, DEPTH = 16;
  static constexpr bool SPLIT = false;
  static __device__ __forceinline__ u32 rounded(u32 word) { return word; }
  static __device__ __forceinline__ void mma(float* d, const u32* a, const u32* b) { mma_float16(d, a, b); }
  template <int COLUMNS, bool TURNED = false>
  static __device__ __forceinline__ void warpgroup(float (*d)[4], Shared a, Shared b, int step) {
    warpgroup_float16<COLUMNS, TURNED>(d, a, b, step);
  }
};
struct Bfloat16 {
  using Element = __nv_bfloat16;
  static constexpr int CHUNK = 8, DEPTH = 16;
  static constexpr bool SPLIT = false;
  static __device__ __forceinline__ u32 rounded(u32 word) { return word; }
  static __device__ __forceinline__ void mma(float* d, const u32* a, const u32* b) { mma_bfloat16(d, a, b); }
  template <int COLUMNS, bool TURNED = false>
  static __device__ __forceinline__ void warpgroup(float (*d)[4], Shared a, Shared b, int step) {
    warpgroup_bfloat16<COLUMNS, TURNED>(d, a, b, step);
  }
};

constexpr int min_of(int a, int b) { return a < b ? a : b; }

// sum += a b, for MT x NT tiles of a warp.
template <typename Kind, int MT, int NT>
__device__ __forceinline__ void multiply_add(float (&sum)[MT][NT][4], const u32 (&a)[MT][4], const u32 (&b)[NT][2]) {
  if constexpr (Kind::SPLIT) {
    Parts<2> right[NT];
#pragma unroll
    for (int j = 0; j < NT; ++j)
#pragma unroll
      for (int e = 0; e < 2; ++e) right[j].template set<true>(e, b[j][e]);
#pragma unroll
    for (int i = 0; i < MT; ++i) {
      Parts<4> left;
#pragma unroll
      for (int e = 0; e < 4; ++e) left.template set<true>(e, a[i][e]);
#pragma unroll
      for (int j = 0; j < NT; ++j) {
        // Summed apart: tensor cores round sums towards zero, which would add up over a long one.
        float part[4] = {0.f, 0.f, 0.f, 0.f};
        multiply<false>(part, left, right[j]);
#pragma unroll
        for (int e = 0; e < 4; ++e) sum[i][j][e] += part[e];
      }
    }
  } else {
#pragma unroll
    for (int i = 0; i < MT; ++i)
#pragma unroll
      for (int j = 0; j < NT; ++j) Kind::mma(sum[i][j], a[i], b[j]);
  }
}
