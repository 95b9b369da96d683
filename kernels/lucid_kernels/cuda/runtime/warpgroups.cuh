// Products of warpgroups (wgmma), on sm_90a: see `launch.kernel`. In the simulator each warp computes its rows with mma.sync; for
// other chips a kernel that multiplies so is compiled, and must not be launched.
//
// A matrix lies in rows of 128 bytes, whose chunks of 16 bytes are swizzled by the row: chunk c of row r is at (c ^ r % 8) * 16.
// The first row begins at a multiple of 1024 bytes. A step is 32 bytes of all rows. A TURNED matrix of 16-bit elements lies the
// other way round: its rows are the terms of the sum, a step is 16 of them, and every 64 columns are 32 such rows of their own.
#pragma once
#include "tensor_cores.cuh"

#ifdef LUCID_SIMULATOR
__device__ __forceinline__ void copies_for_warpgroups() {}
__device__ __forceinline__ void warpgroup_begin() {}
__device__ __forceinline__ void warpgroup_commit() {}
__device__ __forceinline__ void warpgroup_wait() {}
template <int COLUMNS, bool TURNED, typename Multiply>
__device__ __forceinline__ void warpgroup_by_warps(float (*d)[4], Shared a, Shared b, int step, Multiply multiply) {
  const int lane = threadIdx.x & 31, matrix = lane >> 3, in_matrix = lane & 7, warp = threadIdx.x >> 5 & 3;
  const int low = matrix & 1, high = matrix >> 1;
  u32 left[4], right[4];
  if constexpr (TURNED)
    load_matrices_transposed(left, a + (step * 16 + high * 8 + in_matrix) * 128 + ((warp * 2 + low) ^ in_matrix) * 16);
  else
    load_matrices(left, a + (warp * 16 + low * 8 + in_matrix) * 128 + ((step * 2 + high) ^ in_matrix) * 16);
#pragma unroll
  for (int j = 0; j < COLUMNS / 8; j += 2) {
    if constexpr (TURNED)
      load_matrices_transposed(right, b + ((j + high) / 8 * 32 + step * 16 + low * 8 + in_matrix) * 128 +
                                          ((j + high) % 8 ^ in_matrix) * 16);
    else
      load_matrices(right, b + ((j + high) * 8 + in_matrix) * 128 + ((step * 2 + low) ^ in_matrix) * 16);
    multiply(d[j], left, right);
    multiply(d[j + 1], left, right + 2);
  }
}
#define LUCID_WARPGROUP(NAME, MULTIPLY)                                                                   \
  template <int COLUMNS, bool TURNED = false>                                                             \
  __device__ __forceinline__ void NAME(float (*d)[4], Shared a, Shared b, int step) {                     \
    warpgroup_by_warps<COLUMNS, TURNED>(d, a, b, step, MULTIPLY);                                         \
  }
LUCID_WARPGROUP(warpgroup_tf32, mma_tf32)
LUCID_WARPGROUP(warpgroup_float16, mma_float16)
LUCID_WARPGROUP(warpgroup_bfloat16, mma_bfloat16)
#undef LUCID_WARPGROUP
#else
  #if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// What this thread has copied to shared memory is there for the products of all, behind the next barrier.
__device__ __forceinline__ void copies_for_warpgroups() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ __forceinline__ void warpgroup_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void warpgroup_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Waits for the products of this warpgroup.
__device__ __forceinline__ void warpgroup_wait() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }

// A step of a matrix as wgmma is told of it: where, the bytes from 64 columns to the next if turned and from 8 rows to the next, by
// 16, and that it is swizzled in 128 bytes.
template <bool TURNED> __device__ __forceinline__ unsigned long long swizzled_matrix(Shared at, int step) {
  at += step * (TURNED ? 16 * 128 : 32);
  return (unsigned long long)((at & 0x3ffffu) >> 4) | (TURNED ? 256ull : 1ull) << 16 | 64ull << 32 | 1ull << 62;
}
#define LUCID_SUM(J) "+f"(d[J][0]), "+f"(d[J][1]), "+f"(d[J][2]), "+f"(d[J][3])
#define LUCID_SUM4(J) LUCID_SUM(J), LUCID_SUM(J + 1), LUCID_SUM(J + 2), LUCID_SUM(J + 3)
#define LUCID_REGISTERS_32 \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15," \
  "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define LUCID_REGISTERS_64 \
  LUCID_REGISTERS_32 "," \
  "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47," \
  "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
// d += a b for 64 rows, 16 of each warp, and COLUMNS columns, in one step: begins it. TYPES: of the factors. END: what follows the
// signs of the factors.
#define LUCID_WARPGROUP_OF(STEP, TYPES, END)                                                                                \
  if constexpr (COLUMNS == 64)                                                                                              \
    asm volatile("{ .reg .pred added; setp.eq.u32 added, 0, 0; wgmma.mma_async.sync.aligned.m64n64" STEP ".f32." TYPES      \
                 " {" LUCID_REGISTERS_32 "}, %32, %33, added, 1, 1" END "; }"                                               \
                 : LUCID_SUM4(0), LUCID_SUM4(4) : "l"(left), "l"(right));                                                   \
  else                                                                                                                      \
    asm volatile("{ .reg .pred added; setp.eq.u32 added, 0, 0; wgmma.mma_async.sync.aligned.m64n128" STEP ".f32." TYPES     \
                 " {" LUCID_REGISTERS_64 "}, %64, %65, added, 1, 1" END "; }"                                               \
                 : LUCID_SUM4(0), LUCID_SUM4(4), LUCID_SUM4(8), LUCID_SUM4(12) : "l"(left), "l"(right));
#define LUCID_WARPGROUP(NAME, STEP, TYPES, STRAIGHT, TURNED_END)                                                            \
  template <int COLUMNS, bool TURNED = false>                                                                               \
  __device__ __forceinline__ void NAME(float (*d)[4], Shared a, Shared b, int step) {                                       \
    static_assert(COLUMNS == 64 || COLUMNS == 128, "as many registers as are named");                                       \
    const unsigned long long left = swizzled_matrix<TURNED>(a, step), right = swizzled_matrix<TURNED>(b, step);             \
    if constexpr (TURNED) {                                                                                                 \
      LUCID_WARPGROUP_OF(STEP, TYPES, TURNED_END)                                                                           \
    } else {                                                                                                                \
      LUCID_WARPGROUP_OF(STEP, TYPES, STRAIGHT)                                                                             \
    }                                                                                                                       \
  }
LUCID_WARPGROUP(warpgroup_tf32, "k8", "tf32.tf32", "", "")
LUCID_WARPGROUP(warpgroup_float16, "k16", "f16.f16", ", 0, 0", ", 1, 1")
LUCID_WARPGROUP(warpgroup_bfloat16, "k16", "bf16.bf16", ", 0, 0", ", 1, 1")
#undef LUCID_WARPGROUP_OF
#undef LUCID_WARPGROUP
#undef LUCID_REGISTERS_64
#undef LUCID_REGISTERS_32
#undef LUCID_SUM4
#undef LUCID_SUM
  #else
__device__ __forceinline__ void copies_for_warpgroups() {}
__device__ __forceinline__ void warpgroup_begin() {}
__device__ __forceinline__ void warpgroup_commit() {}
__device__ __forceinline__ void warpgroup_wait() {}
#define LUCID_WARPGROUP(NAME) \
  template <int COLUMNS, bool TURNED = false> __device__ __forceinline__ void NAME(float (*)[4], Shared, Shared, int) { __trap(); }
LUCID_WARPGROUP(warpgroup_tf32)
LUCID_WARPGROUP(warpgroup_float16)
LUCID_WARPGROUP(warpgroup_bfloat16)
#undef LUCID_WARPGROUP
  #endif
#endif
