// instantiate: sgd<float>, sgd<double>, adam<float>, adam<double>
// instantiate: unscale<float>, unscale<double>, unscale<__half>, unscale<__nv_bfloat16>
// instantiate: multi_tensor_unscale<float>, multi_tensor_unscale<double>
// instantiate: multi_tensor_unscale<__half>, multi_tensor_unscale<__nv_bfloat16>
// instantiate: multi_tensor_sgd<float>, multi_tensor_sgd<double>, multi_tensor_adam<float>, multi_tensor_adam<double>
//
// Optimizer steps, the arithmetic of torch's single-tensor implementations in its order. The results may lie over the
// inputs: every element is read and written by one thread, reads first. Hence no __restrict__.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "common.cuh"

// ---- one element
template <typename T> struct Sgd {
  T lr, momentum, weight_decay;
  int with_momentum, nesterov, maximize;

  // Returns the new parameter, and in `b` the new buffer. `share` is what the gradient counts in the buffer: 1 on the first
  // step, when `has_buffer` is false and the buffer starts as the gradient.
  __device__ __forceinline__ T operator()(T p, T g, T& b, bool has_buffer, T share) const {
    if (maximize) g = -g;
    if (weight_decay != T(0)) g += weight_decay * p;
    if (with_momentum) {
      b = has_buffer ? momentum * b + share * g : g;
      g = nesterov ? g + momentum * b : b;
    }
    return p - lr * g;
  }
};

// `keep` is 1 - lr * weight_decay (decoupled decay), `weight_decay` the classic one.
template <typename T> struct Adam {
  T rest1, beta2, rest2, eps, weight_decay, keep;
  int amsgrad, maximize;

  // Returns the new parameter, and in `m`, `v` and, with amsgrad, `largest` the new state. step_size = lr / (1 - beta1^t) and
  // scale = sqrt(1 - beta2^t) are computed in double on the host.
  __device__ __forceinline__ T operator()(T p, T g, T& m, T& v, T& largest, T step_size, T scale) const {
    if (maximize) g = -g;
    if (weight_decay != T(0)) g += weight_decay * p;
    // torch.lerp: the form whose rounding is small for this weight
    m = rest1 < T(0.5) ? m + rest1 * (g - m) : g - (g - m) * (T(1) - rest1);
    v = beta2 * v + rest2 * g * g;
    if (amsgrad) largest = Max()(largest, v);  // NaN wins
    return p * keep - step_size * (m / (sqrt_(amsgrad ? largest : v) / scale + eps));
  }
};

// ---- one tensor
template <typename T>
__global__ void __launch_bounds__(256, 1)
sgd(const T* param, const T* grad, const T* buffer, int has_buffer, T* new_param, T* new_buffer, int with_momentum,
    T lr, T momentum, T undamped, T weight_decay, int nesterov, int maximize, i64 n) {
  const Sgd<T> step = {lr, momentum, weight_decay, with_momentum, nesterov, maximize};
  GRID_STRIDE(i, n) {
    T b = with_momentum && has_buffer ? buffer[i] : T(0);
    new_param[i] = step(param[i], grad[i], b, has_buffer, undamped);
    if (with_momentum) new_buffer[i] = b;
  }
}

// max_sq and new_max_sq count with `amsgrad` only.
template <typename T>
__global__ void __launch_bounds__(256, 1)
adam(const T* param, const T* grad, const T* avg, const T* sq, const T* max_sq, T* new_param, T* new_avg, T* new_sq,
     T* new_max_sq, T step_size, T scale, T rest1, T beta2, T rest2, T eps, T weight_decay, T keep, int amsgrad,
     int maximize, i64 n) {
  const Adam<T> step = {rest1, beta2, rest2, eps, weight_decay, keep, amsgrad, maximize};
  GRID_STRIDE(i, n) {
    T m = avg[i], v = sq[i], largest = amsgrad ? max_sq[i] : T(0);
    const T p = step(param[i], grad[i], m, v, largest, step_size, scale);
    if (amsgrad) new_max_sq[i] = largest;
    new_avg[i] = m;
    new_sq[i] = v;
    new_param[i] = p;
  }
}

// ---- a list of tensors, in place
// `plan` holds 64-bit words: the elements before each tensor and their sum (tensors + 1), for each tensor the addresses of
// its arrays (tensors * arrays), and scalars of type double (tensors * scalars).
template <typename T> struct Plan {
  const i64* words;
  int tensors, arrays, scalars;

  __device__ __forceinline__ i64 offset(int tensor) const { return words[tensor]; }
  __device__ __forceinline__ T* array(int tensor, int which) const {
    return reinterpret_cast<T*>(words[tensors + 1 + (i64)tensor * arrays + which]);
  }
  __device__ __forceinline__ T scalar(int tensor, int which) const {
    const i64* all = words + tensors + 1 + (i64)tensors * arrays;
    return T(reinterpret_cast<const double*>(all)[(i64)tensor * scalars + which]);
  }
  // The last tensor with offset <= element; empty ones before it are passed over.
  __device__ __forceinline__ int find(i64 element) const {
    int low = 0, high = tensors;
    while (high - low > 1) {
      const int middle = (low + high) >> 1;
      if (offset(middle) <= element) low = middle;
      else high = middle;
    }
    return low;
  }
};

// Runs `body` for each element of the list: blocks take parts of `part` elements, whatever tensors these lie in. In `body`, k is
// the tensor and i the element of it.
template <typename T, typename Body>
__device__ __forceinline__ void for_each(const Plan<T>& plan, i64 part, Body body) {
  const i64 total = plan.offset(plan.tensors);
  for (i64 begin = blockIdx.x * part; begin < total; begin += gridDim.x * part) {
    const i64 end = begin + part < total ? begin + part : total;
    i64 start = begin;
    for (int k = plan.find(start); start < end; ++k) {
      const i64 before = plan.offset(k), next = plan.offset(k + 1), stop = next < end ? next : end;
      body(k, start - before, stop - before);
      start = stop;
    }
  }
}

// The scalars of a tensor: its `share`, and 0 on its first step, else 1.
template <typename T>
__global__ void __launch_bounds__(256, 1)
multi_tensor_sgd(const i64* words, int tensors, i64 part, int with_momentum, T lr, T momentum, T weight_decay, int nesterov,
                 int maximize) {
  const Plan<T> plan = {words, tensors, with_momentum ? 3 : 2, 2};
  const Sgd<T> step = {lr, momentum, weight_decay, with_momentum, nesterov, maximize};
  for_each(plan, part, [&](int k, i64 start, i64 stop) {
    T *param = plan.array(k, 0), *grad = plan.array(k, 1), *buffer = plan.array(k, with_momentum ? 2 : 1);
    const T share = plan.scalar(k, 0);
    const bool has_buffer = plan.scalar(k, 1) != T(0);
    for (i64 i = start + threadIdx.x; i < stop; i += blockDim.x) {
      T b = with_momentum && has_buffer ? buffer[i] : T(0);
      param[i] = step(param[i], grad[i], b, has_buffer, share);
      if (with_momentum) buffer[i] = b;
    }
  });
}

// The scalars of a tensor: step_size and scale.
template <typename T>
__global__ void __launch_bounds__(256, 1)
multi_tensor_adam(const i64* words, int tensors, i64 part, T rest1, T beta2, T rest2, T eps, T weight_decay, T keep,
                  int amsgrad, int maximize) {
  const Plan<T> plan = {words, tensors, amsgrad ? 5 : 4, 2};
  const Adam<T> step = {rest1, beta2, rest2, eps, weight_decay, keep, amsgrad, maximize};
  for_each(plan, part, [&](int k, i64 start, i64 stop) {
    T *param = plan.array(k, 0), *grad = plan.array(k, 1), *avg = plan.array(k, 2), *sq = plan.array(k, 3);
    T* max_sq = plan.array(k, amsgrad ? 4 : 3);
    const T step_size = plan.scalar(k, 0), scale = plan.scalar(k, 1);
    for (i64 i = start + threadIdx.x; i < stop; i += blockDim.x) {
      T m = avg[i], v = sq[i], largest = amsgrad ? max_sq[i] : T(0);
      param[i] = step(param[i], grad[i], m, v, largest, step_size, scale);
      if (amsgrad) max_sq[i] = largest;
      avg[i] = m;
      sq[i] = v;
    }
  });
}

// ---- gradients of a loss that was scaled
__device__ __forceinline__ float widened(__half x) { return __half2float(x); }
__device__ __forceinline__ float widened(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ __forceinline__ float widened(float x) { return x; }
__device__ __forceinline__ double widened(double x) { return x; }
__device__ __forceinline__ void put(__half* p, float x) { *p = __float2half_rn(x); }
__device__ __forceinline__ void put(__nv_bfloat16* p, float x) { *p = __float2bfloat16_rn(x); }
__device__ __forceinline__ void put(float* p, float x) { *p = x; }
__device__ __forceinline__ void put(double* p, double x) { *p = x; }

// Multiplies an element by `inverse`; whether it was not finite.
template <typename T> __device__ __forceinline__ bool unscale_element(T* element, float inverse) {
  const auto g = widened(*element);
  put(element, g * inverse);
  return !(g - g == 0);
}

// One thread of each block that has met an element that is not finite sets `found` to 1: all write the same.
__device__ __forceinline__ void report(bool bad, float* found) {
  if (__syncthreads_or(bad) && threadIdx.x == 0) *found = 1.0f;
}

template <typename T>
__global__ void __launch_bounds__(256, 1) unscale(T* grad, i64 n, float* found, const float* inverse) {
  bool bad = false;
  GRID_STRIDE(i, n) bad |= unscale_element(grad + i, *inverse);
  report(bad, found);
}

template <typename T>
__global__ void __launch_bounds__(256, 1)
multi_tensor_unscale(const i64* words, int tensors, i64 part, float* found, const float* inverse) {
  const Plan<T> plan = {words, tensors, 1, 0};
  bool bad = false;
  for_each(plan, part, [&](int k, i64 start, i64 stop) {
    T* grad = plan.array(k, 0);
    for (i64 i = start + threadIdx.x; i < stop; i += blockDim.x) bad |= unscale_element(grad + i, *inverse);
  });
  report(bad, found);
}
