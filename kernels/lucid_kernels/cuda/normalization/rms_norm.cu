// Normalisation of (rows, width) by the root of the mean square, with its gradients. No float atomics: reproducible.
// instantiate: rms_norm<float>, rms_norm<double>, rms_norm_grad<float>, rms_norm_grad<double>
// instantiate: weight_sums<float>, weight_sums<double>, add_weights<float>, add_weights<double>
#include "common.cuh"

template <typename T>
__global__ void __launch_bounds__(256)
rms_norm(const T* __restrict__ x, const T* __restrict__ weight, int has_weight, T* __restrict__ y, T* __restrict__ rstd, i64 rows,
         i64 width, T eps) {
  typedef Slices<true> S;
  __shared__ T scratch[32];
  for (i64 r = S::first(); r < rows; r += S::step()) {
    const T* row = x + r * width;
    T squares = 0;
    for (i64 i = S::begin(); i < width; i += S::stride()) squares += row[i] * row[i];
    const T scale = T(1) / sqrt_(S::reduce(squares, Sum(), T(0), scratch) / T(width) + eps);
    for (i64 i = S::begin(); i < width; i += S::stride())
      y[r * width + i] = row[i] * scale * (has_weight ? weight[i] : T(1));
    if (S::begin() == 0) rstd[r] = scale;
  }
}

// dx = rstd * (gw - normal * mean(gw * normal)), gw = g * weight, normal = x * rstd.
template <typename T>
__global__ void __launch_bounds__(256)
rms_norm_grad(const T* __restrict__ g, const T* __restrict__ x, const T* __restrict__ weight, int has_weight,
              const T* __restrict__ rstd, T* __restrict__ dx, i64 rows, i64 width) {
  typedef Slices<true> S;
  __shared__ T scratch[32];
  for (i64 r = S::first(); r < rows; r += S::step()) {
    const T scale = rstd[r];
    const i64 base = r * width;
    T product = 0;
    for (i64 i = S::begin(); i < width; i += S::stride())
      product += (has_weight ? g[base + i] * weight[i] : g[base + i]) * (x[base + i] * scale);
    const T mean_product = S::reduce(product, Sum(), T(0), scratch) / T(width);
    for (i64 i = S::begin(); i < width; i += S::stride()) {
      const T gw = has_weight ? g[base + i] * weight[i] : g[base + i];
      dx[base + i] = scale * (gw - x[base + i] * scale * mean_product);
    }
  }
}

// First stage of dweight: block (column tile, chunk of rows) adds up its rows; a thread owns a column, eight threads take
// turns with the rows, neighbours read neighbouring addresses. Block (32, 8), grid (tiles, chunks).
#define TILE 32
#define TURNS 8
template <typename T>
__global__ void __launch_bounds__(256, 3)
weight_sums(const T* __restrict__ g, const T* __restrict__ x, const T* __restrict__ rstd, T* __restrict__ dweight, i64 rows,
            i64 width, i64 chunk) {
  __shared__ T sums[TURNS][TILE];
  const i64 column = (i64)blockIdx.x * TILE + threadIdx.x, first = blockIdx.y * chunk;
  const i64 last = first + chunk < rows ? first + chunk : rows;
  T sum = 0;
  if (column < width)
    for (i64 r = first + threadIdx.y; r < last; r += TURNS) sum += g[r * width + column] * (x[r * width + column] * rstd[r]);
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y == 0 && column < width) {
    for (int k = 1; k < TURNS; ++k) sum += sums[k][threadIdx.x];
    dweight[blockIdx.y * width + column] = sum;
  }
}

// Second stage: the chunks in order.
template <typename T>
__global__ void __launch_bounds__(256) add_weights(const T* __restrict__ partial, T* __restrict__ dweight, i64 chunks, i64 width) {
  GRID_STRIDE(i, width) {
    T sum = 0;
    for (i64 k = 0; k < chunks; ++k) sum += partial[k * width + i];
    dweight[i] = sum;
  }
}
