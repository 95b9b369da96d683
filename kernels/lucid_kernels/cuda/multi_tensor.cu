// one module an instance
// instantiate: multi_tensor<float, Sgd>, multi_tensor<float, Adam>, multi_tensor<float, RMSprop>, multi_tensor<float, Adagrad>
// instantiate: multi_tensor<float, Adamax>, multi_tensor<float, NAdam>, multi_tensor<float, RAdam>, multi_tensor<float, Adadelta>
// instantiate: multi_tensor<float, ASGD>, multi_tensor<float, Rprop>, multi_tensor<double, Sgd>, multi_tensor<double, Adam>
// instantiate: multi_tensor<double, RMSprop>, multi_tensor<double, Adagrad>, multi_tensor<double, Adamax>
// instantiate: multi_tensor<double, NAdam>, multi_tensor<double, RAdam>, multi_tensor<double, Adadelta>
// instantiate: multi_tensor<double, ASGD>, multi_tensor<double, Rprop>, multi_tensor<__half, Sgd>, multi_tensor<__half, Adam>
// instantiate: multi_tensor<__nv_bfloat16, Sgd>, multi_tensor<__nv_bfloat16, Adam>
//
// A step of an optimizer with a list of tensors, in place: the arithmetic of torch's single-tensor implementations in its order.
// Each element is read and written once. What a list is stands in `multi_tensor.py`, which fills the table.
#include "conv_elements.cuh"

constexpr int OPTIONS = 10, COUNTS = 3, FACTORS = 10, PART = 1 << 12;
struct Options { double at[OPTIONS]; };
struct Counts { double at[COUNTS]; };

// ---- the optimizers
// An optimizer has MOMENTS arrays of state beside a parameter and COUNTED numbers of state in float.
//   advance: the factors of a step from the options and the numbers as they were before it; then the numbers are those after it
//   step: the new parameter and state of an element; g is the gradient, with the sign of the step and the decayed weight
// Options begin with the learning rate, the weight decay and whether to climb; factors with the sign of the gradient and the
// weight decay.
// torch.lerp: the form whose rounding is small for this weight
template <typename T> __device__ __forceinline__ T moved(T m, T g, T weight) {
  return weight < T(0.5) ? m + weight * (g - m) : g - (g - m) * (T(1) - weight);
}

struct Plain {  // weight decay goes into the gradient
  template <typename T> static __device__ __forceinline__ T decay(const T* f, T& p, T g) {
    return f[1] != T(0) ? g + f[1] * p : g;
  }
};

// The options of Adam's relatives begin with beta1, beta2, eps, and whether weight decay passes the moments by: then factor 1 is
// what stays of the parameter, else the weight decay.
struct Moments {
  static __device__ __forceinline__ void advance_moments(const double* o, double* f) {
    f[1] = o[6] != 0 ? 1 - o[0] * o[1] : o[1];
    f[5] = 1 - o[3];
    f[6] = o[4];
    f[7] = 1 - o[4];
    f[8] = o[5];
    f[9] = o[6];
  }
  template <typename T> static __device__ __forceinline__ T decay(const T* f, T& p, T g) {
    if (f[9] != T(0)) {
      p *= f[1];
      return g;
    }
    return f[1] != T(0) ? g + f[1] * p : g;
  }
  template <typename T> static __device__ __forceinline__ void average(const T* f, T g, T* m) {
    m[0] = moved(m[0], g, f[5]);
    m[1] = f[6] * m[1] + f[7] * g * g;
  }
};

// Options: momentum, dampening, Nesterov. The number, which the host knows, says whether this is the first step: the buffer becomes
// the gradient.
struct Sgd : Plain {
  static constexpr int MOMENTS = 1, COUNTED = 1;
  static __device__ __forceinline__ void advance(const double* o, double* s, double* f) {
    f[2] = o[0];
    f[3] = o[3];
    f[4] = 1 - o[4];
    f[5] = o[5];
    f[6] = s[0];
  }
  template <typename T> static __device__ __forceinline__ T step(const T* f, T p, T g, T* m) {
    if (f[3] != T(0)) {
      m[0] = f[6] != T(0) ? g : f[3] * m[0] + f[4] * g;
      g = f[5] != T(0) ? g + f[3] * m[0] : m[0];
    }
    return p - f[2] * g;
  }
};

// Option: whether the largest second moment counts.
struct Adam : Moments {
  static constexpr int MOMENTS = 3, COUNTED = 1;
  static __device__ __forceinline__ void advance(const double* o, double* s, double* f) {
    s[0] += 1;
    advance_moments(o, f);
    f[2] = o[0] / (1 - pow(o[3], s[0]));
    f[3] = sqrt(1 - pow(o[4], s[0]));
    f[4] = o[7];
  }
  template <typename T> static __device__ __forceinline__ T step(const T* f, T p, T g, T* m) {
    average(f, g, m);
    if (f[4] != T(0)) m[2] = Max()(m[2], m[1]);  // NaN wins
    return p - f[2] * (m[0] / (sqrt_(f[4] != T(0) ? m[2] : m[1]) / f[3] + f[8]));
  }
};

// Options: alpha, eps, momentum, and whether to subtract the squared mean. Moments: square, velocity, mean.
struct RMSprop : Plain {
  static constexpr int MOMENTS = 3, COUNTED = 1;
  static __device__ __forceinline__ void advance(const double* o, double* s, double* f) {
    s[0] += 1;
    f[2] = o[0];
    f[3] = o[3];
    f[4] = 1 - o[3];
    f[5] = o[4];
    f[6] = o[5];
    f[7] = o[6];
  }
  template <typename T> static __device__ __forceinline__ T step(const T* f, T p, T g, T* m) {
    m[0] = f[3] * m[0] + f[4] * g * g;
    T square = m[0];
    if (f[7] != T(0)) {
      m[2] = moved(m[2], g, f[4]);
      square -= m[2] * m[2];
    }
    T move = g / (sqrt_(square) + f[5]);
    if (f[6] > T(0)) move = m[1] = f[6] * m[1] + move;
    return p - move * f[2];
  }
};

// Options: decay of the learning rate, eps.
struct Adagrad : Plain {
  static constexpr int MOMENTS = 1, COUNTED = 1;
  static __device__ __forceinline__ void advance(const double* o, double* s, double* f) {
    f[2] = o[0] / (1 + s[0] * o[3]);
    f[3] = o[4];
    s[0] += 1;
  }
  template <typename T> static __device__ __forceinline__ T step(const T* f, T p, T g, T* m) {
    m[0] += g * g;
    return p - g / (sqrt_(m[0]) + f[3]) * f[2];
  }
};

// Options: beta1, beta2, eps.
struct Adamax : Plain {
  static constexpr int MOMENTS = 2, COUNTED = 1;
  static __device__ __forceinline__ void advance(const double* o, double* s, double* f) {
    s[0] += 1;
    f[2] = o[0] / (1 - pow(o[3], s[0]));
    f[3] = 1 - o[3];
    f[4] = o[4];
    f[5] = o[5];
  }
  template <typename T> static __device__ __forceinline__ T step(const T* f, T p, T g, T* m) {
    m[0] = moved(m[0], g, f[3]);
    m[1] = Max()(m[1] * f[4], (g < T(0) ? -g : g) + f[5]);
    return p - m[0] / m[1] * f[2];
  }
};

// Option: the decay of the momentum. The second number is the product of the momenta so far.
struct NAdam : Moments {
  static constexpr int MOMENTS = 2, COUNTED = 2;
  static __device__ __forceinline__ void advance(const double* o, double* s, double* f) {
    s[0] += 1;
    advance_moments(o, f);
    const double now = o[3] * (1 - 0.5 * pow(0.96, s[0] * o[7])), next = o[3] * (1 - 0.5 * pow(0.96, (s[0] + 1) * o[7]));
    s[1] = float(s[1]) * float(now);
    f[2] = 1 - pow(o[4], s[0]);
    f[3] = o[0] * (1 - now) / (1 - s[1]);
    f[4] = o[0] * next / (1 - s[1] * next);
  }
  template <typename T> static __device__ __forceinline__ T step(const T* f, T p, T g, T* m) {
    average(f, g, m);
    const T root = sqrt_(m[1] / f[2]) + f[8];
    return p - g / root * f[3] - m[0] / root * f[4];
  }
};

// Factor 4 is negative as long as the variance of the step sizes is not known to be small.
struct RAdam : Moments {
  static constexpr int MOMENTS = 2, COUNTED = 1;
  static __device__ __forceinline__ void advance(const double* o, double* s, double* f) {
    s[0] += 1;
    advance_moments(o, f);
    const double left = pow(o[4], s[0]), longest = 2 / (1 - o[4]) - 1, length = longest - 2 * s[0] * left / (1 - left);
    f[2] = o[0] / (1 - pow(o[3], s[0]));
    f[4] = length > 5 ? sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length) * (1 - left)) : -1;
  }
  template <typename T> static __device__ __forceinline__ T step(const T* f, T p, T g, T* m) {
    average(f, g, m);
    const T move = m[0] * f[2];
    return p - (f[4] >= T(0) ? move * (f[4] / (sqrt_(m[1]) + f[8])) : move);
  }
};

// Options: rho, eps. Moments: of gradients, of steps.
struct Adadelta : Plain {
  static constexpr int MOMENTS = 2, COUNTED = 1;
  static __device__ __forceinline__ void advance(const double* o, double* s, double* f) {
    s[0] += 1;
    f[2] = o[0];
    f[3] = o[3];
    f[4] = 1 - o[3];
    f[5] = o[4];
  }
  template <typename T> static __device__ __forceinline__ T step(const T* f, T p, T g, T* m) {
    m[0] = f[3] * m[0] + f[4] * g * g;
    const T move = sqrt_(m[1] + f[5]) / sqrt_(m[0] + f[5]) * g;
    m[1] = f[3] * m[1] + f[4] * move * move;
    return p - move * f[2];
  }
};

// Options: lambd, alpha, t0. Numbers: the steps, and eta and mu of the next one.
struct ASGD : Plain {
  static constexpr int MOMENTS = 1, COUNTED = 3;
  static __device__ __forceinline__ void advance(const double* o, double* s, double* f) {
    f[2] = s[1];
    f[3] = 1 - o[3] * s[1];
    f[4] = s[2];
    f[5] = s[2] != 1;
    s[0] += 1;
    s[1] = float(o[0] / pow(1 + o[3] * o[0] * s[0], o[4]));
    s[2] = float(1 / (s[0] - o[5] > 1 ? s[0] - o[5] : 1));
  }
  template <typename T> static __device__ __forceinline__ T step(const T* f, T p, T g, T* m) {
    p = p * f[3] - g * f[2];
    m[0] = f[5] != T(0) ? m[0] + (p - m[0]) * f[4] : p;
    return p;
  }
};

// Options: two factors and two bounds of the step size. Moments: the last gradient, the step size.
struct Rprop : Plain {
  static constexpr int MOMENTS = 2, COUNTED = 1;
  static __device__ __forceinline__ void advance(const double* o, double* s, double* f) {
    s[0] += 1;
    for (int k = 0; k < 4; ++k) f[2 + k] = o[3 + k];
  }
  template <typename T> static __device__ __forceinline__ T step(const T* f, T p, T g, T* m) {
    const T agreement = g * m[0];
    T size = m[1] * (agreement > T(0) ? f[3] : agreement < T(0) ? f[2] : T(1));
    size = size < f[4] ? f[4] : size > f[5] ? f[5] : size;
    if (agreement < T(0)) g = T(0);
    m[0] = g;
    m[1] = size;
    return p - (g > T(0) ? size : g < T(0) ? -size : T(0));  // NaN has no sign
  }
};

// ---- lists
// `words` of 64 bits: blocks that are done; the addresses of all options in double, of the learning rate, of whether gradients are
// infinite and of their scale, 0 of what is not on the device; the parts before each tensor and their sum (tensors + 1); the elements
// of each tensor; for each tensor the addresses of its arrays, 0 of those that the options do not need, then of its numbers.
enum { DONE, KEPT, RATE, INFINITE, SCALE, HEADER };
template <typename Rule> struct Table {
  static constexpr int ARRAYS = 1 + Rule::MOMENTS;  // beside the gradient
  i64* words;
  int tensors;

  __device__ __forceinline__ const float* at(int which) const { return reinterpret_cast<const float*>(words[which]); }
  __device__ __forceinline__ i64 gradient(int tensor) const { return words[HEADER + tensor]; }
  __device__ __forceinline__ i64 parts_before(int tensor) const { return words[HEADER + tensors + tensor]; }
  __device__ __forceinline__ i64 size(int tensor) const { return words[HEADER + 1 + 2 * (i64)tensors + tensor]; }
  __device__ __forceinline__ i64 address(int tensor, int which) const {
    return words[HEADER + 1 + 3 * (i64)tensors + (i64)tensor * ARRAYS + which];
  }
  __device__ __forceinline__ float* number(int tensor, int which) const {
    return reinterpret_cast<float*>(words[HEADER + 1 + (3 + ARRAYS) * (i64)tensors + (i64)tensor * Rule::COUNTED + which]);
  }
  // The last tensor whose parts begin at or before `part`; empty ones before it are passed over.
  __device__ __forceinline__ int find(i64 part) const {
    int low = 0, high = tensors;
    while (high - low > 1) {
      const int middle = (low + high) >> 1;
      if (parts_before(middle) <= part) low = middle;
      else high = middle;
    }
    return low;
  }
};

// Four elements, which lie at a multiple of their size.
template <typename S> struct alignas(4 * sizeof(S) > 16 ? 16 : 4 * sizeof(S)) Four { S at[4]; };

template <typename S, typename Rule> struct Elements {
  using T = Accumulator<S>;
  S *param, *grad, *moments[Rule::MOMENTS];
  const T* factors;
  T scale;  // of the gradient, which is written back without it
  bool scaled;

  __device__ __forceinline__ void one(S& p, S& g, S* m) const {
    T gradient = widened(g), value = widened(p), state[Rule::MOMENTS];
    if (scaled) {
      gradient = gradient / scale;
      g = narrowed<S>(gradient);
    }
#pragma unroll
    for (int k = 0; k < Rule::MOMENTS; ++k) state[k] = moments[k] ? T(widened(m[k])) : T(0);
    gradient = Rule::decay(factors, value, factors[0] * gradient);
    p = narrowed<S>(Rule::step(factors, value, gradient, state));
    for (int k = 0; k < Rule::MOMENTS; ++k) m[k] = narrowed<S>(state[k]);
  }

  __device__ __forceinline__ void at(i64 i) const {
    S p = param[i], g = grad[i], m[Rule::MOMENTS];
    for (int k = 0; k < Rule::MOMENTS; ++k)
      if (moments[k]) m[k] = moments[k][i];
    one(p, g, m);
    param[i] = p;
    if (scaled) grad[i] = g;
    for (int k = 0; k < Rule::MOMENTS; ++k)
      if (moments[k]) moments[k][i] = m[k];
  }

  __device__ __forceinline__ void four(i64 i) const {
    using V = Four<S>;
    V p = *reinterpret_cast<const V*>(param + i), g = *reinterpret_cast<const V*>(grad + i), m[Rule::MOMENTS];
    for (int k = 0; k < Rule::MOMENTS; ++k)
      if (moments[k]) m[k] = *reinterpret_cast<const V*>(moments[k] + i);
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      S each[Rule::MOMENTS];
      for (int k = 0; k < Rule::MOMENTS; ++k)
        if (moments[k]) each[k] = m[k].at[e];
      one(p.at[e], g.at[e], each);
      for (int k = 0; k < Rule::MOMENTS; ++k)
        if (moments[k]) m[k].at[e] = each[k];
    }
    *reinterpret_cast<V*>(param + i) = p;
    if (scaled) *reinterpret_cast<V*>(grad + i) = g;
    for (int k = 0; k < Rule::MOMENTS; ++k)
      if (moments[k]) *reinterpret_cast<V*>(moments[k] + i) = m[k];
  }
};

// What the table has no address of comes with the launch. The numbers of each tensor are counted on if they are `counted`.
template <typename S, typename Rule>
__global__ void __launch_bounds__(256, 1)
multi_tensor(i64* words, int tensors, Options options, Counts counts, int counted) {
  using T = Accumulator<S>;
  __shared__ T factors[FACTORS];
  __shared__ bool last;
  const Table<Rule> table = {words, tensors};
  const float *infinite = table.at(INFINITE), *rate = table.at(RATE), *scale = table.at(SCALE);
  const double* kept = reinterpret_cast<const double*>(words[KEPT]);
  if (infinite && *infinite != 0.f) return;

  const auto advance = [&](int tensor, double* s, double* f) {
    double o[OPTIONS];
    for (int k = 0; k < OPTIONS; ++k) o[k] = kept ? kept[k] : options.at[k];
    if (rate) o[0] = *rate;
    for (int k = 0; k < Rule::COUNTED; ++k) s[k] = counted ? double(*table.number(tensor, k)) : counts.at[k];
    f[0] = o[2] != 0 ? -1 : 1;
    f[1] = o[1];
    Rule::advance(o, s, f);
  };

  int current = -1;
  const i64 parts = table.parts_before(tensors);
  for (i64 part = blockIdx.x; part < parts; part += gridDim.x) {
    const int k = table.find(part);
    if (current < 0 || (counted && k != current)) {
      __syncthreads();  // the factors may still be read
      if (threadIdx.x == 0) {
        double s[COUNTS], f[FACTORS] = {};
        advance(k, s, f);
        for (int n = 0; n < FACTORS; ++n) factors[n] = T(f[n]);
      }
      __syncthreads();
      current = k;
    }
    T own[FACTORS];
#pragma unroll
    for (int n = 0; n < FACTORS; ++n) own[n] = factors[n];
    Elements<S, Rule> all;
    all.factors = own;
    all.scaled = scale != nullptr;
    all.scale = scale ? T(*scale) : T(1);
    i64 addresses = 0;
    const auto array = [&](i64 address) {
      addresses |= address;
      return reinterpret_cast<S*>(address);
    };
    all.param = array(table.address(k, 0));
    all.grad = array(table.gradient(k));
#pragma unroll
    for (int n = 0; n < Rule::MOMENTS; ++n) all.moments[n] = array(table.address(k, 1 + n));
    const i64 begin = (part - table.parts_before(k)) * PART, size = table.size(k);
    const i64 end = begin + PART < size ? begin + PART : size;
    i64 whole = begin;
    if (addresses % alignof(Four<S>) == 0) {
      whole = end - (end - begin) % 4;
      for (i64 i = begin + 4 * threadIdx.x; i < whole; i += 4 * blockDim.x) all.four(i);
    }
    for (i64 i = whole + threadIdx.x; i < end; i += blockDim.x) all.at(i);
  }
  if (!counted) return;
  // The last block counts: no other one reads the numbers any more.
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicAdd(reinterpret_cast<int*>(words + DONE), 1) == int(gridDim.x) - 1;
  }
  __syncthreads();
  if (!last) return;
  for (int k = threadIdx.x; k < tensors; k += blockDim.x) {
    double s[COUNTS], f[FACTORS];
    advance(k, s, f);
    for (int n = 0; n < Rule::COUNTED; ++n) *table.number(k, n) = float(s[n]);
  }
  if (threadIdx.x == 0) words[DONE] = 0;
}
