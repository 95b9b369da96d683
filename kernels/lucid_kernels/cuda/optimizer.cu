// instantiate: sgd<float>, sgd<double>, adam<float>, adam<double>
//
// Optimizer steps, the arithmetic of torch's single-tensor implementations in its order. The results may lie over the
// inputs: every element is read and written by one thread, reads first. Hence no __restrict__.
#include "common.cuh"

// Without `has_buffer`, on the first step, the buffer starts as the gradient; without `with_momentum` there is none.
template <typename T>
__global__ void __launch_bounds__(256, 1)
sgd(const T* param, const T* grad, const T* buffer, int has_buffer, T* new_param, T* new_buffer, int with_momentum,
    T lr, T momentum, T undamped, T weight_decay, int nesterov, int maximize, i64 n) {
  GRID_STRIDE(i, n) {
    const T p = param[i];
    T g = maximize ? -grad[i] : grad[i];
    if (weight_decay != T(0)) g += weight_decay * p;
    if (with_momentum) {
      const T b = has_buffer ? momentum * buffer[i] + undamped * g : g;
      new_buffer[i] = b;
      g = nesterov ? g + momentum * b : b;
    }
    new_param[i] = p - lr * g;
  }
}

// step_size = lr / (1 - beta1^t) and scale = sqrt(1 - beta2^t) are computed in double on the host; `keep` is
// 1 - lr * weight_decay (decoupled decay), `weight_decay` the classic one; max_sq and new_max_sq count with
// `amsgrad` only.
template <typename T>
__global__ void __launch_bounds__(256, 1)
adam(const T* param, const T* grad, const T* avg, const T* sq, const T* max_sq, T* new_param, T* new_avg, T* new_sq,
     T* new_max_sq, T step_size, T scale, T rest1, T beta2, T rest2, T eps, T weight_decay, T keep, int amsgrad,
     int maximize, i64 n) {
  GRID_STRIDE(i, n) {
    const T p0 = param[i];
    T g = maximize ? -grad[i] : grad[i];
    if (weight_decay != T(0)) g += weight_decay * p0;
    const T m0 = avg[i];
    // torch.lerp: the form whose rounding is small for this weight
    const T m = rest1 < T(0.5) ? m0 + rest1 * (g - m0) : g - (g - m0) * (T(1) - rest1);
    const T v = beta2 * sq[i] + rest2 * g * g;
    T root = v;
    if (amsgrad) {
      root = Max()(max_sq[i], v);  // NaN wins
      new_max_sq[i] = root;
    }
    new_avg[i] = m;
    new_sq[i] = v;
    new_param[i] = p0 * keep - step_size * (m / (sqrt_(root) / scale + eps));
  }
}
