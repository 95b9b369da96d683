// Asynchronous copies and tensor cores, of chips from sm_80 on: inline PTX on a GPU, cpu_ptx.h in the simulator.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

typedef unsigned int u32;

#ifdef LUCID_SIMULATOR
typedef unsigned long long Shared;  // an address in shared memory
__device__ __forceinline__ Shared shared_of(const void* p) { return (Shared)p; }
__device__ __forceinline__ u32 load_word(Shared at) { return *(const u32*)at; }
// 16 bytes, of which the first `present` are copied; the others are zeros, and nothing is read for them.
__device__ __forceinline__ void copy16(Shared to, const void* from, int present) {
  simulator::cp_async_zfill((void*)to, from, 16, present);
}
__device__ __forceinline__ void copies_commit() { simulator::cp_commit(); }
// Waits for all groups of this thread's copies but the PENDING latest.
template <int PENDING> __device__ __forceinline__ void copies_wait() { simulator::cp_wait(PENDING); }
// Four matrices of 8 rows of 16 bytes; lane l has the address of row l % 8 of matrix l / 8.
__device__ __forceinline__ void load_matrices(u32* r, Shared row) {
  simulator::ldmatrix_x4<false>(r, (const void*)row, LUCID_PLACE);
}
__device__ __forceinline__ void load_matrices_transposed(u32* r, Shared row) {
  simulator::ldmatrix_x4<true>(r, (const void*)row, LUCID_PLACE);
}
// d += a b for a of 16 x 8 (TF32) or 16 x 16 elements and b with 8 columns.
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
__device__ __forceinline__ u32 load_word(Shared at) {
  u32 r;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(r) : "r"(at));
  return r;
}
__device__ __forceinline__ void copy16(Shared to, const void* from, int present) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(present) : "memory");
}
__device__ __forceinline__ void copies_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int PENDING> __device__ __forceinline__ void copies_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}
__device__ __forceinline__ void load_matrices(u32* r, Shared row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(row));
}
__device__ __forceinline__ void load_matrices_transposed(u32* r, Shared row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(row));
}
#define LUCID_MMA(NAME, SHAPE)                                                                      \
  __device__ __forceinline__ void NAME(float* d, const u32* a, const u32* b) {                      \
    asm volatile("mma.sync.aligned." SHAPE " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                   \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));               \
  }
LUCID_MMA(mma_tf32, "m16n8k8.row.col.f32.tf32.tf32.f32")
LUCID_MMA(mma_float16, "m16n8k16.row.col.f32.f16.f16.f32")
LUCID_MMA(mma_bfloat16, "m16n8k16.row.col.f32.bf16.bf16.f32")
#undef LUCID_MMA
#endif
