// Normalisation of rows: layer, group and RMS normalisation, with their gradients. No float atomics: results are reproducible.
// instantiate: row_norm<float, float, 4, 1>, row_norm<float, float, 4, 2>, row_norm<float, float, 4, 8>
// instantiate: row_norm<float, float, 1, 8>, row_norm<double, double, 2, 1>, row_norm<double, double, 2, 2>
// instantiate: row_norm<double, double, 2, 8>, row_norm<double, double, 1, 8>, row_norm<__half, __half, 8, 1>
// instantiate: row_norm<__half, __half, 8, 2>, row_norm<__half, __half, 8, 4>, row_norm<__half, __half, 1, 8>
// instantiate: row_norm<__half, float, 8, 1>, row_norm<__half, float, 8, 2>, row_norm<__half, float, 8, 4>
// instantiate: row_norm<__half, float, 1, 8>, row_norm<__nv_bfloat16, __nv_bfloat16, 8, 1>
// instantiate: row_norm<__nv_bfloat16, __nv_bfloat16, 8, 2>, row_norm<__nv_bfloat16, __nv_bfloat16, 8, 4>
// instantiate: row_norm<__nv_bfloat16, __nv_bfloat16, 1, 8>, row_norm<__nv_bfloat16, float, 8, 1>
// instantiate: row_norm<__nv_bfloat16, float, 8, 2>, row_norm<__nv_bfloat16, float, 8, 4>, row_norm<__nv_bfloat16, float, 1, 8>
// instantiate: row_norm_grad<float, float, 4>, row_norm_grad<float, float, 1>
// instantiate: row_norm_grad<double, double, 2>, row_norm_grad<double, double, 1>
// instantiate: row_norm_grad<__half, __half, 8>, row_norm_grad<__half, __half, 1>
// instantiate: row_norm_grad<__half, float, 8>, row_norm_grad<__half, float, 1>
// instantiate: row_norm_grad<__nv_bfloat16, __nv_bfloat16, 8>, row_norm_grad<__nv_bfloat16, __nv_bfloat16, 1>
// instantiate: row_norm_grad<__nv_bfloat16, float, 8>, row_norm_grad<__nv_bfloat16, float, 1>
// instantiate: row_norm_gradients<float, float, 4, 1>, row_norm_gradients<float, float, 4, 2>
// instantiate: row_norm_gradients<float, float, 4, 4>
// instantiate: row_norm_gradients<double, double, 2, 1>, row_norm_gradients<double, double, 2, 2>
// instantiate: row_norm_gradients<double, double, 2, 4>
// instantiate: row_norm_gradients<__half, __half, 8, 1>, row_norm_gradients<__half, __half, 8, 2>
// instantiate: row_norm_gradients<__half, __half, 8, 4>
// instantiate: row_norm_gradients<__half, float, 8, 1>, row_norm_gradients<__half, float, 8, 2>
// instantiate: row_norm_gradients<__half, float, 8, 4>
// instantiate: row_norm_gradients<__nv_bfloat16, __nv_bfloat16, 8, 1>, row_norm_gradients<__nv_bfloat16, __nv_bfloat16, 8, 2>
// instantiate: row_norm_gradients<__nv_bfloat16, __nv_bfloat16, 8, 4>
// instantiate: row_norm_gradients<__nv_bfloat16, float, 8, 1>, row_norm_gradients<__nv_bfloat16, float, 8, 2>
// instantiate: row_norm_gradients<__nv_bfloat16, float, 8, 4>
// instantiate: row_norm_gradients<float, float, 1, 4>, row_norm_gradients<double, double, 1, 4>
// instantiate: row_norm_gradients<__half, __half, 1, 4>
// instantiate: row_norm_gradients<__half, float, 1, 4>, row_norm_gradients<__nv_bfloat16, __nv_bfloat16, 1, 4>
// instantiate: row_norm_gradients<__nv_bfloat16, float, 1, 4>
// instantiate: column_sums<float, float, 4>, column_sums<float, float, 1>, column_sums<double, double, 2>
// instantiate: column_sums<double, double, 1>
// instantiate: column_sums<__half, float, 8>, column_sums<__half, float, 1>, column_sums<__half, __half, 8>
// instantiate: column_sums<__half, __half, 1>
// instantiate: column_sums<__nv_bfloat16, float, 8>, column_sums<__nv_bfloat16, float, 1>
// instantiate: column_sums<__nv_bfloat16, __nv_bfloat16, 8>, column_sums<__nv_bfloat16, __nv_bfloat16, 1>
// instantiate: plane_totals<float, float, 4>, plane_totals<float, float, 1>
// instantiate: plane_totals<double, double, 2>, plane_totals<double, double, 1>
// instantiate: plane_totals<__half, float, 8>, plane_totals<__half, float, 1>
// instantiate: plane_totals<__half, __half, 8>, plane_totals<__half, __half, 1>
// instantiate: plane_totals<__nv_bfloat16, float, 8>, plane_totals<__nv_bfloat16, float, 1>
// instantiate: plane_totals<__nv_bfloat16, __nv_bfloat16, 8>, plane_totals<__nv_bfloat16, __nv_bfloat16, 1>
// instantiate: plane_sums<float, 4>, plane_sums<float, 1>, plane_sums<double, 2>, plane_sums<double, 1>
// instantiate: plane_sums<__half, 8>, plane_sums<__half, 1>, plane_sums<__nv_bfloat16, 8>, plane_sums<__nv_bfloat16, 1>
// instantiate: plane_gradients<float, float, 4>, plane_gradients<float, float, 1>
// instantiate: plane_gradients<double, double, 2>, plane_gradients<double, double, 1>
// instantiate: plane_gradients<__half, __half, 8>, plane_gradients<__half, __half, 1>
// instantiate: plane_gradients<__half, float, 8>, plane_gradients<__half, float, 1>
// instantiate: plane_gradients<__nv_bfloat16, __nv_bfloat16, 8>, plane_gradients<__nv_bfloat16, __nv_bfloat16, 1>
// instantiate: plane_gradients<__nv_bfloat16, float, 8>, plane_gradients<__nv_bfloat16, float, 1>
// instantiate: add_partials<float, float>, add_partials<double, double>
// instantiate: add_partials<float, __half>, add_partials<float, __nv_bfloat16>
// one module an instance
//
// A row has width / span parameters, one for `span` neighbours, and rows take turns with `groups` sets of them: layer and RMS
// normalisation have one set and a parameter for each element, group normalisation a set for each group.
// `centred` is 0 for RMS normalisation: then the mean counts as 0.
//
// __launch_bounds__(_, 1): without the 1 ptxas aims at more threads and spills registers for it.
#include "rows.cuh"

// The parameters of a row: of N neighbours at `at`, `otherwise` where there are none.
template <typename W> struct Parameters {
  const W* set;
  int given;
  i64 span;
  __device__ __forceinline__ Parameters(const W* values, int given, i64 r, i64 width, i64 groups, i64 span)
      : set(groups == 1 ? values : values + r % groups * (width / span)), given(given), span(span) {}
  template <int N>
  __device__ __forceinline__ void of(i64 at, Accumulator<W> otherwise, Accumulator<W> (&found)[N]) const {
    if (!given) {
#pragma unroll
      for (int j = 0; j < N; ++j) found[j] = otherwise;
    } else if (span == 1) {
      load<N>(set + at, found);
    } else {
      const Accumulator<W> one = widened(set[at / span]);
#pragma unroll
      for (int j = 0; j < N; ++j) found[j] = one;
    }
  }
};

// The squares are summed around the mean, of a row that does not fit into the registers around that of the part that does: the
// mean of the whole row is not known before the last element was read, and is corrected for then.
template <typename T, typename W, int N, int K>
__global__ void __launch_bounds__(512, 1)
row_norm(const T* __restrict__ x, const W* __restrict__ weight, int has_weight, const W* __restrict__ bias, int has_bias,
         T* __restrict__ y, Accumulator<T>* __restrict__ mean, Accumulator<T>* __restrict__ rstd, int centred, i64 rows, i64 width,
         i64 groups, i64 span, Accumulator<T> eps) {
  typedef Accumulator<T> A;
  typedef Slices<true> S;
  __shared__ A scratch[32];
  for (i64 r = S::first(); r < rows; r += S::step()) {
    const Rows<T, N, 1, K> row(width, x + r * width);
    const Parameters<W> weights(weight, has_weight, r, width, groups, span), biases(bias, has_bias, r, width, groups, span);
    const i64 kept = K * (i64)N * blockDim.x;
    A centre = 0;
    if (centred) {
      row.own([&](int, i64, const A (&value)[1][N]) {
#pragma unroll
        for (int j = 0; j < N; ++j) centre += value[0][j];
      });
      centre = S::reduce(centre, Sum(), A(0), scratch) / A(kept < width ? kept : width);
      if (kept < width && !(centre - centre == A(0))) centre = 0;  // NaN or inf, which the correction could not take back
    }
    A sum = 0, squares = 0;
    row.packs([&](i64, const A (&value)[1][N]) {
#pragma unroll
      for (int j = 0; j < N; ++j) {
        const A d = value[0][j] - centre;
        sum += d;
        squares += d * d;
      }
    });
    squares = S::reduce(squares, Sum(), A(0), scratch);
    if (centred && kept < width) {
      sum = S::reduce(sum, Sum(), A(0), scratch);
      squares -= sum * (sum / A(width));
      centre += sum / A(width);
    }
    if (squares < A(0)) squares = 0;  // rounding
    const A scale = A(1) / sqrt_(squares / A(width) + eps);
    row.packs([&](i64 at, const A (&value)[1][N]) {
      A w[N], b[N], result[N];
      weights.of(at, A(1), w);
      biases.of(at, A(0), b);
#pragma unroll
      for (int j = 0; j < N; ++j) result[j] = (value[0][j] - centre) * scale * w[j] + b[j];
      store<N>(y + r * width + at, result);
    });
    if (threadIdx.x == 0) {
      if (centred) mean[r] = centre;
      rstd[r] = scale;
    }
  }
}

// dx = rstd * (gw - mean(gw) - normal * mean(gw * normal)), gw = g * weight, normal = (x - mean) * rstd. Not centred: no mean(gw).
template <typename T, typename W, int N>
__global__ void __launch_bounds__(512, 1)
row_norm_grad(const T* __restrict__ g, const T* __restrict__ x, const W* __restrict__ weight, int has_weight,
              const Accumulator<T>* __restrict__ mean, const Accumulator<T>* __restrict__ rstd, T* __restrict__ dx, int centred,
              i64 rows, i64 width, i64 groups, i64 span) {
  typedef Accumulator<T> A;
  typedef Slices<true> S;
  __shared__ A scratch[32];
  for (i64 r = S::first(); r < rows; r += S::step()) {
    const Parameters<W> weights(weight, has_weight, r, width, groups, span);
    const A centre = centred ? mean[r] : A(0), scale = rstd[r];
    const Rows<T, N, 2> pair(width, g + r * width, x + r * width);
    A sum = 0, product = 0;
    pair.packs([&](i64 at, const A (&value)[2][N]) {
      A w[N];
      weights.of(at, A(1), w);
#pragma unroll
      for (int j = 0; j < N; ++j) {
        const A gw = value[0][j] * w[j];
        sum += gw;
        product += gw * ((value[1][j] - centre) * scale);
      }
    });
    const A mean_gw = centred ? S::reduce(sum, Sum(), A(0), scratch) / A(width) : A(0);
    const A mean_product = S::reduce(product, Sum(), A(0), scratch) / A(width);
    pair.packs([&](i64 at, const A (&value)[2][N]) {
      A w[N], result[N];
      weights.of(at, A(1), w);
#pragma unroll
      for (int j = 0; j < N; ++j)
        result[j] = scale * (value[0][j] * w[j] - mean_gw - (value[1][j] - centre) * scale * mean_product);
      store<N>(dx + r * width + at, result);
    });
  }
}

// The same where each element has a parameter and a row fits into the registers of its threads, K packs in each, with the first stage
// of dweight and dbias: threads have the same columns of every row, and add these up. g and x are read once. A block has blockDim.y
// rows at a time, and writes the sums of all of its rows to a row of the partial ones.
template <typename T, typename W, int N, int K>
__global__ void __launch_bounds__(512, 1)
row_norm_gradients(const T* __restrict__ g, const T* __restrict__ x, const W* __restrict__ weight, int has_weight,
                   const Accumulator<T>* __restrict__ mean, const Accumulator<T>* __restrict__ rstd, T* __restrict__ dx,
                   Accumulator<T>* __restrict__ partial_weight, Accumulator<T>* __restrict__ partial_bias, int centred, i64 rows,
                   i64 width) {
  typedef Accumulator<T> A;
  __shared__ A scratch[2][2][16];  // in turn, so that one barrier a row is enough; of both sums; of each warp
  __shared__ A columns[512 * N];
  const int thread = threadIdx.y * blockDim.x + threadIdx.x, warps = blockDim.x / 32, across = blockDim.x * N;
  const Parameters<W> weights(weight, has_weight, 0, width, 1, 1);
  A to_weight[K][N] = {}, to_bias[K][N] = {};
  int turn = 0;
  for (i64 first = (i64)blockIdx.x * blockDim.y; first < rows; first += (i64)gridDim.x * blockDim.y, turn ^= 1) {
    const i64 r = first + threadIdx.y, end = r < rows ? width : 0, start = r * width;
    Pack<T, N> grads[K], values[K];
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int at = threadIdx.x * N + k * across;
      if (at >= end) continue;
      grads[k] = Pack<T, N>(g + start + at);
      values[k] = Pack<T, N>(x + start + at);
    }
    const A centre = centred && end ? mean[r] : A(0), scale = end ? rstd[r] : A(0);
    A sum = 0, product = 0;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int at = threadIdx.x * N + k * across;
      if (at >= end) continue;
      A w[N];
      weights.of(at, A(1), w);
#pragma unroll
      for (int j = 0; j < N; ++j) {
        const A grad = widened(grads[k].element[j]), normal = (widened(values[k].element[j]) - centre) * scale;
        sum += grad * w[j];
        product += grad * w[j] * normal;
        to_weight[k][j] += grad * normal;
        to_bias[k][j] += grad;
      }
    }
    sum = warp_reduce(sum, Sum());
    product = warp_reduce(product, Sum());
    if (warps > 1) {
      if (thread % 32 == 0) {
        scratch[turn][0][thread / 32] = sum;
        scratch[turn][1][thread / 32] = product;
      }
      __syncthreads();
      sum = product = 0;
      for (int warp = threadIdx.y * warps; warp < (threadIdx.y + 1) * warps; ++warp) {
        sum += scratch[turn][0][warp];
        product += scratch[turn][1][warp];
      }
    }
    const A mean_gw = centred ? sum / A(width) : A(0), mean_product = product / A(width);
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int at = threadIdx.x * N + k * across;
      if (at >= end) continue;
      packed_again(grads[k]);
      packed_again(values[k]);
      A w[N], result[N];
      weights.of(at, A(1), w);
#pragma unroll
      for (int j = 0; j < N; ++j)
        result[j] = scale * (widened(grads[k].element[j]) * w[j] - mean_gw -
                             (widened(values[k].element[j]) - centre) * scale * mean_product);
      store<N>(dx + start + at, result);
    }
  }
#pragma unroll
  for (int k = 0; k < K; ++k)
#pragma unroll
    for (int of_bias = 0; of_bias < 2; ++of_bias) {
      if (of_bias && !centred) continue;
      __syncthreads();  // the columns may still be read
#pragma unroll
      for (int j = 0; j < N; ++j) columns[thread * N + j] = of_bias ? to_bias[k][j] : to_weight[k][j];
      __syncthreads();
      A* const partial = (of_bias ? partial_bias : partial_weight) + blockIdx.x * width;
      for (int column = thread; column < across && k * across + column < width; column += blockDim.x * blockDim.y) {
        A sum = 0;
        for (int y = 0; y < blockDim.y; ++y) sum += columns[y * across + column];
        partial[k * across + column] = sum;
      }
    }
}

// First stage of dweight and dbias where each element has a parameter, or the only one, of one chunk, which writes their type W:
// block (tile, chunk of rows) adds up its rows. A thread has N columns, eight threads take turns with the rows, neighbours read
// neighbouring addresses. Block (32, 8), grid (tiles, chunks).
#define TILE 32
#define TURNS 8
template <typename T, typename W, int N>
__global__ void __launch_bounds__(256, 1)
column_sums(const T* __restrict__ g, const T* __restrict__ x, const Accumulator<T>* __restrict__ mean,
            const Accumulator<T>* __restrict__ rstd, W* __restrict__ dweight, W* __restrict__ dbias, int centred, i64 rows, i64 width, i64 chunk) {
  typedef Accumulator<T> A;
  __shared__ A weights[TURNS][TILE * N], biases[TURNS][TILE * N];
  const i64 tile = (i64)blockIdx.x * TILE * N, column = tile + threadIdx.x * N, first = blockIdx.y * chunk;
  const i64 last = first + chunk < rows ? first + chunk : rows;
  A weight[N] = {}, bias[N] = {};
  if (column < width)
    for (i64 r = first + threadIdx.y; r < last; r += TURNS) {
      A grad[N], value[N];
      load<N>(g + r * width + column, grad);
      load<N>(x + r * width + column, value);
      const A centre = centred ? mean[r] : A(0), scale = rstd[r];
#pragma unroll
      for (int j = 0; j < N; ++j) {
        weight[j] += grad[j] * ((value[j] - centre) * scale);
        bias[j] += grad[j];
      }
    }
#pragma unroll
  for (int j = 0; j < N; ++j) {
    weights[threadIdx.y][threadIdx.x * N + j] = weight[j];
    biases[threadIdx.y][threadIdx.x * N + j] = bias[j];
  }
  __syncthreads();
  for (int i = threadIdx.y * TILE + threadIdx.x; i < TILE * N && tile + i < width; i += TILE * TURNS) {
    A weight_sum = 0, bias_sum = 0;
    for (int k = 0; k < TURNS; ++k) {
      weight_sum += weights[k][i];
      bias_sum += biases[k][i];
    }
    dweight[blockIdx.y * width + tile + i] = narrowed<W>(weight_sum);
    if (centred) dbias[blockIdx.y * width + tile + i] = narrowed<W>(bias_sum);
  }
}

// What N elements add to the gradients of weight and bias.
template <int N, typename T, typename A>
__device__ __forceinline__ void add_elements(const T* g, const T* x, A centre, A scale, A& weight, A& bias) {
  A grad[N], value[N];
  load<N>(g, grad);
  load<N>(x, value);
#pragma unroll
  for (int j = 0; j < N; ++j) {
    weight += grad[j] * ((value[j] - centre) * scale);
    bias += grad[j];
  }
}

// First stage where `span` neighbours have one: the sums of each of the `planes` of so many elements, of which those of C parameters
// are in turn, and `each` in a row. The threads of a plane are those of a row.
template <typename T, int N>
__global__ void __launch_bounds__(512, 1)
plane_sums(const T* __restrict__ g, const T* __restrict__ x, const Accumulator<T>* __restrict__ mean,
           const Accumulator<T>* __restrict__ rstd, Accumulator<T>* __restrict__ dweight, Accumulator<T>* __restrict__ dbias,
           i64 planes, i64 span, i64 each) {
  typedef Accumulator<T> A;
  typedef Slices<true> S;
  __shared__ A scratch[32];
  for (i64 p = S::first(); p < planes; p += S::step()) {
    const A centre = mean[p / each], scale = rstd[p / each];
    A weight = 0, bias = 0;
    for (i64 at = threadIdx.x * (i64)N; at < span; at += blockDim.x * (i64)N) {
      add_elements<N>(g + p * span + at, x + p * span + at, centre, scale, weight, bias);
    }
    weight = S::reduce(weight, Sum(), A(0), scratch);
    bias = S::reduce(bias, Sum(), A(0), scratch);
    if (threadIdx.x == 0) {
      dweight[p] = weight;
      dbias[p] = bias;
    }
  }
}

// All gradients from the sums of the planes: the first blocks write dx, as row_norm_grad does, the others add up those of each of the
// `parameters`, whose gradients have the type of the weights. The threads of a plane are those of a row.
template <typename T, typename W, int N>
__global__ void __launch_bounds__(512, 1)
plane_gradients(const T* __restrict__ g, const T* __restrict__ x, const W* __restrict__ weight, int has_weight,
                const Accumulator<T>* __restrict__ mean, const Accumulator<T>* __restrict__ rstd,
                const Accumulator<T>* __restrict__ weight_sums, const Accumulator<T>* __restrict__ bias_sums, T* __restrict__ dx,
                W* __restrict__ dweight, W* __restrict__ dbias, i64 planes, i64 span, i64 each, i64 parameters, i64 blocks) {
  typedef Accumulator<T> A;
  typedef Slices<true> S;
  __shared__ A scratch[32];
  if (blockIdx.x >= blocks) {
    for (i64 p = (blockIdx.x - blocks) * blockDim.y + threadIdx.y; p < parameters; p += (gridDim.x - blocks) * blockDim.y) {
      A to_weight = 0, to_bias = 0;
      for (i64 plane = p + threadIdx.x * parameters; plane < planes; plane += blockDim.x * parameters) {
        to_weight += weight_sums[plane];
        to_bias += bias_sums[plane];
      }
      to_weight = S::reduce(to_weight, Sum(), A(0), scratch);
      to_bias = S::reduce(to_bias, Sum(), A(0), scratch);
      if (threadIdx.x == 0) {
        dweight[p] = narrowed<W>(to_weight);
        dbias[p] = narrowed<W>(to_bias);
      }
    }
    return;
  }
  for (i64 p = S::first(); p < planes; p += blocks * blockDim.y) {
    const i64 r = p / each;
    const A centre = mean[r], scale = rstd[r];
    A sum = 0, product = 0;
    for (i64 plane = r * each + threadIdx.x; plane < (r + 1) * each; plane += blockDim.x) {
      const A w = has_weight ? widened(weight[plane % parameters]) : A(1);
      sum += w * bias_sums[plane];
      product += w * weight_sums[plane];
    }
    const A mean_gw = S::reduce(sum, Sum(), A(0), scratch) / A(each * span);
    const A mean_product = S::reduce(product, Sum(), A(0), scratch) / A(each * span);
    const A w = has_weight ? widened(weight[p % parameters]) : A(1);
    for (i64 at = threadIdx.x * (i64)N; at < span; at += blockDim.x * (i64)N) {
      A grad[N], value[N], result[N];
      load<N>(g + p * span + at, grad);
      load<N>(x + p * span + at, value);
#pragma unroll
      for (int j = 0; j < N; ++j) result[j] = scale * (grad[j] * w - mean_gw - (value[j] - centre) * scale * mean_product);
      store<N>(dx + p * span + at, result);
    }
  }
}

// Both sums in one: the threads of a row add up all planes of a parameter.
template <typename T, typename W, int N>
__global__ void __launch_bounds__(512, 1)
plane_totals(const T* __restrict__ g, const T* __restrict__ x, const Accumulator<T>* __restrict__ mean,
             const Accumulator<T>* __restrict__ rstd, W* __restrict__ dweight, W* __restrict__ dbias, i64 samples, i64 parameters,
             i64 span, i64 each) {
  typedef Accumulator<T> A;
  typedef Slices<true> S;
  __shared__ A scratch[32];
  for (i64 p = S::first(); p < parameters; p += S::step()) {
    A weight = 0, bias = 0;
    for (i64 at = threadIdx.x * (i64)N; at < samples * span; at += blockDim.x * (i64)N) {
      const i64 plane = at / span * parameters + p, place = plane * span + at % span;
      const A centre = mean[plane / each], scale = rstd[plane / each];
      add_elements<N>(g + place, x + place, centre, scale, weight, bias);
    }
    weight = S::reduce(weight, Sum(), A(0), scratch);
    bias = S::reduce(bias, Sum(), A(0), scratch);
    if (threadIdx.x == 0) {
      dweight[p] = narrowed<W>(weight);
      dbias[p] = narrowed<W>(bias);
    }
  }
}

// Second stage: the chunks, for which the threads of a column take turns. Block (32, 32).
template <typename A, typename W>
__global__ void __launch_bounds__(1024, 1)
add_partials(const A* __restrict__ partial_weight, const A* __restrict__ partial_bias, W* __restrict__ dweight,
             W* __restrict__ dbias, int centred, i64 chunks, i64 width) {
  __shared__ A scratch[1024];
  const i64 column = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  A weight = 0, bias = 0;
  if (column < width)
#pragma unroll 4
    for (i64 k = threadIdx.y; k < chunks; k += blockDim.y) {
      weight += partial_weight[k * width + column];
      if (centred) bias += partial_bias[k * width + column];
    }
  weight = turns_reduce(weight, Sum(), scratch);
  bias = turns_reduce(bias, Sum(), scratch);
  if (threadIdx.y == 0 && column < width) {
    dweight[column] = narrowed<W>(weight);
    if (centred) dbias[column] = narrowed<W>(bias);
  }
}
