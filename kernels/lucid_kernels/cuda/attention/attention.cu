// instantiate: attention<float>, attention<double>, attention_grad_query<float>, attention_grad_query<double>
// instantiate: attention_grad_key_value<float>, attention_grad_key_value<double>
//
// Scaled dot-product attention and its gradients, a tile of the scores at a time (Dao et al., "FlashAttention", 2022).
//
// A block has TILE queries and walks over the keys (or the reverse), TILE of them at a time; a thread holds MICRO
// rows and columns of each tile. Operands are staged through shared memory in slabs of 16 terms. The 16 threads of a row of
// the tile are neighbours in a warp, so that sums and maxima over a row take shuffles only. A block computes TILE columns
// of its results; wider ones take more blocks (blockIdx.y), each of which computes the scores again.
// No atomics: every sum has a fixed order.
//
// __launch_bounds__(256, 1): without the 1 ptxas spills registers to fit two blocks on a multiprocessor.
#include "common.cuh"

constexpr int SLAB = 16;  // terms of a sum staged at a time
constexpr int SIDE = 16;  // threads along each side of a tile
constexpr int THREADS = SIDE * SIDE;

// 64 x 64 scores, or 32 x 32 doubles: two tiles and two slabs stay below 48 KiB.
template <typename T> struct Geometry {
  static constexpr int MICRO = sizeof(T) == 4 ? 4 : 2;
  static constexpr int TILE = SIDE * MICRO;
  static constexpr int PITCH = TILE + 4;
};

// Scalars instead of a struct argument: CuPy checks and passes plain scalars.
#define PROBLEM_ARGUMENTS                                                                                               \
  const T *__restrict__ q, const T *__restrict__ k, const T *__restrict__ v, const T *__restrict__ mask, int has_mask, \
      i64 mask_batch, i64 mask_head, i64 mask_query, i64 mask_key, int heads, int groups, int queries, int keys,        \
      int width, int value_width, int is_causal, T scale, T before, T after
#define PROBLEM                                                                                                         \
  { mask, has_mask, mask_batch, mask_head, mask_query, mask_key, heads, queries, keys, is_causal, scale, before, after }

// Rounded: with a multiplication and subtraction in one, large scores were far beyond the largest of them.
__device__ __forceinline__ float product(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ double product(double a, double b) { return __dmul_rn(a, b); }

template <typename T> struct Problem {
  const T* mask;
  int has_mask;
  i64 mask_batch, mask_head, mask_query, mask_key;  // strides, 0 along which the mask is the same
  int heads, queries, keys;
  int is_causal;
  T scale, before, after;  // factors: of both, of the dot products, and of the differences of scores
  __device__ __forceinline__ bool visible(int query, int key) const {
    return query < queries && key < keys && (!is_causal || key <= query);
  }
  // The score of a visible pair; `head` counts over the batch.
  __device__ __forceinline__ T score(T dot, i64 head, int query, int key) const {
    const T scaled = product(dot, before);
    if (!has_mask) return scaled;
    return scaled + mask[head / heads * mask_batch + head % heads * mask_head + query * mask_query + key * mask_key];
  }
  __device__ __forceinline__ T power(T score, T shift) const { return exp_((score - shift) * after); }
};

__device__ __forceinline__ int tile_row() { return threadIdx.x / SIDE; }
__device__ __forceinline__ int tile_column() { return threadIdx.x % SIDE; }

// All 16 threads of a row get the result.
template <typename T, typename Op> __device__ __forceinline__ T row_reduce(T value, Op op) {
#pragma unroll
  for (int offset = SIDE / 2; offset > 0; offset >>= 1) value = op(value, __shfl_xor_sync(0xffffffffu, value, offset));
  return value;
}

// slab[term][line] = x[line][first + term] of a matrix of `lines` x `width`, zero outside.
template <typename T>
__device__ __forceinline__ void stage_along(T (*slab)[Geometry<T>::PITCH], const T* x, int lines, int width, int first) {
  for (int i = threadIdx.x; i < SLAB * Geometry<T>::TILE; i += THREADS) {
    const int term = i % SLAB, line = i / SLAB;
    slab[term][line] = line < lines && first + term < width ? x[(i64)line * width + first + term] : T(0);
  }
}

// slab[term][column] = x[first + term][start + column] of a matrix of `lines` x `width`, zero outside.
template <typename T>
__device__ __forceinline__ void stage_across(T (*slab)[Geometry<T>::PITCH], const T* x, int lines, int width, int first,
                                             int start) {
  for (int i = threadIdx.x; i < SLAB * Geometry<T>::TILE; i += THREADS) {
    const int column = i % Geometry<T>::TILE, term = i / Geometry<T>::TILE;
    slab[term][column] =
        first + term < lines && start + column < width ? x[(i64)(first + term) * width + start + column] : T(0);
  }
}

template <typename T> struct Tile {
  static constexpr int MICRO = Geometry<T>::MICRO, TILE = Geometry<T>::TILE, PITCH = Geometry<T>::PITCH;
  T at[MICRO][MICRO];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < MICRO; ++i)
#pragma unroll
      for (int j = 0; j < MICRO; ++j) at[i][j] = T(0);
  }

  // a b^T for rows a and b of `width` elements.
  __device__ __forceinline__ void rows_by_rows(const T* a, int a_lines, const T* b, int b_lines, int width,
                                               T (*left)[PITCH], T (*right)[PITCH]) {
    clear();
    for (int first = 0; first < width; first += SLAB) {
      stage_along<T>(left, a, a_lines, width, first);
      stage_along<T>(right, b, b_lines, width, first);
      __syncthreads();
#pragma unroll
      for (int term = 0; term < SLAB; ++term)
#pragma unroll
        for (int i = 0; i < MICRO; ++i)
#pragma unroll
          for (int j = 0; j < MICRO; ++j)
            at[i][j] += left[term][tile_row() * MICRO + i] * right[term][tile_column() * MICRO + j];
      __syncthreads();  // the next slab overwrites this one
    }
  }

  // Adds a b, or a^T b where TRANSPOSED, for a whole tile `a` in shared memory and the columns of b from `start` on. `a` may
  // have been written just before: the first barrier stands before its first use.
  template <bool TRANSPOSED>
  __device__ __forceinline__ void add_tile_by_rows(T (*a)[PITCH], const T* b, int b_lines, int width, int start,
                                                   T (*right)[PITCH]) {
    for (int first = 0; first < TILE; first += SLAB) {
      stage_across<T>(right, b, b_lines, width, first, start);
      __syncthreads();
#pragma unroll
      for (int term = 0; term < SLAB; ++term)
#pragma unroll
        for (int i = 0; i < MICRO; ++i) {
          const int row = tile_row() * MICRO + i;
          const T factor = TRANSPOSED ? a[first + term][row] : a[row][first + term];
#pragma unroll
          for (int j = 0; j < MICRO; ++j) at[i][j] += factor * right[term][tile_column() * MICRO + j];
        }
      __syncthreads();
    }
  }

  __device__ __forceinline__ void share(T (*target)[PITCH]) const {
#pragma unroll
    for (int i = 0; i < MICRO; ++i)
#pragma unroll
      for (int j = 0; j < MICRO; ++j) target[tile_row() * MICRO + i][tile_column() * MICRO + j] = at[i][j];
  }

  // Row i to line i of a matrix of `lines` x `width`, at the columns from `start` on.
  __device__ __forceinline__ void store(T* x, int lines, int width, int start) const {
#pragma unroll
    for (int i = 0; i < MICRO; ++i)
#pragma unroll
      for (int j = 0; j < MICRO; ++j) {
        const int line = tile_row() * MICRO + i, column = start + tile_column() * MICRO + j;
        if (line < lines && column < width) x[(i64)line * width + column] = at[i][j];
      }
  }
};

// The probabilities of a query are exp((score - shift) after) factor: the logarithm of their sum is rounded away beside a shift
// as low as a mask may be. A query that sees nothing gets zeros, +inf and 0: then its probabilities are 0 below.
template <typename T>
__global__ void __launch_bounds__(THREADS, 1)
attention(PROBLEM_ARGUMENTS, T* __restrict__ y, T* __restrict__ shifts, T* __restrict__ factors) {
  constexpr int MICRO = Geometry<T>::MICRO, TILE = Geometry<T>::TILE, PITCH = Geometry<T>::PITCH;
  __shared__ T left[SLAB][PITCH], right[SLAB][PITCH], probabilities[TILE][PITCH];
  const Problem<T> problem = PROBLEM;
  const int tiles = (queries + TILE - 1) / TILE;
  const i64 head = blockIdx.x / tiles, group = head / (heads / groups);
  const int query = blockIdx.x % tiles * TILE, start = blockIdx.y * TILE;
  const int last = is_causal ? min(keys, query + TILE) : keys;
  T top[MICRO], total[MICRO];
#pragma unroll
  for (int i = 0; i < MICRO; ++i) { top[i] = -infinity<T>(); total[i] = T(0); }
  Tile<T> scores, sum;
  sum.clear();
  for (int key = 0; key < last; key += TILE) {
    scores.rows_by_rows(q + (head * queries + query) * width, queries - query, k + (group * keys + key) * width, keys - key,
                        width, left, right);
#pragma unroll
    for (int i = 0; i < MICRO; ++i) {
      const int row = query + tile_row() * MICRO + i;
      T largest = top[i];
#pragma unroll
      for (int j = 0; j < MICRO; ++j) {
        const int column = key + tile_column() * MICRO + j;
        T& score = scores.at[i][j];
        score = problem.visible(row, column) ? problem.score(score, head, row, column) : -infinity<T>();
        largest = Max()(largest, score);
      }
      largest = row_reduce(largest, Max());
      const T shift = largest == -infinity<T>() ? T(0) : largest;  // -inf - -inf would be NaN
      const T kept = problem.power(top[i], shift);
      T partial = T(0);
#pragma unroll
      for (int j = 0; j < MICRO; ++j) {
        scores.at[i][j] = problem.power(scores.at[i][j], shift);
        partial += scores.at[i][j];
        sum.at[i][j] *= kept;
      }
      total[i] = total[i] * kept + row_reduce(partial, Sum());
      top[i] = largest;
    }
    scores.share(probabilities);
    sum.template add_tile_by_rows<false>(probabilities, v + (group * keys + key) * value_width, keys - key, value_width,
                                         start, right);
  }
#pragma unroll
  for (int i = 0; i < MICRO; ++i) {
    const bool blind = top[i] == -infinity<T>();
#pragma unroll
    for (int j = 0; j < MICRO; ++j) sum.at[i][j] = blind ? T(0) : sum.at[i][j] / total[i];
    const int row = query + tile_row() * MICRO + i;
    if (blockIdx.y == 0 && tile_column() == 0 && row < queries) {
      shifts[head * queries + row] = blind ? infinity<T>() : top[i];
      factors[head * queries + row] = blind ? T(0) : T(1) / total[i];
    }
  }
  sum.store(y + (head * queries + query) * value_width, queries - query, value_width, start);
}

// The probabilities of a tile, and the gradients of its scores times `scale`.
template <typename T>
__device__ __forceinline__ void gradient_tile(const Problem<T>& problem, const T* q, const T* k, const T* v, const T* g,
                                              const T* shifts, const T* factors, const T* dots, i64 head, i64 group,
                                              int query, int key, int width, int value_width, Tile<T>& probabilities,
                                              Tile<T>& gradients, T (*left)[Geometry<T>::PITCH], T (*right)[Geometry<T>::PITCH]) {
  constexpr int MICRO = Geometry<T>::MICRO;
  const i64 first_query = head * problem.queries + query, first_key = group * problem.keys + key;
  const int query_lines = problem.queries - query, key_lines = problem.keys - key;
  probabilities.rows_by_rows(q + first_query * width, query_lines, k + first_key * width, key_lines, width, left, right);
  gradients.rows_by_rows(g + first_query * value_width, query_lines, v + first_key * value_width, key_lines, value_width,
                         left, right);
#pragma unroll
  for (int i = 0; i < MICRO; ++i) {
    const int row = tile_row() * MICRO + i;
    const bool inside = row < query_lines;
    const T shift = inside ? shifts[first_query + row] : T(0), factor = inside ? factors[first_query + row] : T(0);
    const T dot = inside ? dots[first_query + row] : T(0);
#pragma unroll
    for (int j = 0; j < MICRO; ++j) {
      const int column = key + tile_column() * MICRO + j;
      const bool visible = problem.visible(query + row, column);
      T& probability = probabilities.at[i][j];
      probability = visible ? problem.power(problem.score(probability, head, query + row, column), shift) * factor : T(0);
      gradients.at[i][j] = visible ? probability * (gradients.at[i][j] - dot) * problem.scale : T(0);
    }
  }
}

template <typename T>
__global__ void __launch_bounds__(THREADS, 1)
attention_grad_query(PROBLEM_ARGUMENTS, const T* __restrict__ g, const T* __restrict__ shifts, const T* __restrict__ factors,
                     const T* __restrict__ dots, T* __restrict__ dq) {
  constexpr int TILE = Geometry<T>::TILE, PITCH = Geometry<T>::PITCH;
  __shared__ T left[SLAB][PITCH], right[SLAB][PITCH], shared[TILE][PITCH];
  const Problem<T> problem = PROBLEM;
  const int tiles = (queries + TILE - 1) / TILE;
  const i64 head = blockIdx.x / tiles, group = head / (heads / groups);
  const int query = blockIdx.x % tiles * TILE, start = blockIdx.y * TILE;
  const int last = is_causal ? min(keys, query + TILE) : keys;
  Tile<T> probabilities, gradients, sum;
  sum.clear();
  for (int key = 0; key < last; key += TILE) {
    gradient_tile(problem, q, k, v, g, shifts, factors, dots, head, group, query, key, width, value_width, probabilities,
                  gradients, left, right);
    gradients.share(shared);
    sum.template add_tile_by_rows<false>(shared, k + (group * keys + key) * width, keys - key, width, start, right);
  }
  sum.store(dq + (head * queries + query) * width, queries - query, width, start);
}

template <typename T>
__global__ void __launch_bounds__(THREADS, 1)
attention_grad_key_value(PROBLEM_ARGUMENTS, const T* __restrict__ g, const T* __restrict__ shifts,
                         const T* __restrict__ factors, const T* __restrict__ dots, T* __restrict__ dk, T* __restrict__ dv) {
  constexpr int TILE = Geometry<T>::TILE, PITCH = Geometry<T>::PITCH;
  __shared__ T left[SLAB][PITCH], right[SLAB][PITCH], shared[TILE][PITCH];
  const Problem<T> problem = PROBLEM;
  const int tiles = (keys + TILE - 1) / TILE, repeats = heads / groups;
  const i64 group = blockIdx.x / tiles;
  const int key = blockIdx.x % tiles * TILE, start = blockIdx.y * TILE;
  Tile<T> probabilities, gradients, dk_sum, dv_sum;
  dk_sum.clear();
  dv_sum.clear();
  for (i64 head = group * repeats; head < (group + 1) * repeats; ++head) {
    for (int query = is_causal ? key : 0; query < queries; query += TILE) {
      gradient_tile(problem, q, k, v, g, shifts, factors, dots, head, group, query, key, width, value_width, probabilities,
                    gradients, left, right);
      const i64 row = head * queries + query;
      probabilities.share(shared);
      dv_sum.template add_tile_by_rows<true>(shared, g + row * value_width, queries - query, value_width, start, right);
      gradients.share(shared);
      dk_sum.template add_tile_by_rows<true>(shared, q + row * width, queries - query, width, start, right);
    }
  }
  dk_sum.store(dk + (group * keys + key) * width, keys - key, width, start);
  dv_sum.store(dv + (group * keys + key) * value_width, keys - key, value_width, start);
}
