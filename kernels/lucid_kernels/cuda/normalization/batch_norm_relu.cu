// Batch normalisation of (N, C, S) from known statistics, an added residual and ReLU, in one pass.
// instantiate: normalize_relu<float>, normalize_relu<double>
#include "common.cuh"

// y = max((x - mean) * rstd * weight + bias + residual, 0). blockDim.y planes (n, c) a block, blockDim.x threads along S.
template <typename T>
__global__ void __launch_bounds__(256)
normalize_relu(const T* __restrict__ x, const T* __restrict__ residual, int has_residual, const T* __restrict__ weight,
               int has_weight, const T* __restrict__ bias, int has_bias, const T* __restrict__ mean, const T* __restrict__ rstd,
               T* __restrict__ y, i64 planes, i64 C, i64 S) {
  for (i64 p = (i64)blockIdx.x * blockDim.y + threadIdx.y; p < planes; p += (i64)gridDim.x * blockDim.y) {
    const i64 c = p % C;
    const T centre = mean[c], shift = has_bias ? bias[c] : T(0), scale = rstd[c] * (has_weight ? weight[c] : T(1));
    for (i64 s = threadIdx.x; s < S; s += blockDim.x) {
      const T value = (x[p * S + s] - centre) * scale + shift + (has_residual ? residual[p * S + s] : T(0));
      y[p * S + s] = value <= T(0) ? T(0) : value;  // NaN stays
    }
  }
}
