// one module an instance
// instantiate: flash_attention_dots<float>
// instantiate: flash_attention<float, 32, 1, 4, 32, 32, true>, flash_attention<float, 32, 1, 4, 32, 32, false>
// instantiate: flash_attention<float, 32, 2, 4, 32, 32, true>, flash_attention<float, 64, 1, 4, 32, 64, true>
// instantiate: flash_attention<float, 64, 1, 4, 32, 64, false>, flash_attention<float, 64, 2, 4, 16, 64, true>
// instantiate: flash_attention<float, 128, 1, 4, 16, 128, true>, flash_attention<float, 128, 1, 4, 16, 128, false>
// instantiate: flash_attention<float, 256, 1, 2, 16, 128, true>, flash_attention<float, 256, 1, 2, 16, 128, false>
// instantiate: flash_attention_grad_query<float, 32, 1, 4, 32, 32, true>
// instantiate: flash_attention_grad_query<float, 32, 1, 4, 32, 32, false>
// instantiate: flash_attention_grad_query<float, 64, 1, 4, 32, 64, true>
// instantiate: flash_attention_grad_query<float, 64, 1, 4, 32, 64, false>
// instantiate: flash_attention_grad_query<float, 64, 2, 4, 16, 64, true>
// instantiate: flash_attention_grad_query<float, 128, 1, 2, 16, 128, true>
// instantiate: flash_attention_grad_query<float, 128, 1, 2, 16, 128, false>
// instantiate: flash_attention_grad_query<float, 128, 1, 4, 16, 128, true>
// instantiate: flash_attention_grad_query<float, 128, 1, 4, 16, 128, false>
// instantiate: flash_attention_grad_query<float, 256, 1, 1, 16, 128, true>
// instantiate: flash_attention_grad_query<float, 256, 1, 1, 16, 128, false>
// instantiate: flash_attention_grad_query<float, 256, 1, 2, 16, 128, true>
// instantiate: flash_attention_grad_query<float, 256, 1, 2, 16, 128, false>
// instantiate: flash_attention_grad_key_value<float, 32, 1, 4, 32, 32, true>
// instantiate: flash_attention_grad_key_value<float, 32, 1, 4, 32, 32, false>
// instantiate: flash_attention_grad_key_value<float, 64, 1, 4, 16, 64, true>
// instantiate: flash_attention_grad_key_value<float, 64, 1, 4, 16, 64, false>
// instantiate: flash_attention_grad_key_value<float, 128, 1, 2, 16, 64, true>
// instantiate: flash_attention_grad_key_value<float, 128, 1, 2, 16, 64, false>
// instantiate: flash_attention_grad_key_value<float, 128, 1, 4, 16, 64, true>
// instantiate: flash_attention_grad_key_value<float, 128, 1, 4, 16, 64, false>
// instantiate: flash_attention_grad_key_value<float, 256, 1, 1, 16, 64, true>
// instantiate: flash_attention_grad_key_value<float, 256, 1, 1, 16, 64, false>
// instantiate: flash_attention_grad_key_value<float, 256, 1, 2, 16, 64, true>
// instantiate: flash_attention_grad_key_value<float, 256, 1, 2, 16, 64, false>
// instantiate: flash_attention_dots<__half>
// instantiate: flash_attention<__half, 32, 1, 4, 64, 32, true>, flash_attention<__half, 32, 1, 4, 64, 32, false>
// instantiate: flash_attention<__half, 32, 2, 4, 64, 32, true>, flash_attention<__half, 64, 1, 4, 64, 64, true>
// instantiate: flash_attention<__half, 64, 1, 4, 64, 64, false>, flash_attention<__half, 64, 2, 4, 64, 64, true>
// instantiate: flash_attention<__half, 128, 1, 4, 64, 128, true>, flash_attention<__half, 128, 1, 4, 64, 128, false>
// instantiate: flash_attention<__half, 128, 2, 4, 32, 128, true>, flash_attention<__half, 256, 1, 4, 16, 256, true>
// instantiate: flash_attention<__half, 256, 1, 4, 16, 256, false>
// instantiate: flash_attention_grad_query<__half, 32, 1, 4, 64, 32, true>
// instantiate: flash_attention_grad_query<__half, 32, 1, 4, 64, 32, false>
// instantiate: flash_attention_grad_query<__half, 64, 1, 4, 32, 64, true>
// instantiate: flash_attention_grad_query<__half, 64, 1, 4, 32, 64, false>
// instantiate: flash_attention_grad_query<__half, 64, 2, 4, 32, 64, true>
// instantiate: flash_attention_grad_query<__half, 128, 1, 4, 32, 128, true>
// instantiate: flash_attention_grad_query<__half, 128, 1, 4, 32, 128, false>
// instantiate: flash_attention_grad_query<__half, 128, 1, 4, 64, 128, true>
// instantiate: flash_attention_grad_query<__half, 128, 1, 4, 64, 128, false>
// instantiate: flash_attention_grad_query<__half, 256, 1, 2, 16, 256, true>
// instantiate: flash_attention_grad_query<__half, 256, 1, 2, 16, 256, false>
// instantiate: flash_attention_grad_query<__half, 256, 1, 4, 16, 256, true>
// instantiate: flash_attention_grad_query<__half, 256, 1, 4, 16, 256, false>
// instantiate: flash_attention_grad_key_value<__half, 32, 1, 4, 64, 32, true>
// instantiate: flash_attention_grad_key_value<__half, 32, 1, 4, 64, 32, false>
// instantiate: flash_attention_grad_key_value<__half, 64, 1, 4, 64, 64, true>
// instantiate: flash_attention_grad_key_value<__half, 64, 1, 4, 64, 64, false>
// instantiate: flash_attention_grad_key_value<__half, 64, 2, 4, 32, 64, true>
// instantiate: flash_attention_grad_key_value<__half, 128, 1, 4, 32, 128, true>
// instantiate: flash_attention_grad_key_value<__half, 128, 1, 4, 32, 128, false>
// instantiate: flash_attention_grad_key_value<__half, 256, 1, 2, 16, 128, true>
// instantiate: flash_attention_grad_key_value<__half, 256, 1, 2, 16, 128, false>
// instantiate: flash_attention_grad_key_value<__half, 256, 1, 4, 16, 128, true>
// instantiate: flash_attention_grad_key_value<__half, 256, 1, 4, 16, 128, false>
// instantiate: flash_attention_dots<__nv_bfloat16>
// instantiate: flash_attention<__nv_bfloat16, 32, 1, 4, 64, 32, true>, flash_attention<__nv_bfloat16, 32, 1, 4, 64, 32, false>
// instantiate: flash_attention<__nv_bfloat16, 32, 2, 4, 64, 32, true>, flash_attention<__nv_bfloat16, 64, 1, 4, 64, 64, true>
// instantiate: flash_attention<__nv_bfloat16, 64, 1, 4, 64, 64, false>, flash_attention<__nv_bfloat16, 64, 2, 4, 64, 64, true>
// instantiate: flash_attention<__nv_bfloat16, 128, 1, 4, 64, 128, true>, flash_attention<__nv_bfloat16, 128, 1, 4, 64, 128, false>
// instantiate: flash_attention<__nv_bfloat16, 128, 2, 4, 32, 128, true>, flash_attention<__nv_bfloat16, 256, 1, 4, 16, 256, true>
// instantiate: flash_attention<__nv_bfloat16, 256, 1, 4, 16, 256, false>
// instantiate: flash_attention_grad_query<__nv_bfloat16, 32, 1, 4, 64, 32, true>
// instantiate: flash_attention_grad_query<__nv_bfloat16, 32, 1, 4, 64, 32, false>
// instantiate: flash_attention_grad_query<__nv_bfloat16, 64, 1, 4, 32, 64, true>
// instantiate: flash_attention_grad_query<__nv_bfloat16, 64, 1, 4, 32, 64, false>
// instantiate: flash_attention_grad_query<__nv_bfloat16, 64, 2, 4, 32, 64, true>
// instantiate: flash_attention_grad_query<__nv_bfloat16, 128, 1, 4, 32, 128, true>
// instantiate: flash_attention_grad_query<__nv_bfloat16, 128, 1, 4, 32, 128, false>
// instantiate: flash_attention_grad_query<__nv_bfloat16, 128, 1, 4, 64, 128, true>
// instantiate: flash_attention_grad_query<__nv_bfloat16, 128, 1, 4, 64, 128, false>
// instantiate: flash_attention_grad_query<__nv_bfloat16, 256, 1, 2, 16, 256, true>
// instantiate: flash_attention_grad_query<__nv_bfloat16, 256, 1, 2, 16, 256, false>
// instantiate: flash_attention_grad_query<__nv_bfloat16, 256, 1, 4, 16, 256, true>
// instantiate: flash_attention_grad_query<__nv_bfloat16, 256, 1, 4, 16, 256, false>
// instantiate: flash_attention_grad_key_value<__nv_bfloat16, 32, 1, 4, 64, 32, true>
// instantiate: flash_attention_grad_key_value<__nv_bfloat16, 32, 1, 4, 64, 32, false>
// instantiate: flash_attention_grad_key_value<__nv_bfloat16, 64, 1, 4, 64, 64, true>
// instantiate: flash_attention_grad_key_value<__nv_bfloat16, 64, 1, 4, 64, 64, false>
// instantiate: flash_attention_grad_key_value<__nv_bfloat16, 64, 2, 4, 32, 64, true>
// instantiate: flash_attention_grad_key_value<__nv_bfloat16, 128, 1, 4, 32, 128, true>
// instantiate: flash_attention_grad_key_value<__nv_bfloat16, 128, 1, 4, 32, 128, false>
// instantiate: flash_attention_grad_key_value<__nv_bfloat16, 256, 1, 2, 16, 128, true>
// instantiate: flash_attention_grad_key_value<__nv_bfloat16, 256, 1, 2, 16, 128, false>
// instantiate: flash_attention_grad_key_value<__nv_bfloat16, 256, 1, 4, 16, 128, true>
// instantiate: flash_attention_grad_key_value<__nv_bfloat16, 256, 1, 4, 16, 128, false>
//
// Scaled dot-product attention and its gradients on tensor cores (Dao, "FlashAttention-2", 2023).
//
// A block of WARPS warps keeps its rows in shared memory, 16 BLOCKS of them a warp, and walks over LINES of the others at a time,
// of which the next are copied meanwhile. Scores and sums stay in registers: the layout of a result of mma is that of the left
// operand of the next one. Rows are queries for y and dq; for dk and dv they are keys, and scores are transposed.
// A block has COLUMNS of its results; wider ones take more blocks (blockIdx.y), each of which computes the scores again.
// T: float (TF32 in three products, see attention_products.cuh), __half or __nv_bfloat16. WIDTH is at least both widths.
// PLAIN: with neither mask nor dropout, see Problem.
// No atomics: every sum has a fixed order. Dropout has the random words that it has where the probabilities are in memory.
#include "attention_tiles.cuh"

// The probabilities of a query are 2^((score - shift) after) factor, as in attention.cu; `shift` is its largest score, or one that
// is less by up to 2^8 in the exponent. A query that sees nothing gets zeros, +inf and 0: then its probabilities are 0 below.
template <typename T, int WIDTH, int BLOCKS, int WARPS, int LINES, int COLUMNS, bool PLAIN>
__global__ void __launch_bounds__(WARPS * 32, 1)
flash_attention(PROBLEM_ARGUMENTS, T* __restrict__ y, STRIDES(y), float* __restrict__ shifts, float* __restrict__ factors) {
  constexpr int ROWS = WARPS * BLOCKS * 16, THREADS = WARPS * 32;
  using Rows = Tile<T, WIDTH, ROWS, THREADS>;
  using Stream = Tile<T, WIDTH, LINES, THREADS>;
  extern __shared__ __align__(128) unsigned char memory[];
  T *const rows = reinterpret_cast<T*>(memory), *const stream = rows + Rows::SIZE;
  const Problem<PLAIN> problem = PROBLEM;
  const Place place = place_of_block(queries, ROWS, is_causal, true);
  const int head = place.head, first = place.first, group = head / (heads / groups);
  const int start = blockIdx.y * COLUMNS;
  const int warp_row = warp_of_block() * BLOCKS * 16;
  const int last = is_causal ? min(keys, first + ROWS) : keys, steps = (last + LINES - 1) / LINES;
  const int warp_last = first + warp_row >= queries ? 0 : is_causal ? first + warp_row + BLOCKS * 16 : keys;
  const bool q_aligned = aligned & 1, v_aligned = aligned & 2;
  k = HEAD_OF(k, group, groups);
  v = HEAD_OF(v, group, groups);
  const auto copy = [&](int step) {
    T* const keys_tile = stream + (step & 1) * 2 * Stream::SIZE;
    Stream::copy(keys_tile, k, k_row, step * LINES, keys, width, q_aligned);
    Stream::copy(keys_tile + Stream::SIZE, v, v_row, step * LINES, keys, value_width, v_aligned);
    copies_commit();
  };
  Rows::copy(rows, HEAD_OF(q, head, heads), q_row, first, queries, width, q_aligned);
  if (steps > 0) copy(0);
  copies_commit();
  float sum[BLOCKS][COLUMNS / 8][4], shift[BLOCKS][2], total[BLOCKS][2];
  clear(sum);
#pragma unroll
  for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      shift[b][half] = -CUDART_INF_F;
      total[b][half] = 0.f;
    }
  copies_wait<0>();
  const bool special_rows = Rows::is_special(rows);
  const T* const own_rows = rows + warp_row * Rows::PITCH;
  using P = Product<T, WIDTH, BLOCKS>;
  typename P::Kept kept_rows;
  if constexpr (P::KEEPS) {
    __syncthreads();
    P::keep(kept_rows, shared_of(own_rows));
  }
  for (int step = 0; step < steps; ++step) {
    const T *const keys_tile = stream + (step & 1) * 2 * Stream::SIZE, *const values = keys_tile + Stream::SIZE;
    copies_wait<0>();
    const bool special = barrier_or<T>(special_rows || Stream::is_special(keys_tile) || Stream::is_special(values));
    if (step + 1 < steps) copy(step + 1);  // over the tiles that all have left before the barrier
    if (step * LINES >= warp_last) continue;
    float s[BLOCKS][LINES / 8][4];
    if constexpr (P::KEEPS) {
      clear(s);
      P::template kept_by_rows<LINES>(s, kept_rows, shared_of(keys_tile));
    } else {
      rows_by_rows<false, T, WIDTH, BLOCKS, LINES>(special, s, own_rows, keys_tile);
    }
    to_scores<false>(problem, s, head, first + warp_row, step * LINES);
    // The shift stays while no exponent is above 8: then there is nothing to rescale, and the lanes of a row need not meet.
    float largest[BLOCKS][2];  // without NaN, of which the total is NaN
    bool grows = false;
#pragma unroll
    for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        largest[b][half] = shift[b][half];
#pragma unroll
        for (int j = 0; j < LINES / 8; ++j)
          largest[b][half] = fmaxf(largest[b][half], fmaxf(s[b][j][2 * half], s[b][j][2 * half + 1]));
        grows |= (largest[b][half] - shift[b][half]) * problem.after > 8.f;
      }
    if (__any_sync(0xffffffffu, grows)) {
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          float most = largest[b][half];
          most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
          most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
          const float kept = problem.template power<T>(shift[b][half], problem.template level<T>(finite_or_zero(most)));
          shift[b][half] = most;
          total[b][half] *= kept;
#pragma unroll
          for (int c = 0; c < COLUMNS / 8; ++c) {
            sum[b][c][2 * half] *= kept;
            sum[b][c][2 * half + 1] *= kept;
          }
        }
    }
#pragma unroll
    for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float level = problem.template level<T>(finite_or_zero(shift[b][half]));
#pragma unroll
        for (int j = 0; j < LINES / 8; ++j)
#pragma unroll
          for (int e = 2 * half; e < 2 * half + 2; ++e) {
            s[b][j][e] = problem.template power<T>(s[b][j][e], level);
            total[b][half] += s[b][j][e];  // of this lane's columns
          }
      }
    drop(problem, s, head, first + warp_row, step * LINES);
    add_registers_by_rows<T, WIDTH, COLUMNS, BLOCKS, LINES>(special, sum, s, values + start);
  }
#pragma unroll
  for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float all = total[b][half];
      all += __shfl_xor_sync(0xffffffffu, all, 1);
      all += __shfl_xor_sync(0xffffffffu, all, 2);
      const bool blind = all == 0.f;
      const float factor = blind ? 0.f : 1.f / all;
#pragma unroll
      for (int c = 0; c < COLUMNS / 8; ++c)
#pragma unroll
        for (int e = 2 * half; e < 2 * half + 2; ++e) sum[b][c][e] = blind ? 0.f : sum[b][c][e] * factor;
      const int row = first + warp_row + b * 16 + half * 8 + lane_row();
      if (start == 0 && lane_column() == 0 && row < queries) {
        shifts[(i64)head * queries + row] = blind ? CUDART_INF_F : shift[b][half];
        factors[(i64)head * queries + row] = factor;
      }
    }
  store_rows(HEAD_OF(y, head, heads), y_row, sum, first + warp_row, queries, value_width, start, v_aligned);
}

// The sums of g y, which every score's gradient has: eight lanes for each query, which read 16 bytes at a time. On sm_80
// those of halves spill 24 bytes, which is nothing beside what they read.
template <typename T>
__global__ void __launch_bounds__(256)
flash_attention_dots(const T* __restrict__ g, STRIDES(g), const T* __restrict__ y, STRIDES(y), float* __restrict__ dots,
                     int heads, int queries, i64 rows, int width, int aligned) {
  constexpr int CHUNK = Number<T>::CHUNK, LANES = 8;
  struct alignas(16) Chunk {
    T values[CHUNK];
  };
  const i64 row = ((i64)blockIdx.x * 256 + threadIdx.x) / LANES;
  float sum = 0.f;
  if (row < rows) {
    const i64 head = row / queries, query = row % queries;
    g = HEAD_OF(g, head, heads) + query * g_row;
    y = HEAD_OF(y, head, heads) + query * y_row;
    for (int i = threadIdx.x % LANES * CHUNK; i < width; i += LANES * CHUNK) {
      if (aligned) {
        const Chunk a = *reinterpret_cast<const Chunk*>(g + i), b = *reinterpret_cast<const Chunk*>(y + i);
#pragma unroll
        for (int e = 0; e < CHUNK; ++e) sum += to_float(a.values[e]) * to_float(b.values[e]);
      } else {
        for (int e = 0; e < CHUNK && i + e < width; ++e) sum += to_float(g[i + e]) * to_float(y[i + e]);
      }
    }
  }
#pragma unroll
  for (int lane = 1; lane < LANES; lane *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
  if (row < rows && threadIdx.x % LANES == 0) dots[row] = sum;
}

// The factor of a query may be in its level: see `Problem::level`. On sm_80 float of 32 rows a warp spills 32 bytes,
// and reads half as much from shared memory as 16 rows.
template <typename T, int WIDTH, int BLOCKS, int WARPS, int LINES, int COLUMNS, bool PLAIN>
__global__ void __launch_bounds__(WARPS * 32, 1)
flash_attention_grad_query(PROBLEM_ARGUMENTS, const T* __restrict__ g, STRIDES(g), const float* __restrict__ shifts,
                           const float* __restrict__ factors, const float* __restrict__ dots, T* __restrict__ dq, STRIDES(dq)) {
  constexpr int ROWS = WARPS * BLOCKS * 16, THREADS = WARPS * 32;
  using Rows = Tile<T, WIDTH, ROWS, THREADS>;
  using Stream = Tile<T, WIDTH, LINES, THREADS>;
  extern __shared__ __align__(128) unsigned char memory[];
  T *const q_rows = reinterpret_cast<T*>(memory), *const g_rows = q_rows + Rows::SIZE, *const stream = g_rows + Rows::SIZE;
  const Problem<PLAIN> problem = PROBLEM;
  const Place place = place_of_block(queries, ROWS, is_causal, true);
  const int head = place.head, first = place.first, group = head / (heads / groups);
  const int start = blockIdx.y * COLUMNS;
  const int warp_row = warp_of_block() * BLOCKS * 16;
  const int last = is_causal ? min(keys, first + ROWS) : keys, steps = (last + LINES - 1) / LINES;
  const int warp_last = first + warp_row >= queries ? 0 : is_causal ? first + warp_row + BLOCKS * 16 : keys;
  const bool q_aligned = aligned & 1, v_aligned = aligned & 2;
  k = HEAD_OF(k, group, groups);
  v = HEAD_OF(v, group, groups);
  const auto copy = [&](int step) {
    T* const keys_tile = stream + (step & 1) * 2 * Stream::SIZE;
    Stream::copy(keys_tile, k, k_row, step * LINES, keys, width, q_aligned);
    Stream::copy(keys_tile + Stream::SIZE, v, v_row, step * LINES, keys, value_width, v_aligned);
    copies_commit();
  };
  Rows::copy(q_rows, HEAD_OF(q, head, heads), q_row, first, queries, width, q_aligned);
  Rows::copy(g_rows, HEAD_OF(g, head, heads), g_row, first, queries, value_width, v_aligned);
  if (steps > 0) copy(0);
  copies_commit();
  float sum[BLOCKS][COLUMNS / 8][4], level[BLOCKS][2], factor[BLOCKS][2], dot[BLOCKS][2];
  clear(sum);
#pragma unroll
  for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first + warp_row + b * 16 + half * 8 + lane_row();
      const bool inside = row < queries;
      const i64 at = (i64)head * queries + row;
      factor[b][half] = inside ? factors[at] : 0.f;
      level[b][half] = problem.template level<T>(inside ? shifts[at] : 0.f, factor[b][half]);
      dot[b][half] = inside ? dots[at] : 0.f;
    }
  copies_wait<0>();
  const bool special_rows = Rows::is_special(q_rows) || Rows::is_special(g_rows);
  for (int step = 0; step < steps; ++step) {
    const T *const keys_tile = stream + (step & 1) * 2 * Stream::SIZE, *const values = keys_tile + Stream::SIZE;
    copies_wait<0>();
    const bool special = barrier_or<T>(special_rows || Stream::is_special(keys_tile) || Stream::is_special(values));
    if (step + 1 < steps) copy(step + 1);  // over the tiles that all have left before the barrier
    if (step * LINES >= warp_last) continue;
    float s[BLOCKS][LINES / 8][4], upstream[BLOCKS][LINES / 8][4];
    rows_by_rows<false, T, WIDTH, BLOCKS, LINES>(special, s, q_rows + warp_row * Rows::PITCH, keys_tile);
    to_scores<false>(problem, s, head, first + warp_row, step * LINES);
    rows_by_rows<false, T, WIDTH, BLOCKS, LINES>(special, upstream, g_rows + warp_row * Rows::PITCH, values);
    drop(problem, upstream, head, first + warp_row, step * LINES);
#pragma unroll
    for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
      for (int j = 0; j < LINES / 8; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const float probability = problem.template power<T>(s[b][j][e], level[b][e >> 1], factor[b][e >> 1]);
          s[b][j][e] = probability * (upstream[b][j][e] - dot[b][e >> 1]);
        }
    add_registers_by_rows<T, WIDTH, COLUMNS, BLOCKS, LINES>(special, sum, s, keys_tile + start);
  }
#pragma unroll
  for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
    for (int c = 0; c < COLUMNS / 8; ++c)
#pragma unroll
      for (int e = 0; e < 4; ++e) sum[b][c][e] *= scale;  // left out of the scores' gradients
  store_rows(HEAD_OF(dq, head, heads), dq_row, sum, first + warp_row, queries, width, start, q_aligned);
}

template <typename T, int WIDTH, int BLOCKS, int WARPS, int LINES, int COLUMNS, bool PLAIN>
__global__ void __launch_bounds__(WARPS * 32, 1)
flash_attention_grad_key_value(PROBLEM_ARGUMENTS, const T* __restrict__ g, STRIDES(g), const float* __restrict__ shifts,
                               const float* __restrict__ factors, const float* __restrict__ dots, T* __restrict__ dk,
                               STRIDES(dk), T* __restrict__ dv, STRIDES(dv)) {
  constexpr int ROWS = WARPS * BLOCKS * 16, THREADS = WARPS * 32;
  using Rows = Tile<T, WIDTH, ROWS, THREADS>;
  using Stream = Tile<T, WIDTH, LINES, THREADS>;
  extern __shared__ __align__(128) unsigned char memory[];
  T *const k_rows = reinterpret_cast<T*>(memory), *const v_rows = k_rows + Rows::SIZE, *const stream = v_rows + Rows::SIZE;
  float* const statistics = reinterpret_cast<float*>(stream + 4 * Stream::SIZE);  // level, factor and dot of LINES queries, twice
  const Problem<PLAIN> problem = PROBLEM;
  const int repeats = heads / groups;
  const Place place = place_of_block(keys, ROWS, is_causal, false);
  const int group = place.head, first = place.first;
  const int start = blockIdx.y * COLUMNS;
  const int warp_row = warp_of_block() * BLOCKS * 16;
  const int begin = is_causal ? first / LINES * LINES : 0;  // queries before see none of these keys
  const int warp_begin = first + warp_row >= keys ? queries : is_causal ? first + warp_row : 0;
  const int steps_of_head = begin < queries ? (queries - begin + LINES - 1) / LINES : 0, steps = repeats * steps_of_head;
  const bool q_aligned = aligned & 1, v_aligned = aligned & 2;
  int next_head = group * repeats, next_query = begin;  // which is copied next
  q = HEAD_OF(q, next_head, heads);
  g = HEAD_OF(g, next_head, heads);
  const auto copy = [&](int step) {
    T* const queries_tile = stream + (step & 1) * 2 * Stream::SIZE;
    Stream::copy(queries_tile, q, q_row, next_query, queries, width, q_aligned);
    Stream::copy(queries_tile + Stream::SIZE, g, g_row, next_query, queries, value_width, v_aligned);
    if (threadIdx.x < LINES) {
      float* const to = statistics + (step & 1) * 3 * LINES + threadIdx.x;
      const bool inside = next_query + (int)threadIdx.x < queries;
      const unsigned from = (unsigned)next_head * queries + next_query + threadIdx.x;  // in 64 bits, ptxas spills a register
      const float factor = inside ? factors[from] : 0.f;
      to[0] = problem.template level<T>(inside ? shifts[from] : 0.f, factor);
      to[LINES] = factor;
      to[2 * LINES] = inside ? dots[from] : 0.f;
    }
    next_query += LINES;
    if (next_query >= queries) {
      next_query = begin;
      ++next_head;
      q += q_head;
      g += g_head;
    }
    copies_commit();
  };
  Rows::copy(k_rows, HEAD_OF(k, group, groups), k_row, first, keys, width, q_aligned);
  Rows::copy(v_rows, HEAD_OF(v, group, groups), v_row, first, keys, value_width, v_aligned);
  int head = next_head, query = next_query;
  if (steps > 0) copy(0);
  copies_commit();
  float dk_sum[BLOCKS][COLUMNS / 8][4], dv_sum[BLOCKS][COLUMNS / 8][4];
  clear(dk_sum);
  clear(dv_sum);
  copies_wait<0>();
  const bool special_rows = Rows::is_special(k_rows) || Rows::is_special(v_rows);
  for (int step = 0; step < steps; ++step) {
    const T *const queries_tile = stream + (step & 1) * 2 * Stream::SIZE, *const g_tile = queries_tile + Stream::SIZE;
    const float* const statistic = statistics + (step & 1) * 3 * LINES;
    copies_wait<0>();
    const bool special = barrier_or<T>(special_rows || Stream::is_special(queries_tile) || Stream::is_special(g_tile));
    const int this_head = head, this_query = query;
    head = next_head;
    query = next_query;
    if (step + 1 < steps) copy(step + 1);  // over the tiles that all have left before the barrier
    if (this_query + LINES <= warp_begin) continue;
    float s[BLOCKS][LINES / 8][4], upstream[BLOCKS][LINES / 8][4];
    rows_by_rows<true, T, WIDTH, BLOCKS, LINES>(special, s, k_rows + warp_row * Rows::PITCH, queries_tile);
    to_scores<true>(problem, s, this_head, first + warp_row, this_query);
    rows_by_rows<true, T, WIDTH, BLOCKS, LINES>(special, upstream, v_rows + warp_row * Rows::PITCH, g_tile);
#pragma unroll
    for (int j = 0; j < LINES / 8; ++j)
#pragma unroll
      for (int odd = 0; odd < 2; ++odd) {
        const int line = j * 8 + lane_column() + odd;
        const float level = statistic[line], factor = statistic[LINES + line], dot = statistic[2 * LINES + line];
#pragma unroll
        for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
          for (int e = odd; e < 4; e += 2) {
            const float probability = problem.template power<T>(s[b][j][e], level, factor);
            const int key = first + warp_row + b * 16 + lane_row() + (e >> 1) * 8;
            const float kept = problem.kept_or_dropped(this_head, this_query + line, key);
            upstream[b][j][e] = probability * (upstream[b][j][e] * kept - dot);
            s[b][j][e] = probability * kept;
          }
      }
    add_registers_by_rows<T, WIDTH, COLUMNS, BLOCKS, LINES>(special, dv_sum, s, g_tile + start);
    add_registers_by_rows<T, WIDTH, COLUMNS, BLOCKS, LINES>(special, dk_sum, upstream, queries_tile + start);
  }
#pragma unroll
  for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
    for (int c = 0; c < COLUMNS / 8; ++c)
#pragma unroll
      for (int e = 0; e < 4; ++e) dk_sum[b][c][e] *= scale;  // left out of the scores' gradients
  store_rows(HEAD_OF(dk, group, groups), dk_row, dk_sum, first + warp_row, keys, width, start, q_aligned);
  store_rows(HEAD_OF(dv, group, groups), dv_row, dv_sum, first + warp_row, keys, value_width, start, v_aligned);
}
