// What kernels reach through inline PTX on a GPU: asynchronous copies and tensor cores. A wrapper in a .cuh file calls
// these under `#ifdef LUCID_SIMULATOR`.
#pragma once

namespace simulator {

LUCID_INLINE void cp_async(void* target, const void* source, unsigned bytes) {
  cp_async_zfill(target, source, bytes, bytes);
}

// ---- mma.sync.m16n8k16, row.col, accumulated in float32
template <class T>
LUCID_INLINE void mma_m16n8k16(float* d, const uint32_t* a, const uint32_t* b, const float* c, Place place) {
  if constexpr (std::is_same_v<T, __half>) {
    mma_m16n8k16_half(d, a, b, c, place);
  } else {
    static_assert(std::is_same_v<T, __nv_bfloat16>);
    mma_m16n8k16_bfloat16(d, a, b, c, place);
  }
}

// ---- ldmatrix.x4 of 8x8 matrices of 16-bit elements; lane l gives the address of row l % 8 of matrix l / 8
template <bool Transposed> LUCID_INLINE void ldmatrix_x4(uint32_t* registers, const void* row, Place place) {
  ldmatrix_x4(Transposed, registers, row, place);
}

}  // namespace simulator
