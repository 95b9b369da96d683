// What the tensor-core kernels of attention have in common: their arguments, copies of tiles to shared memory, and scores.
#pragma once
#include "attention_products.cuh"
#include "philox.cuh"

// Scalars instead of a struct argument: CuPy checks and passes plain scalars. Of an array of (batch, head, row, column) there are
// the strides of the first three; columns are neighbours.
#define STRIDES(x) i64 x##_batch, i64 x##_head, i64 x##_row
#define PROBLEM_ARGUMENTS                                                                                                   \
  const T *__restrict__ q, const T *__restrict__ k, const T *__restrict__ v, STRIDES(q), STRIDES(k), STRIDES(v),            \
      const void *__restrict__ mask, int mask_kind, i64 mask_batch, i64 mask_head, i64 mask_query, i64 mask_key, int heads, \
      int groups, int queries, int keys, int width, int value_width, int is_causal, float scale, float before, float after, \
      int drops, unsigned threshold, float kept, u64 seed, u64 offset, int aligned
#define PROBLEM                                                                                                              \
  { mask, mask_kind, mask_batch, mask_head, mask_query, mask_key, heads, queries, keys, before, after * 1.4426950408889634f, \
    is_causal, drops, threshold, kept, seed, offset }
// The first row of head `index` of x, which counts over the batch.
#define HEAD_OF(x, index, count) ((x) + (index) / (count) * x##_batch + (index) % (count) * x##_head)

// Not inlined: ptxas would mix the words of many elements, and spill registers.
__device__ __noinline__ uint4 words_of(u64 counter, u64 seed) { return philox(counter, seed); }

// PLAIN: no mask, no dropout, and the scores are the dot products. What the others need would take registers and jumps from it.
template <bool PLAIN> struct Problem {
  const void* mask;
  int mask_kind;  // its numbers: 0 no mask, 1 float, 2 __half, 3 __nv_bfloat16
  i64 mask_batch, mask_head, mask_query, mask_key;  // strides, 0 along which the mask is the same
  int heads, queries, keys;
  float before, after;  // factors: of dot products, and of the differences of scores, as exponents of two
  int is_causal;
  int drops;  // whether there is dropout: of the probabilities whose random word is below `threshold`; the others are `kept` times
  unsigned threshold;
  float kept;
  u64 seed, offset;

  __device__ __forceinline__ bool visible(int query, int key) const {
    return query < queries && key < keys && (!is_causal || key <= query);
  }
  // Whether all queries from `query` on see all keys before `key_end`, and their scores are the dot products. Queries past the
  // end may see what they like: they have zeros, and factors of 0.
  __device__ __forceinline__ bool is_plain(int query, int key_end) const {
    return (PLAIN || (mask_kind == 0 && before == 1.f)) && key_end <= keys && (!is_causal || key_end <= query + 1);
  }
  // Rounded before the sum: with a multiplication and addition in one, large scores were far beyond the largest of them.
  __device__ __forceinline__ float score(float dot, int head, int query, int key) const {
    if (!visible(query, key)) return -CUDART_INF_F;
    const float scaled = __fmul_rn(dot, before);
    if (mask_kind == 0) return scaled;
    const i64 at = head / heads * mask_batch + head % heads * mask_head + query * mask_query + key * mask_key;
    if (mask_kind == 1) return scaled + static_cast<const float*>(mask)[at];
    if (mask_kind == 2) return scaled + to_float(static_cast<const __half*>(mask)[at]);
    return scaled + to_float(static_cast<const __nv_bfloat16*>(mask)[at]);
  }
  // 2^((score - shift) after), by the `level` of the shift. That is an exponent where a product of halves is the score, which
  // leaves one instruction before the power. From scores of float, and from those with a mask, which may be as low as the least
  // number of all keys, the shift is subtracted: a level would be rounded by more than an exponent can take.
  template <typename T> static constexpr bool HAS_EXPONENTS = PLAIN && !Number<T>::SPLIT;
  template <typename T> __device__ __forceinline__ float level(float shift) const {
    return HAS_EXPONENTS<T> ? shift * after : shift;
  }
  template <typename T> __device__ __forceinline__ float power(float score, float level) const {
    return exp2f(HAS_EXPONENTS<T> ? fmaf(score, after, -level) : (score - level) * after);
  }
  // The same times `factor`, which is in the level where that is an exponent.
  template <typename T> __device__ __forceinline__ float level(float shift, float factor) const {
    return HAS_EXPONENTS<T> ? shift * after - log2f(factor) : shift;
  }
  template <typename T> __device__ __forceinline__ float power(float score, float level, float factor) const {
    return HAS_EXPONENTS<T> ? power<T>(score, level) : power<T>(score, level) * factor;
  }
  // The factors of the probabilities of two neighbours in the row-major matrix of all probabilities, of which each has a word: a
  // product, not a choice, so that a dropped NaN gives NaN.
  __device__ __forceinline__ void factors(int head, int query, int key, float& first, float& second) const {
    const u64 i = ((u64)head * queries + query) * keys + key;
    uint4 words = words_of(offset + (i >> 2), seed);
    first = factor(words, i);
    if ((i & 3) == 3) words = words_of(offset + (i >> 2) + 1, seed);
    second = factor(words, i + 1);
  }
  __device__ __forceinline__ float factor(uint4 words, u64 i) const {
    const unsigned low = i & 1 ? words.y : words.x, high = i & 1 ? words.w : words.z;
    return (i & 2 ? high : low) >= threshold ? kept : 0.f;
  }
  __device__ __forceinline__ float kept_or_dropped(int head, int query, int key) const {
    if (PLAIN || !drops) return 1.f;
    const u64 i = ((u64)head * queries + query) * keys + key;
    return factor(words_of(offset + (i >> 2), seed), i);
  }
};

__device__ __forceinline__ int warp_of_block() { return threadIdx.x >> 5; }
// The row and the column of a lane's first element of 16 x 8.
__device__ __forceinline__ int lane_row() { return (threadIdx.x & 31) >> 2; }
__device__ __forceinline__ int lane_column() { return (threadIdx.x & 3) * 2; }

// The rows of a block: `head` counts over the batch.
struct Place {
  int head, first;
};
// Under a causal mask, those with most to do first, of all heads; else those of a head one after the other, which read the same.
__device__ __forceinline__ Place place_of_block(int rows, int rows_of_block, bool is_causal, bool last_has_most) {
  const int tiles = (rows + rows_of_block - 1) / rows_of_block;
  if (!is_causal) return {(int)blockIdx.x / tiles, (int)blockIdx.x % tiles * rows_of_block};
  const int heads = gridDim.x / tiles, tile = blockIdx.x / heads;
  return {(int)blockIdx.x % heads, (last_has_most ? tiles - 1 - tile : tile) * rows_of_block};
}

__device__ __forceinline__ float finite_or_zero(float shift) { return shift == -CUDART_INF_F ? 0.f : shift; }

template <int BLOCKS, int COUNT> __device__ __forceinline__ void clear(float (&x)[BLOCKS][COUNT][4]) {
#pragma unroll
  for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
    for (int j = 0; j < COUNT; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) x[b][j][e] = 0.f;
}

// Scores from the dot products of the warp's rows, from `row` on, and the columns from `column` on.
template <bool KEYS_ARE_ROWS, bool PLAIN, int BLOCKS, int COUNT>
__device__ __forceinline__ void to_scores(const Problem<PLAIN>& problem, float (&s)[BLOCKS][COUNT][4], int head, int row,
                                          int column) {
  if (KEYS_ARE_ROWS ? problem.is_plain(column, row + BLOCKS * 16) : problem.is_plain(row, column + COUNT * 8)) return;
  if constexpr (PLAIN) {
    column += lane_column();
#pragma unroll
    for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int r = row + b * 16 + lane_row() + half * 8;
        // Rows of keys past the end may have any scores: nothing of them is stored.
        const int low = problem.is_causal ? r - column : 0, high = min(problem.is_causal ? r : problem.keys, problem.keys - 1) - column;
#pragma unroll
        for (int j = 0; j < COUNT; ++j)
#pragma unroll
          for (int e = 0; e < 2; ++e)
            if (KEYS_ARE_ROWS ? j * 8 + e < low : j * 8 + e > high) s[b][j][2 * half + e] = -CUDART_INF_F;
      }
    return;
  }
#pragma unroll
  for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
    for (int j = 0; j < COUNT; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int r = row + b * 16 + lane_row() + (e >> 1) * 8, c = column + j * 8 + lane_column() + (e & 1);
        s[b][j][e] = KEYS_ARE_ROWS ? problem.score(s[b][j][e], head, c, r) : problem.score(s[b][j][e], head, r, c);
      }
}

// Dropout of the probabilities, or of their gradients, of the warp's rows of queries from `row` on and the keys from `column` on.
template <bool PLAIN, int BLOCKS, int COUNT>
__device__ __forceinline__ void drop(const Problem<PLAIN>& problem, float (&s)[BLOCKS][COUNT][4], int head, int row, int column) {
  if (PLAIN || !problem.drops) return;
#pragma unroll
  for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
    for (int j = 0; j < COUNT; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float first, second;
        problem.factors(head, row + b * 16 + lane_row() + half * 8, column + j * 8 + lane_column(), first, second);
        s[b][j][2 * half] *= first;
        s[b][j][2 * half + 1] *= second;
      }
}

// LINES rows of up to WIDTH elements in shared memory, which THREADS threads fill together.
template <typename T, int WIDTH, int LINES, int THREADS> struct Tile {
  static constexpr int CHUNK = Number<T>::CHUNK, PITCH = WIDTH + CHUNK, ROW = WIDTH / CHUNK, SIZE = LINES * PITCH;
  static constexpr int CHUNKS = LINES * ROW / THREADS;  // of a thread
  static_assert(CHUNKS * THREADS == LINES * ROW && (THREADS % ROW == 0 || ROW % THREADS == 0));
  static __device__ __forceinline__ int first_line() { return threadIdx.x / ROW; }
  static __device__ __forceinline__ int first_column() { return threadIdx.x % ROW * CHUNK; }

  // Lines of a matrix of `lines` x `width`, `stride` apart, from `first` on; zeros outside. `aligned`: all of its 16 bytes lie at
  // multiples.
  static __device__ __forceinline__ void copy(T* tile, const T* x, i64 stride, int first, int lines, int width, bool aligned) {
    const int line = first_line(), column = first_column();
    const T* from = x + (first + line) * stride + column;
    T* const to = tile + line * PITCH + column;
    const int lines_left = lines - first - line, columns_left = width - column;
#pragma unroll
    for (int i = 0; i < CHUNKS; ++i) {
      const int down = i * THREADS / ROW, right = i * THREADS % ROW * CHUNK;
      const bool inside = down < lines_left;
      const T* const chunk = from + down * stride + right;
      T* const target = to + down * PITCH + right;
      if (aligned) {
        copy16(shared_of(target), chunk, inside && right < columns_left ? 16 : 0);
      } else {
#pragma unroll
        for (int e = 0; e < CHUNK; ++e) target[e] = inside && right + e < columns_left ? chunk[e] : T(0.f);
      }
    }
  }

  // Whether a number that this thread has copied cannot be split; see attention_products.cuh.
  static __device__ __forceinline__ bool is_special(const T* tile) {
    if constexpr (Number<T>::SPLIT) {
      u32 largest = 0;
#pragma unroll
      for (int i = 0; i < CHUNKS; ++i) {
        const float4 x = *reinterpret_cast<const float4*>(tile + (first_line() + i * THREADS / ROW) * PITCH + first_column() +
                                                          i * THREADS % ROW * CHUNK);
        largest = max(largest, max(max(__float_as_uint(x.x) & 0x7fffffffu, __float_as_uint(x.y) & 0x7fffffffu),
                                   max(__float_as_uint(x.z) & 0x7fffffffu, __float_as_uint(x.w) & 0x7fffffffu)));
      }
      return largest >= TOO_LARGE;
    }
    return false;
  }
};

// A barrier; whether `special` is true of any thread.
template <typename T> __device__ __forceinline__ bool barrier_or(bool special) {
  if constexpr (Number<T>::SPLIT) return __syncthreads_or(special);
  __syncthreads();
  return false;
}

// Calls a product as what the numbers of both tiles need.
template <bool TRANSPOSED, typename T, int WIDTH, int BLOCKS, int LINES>
__device__ __forceinline__ void rows_by_rows(bool special, float (&d)[BLOCKS][LINES / 8][4], const T* left, const T* right) {
  using P = Product<T, WIDTH, BLOCKS>;
  clear(d);
  if (Number<T>::SPLIT && special) P::template rows_by_rows<true, TRANSPOSED, LINES>(d, shared_of(left), shared_of(right));
  else P::template rows_by_rows<false, TRANSPOSED, LINES>(d, shared_of(left), shared_of(right));
}
template <typename T, int WIDTH, int COLUMNS, int BLOCKS, int LINES>
__device__ __forceinline__ void add_registers_by_rows(bool special, float (&d)[BLOCKS][COLUMNS / 8][4],
                                                      const float (&a)[BLOCKS][LINES / 8][4], const T* right) {
  using P = Product<T, WIDTH, BLOCKS>;
  if (Number<T>::SPLIT && special) P::template registers_by_rows<true, LINES, COLUMNS>(d, a, shared_of(right));
  else P::template registers_by_rows<false, LINES, COLUMNS>(d, a, shared_of(right));
}

// The warp's rows, from row `line` of a matrix of `lines` x `width` on, which are `stride` apart, to its columns from `start` on.
template <typename T, int BLOCKS, int COUNT>
__device__ __forceinline__ void store_rows(T* x, i64 stride, const float (&d)[BLOCKS][COUNT][4], int line, int lines,
                                           int width, int start, bool aligned) {
#pragma unroll
  for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = line + b * 16 + half * 8 + lane_row();
      if (row >= lines) continue;
      T* to = x + row * stride;
#pragma unroll
      for (int j = 0; j < COUNT; ++j) {
        const int column = start + j * 8 + lane_column();
        struct alignas(2 * sizeof(T)) Pair {
          T first, second;
        };
        const Pair pair = {Number<T>::rounded(d[b][j][2 * half]), Number<T>::rounded(d[b][j][2 * half + 1])};
        if (aligned) {
          if (column < width) *reinterpret_cast<Pair*>(to + column) = pair;
        } else {
          if (column < width) to[column] = pair.first;
          if (column + 1 < width) to[column + 1] = pair.second;
        }
      }
    }
}
