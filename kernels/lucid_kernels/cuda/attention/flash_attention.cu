// one module an instance
// instantiate: flash_attention_dots<float>
// instantiate: flash_attention<float, 32, 1, 4, 32, 32>, flash_attention<float, 32, 2, 4, 32, 32>
// instantiate: flash_attention<float, 64, 1, 4, 32, 64>, flash_attention<float, 64, 2, 4, 16, 64>
// instantiate: flash_attention<float, 128, 1, 4, 16, 128>, flash_attention<float, 256, 1, 2, 16, 128>
// instantiate: flash_attention_grad_query<float, 32, 1, 4, 32, 32>, flash_attention_grad_query<float, 64, 1, 4, 32, 64>
// instantiate: flash_attention_grad_query<float, 64, 2, 4, 16, 64>, flash_attention_grad_query<float, 128, 1, 2, 16, 128>
// instantiate: flash_attention_grad_query<float, 128, 1, 4, 16, 128>, flash_attention_grad_query<float, 256, 1, 1, 16, 128>
// instantiate: flash_attention_grad_query<float, 256, 1, 2, 16, 128>
// instantiate: flash_attention_grad_key_value<float, 32, 1, 4, 32, 32>, flash_attention_grad_key_value<float, 64, 1, 4, 16, 64>
// instantiate: flash_attention_grad_key_value<float, 128, 1, 2, 16, 64>, flash_attention_grad_key_value<float, 128, 1, 4, 16, 64>
// instantiate: flash_attention_grad_key_value<float, 256, 1, 1, 16, 64>, flash_attention_grad_key_value<float, 256, 1, 2, 16, 64>
// instantiate: flash_attention_dots<__half>
// instantiate: flash_attention<__half, 32, 1, 4, 64, 32>, flash_attention<__half, 32, 2, 4, 64, 32>
// instantiate: flash_attention<__half, 64, 1, 4, 64, 64>, flash_attention<__half, 64, 2, 4, 32, 64>
// instantiate: flash_attention<__half, 128, 1, 4, 64, 128>, flash_attention<__half, 128, 2, 4, 16, 128>
// instantiate: flash_attention<__half, 256, 1, 4, 16, 256>
// instantiate: flash_attention_grad_query<__half, 32, 1, 4, 64, 32>, flash_attention_grad_query<__half, 64, 1, 4, 64, 64>
// instantiate: flash_attention_grad_query<__half, 64, 2, 4, 32, 64>, flash_attention_grad_query<__half, 128, 1, 4, 32, 128>
// instantiate: flash_attention_grad_query<__half, 256, 1, 2, 16, 256>, flash_attention_grad_query<__half, 256, 1, 4, 16, 256>
// instantiate: flash_attention_grad_key_value<__half, 32, 1, 4, 64, 32>, flash_attention_grad_key_value<__half, 64, 1, 4, 32, 64>
// instantiate: flash_attention_grad_key_value<__half, 128, 1, 4, 32, 128>
// instantiate: flash_attention_grad_key_value<__half, 256, 1, 2, 16, 128>
// instantiate: flash_attention_grad_key_value<__half, 256, 1, 4, 16, 128>
// instantiate: flash_attention_dots<__nv_bfloat16>
// instantiate: flash_attention<__nv_bfloat16, 32, 1, 4, 64, 32>, flash_attention<__nv_bfloat16, 32, 2, 4, 64, 32>
// instantiate: flash_attention<__nv_bfloat16, 64, 1, 4, 64, 64>, flash_attention<__nv_bfloat16, 64, 2, 4, 32, 64>
// instantiate: flash_attention<__nv_bfloat16, 128, 1, 4, 64, 128>, flash_attention<__nv_bfloat16, 128, 2, 4, 16, 128>
// instantiate: flash_attention<__nv_bfloat16, 256, 1, 4, 16, 256>
// instantiate: flash_attention_grad_query<__nv_bfloat16, 32, 1, 4, 64, 32>
// instantiate: flash_attention_grad_query<__nv_bfloat16, 64, 1, 4, 64, 64>
// instantiate: flash_attention_grad_query<__nv_bfloat16, 64, 2, 4, 32, 64>
// instantiate: flash_attention_grad_query<__nv_bfloat16, 128, 1, 4, 32, 128>
// instantiate: flash_attention_grad_query<__nv_bfloat16, 256, 1, 2, 16, 256>
// instantiate: flash_attention_grad_query<__nv_bfloat16, 256, 1, 4, 16, 256>
// instantiate: flash_attention_grad_key_value<__nv_bfloat16, 32, 1, 4, 64, 32>
// instantiate: flash_attention_grad_key_value<__nv_bfloat16, 64, 1, 4, 32, 64>
// instantiate: flash_attention_grad_key_value<__nv_bfloat16, 128, 1, 4, 32, 128>
// instantiate: flash_attention_grad_key_value<__nv_bfloat16, 256, 1, 2, 16, 128>
// instantiate: flash_attention_grad_key_value<__nv_bfloat16, 256, 1, 4, 16, 128>
//
// Scaled dot-product attention and its gradients on tensor cores (Dao, "FlashAttention-2", 2023).
//
// A block of WARPS warps keeps its rows in shared memory, 16 BLOCKS of them a warp, and walks over LINES of the others at a time,
// of which the next are copied meanwhile. Scores and sums stay in registers: the layout of a result of mma is that of the left
// operand of the next one. Rows are queries for y and dq; for dk and dv they are keys, and scores are transposed.
// A block has COLUMNS of its results; wider ones take more blocks (blockIdx.y), each of which computes the scores again.
// T: float (TF32 in three products, see attention_products.cuh), __half or __nv_bfloat16. WIDTH is at least both widths.
// No atomics: every sum has a fixed order. Dropout has the random words that it has where the probabilities are in memory.
#include "attention_tiles.cuh"

// The probabilities of a query are 2^((score - shift) after) factor, as in attention.cu; `shift` is the largest score. A query
// that sees nothing gets zeros, +inf and 0: then its probabilities are 0 below.
template <typename T, int WIDTH, int BLOCKS, int WARPS, int LINES, int COLUMNS>
__global__ void __launch_bounds__(WARPS * 32, 1)
flash_attention(PROBLEM_ARGUMENTS, T* __restrict__ y, STRIDES(y), float* __restrict__ shifts, float* __restrict__ factors) {
  constexpr int ROWS = WARPS * BLOCKS * 16, THREADS = WARPS * 32;
  using Rows = Tile<T, WIDTH, ROWS, THREADS>;
  using Stream = Tile<T, WIDTH, LINES, THREADS>;
  extern __shared__ __align__(128) unsigned char memory[];
  T *const rows = reinterpret_cast<T*>(memory), *const stream = rows + Rows::SIZE;
  const Problem problem = PROBLEM;
  const int tiles = (queries + ROWS - 1) / ROWS;
  const int head = blockIdx.x / tiles, group = head / (heads / groups);
  const int first = (tiles - 1 - (int)(blockIdx.x % tiles)) * ROWS;  // the longest of a causal mask first
  const int start = blockIdx.y * COLUMNS;
  const int warp_row = warp_of_block() * BLOCKS * 16;
  const int last = is_causal ? min(keys, first + ROWS) : keys, steps = (last + LINES - 1) / LINES;
  const bool q_aligned = aligned & 1, v_aligned = aligned & 2;
  k = HEAD_OF(k, group, groups);
  v = HEAD_OF(v, group, groups);
  const auto copy = [&](int step) {
    T* const keys_tile = stream + (step & 1) * 2 * Stream::SIZE;
    Stream::copy(keys_tile, k, k_row, step * LINES, keys, width, q_aligned);
    Stream::copy(keys_tile + Stream::SIZE, v, v_row, step * LINES, keys, value_width, v_aligned);
  };
  Rows::copy(rows, HEAD_OF(q, head, heads), q_row, first, queries, width, q_aligned);
  if (steps > 0) copy(0);
  copies_commit();
  float sum[BLOCKS][COLUMNS / 8][4], top[BLOCKS][2], total[BLOCKS][2];
  clear(sum);
#pragma unroll
  for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      top[b][half] = -CUDART_INF_F;
      total[b][half] = 0.f;
    }
  copies_wait<0>();
  const bool special_rows = Rows::is_special(rows);
  for (int step = 0; step < steps; ++step) {
    if (step + 1 < steps) copy(step + 1);
    copies_commit();
    copies_wait<1>();
    const T *const keys_tile = stream + (step & 1) * 2 * Stream::SIZE, *const values = keys_tile + Stream::SIZE;
    const bool special = barrier_or<T>(special_rows || Stream::is_special(keys_tile) || Stream::is_special(values));
    float s[BLOCKS][LINES / 8][4];
    rows_by_rows<false, T, WIDTH, BLOCKS, LINES>(special, s, rows + warp_row * Rows::PITCH, keys_tile);
    to_scores<false>(problem, s, head, first + warp_row, step * LINES);
#pragma unroll
    for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float largest = top[b][half];  // without NaN, of which the total is NaN
#pragma unroll
        for (int j = 0; j < LINES / 8; ++j) largest = fmaxf(largest, fmaxf(s[b][j][2 * half], s[b][j][2 * half + 1]));
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
        const float shift = largest == -CUDART_INF_F ? 0.f : largest;  // -inf - -inf would be NaN
        const float kept = problem.power(top[b][half], shift);
        float partial = 0.f;
#pragma unroll
        for (int j = 0; j < LINES / 8; ++j)
#pragma unroll
          for (int e = 2 * half; e < 2 * half + 2; ++e) {
            s[b][j][e] = problem.power(s[b][j][e], shift);
            partial += s[b][j][e];
          }
        total[b][half] = total[b][half] * kept + partial;  // of this lane's columns
        top[b][half] = largest;
#pragma unroll
        for (int c = 0; c < COLUMNS / 8; ++c) {
          sum[b][c][2 * half] *= kept;
          sum[b][c][2 * half + 1] *= kept;
        }
      }
    drop(problem, s, head, first + warp_row, step * LINES);
    add_registers_by_rows<T, WIDTH, COLUMNS, BLOCKS, LINES>(special, sum, s, values + start);
    __syncthreads();  // the copy of the next step but one overwrites these tiles
  }
  copies_wait<0>();
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
        shifts[(i64)head * queries + row] = blind ? CUDART_INF_F : top[b][half];
        factors[(i64)head * queries + row] = factor;
      }
    }
  store_rows(HEAD_OF(y, head, heads), y_row, sum, first + warp_row, queries, value_width, start, v_aligned);
}

// The sums of g y, which every score's gradient has: a warp for each query, eight a block.
template <typename T>
__global__ void __launch_bounds__(256)
flash_attention_dots(const T* __restrict__ g, STRIDES(g), const T* __restrict__ y, STRIDES(y), float* __restrict__ dots,
                     int heads, int queries, i64 rows, int width) {
  const i64 row = (i64)blockIdx.x * 8 + warp_of_block();
  if (row >= rows) return;
  const i64 head = row / queries, query = row % queries;
  g = HEAD_OF(g, head, heads) + query * g_row;
  y = HEAD_OF(y, head, heads) + query * y_row;
  float sum = 0.f;
  for (int i = threadIdx.x & 31; i < width; i += 32) sum += to_float(g[i]) * to_float(y[i]);
  sum = warp_reduce(sum, Sum());
  if ((threadIdx.x & 31) == 0) dots[row] = sum;
}

template <typename T, int WIDTH, int BLOCKS, int WARPS, int LINES, int COLUMNS>
__global__ void __launch_bounds__(WARPS * 32, 1)
flash_attention_grad_query(PROBLEM_ARGUMENTS, const T* __restrict__ g, STRIDES(g), const float* __restrict__ shifts,
                           const float* __restrict__ factors, const float* __restrict__ dots, T* __restrict__ dq, STRIDES(dq)) {
  constexpr int ROWS = WARPS * BLOCKS * 16, THREADS = WARPS * 32;
  using Rows = Tile<T, WIDTH, ROWS, THREADS>;
  using Stream = Tile<T, WIDTH, LINES, THREADS>;
  extern __shared__ __align__(128) unsigned char memory[];
  T *const q_rows = reinterpret_cast<T*>(memory), *const g_rows = q_rows + Rows::SIZE, *const stream = g_rows + Rows::SIZE;
  const Problem problem = PROBLEM;
  const int tiles = (queries + ROWS - 1) / ROWS;
  const int head = blockIdx.x / tiles, group = head / (heads / groups);
  const int first = (tiles - 1 - (int)(blockIdx.x % tiles)) * ROWS;
  const int start = blockIdx.y * COLUMNS;
  const int warp_row = warp_of_block() * BLOCKS * 16;
  const int last = is_causal ? min(keys, first + ROWS) : keys, steps = (last + LINES - 1) / LINES;
  const bool q_aligned = aligned & 1, v_aligned = aligned & 2;
  k = HEAD_OF(k, group, groups);
  v = HEAD_OF(v, group, groups);
  const auto copy = [&](int step) {
    T* const keys_tile = stream + (step & 1) * 2 * Stream::SIZE;
    Stream::copy(keys_tile, k, k_row, step * LINES, keys, width, q_aligned);
    Stream::copy(keys_tile + Stream::SIZE, v, v_row, step * LINES, keys, value_width, v_aligned);
  };
  Rows::copy(q_rows, HEAD_OF(q, head, heads), q_row, first, queries, width, q_aligned);
  Rows::copy(g_rows, HEAD_OF(g, head, heads), g_row, first, queries, value_width, v_aligned);
  if (steps > 0) copy(0);
  copies_commit();
  float sum[BLOCKS][COLUMNS / 8][4], shift[BLOCKS][2], factor[BLOCKS][2], dot[BLOCKS][2];
  clear(sum);
#pragma unroll
  for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first + warp_row + b * 16 + half * 8 + lane_row();
      const bool inside = row < queries;
      shift[b][half] = inside ? shifts[(i64)head * queries + row] : 0.f;
      factor[b][half] = inside ? factors[(i64)head * queries + row] : 0.f;
      dot[b][half] = inside ? dots[(i64)head * queries + row] : 0.f;
    }
  copies_wait<0>();
  const bool special_rows = Rows::is_special(q_rows) || Rows::is_special(g_rows);
  for (int step = 0; step < steps; ++step) {
    if (step + 1 < steps) copy(step + 1);
    copies_commit();
    copies_wait<1>();
    const T *const keys_tile = stream + (step & 1) * 2 * Stream::SIZE, *const values = keys_tile + Stream::SIZE;
    const bool special = barrier_or<T>(special_rows || Stream::is_special(keys_tile) || Stream::is_special(values));
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
          const float probability = problem.power(s[b][j][e], shift[b][e >> 1]) * factor[b][e >> 1];
          s[b][j][e] = probability * (upstream[b][j][e] - dot[b][e >> 1]);
        }
    add_registers_by_rows<T, WIDTH, COLUMNS, BLOCKS, LINES>(special, sum, s, keys_tile + start);
    __syncthreads();
  }
  copies_wait<0>();
#pragma unroll
  for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
    for (int c = 0; c < COLUMNS / 8; ++c)
#pragma unroll
      for (int e = 0; e < 4; ++e) sum[b][c][e] *= scale;  // left out of the scores' gradients
  store_rows(HEAD_OF(dq, head, heads), dq_row, sum, first + warp_row, queries, width, start, q_aligned);
}

template <typename T, int WIDTH, int BLOCKS, int WARPS, int LINES, int COLUMNS>
__global__ void __launch_bounds__(WARPS * 32, 1)
flash_attention_grad_key_value(PROBLEM_ARGUMENTS, const T* __restrict__ g, STRIDES(g), const float* __restrict__ shifts,
                               const float* __restrict__ factors, const float* __restrict__ dots, T* __restrict__ dk,
                               STRIDES(dk), T* __restrict__ dv, STRIDES(dv)) {
  constexpr int ROWS = WARPS * BLOCKS * 16, THREADS = WARPS * 32;
  using Rows = Tile<T, WIDTH, ROWS, THREADS>;
  using Stream = Tile<T, WIDTH, LINES, THREADS>;
  extern __shared__ __align__(128) unsigned char memory[];
  T *const k_rows = reinterpret_cast<T*>(memory), *const v_rows = k_rows + Rows::SIZE, *const stream = v_rows + Rows::SIZE;
  float* const statistics = reinterpret_cast<float*>(stream + 4 * Stream::SIZE);  // shift, factor and dot of LINES queries, twice
  const Problem problem = PROBLEM;
  const int tiles = (keys + ROWS - 1) / ROWS, repeats = heads / groups;
  const int group = blockIdx.x / tiles;
  const int first = (int)(blockIdx.x % tiles) * ROWS;
  const int start = blockIdx.y * COLUMNS;
  const int warp_row = warp_of_block() * BLOCKS * 16;
  const int begin = is_causal ? first / LINES * LINES : 0;  // queries before see none of these keys
  const int steps_of_head = begin < queries ? (queries - begin + LINES - 1) / LINES : 0, steps = repeats * steps_of_head;
  const bool q_aligned = aligned & 1, v_aligned = aligned & 2;
  const auto copy = [&](int step) {
    const int head = group * repeats + step / steps_of_head;
    const int query = begin + step % steps_of_head * LINES;
    T* const queries_tile = stream + (step & 1) * 2 * Stream::SIZE;
    Stream::copy(queries_tile, HEAD_OF(q, head, heads), q_row, query, queries, width, q_aligned);
    Stream::copy(queries_tile + Stream::SIZE, HEAD_OF(g, head, heads), g_row, query, queries, value_width, v_aligned);
    if (threadIdx.x < LINES) {
      float* const to = statistics + (step & 1) * 3 * LINES + threadIdx.x;
      const bool inside = query + (int)threadIdx.x < queries;
      const i64 from = (i64)head * queries + query + threadIdx.x;
      to[0] = inside ? shifts[from] : 0.f;
      to[LINES] = inside ? factors[from] : 0.f;
      to[2 * LINES] = inside ? dots[from] : 0.f;
    }
  };
  Rows::copy(k_rows, HEAD_OF(k, group, groups), k_row, first, keys, width, q_aligned);
  Rows::copy(v_rows, HEAD_OF(v, group, groups), v_row, first, keys, value_width, v_aligned);
  if (steps > 0) copy(0);
  copies_commit();
  float dk_sum[BLOCKS][COLUMNS / 8][4], dv_sum[BLOCKS][COLUMNS / 8][4];
  clear(dk_sum);
  clear(dv_sum);
  copies_wait<0>();
  const bool special_rows = Rows::is_special(k_rows) || Rows::is_special(v_rows);
  for (int step = 0; step < steps; ++step) {
    if (step + 1 < steps) copy(step + 1);
    copies_commit();
    copies_wait<1>();
    const T *const queries_tile = stream + (step & 1) * 2 * Stream::SIZE, *const g_tile = queries_tile + Stream::SIZE;
    const float* const statistic = statistics + (step & 1) * 3 * LINES;
    const bool special = barrier_or<T>(special_rows || Stream::is_special(queries_tile) || Stream::is_special(g_tile));
    const int head = group * repeats + step / steps_of_head, query = begin + step % steps_of_head * LINES;
    float s[BLOCKS][LINES / 8][4], upstream[BLOCKS][LINES / 8][4];
    rows_by_rows<true, T, WIDTH, BLOCKS, LINES>(special, s, k_rows + warp_row * Rows::PITCH, queries_tile);
    to_scores<true>(problem, s, head, first + warp_row, query);
    rows_by_rows<true, T, WIDTH, BLOCKS, LINES>(special, upstream, v_rows + warp_row * Rows::PITCH, g_tile);
#pragma unroll
    for (int j = 0; j < LINES / 8; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int line = j * 8 + lane_column() + (e & 1);
#pragma unroll
        for (int b = 0; b < BLOCKS; ++b) {
          const float probability = problem.power(s[b][j][e], statistic[line]) * statistic[LINES + line];
          const int key = first + warp_row + b * 16 + lane_row() + (e >> 1) * 8;
          const float factor = problem.drops ? problem.factor(head, query + line, key) : 1.f;
          upstream[b][j][e] = probability * (upstream[b][j][e] * factor - statistic[2 * LINES + line]);
          s[b][j][e] = probability * factor;
        }
      }
    add_registers_by_rows<T, WIDTH, COLUMNS, BLOCKS, LINES>(special, dv_sum, s, g_tile + start);
    add_registers_by_rows<T, WIDTH, COLUMNS, BLOCKS, LINES>(special, dk_sum, upstream, queries_tile + start);
    __syncthreads();
  }
  copies_wait<0>();
#pragma unroll
  for (int b = 0; b < BLOCKS; ++b)
#pragma unroll
    for (int c = 0; c < COLUMNS / 8; ++c)
#pragma unroll
      for (int e = 0; e < 4; ++e) dk_sum[b][c][e] *= scale;  // left out of the scores' gradients
  store_rows(HEAD_OF(dk, group, groups), dk_row, dk_sum, first + warp_row, keys, width, start, q_aligned);
  store_rows(HEAD_OF(dv, group, groups), dv_row, dv_sum, first + warp_row, keys, value_width, start, v_aligned);
}
