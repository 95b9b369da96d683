// The sums over samples and places of (N, C, S), one for each channel: gradients of biases.
// instantiate: sum_columns<float>, sum_columns<double>, sum_planes<float>, sum_planes<double>
// instantiate: add_chunks<float>, add_chunks<double>
//
// In two stages whose chunks the shape alone fixes, so that the result is the same on every device.
#include "common.cuh"

#define TILE 32
#define TURNS 8

// S = 1. A block of (TILE, TURNS) threads sums TILE columns of a chunk of rows.
template <typename T>
__global__ void __launch_bounds__(256)
sum_columns(const T* __restrict__ x, T* __restrict__ sums, i64 rows, i64 width, i64 chunk) {
  __shared__ T parts[TURNS][TILE];
  const i64 column = (i64)blockIdx.x * TILE + threadIdx.x, first = blockIdx.y * chunk;
  const i64 last = first + chunk < rows ? first + chunk : rows;
  T sum = 0;
  if (column < width)
    for (i64 r = first + threadIdx.y; r < last; r += TURNS) sum += x[r * width + column];
  parts[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y == 0 && column < width) {
    for (int k = 1; k < TURNS; ++k) sum += parts[k][threadIdx.x];
    sums[blockIdx.y * width + column] = sum;
  }
}

// A block sums a chunk of the N * S elements of one channel.
template <typename T>
__global__ void __launch_bounds__(256)
sum_planes(const T* __restrict__ x, T* __restrict__ sums, i64 samples, i64 channels, i64 size, i64 chunk) {
  __shared__ T scratch[32];
  const i64 channel = blockIdx.x, first = blockIdx.y * chunk, count = samples * size;
  const i64 last = first + chunk < count ? first + chunk : count;
  T sum = 0;
  for (i64 i = first + threadIdx.x; i < last; i += blockDim.x) sum += x[(i / size * channels + channel) * size + i % size];
  sum = block_reduce(sum, Sum(), T(0), scratch);
  if (threadIdx.x == 0) sums[blockIdx.y * channels + channel] = sum;
}

template <typename T>
__global__ void __launch_bounds__(256)
add_chunks(const T* __restrict__ parts, T* __restrict__ sums, i64 chunks, i64 width) {
  GRID_STRIDE(i, width) {
    T sum = 0;
    for (i64 k = 0; k < chunks; ++k) sum += parts[k * width + i];
    sums[i] = sum;
  }
}
