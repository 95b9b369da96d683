// How a warp multiplies tiles for attention: rows by rows, and what it has in registers by rows.
//
// A warp has BLOCKS times 16 rows of a result. float[4] is what it has of 16 x 8 elements: a lane has two neighbours in row
// lane / 4 and two in the row 8 below, at column lane % 4 * 2. A line of a tile has WIDTH elements and 16 bytes more, so that
// eight lines lie in different banks.
//
// float: three products of TF32 for each, see split_tf32.cuh. Tiles with inf, NaN or numbers that TF32 rounds to inf take
// `CAREFUL`.
#pragma once
#include "common.cuh"
#include "split_tf32.cuh"

__device__ __forceinline__ float to_float(float x) { return x; }
__device__ __forceinline__ float to_float(__half x) { return __half2float(x); }
__device__ __forceinline__ float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }

// CHUNK: the elements of 16 bytes. DEPTH: terms that an mma adds.
template <typename T> struct Number;

template <typename Pair> __device__ __forceinline__ u32 bits_of(Pair pair) {
  u32 bits;
  memcpy(&bits, &pair, sizeof bits);
  return bits;
}
template <> struct Number<__half> {
  static constexpr int CHUNK = 8, DEPTH = 16;
  static constexpr bool SPLIT = false;
  static __device__ __forceinline__ u32 pair(float a, float b) { return bits_of(__floats2half2_rn(a, b)); }
  static __device__ __forceinline__ __half rounded(float x) { return __float2half_rn(x); }
  static __device__ __forceinline__ void mma(float* d, const u32* a, const u32* b) { mma_float16(d, a, b); }
};
template <> struct Number<__nv_bfloat16> {
  static constexpr int CHUNK = 8, DEPTH = 16;
  static constexpr bool SPLIT = false;
  static __device__ __forceinline__ u32 pair(float a, float b) { return bits_of(__floats2bfloat162_rn(a, b)); }
  static __device__ __forceinline__ __nv_bfloat16 rounded(float x) { return __float2bfloat16_rn(x); }
  static __device__ __forceinline__ void mma(float* d, const u32* a, const u32* b) { mma_bfloat16(d, a, b); }
};
template <> struct Number<float> {
  static constexpr int CHUNK = 4, DEPTH = 8;
  static constexpr bool SPLIT = true;
  static __device__ __forceinline__ float rounded(float x) { return x; }
};

// ---- products of 16-bit elements
template <typename T, int WIDTH, int BLOCKS> struct Product {
  static constexpr int CHUNK = Number<T>::CHUNK, DEPTH = Number<T>::DEPTH, PITCH = WIDTH + CHUNK, SIZE = sizeof(T);

  // Whether there are registers for the rows that a warp multiplies in every step.
  static constexpr bool KEEPS = WIDTH <= 64;
  struct Kept {
    u32 rows[WIDTH / DEPTH][BLOCKS][4];
  };
  static __device__ __forceinline__ void keep(Kept& kept, Shared left) {
#pragma unroll
    for (int k = 0; k < WIDTH; k += DEPTH) load(kept.rows[k / DEPTH], left, k);
  }
  template <int LINES>
  static __device__ __forceinline__ void kept_by_rows(float (&d)[BLOCKS][LINES / 8][4], const Kept& kept, Shared right) {
#pragma unroll
    for (int k = 0; k < WIDTH; k += DEPTH) add_terms<LINES>(d, kept.rows[k / DEPTH], right, k);
  }

  // d += the warp's rows of `left`, from which they start, times LINES rows of `right`.
  template <bool CAREFUL, bool TRANSPOSED, int LINES>
  static __device__ __forceinline__ void rows_by_rows(float (&d)[BLOCKS][LINES / 8][4], Shared left, Shared right) {
#pragma unroll 8
    for (int k = 0; k < WIDTH; k += DEPTH) {
      u32 a[BLOCKS][4];
      load(a, left, k);
      add_terms<LINES>(d, a, right, k);
    }
  }
  static __device__ __forceinline__ void load(u32 (&a)[BLOCKS][4], Shared left, int k) {
    const int lane = threadIdx.x & 31;
    const Shared at = left + ((lane & 15) * PITCH + (lane >> 4) * CHUNK) * SIZE;
#pragma unroll
    for (int b = 0; b < BLOCKS; ++b) load_matrices(a[b], at + (b * 16 * PITCH + k) * SIZE);
  }
  // Of the columns from k on.
  template <int LINES>
  static __device__ __forceinline__ void add_terms(float (&d)[BLOCKS][LINES / 8][4], const u32 (&a)[BLOCKS][4], Shared right,
                                                   int k) {
    const int lane = threadIdx.x & 31;
    const Shared at = right + (((lane >> 4) * 8 + (lane & 7)) * PITCH + (lane >> 3 & 1) * CHUNK) * SIZE;
#pragma unroll
    for (int j = 0; j < LINES / 16; ++j) {
      u32 w[4];
      load_matrices(w, at + (j * 16 * PITCH + k) * SIZE);
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b) {
        Number<T>::mma(d[b][2 * j], a[b], w);
        Number<T>::mma(d[b][2 * j + 1], a[b], w + 2);
      }
    }
  }

  // d += the tile `a` in registers times COLUMNS columns of the LINES rows of `right`, from `right` on.
  template <bool CAREFUL, int LINES, int COLUMNS>
  static __device__ __forceinline__ void registers_by_rows(float (&d)[BLOCKS][COLUMNS / 8][4],
                                                           const float (&a)[BLOCKS][LINES / 8][4], Shared right) {
    const int lane = threadIdx.x & 31;
    const Shared at = right + ((lane & 15) * PITCH + (lane >> 4) * CHUNK) * SIZE;
#pragma unroll
    for (int j = 0; j < LINES / 16; ++j) {
      u32 left[BLOCKS][4];
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          left[b][i] = Number<T>::pair(a[b][2 * j + i / 2][i % 2 * 2], a[b][2 * j + i / 2][i % 2 * 2 + 1]);
#pragma unroll
      for (int c = 0; c < COLUMNS / 16; ++c) {
        u32 w[4];
        load_matrices_transposed(w, at + (j * 16 * PITCH + c * 16) * SIZE);
#pragma unroll
        for (int b = 0; b < BLOCKS; ++b) {
          Number<T>::mma(d[b][2 * c], left[b], w);
          Number<T>::mma(d[b][2 * c + 1], left[b], w + 2);
        }
      }
    }
  }
};

// ---- the same of float
template <int WIDTH, int BLOCKS> struct Product<float, WIDTH, BLOCKS> {
  static constexpr int CHUNK = 4, DEPTH = 8, PITCH = WIDTH + CHUNK, SIZE = 4;
  static constexpr bool KEEPS = false;
  struct Kept {};

  // Tensor cores round sums towards zero, which adds up over many terms. So those of low parts, which are two thirds, are summed
  // apart, and of the high ones WHOLE terms at a time.
  static constexpr int WHOLE = WIDTH < 64 ? WIDTH : 64;
  template <bool CAREFUL, bool TRANSPOSED, int LINES>
  static __device__ __forceinline__ void rows_by_rows(float (&d)[BLOCKS][LINES / 8][4], Shared left, Shared right) {
    float low[BLOCKS][LINES / 8][4] = {};
    add_rows_by_rows<CAREFUL, TRANSPOSED, LINES>(d, low, left, right);
    for (int k = WHOLE; k < WIDTH; k += WHOLE) {
      float high[BLOCKS][LINES / 8][4] = {};
      add_rows_by_rows<CAREFUL, TRANSPOSED, LINES>(high, low, left + k * SIZE, right + k * SIZE);
      add<LINES>(d, high);
    }
    add<LINES>(d, low);
  }
  template <int LINES>
  static __device__ __forceinline__ void add(float (&d)[BLOCKS][LINES / 8][4], const float (&x)[BLOCKS][LINES / 8][4]) {
#pragma unroll
    for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
      for (int j = 0; j < LINES / 8; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e) d[b][j][e] += x[b][j][e];
  }
  template <bool CAREFUL, bool TRANSPOSED, int LINES>
  static __device__ __forceinline__ void add_rows_by_rows(float (&high)[BLOCKS][LINES / 8][4], float (&low)[BLOCKS][LINES / 8][4],
                                                          Shared left, Shared right) {
    const int lane = threadIdx.x & 31;
    const Shared a_at = left + ((lane & 15) * PITCH + (lane >> 4) * CHUNK) * SIZE;
    const Shared b_at = right + (((lane >> 4) * 8 + (lane & 7)) * PITCH + (lane >> 3 & 1) * CHUNK) * SIZE;
#pragma unroll(CAREFUL ? 1 : 4)
    for (int k = 0; k < WHOLE; k += DEPTH) {
      Parts<4> a[BLOCKS];
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b) {
        u32 w[4];
        load_matrices(w, a_at + (b * 16 * PITCH + k) * SIZE);
#pragma unroll
        for (int i = 0; i < 4; ++i) a[b].template set<CAREFUL>(i, w[i]);
      }
#pragma unroll
      for (int j = 0; j < LINES / 16; ++j) {
        u32 w[4];
        load_matrices(w, b_at + (j * 16 * PITCH + k) * SIZE);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          Parts<2> right_parts;
          right_parts.template set<CAREFUL>(0, w[2 * half]);
          right_parts.template set<CAREFUL>(1, w[2 * half + 1]);
#pragma unroll
          for (int b = 0; b < BLOCKS; ++b) {
            multiply<TRANSPOSED, false, true>(low[b][2 * j + half], a[b], right_parts);
            multiply<TRANSPOSED, true, false>(high[b][2 * j + half], a[b], right_parts);
          }
        }
      }
    }
  }

  // The terms of an mma may have any order: terms k and k + 4 are lines 2k and 2k + 1, of which a lane has the elements of `a`.
  // 16 lines are summed apart, for the same reason.
  // The careful products go in two rounds, where ptxas would spill registers in one.
  template <bool CAREFUL, int LINES, int COLUMNS>
  static __device__ __forceinline__ void registers_by_rows(float (&d)[BLOCKS][COLUMNS / 8][4],
                                                           const float (&a)[BLOCKS][LINES / 8][4], Shared right) {
    if constexpr (CAREFUL) {
      add_parts<true, false, true>(d, a, right);
      __syncwarp();  // so that the rounds are not mixed
      add_parts<true, true, false>(d, a, right);
    } else {
      add_parts<false, true, true>(d, a, right);
    }
  }
  template <bool CAREFUL, bool HIGH, bool LOW, int COUNT, int LINE_COUNT>
  static __device__ __forceinline__ void add_parts(float (&d)[BLOCKS][COUNT][4], const float (&a)[BLOCKS][LINE_COUNT][4],
                                                   Shared right) {
    const int lane = threadIdx.x & 31;
    const Shared at = right + (2 * (lane & 3) * PITCH + (lane >> 2)) * SIZE;
#pragma unroll
    for (int j = 0; j < LINE_COUNT / 2; ++j) {
      Parts<4> left[BLOCKS][2];
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
        for (int half = 0; half < 2; ++half)
#pragma unroll
          for (int i = 0; i < 4; ++i)
            left[b][half].template set<CAREFUL>(i, __float_as_uint(a[b][2 * j + half][i % 2 * 2 + i / 2]));
#pragma unroll
      for (int c = 0; c < COUNT; ++c) {
        Parts<2> right_parts[2];
#pragma unroll
        for (int half = 0; half < 2; ++half)
#pragma unroll
          for (int i = 0; i < 2; ++i)
            right_parts[half].template set<CAREFUL>(i, load_word(at + ((j * 16 + half * 8 + i) * PITCH + c * 8) * SIZE));
#pragma unroll
        for (int b = 0; b < BLOCKS; ++b) {
          float sum[4] = {0.f, 0.f, 0.f, 0.f};
          multiply<false, HIGH, LOW>(sum, left[b][0], right_parts[0]);
          multiply<false, HIGH, LOW>(sum, left[b][1], right_parts[1]);
#pragma unroll
          for (int i = 0; i < 4; ++i) d[b][c][i] += sum[i];
        }
      }
    }
  }
};
