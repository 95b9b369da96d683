// Batch normalisation of (N, C, S), with an added residual and ReLU where they are wanted, and the gradients. The channels are the
// planes (C, S) of a sample, or with S = 1 the columns of (N, C): so arrays with their channels last are read as they lie. The
// elements of a channel are cut into chunks that the shape and the alignment alone fix; a block reduces a chunk, then a warp
// combines the chunks of a channel in order. No float atomics. Statistics are in the type of sums, parameters in that or a half.
// Columns are read in packs only where all parameters lie at multiples of 16 bytes.
// instantiate: plane_statistics<float, 4>, plane_statistics<float, 1>, plane_statistics<double, 2>, plane_statistics<double, 1>
// instantiate: plane_statistics<__half, 8>, plane_statistics<__half, 1>
// instantiate: plane_statistics<__nv_bfloat16, 8>, plane_statistics<__nv_bfloat16, 1>
// instantiate: column_statistics<float, 4>, column_statistics<float, 1>, column_statistics<double, 2>, column_statistics<double, 1>
// instantiate: column_statistics<__half, 8>, column_statistics<__half, 1>
// instantiate: column_statistics<__nv_bfloat16, 8>, column_statistics<__nv_bfloat16, 1>
// instantiate: combine_statistics<float, float>, combine_statistics<double, double>
// instantiate: combine_statistics<float, __half>, combine_statistics<float, __nv_bfloat16>
// instantiate: known_statistics<float, float>, known_statistics<double, double>
// instantiate: known_statistics<float, __half>, known_statistics<float, __nv_bfloat16>
// instantiate: plane_gradients<float, 4>, plane_gradients<float, 1>, plane_gradients<double, 2>, plane_gradients<double, 1>
// instantiate: plane_gradients<__half, 8>, plane_gradients<__half, 1>
// instantiate: plane_gradients<__nv_bfloat16, 8>, plane_gradients<__nv_bfloat16, 1>
// instantiate: column_gradients<float, 4>, column_gradients<float, 1>, column_gradients<double, 2>, column_gradients<double, 1>
// instantiate: column_gradients<__half, 8>, column_gradients<__half, 1>
// instantiate: column_gradients<__nv_bfloat16, 8>, column_gradients<__nv_bfloat16, 1>
// instantiate: combine_gradients<float, float>, combine_gradients<double, double>
// instantiate: combine_gradients<float, __half>, combine_gradients<float, __nv_bfloat16>
// instantiate: normalize<float, 4, true>, normalize<float, 4, false>, normalize<float, 1, true>, normalize<float, 1, false>
// instantiate: normalize<double, 2, true>, normalize<double, 2, false>, normalize<double, 1, true>, normalize<double, 1, false>
// instantiate: normalize<__half, 8, true>, normalize<__half, 8, false>, normalize<__half, 1, true>, normalize<__half, 1, false>
// instantiate: normalize<__nv_bfloat16, 8, true>, normalize<__nv_bfloat16, 8, false>, normalize<__nv_bfloat16, 1, true>
// instantiate: normalize<__nv_bfloat16, 1, false>
// instantiate: input_gradient<float, 4, true>, input_gradient<float, 4, false>, input_gradient<float, 1, true>
// instantiate: input_gradient<float, 1, false>, input_gradient<double, 2, true>, input_gradient<double, 2, false>
// instantiate: input_gradient<double, 1, true>, input_gradient<double, 1, false>, input_gradient<__half, 8, true>
// instantiate: input_gradient<__half, 8, false>, input_gradient<__half, 1, true>, input_gradient<__half, 1, false>
// instantiate: input_gradient<__nv_bfloat16, 8, true>, input_gradient<__nv_bfloat16, 8, false>
// instantiate: input_gradient<__nv_bfloat16, 1, true>, input_gradient<__nv_bfloat16, 1, false>
// one module an instance
//
// __launch_bounds__(256, 1): without the 1 ptxas aims at more threads and spills registers for it. With 3, that many have room.
#include "halves.cuh"

// How a weight or a bias is stored: WIDE is the type of sums.
enum Kind { MISSING, WIDE, FLOAT16, BFLOAT16 };

// M parameters from channel c on.
template <int M, typename A>
__device__ __forceinline__ void load_parameters(const void* all, int kind, A missing, i64 c, A (&to)[M]) {
  float half[M];
  if (kind == FLOAT16) load<M>((const __half*)all + c, half);
  else if (kind == BFLOAT16) load<M>((const __nv_bfloat16*)all + c, half);
  else if (kind == WIDE) load<M>((const A*)all + c, to);
#pragma unroll
  for (int j = 0; j < M; ++j) to[j] = kind == WIDE ? to[j] : kind == MISSING ? missing : A(half[j]);
}

// What a thread needs of M neighbouring channels: y = (x - centre) * scale + bias, scale = rstd * weight.
template <typename A, int M> struct Affine {
  A centre[M], rstd[M], scale[M], bias[M];
  __device__ __forceinline__ A normal(A x, int j) const { return (x - centre[j % M]) * rstd[j % M]; }
  __device__ __forceinline__ A of(A x, int j) const { return (x - centre[j % M]) * scale[j % M] + bias[j % M]; }
};

// The statistics and parameters of all channels. `evaluate`: `deviation` is the variance, else 1 / standard deviation.
template <typename A> struct Channels {
  const A *mean, *deviation;
  const void *weight, *bias;
  int weight_kind, bias_kind, evaluate;
  A eps;
  template <int M> __device__ __forceinline__ void rstd(i64 c, A (&to)[M]) const {
    load<M>(deviation + c, to);
#pragma unroll
    for (int j = 0; j < M; ++j) to[j] = evaluate ? A(1) / sqrt_(to[j] + eps) : to[j];
  }
  template <int M> __device__ __forceinline__ Affine<A, M> at(i64 c) const {
    Affine<A, M> found;
    load<M>(mean + c, found.centre);
    rstd(c, found.rstd);
    load_parameters(weight, weight_kind, A(1), c, found.scale);
    load_parameters(bias, bias_kind, A(0), c, found.bias);
#pragma unroll
    for (int j = 0; j < M; ++j) found.scale[j] *= found.rstd[j];
    return found;
  }
};

// a / b; a long division takes five times as long.
__device__ __forceinline__ i64 quotient(i64 a, i64 b) { return (a | b) >> 32 ? a / b : (unsigned)a / (unsigned)b; }

// The channel of packs p, p + step, ... of (N, C, S packs), or of columns (N, C packs). Only the first is divided for. There are fewer
// than 2^31 channels: so many would have parameters of 8 GiB.
template <bool columns> struct ChannelOf {
  int c, step_c, C;
  i64 s, step_s, S;
  __device__ __forceinline__ ChannelOf(i64 p, i64 step, i64 C, i64 S) : C((int)C), S(S) {
    split(p, c, s);
    split(step, step_c, step_s);
  }
  __device__ __forceinline__ void split(i64 p, int& channel, i64& place) const {
    const i64 plane = columns ? p : quotient(p, S);
    place = columns ? 0 : p - plane * S;
    channel = (int)(plane - quotient(plane, C) * C);
  }
  __device__ __forceinline__ void next() {
    c += step_c;
    if constexpr (!columns) {
      s += step_s;
      if (s >= S) {
        s -= S;
        ++c;
      }
    }
    if (c >= C) c -= C;
  }
  // Whether parameters are to be read: those of columns only once, where steps are whole rows.
  __device__ __forceinline__ bool is_another(bool is_first) const { return !columns || step_c != 0 || is_first; }
};

// Where ReLU lets the gradient pass, which is not where y <= 0: y is the result, or what is computed once more, rounded as the
// result was. NaN passes, as in PyTorch.
enum Gate { OPEN, RESULT, COMPUTED };
template <typename T, int N, int M>
__device__ __forceinline__ void gated(Accumulator<T> (&g)[N], const Accumulator<T> (&x)[N], const T* y, i64 at, int gate,
                                      const Affine<Accumulator<T>, M>& affine) {
  typedef Accumulator<T> A;
  if (gate == OPEN) return;
  A result[N];
  if (gate == RESULT) {
    load<N>(y + at, result);
  } else {
#pragma unroll
    for (int j = 0; j < N; ++j) result[j] = widened(narrowed<T>(affine.of(x[j], j)));
  }
#pragma unroll
  for (int j = 0; j < N; ++j) g[j] = result[j] <= A(0) ? A(0) : g[j];
}

// The packs first + threadIdx.x, + blockDim.x, ... of channel c of (N, C, S packs), in the order (n, s); `offset` is the place in
// memory, in packs. The division by S is made once, not for every pack.
struct ChannelWalk {
  i64 n, s, step_n, step_s, C, S, c;
  __device__ __forceinline__ ChannelWalk(i64 c, i64 first, i64 C, i64 S)
      : n(quotient(first + threadIdx.x, S)), s(first + threadIdx.x - n * S), step_n(quotient(blockDim.x, S)),
        step_s(blockDim.x - step_n * S), C(C), S(S), c(c) {}
  __device__ __forceinline__ i64 offset() const { return (n * C + c) * S + s; }
  __device__ __forceinline__ void next() {
    n += step_n;
    s += step_s;
    if (s >= S) {
      s -= S;
      ++n;
    }
  }
};

// Mean of each chunk and the sum of squares around it, at [c * chunks + k]. S, count and chunk are in packs; the chunk stays in
// the registers of the block: at most KEPT packs a thread.
template <typename T, int N>
__global__ void __launch_bounds__(256, 1)
plane_statistics(const T* __restrict__ x, Accumulator<T>* __restrict__ means, Accumulator<T>* __restrict__ squares, i64 C, i64 S,
                 i64 count, i64 chunk, i64 chunks) {
  typedef Accumulator<T> A;
  constexpr int KEPT = N * sizeof(T) <= 8 ? 8 : 4;
  __shared__ A scratch[32];
  for (i64 b = blockIdx.x; b < C * chunks; b += gridDim.x) {
    const i64 c = b / chunks, first = b % chunks * chunk, last = first + chunk < count ? first + chunk : count;
    Pack<T, N> kept[KEPT];
    A sum = 0;
    ChannelWalk walk(c, first, C, S);
#pragma unroll
    for (int k = 0; k < KEPT; ++k, walk.next())
      if (first + threadIdx.x + k * (i64)blockDim.x < last) {
        kept[k] = Pack<T, N>(x + walk.offset() * N);
#pragma unroll
        for (int j = 0; j < N; ++j) sum += widened(kept[k].element[j]);
      }
    const A mean = block_reduce(sum, Sum(), A(0), scratch) / A((last - first) * N);
    A square = 0;
#pragma unroll
    for (int k = 0; k < KEPT; ++k)
      if (first + threadIdx.x + k * (i64)blockDim.x < last) {
#pragma unroll
        for (int j = 0; j < N; ++j) {
          const A d = widened(kept[k].element[j]) - mean;
          square += d * d;
        }
      }
    square = block_reduce(square, Sum(), A(0), scratch);
    if (threadIdx.x == 0) {
      means[b] = mean;
      squares[b] = square;
    }
  }
}

// What 256 threads have of the columns that share a block: N each, `blockDim.y` turns. body(column, sum, other) for every column,
// with the sums over the turns in order.
template <int N, typename A, typename Body>
__device__ __forceinline__ void each_column(const A (&one)[N], const A (&other)[N], i64 C, Body body) {
  __shared__ A ones[256 * N], others[256 * N];
  const int place = threadIdx.y * blockDim.x + threadIdx.x;
#pragma unroll
  for (int j = 0; j < N; ++j) {
    ones[j * 256 + place] = one[j];
    others[j * 256 + place] = other[j];
  }
  __syncthreads();
  for (int i = place; i < blockDim.x * N; i += 256) {
    const int lane = i % blockDim.x, j = i / blockDim.x;
    const i64 column = ((i64)blockIdx.x * blockDim.x + lane) * N + j;
    if (column >= C) continue;
    A sum = 0, other_sum = 0;
    for (int k = 0; k < blockDim.y; ++k) {
      sum += ones[j * 256 + k * blockDim.x + lane];
      other_sum += others[j * 256 + k * blockDim.x + lane];
    }
    body(column, sum, other_sum);
  }
}

// 0 where x is NaN or inf.
template <typename A> __device__ __forceinline__ A finite_or_zero(A x) { return x - x == A(0) ? x : A(0); }

// The same of a matrix (rows, C): block (columns, turns), grid (tiles, chunks). The squares are summed around the chunk's first row,
// and the mean is corrected for: it is one of the numbers, so that the sum is at most `chunk` times that around the mean.
template <typename T, int N>
__global__ void __launch_bounds__(256, 1)
column_statistics(const T* __restrict__ x, Accumulator<T>* __restrict__ means, Accumulator<T>* __restrict__ squares, i64 rows, i64 C,
                  i64 chunk, i64 chunks) {
  typedef Accumulator<T> A;
  const i64 column = ((i64)blockIdx.x * blockDim.x + threadIdx.x) * N, first = blockIdx.y * chunk;
  const i64 last = first + chunk < rows ? first + chunk : rows;
  A sum[N] = {}, square[N] = {};
  if (column < C) {
    A centre[N];
    load<N>(x + first * C + column, centre);
#pragma unroll
    for (int j = 0; j < N; ++j) centre[j] = finite_or_zero(centre[j]);
#pragma unroll 4
    for (i64 r = first + threadIdx.y; r < last; r += blockDim.y) {
      A value[N];
      load<N>(x + r * C + column, value);
#pragma unroll
      for (int j = 0; j < N; ++j) {
        const A d = value[j] - centre[j];
        sum[j] += d;
        square[j] += d * d;
      }
    }
  }
  each_column(sum, square, C, [&](i64 c, A total, A total_square) {
    const A shift = total / A(last - first), around = total_square - total * shift;
    means[c * chunks + blockIdx.y] = finite_or_zero(widened(x[first * C + c])) + shift;
    squares[c * chunks + blockIdx.y] = around < A(0) ? A(0) : around;  // rounding
  });
}

// Statistics of a channel from those of its chunks (Chan's formula), and the running ones; and the batch is counted. A warp a channel.
// `count` and `chunk` are in elements. The new running statistics may be the old arrays: no __restrict__.
template <typename A, typename R>
__global__ void __launch_bounds__(256)
combine_statistics(const A* __restrict__ means, const A* __restrict__ squares, A* __restrict__ mean, A* __restrict__ rstd,
                   const R* running_mean, R* new_mean, int has_mean, const R* running_var, R* new_var, int has_var,
                   i64* __restrict__ counter, int has_counter, i64 C, i64 count, i64 chunk, i64 chunks, A momentum, A eps) {
  const int lane = threadIdx.x & 31;
  if (has_counter && blockIdx.x == 0 && threadIdx.x == 0) ++*counter;
  const i64 warp = ((i64)blockIdx.x * blockDim.x + threadIdx.x) >> 5, warps = (i64)gridDim.x * blockDim.x >> 5;
  for (i64 c = warp; c < C; c += warps) {
    A sum = 0;
    for (i64 k = lane; k < chunks; k += 32) {
      const i64 size = k < chunks - 1 ? chunk : count - chunk * k;
      sum += means[c * chunks + k] * A(size);
    }
    const A centre = warp_reduce(sum, Sum()) / A(count);
    A square = 0;
    for (i64 k = lane; k < chunks; k += 32) {
      const i64 size = k < chunks - 1 ? chunk : count - chunk * k;
      const A d = means[c * chunks + k] - centre;
      square += squares[c * chunks + k] + d * d * A(size);
    }
    square = warp_reduce(square, Sum());
    if (lane == 0) {
      mean[c] = centre;
      rstd[c] = A(1) / sqrt_(square / A(count) + eps);
      if (has_mean) new_mean[c] = narrowed<R>((A(1) - momentum) * widened(running_mean[c]) + momentum * centre);
      if (has_var) new_var[c] = narrowed<R>((A(1) - momentum) * widened(running_var[c]) + momentum * (square / A(count - 1)));
    }
  }
}

// Those of evaluation: the running mean, and 1 / standard deviation.
template <typename A, typename R>
__global__ void __launch_bounds__(256)
known_statistics(const R* __restrict__ running_mean, const R* __restrict__ running_var, A* __restrict__ mean, A* __restrict__ rstd,
                 i64 C, A eps) {
  GRID_STRIDE(c, C) {
    mean[c] = widened(running_mean[c]);
    rstd[c] = A(1) / sqrt_(widened(running_var[c]) + eps);
  }
}

// y = (x - mean) * rstd * weight + bias, + residual, and max(, 0) with `relu`. S is in packs of N, or 1: then neighbours are channels.
template <typename T, int N, bool columns>
__global__ void __launch_bounds__(256, 1)
normalize(const T* __restrict__ x, const T* __restrict__ residual, int has_residual, const void* __restrict__ weight, int weight_kind,
          const void* __restrict__ bias, int bias_kind, const Accumulator<T>* __restrict__ mean,
          const Accumulator<T>* __restrict__ deviation, int evaluate, int relu, T* __restrict__ y, i64 packs, i64 C, i64 S,
          Accumulator<T> eps) {
  typedef Accumulator<T> A;
  const Channels<A> channels{mean, deviation, weight, bias, weight_kind, bias_kind, evaluate, eps};
  const i64 first = (i64)blockIdx.x * blockDim.x + threadIdx.x, step = (i64)gridDim.x * blockDim.x;
  constexpr int M = columns ? N : 1;
  ChannelOf<columns> channel(first, step, C / M, S);
  Affine<A, M> affine;
  Pack<T, N> ahead;  // on its way while the one before is computed
  if (first < packs) ahead = Pack<T, N>(x + first * N);
  for (i64 p = first; p < packs; p += step, channel.next()) {
    const Pack<T, N> value = ahead;
    A added[N], result[N];
    if (p + step < packs) ahead = Pack<T, N>(x + (p + step) * N);
    if (has_residual) load<N>(residual + p * N, added);
    if (channel.is_another(p == first)) affine = channels.template at<M>((i64)channel.c * M);
#pragma unroll
    for (int j = 0; j < N; ++j) {
      result[j] = affine.of(widened(value.element[j]), j);
      if (has_residual) result[j] += added[j];
      if (relu && result[j] <= A(0)) result[j] = A(0);  // NaN stays
    }
    store<N>(y + p * N, result);
  }
}

// Sums of g and of g * normal over each chunk of a channel, at [c * chunks + k]; normal = (x - mean) * rstd. S, count and chunk are in
// packs.
template <typename T, int N>
__global__ void __launch_bounds__(256, 1)
plane_gradients(const T* __restrict__ g, const T* __restrict__ x, const T* __restrict__ y, int gate,
                const void* __restrict__ weight, int weight_kind, const void* __restrict__ bias, int bias_kind,
                const Accumulator<T>* __restrict__ mean, const Accumulator<T>* __restrict__ deviation, int evaluate,
                Accumulator<T>* __restrict__ biases, Accumulator<T>* __restrict__ weights, i64 C, i64 S, i64 count, i64 chunk,
                i64 chunks, Accumulator<T> eps) {
  typedef Accumulator<T> A;
  __shared__ A scratch[32];
  const bool again = gate == COMPUTED;  // else only the statistics are read
  const Channels<A> channels{mean, deviation, weight, bias, again ? weight_kind : MISSING, again ? bias_kind : MISSING, evaluate, eps};
  for (i64 b = blockIdx.x; b < C * chunks; b += gridDim.x) {
    const i64 c = b / chunks, first = b % chunks * chunk, last = first + chunk < count ? first + chunk : count;
    const Affine<A, 1> affine = channels.template at<1>(c);
    A bias_sum = 0, weight_sum = 0;
    ChannelWalk walk(c, first, C, S);
    for (i64 i = first + threadIdx.x; i < last; i += blockDim.x, walk.next()) {
      A grad[N], value[N];
      load<N>(g + walk.offset() * N, grad);
      load<N>(x + walk.offset() * N, value);
      gated<T>(grad, value, y, walk.offset() * N, gate, affine);
#pragma unroll
      for (int j = 0; j < N; ++j) {
        bias_sum += grad[j];
        weight_sum += grad[j] * affine.normal(value[j], j);
      }
    }
    bias_sum = block_reduce(bias_sum, Sum(), A(0), scratch);
    weight_sum = block_reduce(weight_sum, Sum(), A(0), scratch);
    if (threadIdx.x == 0) {
      biases[b] = bias_sum;
      weights[b] = weight_sum;
    }
  }
}

// The same of a matrix (rows, C), threads as in `column_statistics`.
template <typename T, int N>
__global__ void __launch_bounds__(256, 3)
column_gradients(const T* __restrict__ g, const T* __restrict__ x, const T* __restrict__ y, int gate,
                 const void* __restrict__ weight, int weight_kind, const void* __restrict__ bias, int bias_kind,
                 const Accumulator<T>* __restrict__ mean, const Accumulator<T>* __restrict__ deviation, int evaluate,
                 Accumulator<T>* __restrict__ biases, Accumulator<T>* __restrict__ weights, i64 rows, i64 C, i64 chunk, i64 chunks,
                 Accumulator<T> eps) {
  typedef Accumulator<T> A;
  const bool again = gate == COMPUTED;  // else only the statistics are read
  const Channels<A> channels{mean, deviation, weight, bias, again ? weight_kind : MISSING, again ? bias_kind : MISSING, evaluate, eps};
  const i64 column = ((i64)blockIdx.x * blockDim.x + threadIdx.x) * N, first = blockIdx.y * chunk;
  const i64 last = first + chunk < rows ? first + chunk : rows;
  A bias_sum[N] = {}, weight_sum[N] = {};
  if (column < C) {
    const Affine<A, N> affine = channels.template at<N>(column);
    for (i64 r = first + threadIdx.y; r < last; r += blockDim.y) {
      A grad[N], value[N];
      load<N>(g + r * C + column, grad);
      load<N>(x + r * C + column, value);
      gated<T>(grad, value, y, r * C + column, gate, affine);
#pragma unroll
      for (int j = 0; j < N; ++j) {
        bias_sum[j] += grad[j];
        weight_sum[j] += grad[j] * (value[j] - affine.centre[j]);
      }
    }
  }
  each_column(bias_sum, weight_sum, C, [&](i64 c, A of_bias, A of_weight) {
    biases[c * chunks + blockIdx.y] = of_bias;
    A rstd[1];
    channels.rstd(c, rstd);
    weights[c * chunks + blockIdx.y] = of_weight * rstd[0];
  });
}

// dbias and dweight from the chunks, and the sums themselves, at [c] and [C + c]. A warp a channel.
template <typename A, typename W>
__global__ void __launch_bounds__(256)
combine_gradients(const A* __restrict__ biases, const A* __restrict__ weights, A* __restrict__ sums, W* __restrict__ dbias,
                  W* __restrict__ dweight, i64 C, i64 chunks) {
  const int lane = threadIdx.x & 31;
  const i64 warp = ((i64)blockIdx.x * blockDim.x + threadIdx.x) >> 5, warps = (i64)gridDim.x * blockDim.x >> 5;
  for (i64 c = warp; c < C; c += warps) {
    A bias = 0, weight = 0;
    for (i64 k = lane; k < chunks; k += 32) {
      bias += biases[c * chunks + k];
      weight += weights[c * chunks + k];
    }
    bias = warp_reduce(bias, Sum());
    weight = warp_reduce(weight, Sum());
    if (lane == 0) {
      sums[c] = bias;
      sums[C + c] = weight;
      dbias[c] = narrowed<W>(bias);
      dweight[c] = narrowed<W>(weight);
    }
  }
}

// dx = weight * rstd * (g - mean(g) - normal * mean(g * normal)); with `constant` statistics only weight * rstd * g remains. `masked`
// gets the gradient of the residual. Elements as in `normalize`, `count` of them a channel.
template <typename T, int N, bool columns>
__global__ void __launch_bounds__(256, 1)
input_gradient(const T* __restrict__ g, const T* __restrict__ x, const T* __restrict__ y, int gate,
               const void* __restrict__ weight, int weight_kind, const void* __restrict__ bias, int bias_kind,
               const Accumulator<T>* __restrict__ mean, const Accumulator<T>* __restrict__ deviation, int evaluate, int constant,
               const Accumulator<T>* __restrict__ sums, T* __restrict__ dx, T* __restrict__ masked, int has_masked, i64 packs,
               i64 C, i64 S, i64 count, Accumulator<T> eps) {
  typedef Accumulator<T> A;
  const Channels<A> channels{mean, deviation, weight, bias, weight_kind, gate == COMPUTED ? bias_kind : MISSING, evaluate, eps};
  const i64 first = (i64)blockIdx.x * blockDim.x + threadIdx.x, step = (i64)gridDim.x * blockDim.x;
  constexpr int M = columns ? N : 1;
  ChannelOf<columns> channel(first, step, C / M, S);
  Affine<A, M> affine;
  A offset[M], slope[M];  // mean(g), and mean(g * normal) * rstd
  for (i64 p = first; p < packs; p += step, channel.next()) {
    A grad[N], value[N], result[N];
    load<N>(g + p * N, grad);
    if (!constant || gate == COMPUTED) load<N>(x + p * N, value);
    if (channel.is_another(p == first)) {
      affine = channels.template at<M>((i64)channel.c * M);
      load<M>(sums + (i64)channel.c * M, offset);
      load<M>(sums + C + (i64)channel.c * M, slope);
#pragma unroll
      for (int j = 0; j < M; ++j) {
        offset[j] /= A(count);
        slope[j] *= affine.rstd[j] / A(count);
      }
    }
    gated<T>(grad, value, y, p * N, gate, affine);
#pragma unroll
    for (int j = 0; j < N; ++j) {
      A centred = grad[j];
      if (!constant) centred -= offset[j % M] + (value[j] - affine.centre[j % M]) * slope[j % M];
      result[j] = centred * affine.scale[j % M];
    }
    store<N>(dx + p * N, result);
    if (has_masked) store<N>(masked + p * N, grad);
  }
}
