// Layer normalisation of (rows, width), with its gradients. No float atomics: results are reproducible.
// instantiate: layer_norm<float>, layer_norm<double>, layer_norm_grad<float>, layer_norm_grad<double>
// instantiate: column_sums<float>, column_sums<double>, add_partials<float>, add_partials<double>
#include "common.cuh"

// The variance is summed around the mean in a second pass over the row, which by then is in the cache.
template <typename T>
__global__ void __launch_bounds__(256)
layer_norm(const T* __restrict__ x, const T* __restrict__ weight, int has_weight, const T* __restrict__ bias, int has_bias,
           T* __restrict__ y, T* __restrict__ mean, T* __restrict__ rstd, i64 rows, i64 width, T eps) {
  typedef Slices<true> S;
  __shared__ T scratch[32];
  for (i64 r = S::first(); r < rows; r += S::step()) {
    const T* row = x + r * width;
    T sum = 0;
    for (i64 i = S::begin(); i < width; i += S::stride()) sum += row[i];
    const T centre = S::reduce(sum, Sum(), T(0), scratch) / T(width);
    T squares = 0;
    for (i64 i = S::begin(); i < width; i += S::stride()) squares += (row[i] - centre) * (row[i] - centre);
    const T scale = T(1) / sqrt_(S::reduce(squares, Sum(), T(0), scratch) / T(width) + eps);
    for (i64 i = S::begin(); i < width; i += S::stride()) {
      const T normal = (row[i] - centre) * scale;
      y[r * width + i] = normal * (has_weight ? weight[i] : T(1)) + (has_bias ? bias[i] : T(0));
    }
    if (S::begin() == 0) {
      mean[r] = centre;
      rstd[r] = scale;
    }
  }
}

// dx = rstd * (gw - mean(gw) - normal * mean(gw * normal)), gw = g * weight, normal = (x - mean) * rstd.
template <typename T>
__global__ void __launch_bounds__(256)
layer_norm_grad(const T* __restrict__ g, const T* __restrict__ x, const T* __restrict__ weight, int has_weight,
                const T* __restrict__ mean, const T* __restrict__ rstd, T* __restrict__ dx, i64 rows, i64 width) {
  typedef Slices<true> S;
  __shared__ T scratch[32];
  for (i64 r = S::first(); r < rows; r += S::step()) {
    const T centre = mean[r], scale = rstd[r];
    const i64 base = r * width;
    T sum = 0, product = 0;
    for (i64 i = S::begin(); i < width; i += S::stride()) {
      const T gw = has_weight ? g[base + i] * weight[i] : g[base + i];
      sum += gw;
      product += gw * ((x[base + i] - centre) * scale);
    }
    const T mean_gw = S::reduce(sum, Sum(), T(0), scratch) / T(width);
    const T mean_product = S::reduce(product, Sum(), T(0), scratch) / T(width);
    for (i64 i = S::begin(); i < width; i += S::stride()) {
      const T gw = has_weight ? g[base + i] * weight[i] : g[base + i];
      dx[base + i] = scale * (gw - mean_gw - (x[base + i] - centre) * scale * mean_product);
    }
  }
}

// First stage of dweight and dbias: block (column tile, chunk of rows) adds up its rows; a thread owns a column, eight
// threads take turns with the rows, neighbours read neighbouring addresses. Block (32, 8), grid (tiles, chunks).
#define TILE 32
#define TURNS 8
template <typename T>
__global__ void __launch_bounds__(256, 3)
column_sums(const T* __restrict__ g, const T* __restrict__ x, const T* __restrict__ mean, const T* __restrict__ rstd,
            T* __restrict__ dweight, T* __restrict__ dbias, i64 rows, i64 width, i64 chunk) {
  __shared__ T weights[TURNS][TILE], biases[TURNS][TILE];
  const i64 column = (i64)blockIdx.x * TILE + threadIdx.x, first = blockIdx.y * chunk;
  const i64 last = first + chunk < rows ? first + chunk : rows;
  T weight = 0, bias = 0;
  if (column < width)
    for (i64 r = first + threadIdx.y; r < last; r += TURNS) {
      const T grad = g[r * width + column];
      weight += grad * ((x[r * width + column] - mean[r]) * rstd[r]);
      bias += grad;
    }
  weights[threadIdx.y][threadIdx.x] = weight;
  biases[threadIdx.y][threadIdx.x] = bias;
  __syncthreads();
  if (threadIdx.y == 0 && column < width) {
    for (int k = 1; k < TURNS; ++k) {
      weight += weights[k][threadIdx.x];
      bias += biases[k][threadIdx.x];
    }
    dweight[blockIdx.y * width + column] = weight;
    dbias[blockIdx.y * width + column] = bias;
  }
}

// Second stage: the chunks in order.
template <typename T>
__global__ void __launch_bounds__(256)
add_partials(const T* __restrict__ partial_weight, const T* __restrict__ partial_bias, T* __restrict__ dweight,
             T* __restrict__ dbias, i64 chunks, i64 width) {
  GRID_STRIDE(i, width) {
    T weight = 0, bias = 0;
    for (i64 k = 0; k < chunks; ++k) {
      weight += partial_weight[k * width + i];
      bias += partial_bias[k * width + i];
    }
    dweight[i] = weight;
    dbias[i] = bias;
  }
}
