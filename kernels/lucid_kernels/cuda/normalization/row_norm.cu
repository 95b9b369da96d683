// Normalisation of rows: layer, group and RMS normalisation, with their gradients. No float atomics: results are reproducible.
// instantiate: row_norm<float, float, 4>, row_norm<float, float, 1>, row_norm<double, double, 2>, row_norm<double, double, 1>
// instantiate: row_norm<__half, __half, 8>, row_norm<__half, __half, 1>, row_norm<__half, float, 8>, row_norm<__half, float, 1>
// instantiate: row_norm<__nv_bfloat16, __nv_bfloat16, 8>, row_norm<__nv_bfloat16, __nv_bfloat16, 1>
// instantiate: row_norm<__nv_bfloat16, float, 8>, row_norm<__nv_bfloat16, float, 1>
// instantiate: row_norm_grad<float, float, 4>, row_norm_grad<float, float, 1>
// instantiate: row_norm_grad<double, double, 2>, row_norm_grad<double, double, 1>
// instantiate: row_norm_grad<__half, __half, 8>, row_norm_grad<__half, __half, 1>
// instantiate: row_norm_grad<__half, float, 8>, row_norm_grad<__half, float, 1>
// instantiate: row_norm_grad<__nv_bfloat16, __nv_bfloat16, 8>, row_norm_grad<__nv_bfloat16, __nv_bfloat16, 1>
// instantiate: row_norm_grad<__nv_bfloat16, float, 8>, row_norm_grad<__nv_bfloat16, float, 1>
// instantiate: column_sums<float, 4>, column_sums<float, 1>, column_sums<double, 2>, column_sums<double, 1>
// instantiate: column_sums<__half, 8>, column_sums<__half, 1>, column_sums<__nv_bfloat16, 8>, column_sums<__nv_bfloat16, 1>
// instantiate: plane_sums<float, 4>, plane_sums<float, 1>, plane_sums<double, 2>, plane_sums<double, 1>
// instantiate: plane_sums<__half, 8>, plane_sums<__half, 1>, plane_sums<__nv_bfloat16, 8>, plane_sums<__nv_bfloat16, 1>
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

// Those of N neighbours at `at` in row r; `otherwise` where there are none.
template <typename W> struct Parameters {
  const W* values;
  int given;
  i64 width, groups, span;
  template <int N>
  __device__ __forceinline__ void of(i64 r, i64 at, Accumulator<W> otherwise, Accumulator<W> (&found)[N]) const {
    if (!given) {
#pragma unroll
      for (int j = 0; j < N; ++j) found[j] = otherwise;
      return;
    }
    const W* set = values + r % groups * (width / span);
    if (span == 1) {
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
template <typename T, typename W, int N>
__global__ void __launch_bounds__(512, 1)
row_norm(const T* __restrict__ x, const W* __restrict__ weight, int has_weight, const W* __restrict__ bias, int has_bias,
         T* __restrict__ y, Accumulator<T>* __restrict__ mean, Accumulator<T>* __restrict__ rstd, int centred, i64 rows, i64 width,
         i64 groups, i64 span, Accumulator<T> eps) {
  typedef Accumulator<T> A;
  typedef Slices<true> S;
  __shared__ A scratch[32];
  const Parameters<W> weights{weight, has_weight, width, groups, span}, biases{bias, has_bias, width, groups, span};
  for (i64 r = S::first(); r < rows; r += S::step()) {
    const Rows<T, N> row(width, x + r * width);
    const i64 kept = row.KEPT * (i64)N * blockDim.x;
    A centre = 0;
    if (centred) {
      row.own([&](i64, const A (&value)[1][N]) {
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
      weights.of(r, at, A(1), w);
      biases.of(r, at, A(0), b);
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
  const Parameters<W> weights{weight, has_weight, width, groups, span};
  for (i64 r = S::first(); r < rows; r += S::step()) {
    const A centre = centred ? mean[r] : A(0), scale = rstd[r];
    const Rows<T, N, 2> pair(width, g + r * width, x + r * width);
    A sum = 0, product = 0;
    pair.packs([&](i64 at, const A (&value)[2][N]) {
      A w[N];
      weights.of(r, at, A(1), w);
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
      weights.of(r, at, A(1), w);
#pragma unroll
      for (int j = 0; j < N; ++j)
        result[j] = scale * (value[0][j] * w[j] - mean_gw - (value[1][j] - centre) * scale * mean_product);
      store<N>(dx + r * width + at, result);
    });
  }
}

// First stage of dweight and dbias where each element has a parameter: block (tile, chunk of rows) adds up its rows. A thread has N
// columns, eight threads take turns with the rows, neighbours read neighbouring addresses. Block (32, 8), grid (tiles, chunks).
#define TILE 32
#define TURNS 8
template <typename T, int N>
__global__ void __launch_bounds__(256, 1)
column_sums(const T* __restrict__ g, const T* __restrict__ x, const Accumulator<T>* __restrict__ mean,
            const Accumulator<T>* __restrict__ rstd, Accumulator<T>* __restrict__ dweight, Accumulator<T>* __restrict__ dbias,
            int centred, i64 rows, i64 width, i64 chunk) {
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
    dweight[blockIdx.y * width + tile + i] = weight_sum;
    if (centred) dbias[blockIdx.y * width + tile + i] = bias_sum;
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
      A grad[N], value[N];
      load<N>(g + p * span + at, grad);
      load<N>(x + p * span + at, value);
#pragma unroll
      for (int j = 0; j < N; ++j) {
        weight += grad[j] * ((value[j] - centre) * scale);
        bias += grad[j];
      }
    }
    weight = S::reduce(weight, Sum(), A(0), scratch);
    bias = S::reduce(bias, Sum(), A(0), scratch);
    if (threadIdx.x == 0) {
      dweight[p] = weight;
      dbias[p] = bias;
    }
  }
}

// Second stage: the chunks, for which the threads of a column take turns. Block (32, 8).
template <typename A, typename W>
__global__ void __launch_bounds__(256, 1)
add_partials(const A* __restrict__ partial_weight, const A* __restrict__ partial_bias, W* __restrict__ dweight,
             W* __restrict__ dbias, int centred, i64 chunks, i64 width) {
  __shared__ A scratch[256];
  const i64 column = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  A weight = 0, bias = 0;
  if (column < width)
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
