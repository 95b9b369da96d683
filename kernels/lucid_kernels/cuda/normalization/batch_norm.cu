// Batch normalisation of (N, C, S), with its gradients. A channel's N * S elements are cut into chunks that the shape
// alone fixes; a block reduces a chunk, then a warp combines the chunks of a channel in order. No float atomics.
// instantiate: chunk_statistics<float>, chunk_statistics<double>, combine_statistics<float>, combine_statistics<double>
// instantiate: normalize<float, false>, normalize<float, true>, normalize<double, false>, normalize<double, true>
// instantiate: chunk_gradients<float, false>, chunk_gradients<float, true>
// instantiate: chunk_gradients<double, false>, chunk_gradients<double, true>
// instantiate: combine_gradients<float>, combine_gradients<double>
// instantiate: input_gradient<float, false>, input_gradient<float, true>
// instantiate: input_gradient<double, false>, input_gradient<double, true>
#include "common.cuh"

// 1 / standard deviation of a channel: stored as such in training, derived from the running variance in evaluation.
template <typename T, bool EVAL> __device__ __forceinline__ T inverse_deviation(T stored, T eps) {
  return EVAL ? T(1) / sqrt_(stored + eps) : stored;
}

// The elements first + threadIdx.x, + blockDim.x, ... of channel c, in the order (n, s). `offset` is the place in memory;
// the division by S is made once, not for every element. Where S is 1 neighbouring threads read C elements apart; the
// blocks of the neighbouring channels then find the rest of the lines in the L2 cache.
struct ChannelWalk {
  i64 n, s, step_n, step_s, C, S, c;
  __device__ __forceinline__ ChannelWalk(i64 c, i64 first, i64 C, i64 S)
      : n((first + threadIdx.x) / S), s((first + threadIdx.x) % S), step_n(blockDim.x / S), step_s(blockDim.x % S), C(C), S(S),
        c(c) {}
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

// Mean of each chunk and the sum of squares around it, at [c * chunks + k]. The second pass finds the chunk in the cache.
template <typename T>
__global__ void __launch_bounds__(256)
chunk_statistics(const T* __restrict__ x, T* __restrict__ means, T* __restrict__ squares, i64 C, i64 S, i64 count, i64 chunk,
                 i64 chunks) {
  __shared__ T scratch[32];
  for (i64 b = blockIdx.x; b < C * chunks; b += gridDim.x) {
    const i64 c = b / chunks, first = b % chunks * chunk, last = first + chunk < count ? first + chunk : count;
    T sum = 0;
    ChannelWalk walk(c, first, C, S);
    for (i64 i = first + threadIdx.x; i < last; i += blockDim.x, walk.next()) sum += x[walk.offset()];
    const T mean = block_reduce(sum, Sum(), T(0), scratch) / T(last - first);
    T square = 0;
    walk = ChannelWalk(c, first, C, S);
    for (i64 i = first + threadIdx.x; i < last; i += blockDim.x, walk.next()) {
      const T d = x[walk.offset()] - mean;
      square += d * d;
    }
    square = block_reduce(square, Sum(), T(0), scratch);
    if (threadIdx.x == 0) {
      means[b] = mean;
      squares[b] = square;
    }
  }
}

// Statistics of a channel from those of its chunks (Chan's formula), and the running ones. A warp a channel.
// The new running statistics may be the old arrays: no __restrict__.
template <typename T>
__global__ void __launch_bounds__(256)
combine_statistics(const T* __restrict__ means, const T* __restrict__ squares, T* __restrict__ mean, T* __restrict__ rstd,
                   const T* running_mean, T* new_mean, int has_mean, const T* running_var, T* new_var, int has_var, i64 C,
                   i64 count, i64 chunk, i64 chunks, T momentum, T eps) {
  const int lane = threadIdx.x & 31;
  const i64 warp = ((i64)blockIdx.x * blockDim.x + threadIdx.x) >> 5, warps = (i64)gridDim.x * blockDim.x >> 5;
  for (i64 c = warp; c < C; c += warps) {
    T sum = 0;
    for (i64 k = lane; k < chunks; k += 32) {
      const i64 size = k < chunks - 1 ? chunk : count - chunk * k;
      sum += means[c * chunks + k] * T(size);
    }
    const T centre = warp_reduce(sum, Sum()) / T(count);
    T square = 0;
    for (i64 k = lane; k < chunks; k += 32) {
      const i64 size = k < chunks - 1 ? chunk : count - chunk * k;
      const T d = means[c * chunks + k] - centre;
      square += squares[c * chunks + k] + d * d * T(size);
    }
    square = warp_reduce(square, Sum());
    if (lane == 0) {
      mean[c] = centre;
      rstd[c] = T(1) / sqrt_(square / T(count) + eps);
      if (has_mean) new_mean[c] = (T(1) - momentum) * running_mean[c] + momentum * centre;
      if (has_var) new_var[c] = (T(1) - momentum) * running_var[c] + momentum * (square / T(count - 1));
    }
  }
}

// y = (x - mean) * rstd * weight + bias. blockDim.y planes (n, c) a block, blockDim.x threads along S.
template <typename T, bool EVAL>
__global__ void __launch_bounds__(256)
normalize(const T* __restrict__ x, const T* __restrict__ weight, int has_weight, const T* __restrict__ bias, int has_bias,
          const T* __restrict__ mean, const T* __restrict__ deviation, T* __restrict__ y, i64 planes, i64 C, i64 S, T eps) {
  for (i64 p = (i64)blockIdx.x * blockDim.y + threadIdx.y; p < planes; p += (i64)gridDim.x * blockDim.y) {
    const i64 c = p % C;
    const T centre = mean[c], shift = has_bias ? bias[c] : T(0);
    const T scale = inverse_deviation<T, EVAL>(deviation[c], eps) * (has_weight ? weight[c] : T(1));
    for (i64 s = threadIdx.x; s < S; s += blockDim.x) y[p * S + s] = (x[p * S + s] - centre) * scale + shift;
  }
}

// Sums of g and of g * normal over each chunk, at [c * chunks + k]; normal = (x - mean) * rstd.
template <typename T, bool EVAL>
__global__ void __launch_bounds__(256)
chunk_gradients(const T* __restrict__ g, const T* __restrict__ x, const T* __restrict__ mean, const T* __restrict__ deviation,
                T* __restrict__ biases, T* __restrict__ weights, i64 C, i64 S, i64 count, i64 chunk, i64 chunks, T eps) {
  __shared__ T scratch[32];
  for (i64 b = blockIdx.x; b < C * chunks; b += gridDim.x) {
    const i64 c = b / chunks, first = b % chunks * chunk, last = first + chunk < count ? first + chunk : count;
    const T centre = mean[c], scale = inverse_deviation<T, EVAL>(deviation[c], eps);
    T bias = 0, weight = 0;
    ChannelWalk walk(c, first, C, S);
    for (i64 i = first + threadIdx.x; i < last; i += blockDim.x, walk.next()) {
      const T grad = g[walk.offset()];
      bias += grad;
      weight += grad * ((x[walk.offset()] - centre) * scale);
    }
    bias = block_reduce(bias, Sum(), T(0), scratch);
    weight = block_reduce(weight, Sum(), T(0), scratch);
    if (threadIdx.x == 0) {
      biases[b] = bias;
      weights[b] = weight;
    }
  }
}

// dbias and dweight from the chunks. A warp a channel.
template <typename T>
__global__ void __launch_bounds__(256)
combine_gradients(const T* __restrict__ biases, const T* __restrict__ weights, T* __restrict__ dbias, T* __restrict__ dweight,
                  i64 C, i64 chunks) {
  const int lane = threadIdx.x & 31;
  const i64 warp = ((i64)blockIdx.x * blockDim.x + threadIdx.x) >> 5, warps = (i64)gridDim.x * blockDim.x >> 5;
  for (i64 c = warp; c < C; c += warps) {
    T bias = 0, weight = 0;
    for (i64 k = lane; k < chunks; k += 32) {
      bias += biases[c * chunks + k];
      weight += weights[c * chunks + k];
    }
    bias = warp_reduce(bias, Sum());
    weight = warp_reduce(weight, Sum());
    if (lane == 0) {
      dbias[c] = bias;
      dweight[c] = weight;
    }
  }
}

// dx = weight * rstd * (g - mean(g) - normal * mean(g * normal)); in evaluation the statistics are constants and only
// weight * rstd * g remains. Threads as in `normalize`.
template <typename T, bool EVAL>
__global__ void __launch_bounds__(256)
input_gradient(const T* __restrict__ g, const T* __restrict__ x, const T* __restrict__ weight, int has_weight,
               const T* __restrict__ mean, const T* __restrict__ deviation, const T* __restrict__ dbias,
               const T* __restrict__ dweight, T* __restrict__ dx, i64 planes, i64 C, i64 S, i64 count, T eps) {
  for (i64 p = (i64)blockIdx.x * blockDim.y + threadIdx.y; p < planes; p += (i64)gridDim.x * blockDim.y) {
    const i64 c = p % C;
    const T centre = mean[c], scale = inverse_deviation<T, EVAL>(deviation[c], eps);
    const T factor = scale * (has_weight ? weight[c] : T(1));
    const T mean_g = dbias[c] / T(count), slope = dweight[c] / T(count) * scale;
    for (i64 s = threadIdx.x; s < S; s += blockDim.x) {
      const i64 at = p * S + s;
      dx[at] = EVAL ? g[at] * factor : (g[at] - mean_g - (x[at] - centre) * slope) * factor;
    }
  }
}
