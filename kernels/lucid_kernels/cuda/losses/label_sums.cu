// Sums over labels, in two stages whose chunks the number of labels alone fixes: the result is the same on every device.
// instantiate: label_weights<float>, label_weights<double>
// instantiate: sum_chunks<float, float>, sum_chunks<double, double>, sum_chunks<float, __half>, sum_chunks<float, __nv_bfloat16>
#include "halves.cuh"

// sums[b] = the sum of the weights of the labels [b * chunk, (b + 1) * chunk); those ignored or out of range have none.
template <typename A>
__global__ void __launch_bounds__(256)
label_weights(const i64* __restrict__ target, const A* __restrict__ weight, int weighted, A* __restrict__ sums, i64 n, i64 chunk,
              i64 C, i64 ignore_index) {
  __shared__ A scratch[32];
  const i64 first = blockIdx.x * chunk, last = first + chunk < n ? first + chunk : n;
  A sum = 0;
  for (i64 i = first + threadIdx.x; i < last; i += blockDim.x) {
    const i64 t = target[i];
    const bool counts = t != ignore_index && t >= 0 && t < C;
    sum += !counts ? A(0) : weighted ? weight[t] : A(1);
  }
  sum = block_reduce(sum, Sum(), A(0), scratch);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// sums[b] = the sum of values[b * chunk ... (b + 1) * chunk), over *divisor if `divide`.
template <typename A, typename T>
__global__ void __launch_bounds__(256)
sum_chunks(const A* __restrict__ values, T* __restrict__ sums, i64 n, i64 chunk, const A* __restrict__ divisor, int divide) {
  __shared__ A scratch[32];
  const i64 first = blockIdx.x * chunk, last = first + chunk < n ? first + chunk : n;
  A sum = 0;
  for (i64 i = first + threadIdx.x; i < last; i += blockDim.x) sum += values[i];
  sum = block_reduce(sum, Sum(), A(0), scratch);
  if (threadIdx.x == 0) sums[blockIdx.x] = narrowed<T>(divide ? sum / *divisor : sum);
}
