// Asynchronous copies and tensor cores: inline PTX on a GPU, the simulator's functions elsewhere.
#pragma once
#include "conv_elements.cuh"

typedef unsigned int u32;

#ifdef LUCID_SIMULATOR
typedef unsigned long long Shared;  // an address in shared memory
__device__ __forceinline__ Shared shared_of(const void* p) { return (Shared)p; }
// The first `present` bytes are copied, the others are zero.
__device__ __forceinline__ void copy16(Shared to, const void* from, int present) {
  simulator::cp_async_zfill((void*)to, from, 16, present);
}
__device__ __forceinline__ void copy4(Shared to, const void* from, int present) {
  simulator::cp_async_zfill((void*)to, from, 4, present);
}
__device__ __forceinline__ void copies_commit() { simulator::cp_commit(); }
template <int PENDING> __device__ __forceinline__ void copies_wait() { simulator::cp_wait(PENDING); }
__device__ __forceinline__ u32 load_word(Shared at) { return *(const u32*)at; }
__device__ __forceinline__ void load_matrices(u32* r, Shared row) {
  simulator::ldmatrix_x4<false>(r, (const void*)row, LUCID_PLACE);
}
__device__ __forceinline__ void load_matrices_transposed(u32* r, Shared row) {
  simulator::ldmatrix_x4<true>(r, (const void*)row, LUCID_PLACE);
}
__device__ __forceinline__ void mma_tf32(float* d, const u32* a, const u32* b) {
  simulator::mma_m16n8k8_tf32(d, a, b, d, LUCID_PLACE);
}
__device__ __forceinline__ void mma_float16(float* d, const u32* a, const u32* b) {
  simulator::mma_m16n8k16<__half>(d, a, b, d, LUCID_PLACE);
}
__device__ __forceinline__ void mma_bfloat16(float* d, const u32* a, const u32* b) {
  simulator::mma_m16n8k16<__nv_bfloat16>(d, a, b, d, LUCID_PLACE);
}
#else
typedef u32 Shared;
__device__ __forceinline__ Shared shared_of(const void* p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void copy16(Shared to, const void* from, int present) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(present));
}
__device__ __forceinline__ void copy4(Shared to, const void* from, int present) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(present));
}
__device__ __forceinline__ void copies_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int PENDING> __device__ __forceinline__ void copies_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}
__device__ __forceinline__ u32 load_word(Shared at) {
  u32 r;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(r) : "r"(at));
  return r;
}
__device__ __forceinline__ void load_matrices(u32* r, Shared row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(row));
}
__device__ __forceinline__ void load_matrices_transposed(u32* r, Shared row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(row));
}
#define LUCID_MMA(NAME, SHAPE)                                                                           \
  __device__ __forceinline__ void NAME(float* d, const u32* a, const u32* b) {                           \
    asm volatile("mma.sync.aligned." SHAPE " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"      \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                        \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                    \
  }
LUCID_MMA(mma_tf32, "m16n8k8.row.col.f32.tf32.tf32.f32")
LUCID_MMA(mma_float16, "m16n8k16.row.col.f32.f16.f16.f32")
LUCID_MMA(mma_bfloat16, "m16n8k16.row.col.f32.bf16.bf16.f32")
#undef LUCID_MMA
#endif

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
