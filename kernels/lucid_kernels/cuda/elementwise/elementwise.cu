// Activations with their gradients, and arithmetic with broadcasting.
// instantiate: unary<float, Relu>, unary<float, GeluErf>, unary<float, GeluTanh>, unary<float, Sigmoid>
// instantiate: unary<float, Tanh>, unary<float, Silu>
// instantiate: unary<double, Relu>, unary<double, GeluErf>, unary<double, GeluTanh>, unary<double, Sigmoid>
// instantiate: unary<double, Tanh>, unary<double, Silu>
// instantiate: binary<float, ReluGrad>, binary<float, GeluErfGrad>, binary<float, GeluTanhGrad>
// instantiate: binary<float, SigmoidGrad>, binary<float, TanhGrad>, binary<float, SiluGrad>
// instantiate: binary<double, ReluGrad>, binary<double, GeluErfGrad>, binary<double, GeluTanhGrad>
// instantiate: binary<double, SigmoidGrad>, binary<double, TanhGrad>, binary<double, SiluGrad>
// instantiate: binary<float, Add>, binary<float, Sub>, binary<float, Mul>, binary<float, Div>
// instantiate: binary<double, Add>, binary<double, Sub>, binary<double, Mul>, binary<double, Div>
// instantiate: binary<float, FloorDivide>, binary<float, Remainder>, binary<double, FloorDivide>, binary<double, Remainder>
// instantiate: broadcast<float, FloorDivide>, broadcast<float, Remainder>
// instantiate: broadcast<double, FloorDivide>, broadcast<double, Remainder>
// instantiate: broadcast<float, Add>, broadcast<float, Sub>, broadcast<float, Mul>, broadcast<float, Div>
// instantiate: broadcast<double, Add>, broadcast<double, Sub>, broadcast<double, Mul>, broadcast<double, Div>
#include "common.cuh"

#define UNARY(Name, expression)                                                                                \
  struct Name {                                                                                                \
    template <typename T> static __device__ __forceinline__ T apply(T x) { return expression; }                \
  };
#define BINARY(Name, a, b, expression)                                                                         \
  struct Name {                                                                                                \
    template <typename T> static __device__ __forceinline__ T apply(T a, T b) { return expression; }           \
  };

template <typename T> __device__ __forceinline__ T sigmoid_(T x) { return T(1) / (T(1) + exp_(-x)); }

// GELU: x * Phi(x). erfc keeps its digits in the lower tail, where 1 + erf cancels.
#define SQRT_HALF 0.70710678118654752440
#define DENSITY 0.39894228040143267794  // 1 / sqrt(2 pi)
template <typename T> __device__ __forceinline__ T normal_cdf(T x) { return T(0.5) * erfc_(x * T(-SQRT_HALF)); }
template <typename T> __device__ __forceinline__ T normal_pdf(T x) { return exp_(T(-0.5) * x * x) * T(DENSITY); }

// Its approximation 0.5 x (1 + tanh(u)) is x sigmoid(2u), 2u = 2 sqrt(2/pi) (x + 0.044715 x^3): no cancellation either.
#define TWO_SQRT_2_OVER_PI 1.5957691216057308
#define CUBIC 0.044715
template <typename T> __device__ __forceinline__ T gelu_argument(T x) {
  return T(TWO_SQRT_2_OVER_PI) * (x + T(CUBIC) * x * x * x);
}
template <typename T> __device__ __forceinline__ T gelu_tanh_grad(T g, T x) {
  const T argument = gelu_argument(x), slope = T(TWO_SQRT_2_OVER_PI) * (T(1) + T(3 * CUBIC) * x * x);
  const T e = exp_(argument < T(0) ? argument : -argument), upper = T(1) / (T(1) + e);
  const T sigmoid = argument < T(0) ? e * upper : upper;
  return g * (sigmoid + x * (e * upper * upper) * slope);
}
template <typename T> __device__ __forceinline__ T silu_grad(T g, T x) {
  const T s = sigmoid_(x);
  return g * s * (T(1) + x * (T(1) - s));
}

// Comparisons are written so that a NaN fails them and passes through.
UNARY(Relu, x <= T(0) ? T(0) : x)
UNARY(GeluErf, x * normal_cdf(x))
UNARY(GeluTanh, x * sigmoid_(gelu_argument(x)))
UNARY(Sigmoid, sigmoid_(x))
UNARY(Tanh, tanh_(x))
UNARY(Silu, x / (T(1) + exp_(-x)))

BINARY(ReluGrad, g, y, y <= T(0) ? T(0) : g)
BINARY(GeluErfGrad, g, x, g * (normal_cdf(x) + x * normal_pdf(x)))
BINARY(GeluTanhGrad, g, x, gelu_tanh_grad(g, x))
BINARY(SigmoidGrad, g, y, g * (T(1) - y) * y)
BINARY(TanhGrad, g, y, g * (T(1) - y * y))
BINARY(SiluGrad, g, x, silu_grad(g, x))

BINARY(Add, a, b, a + b)
BINARY(Sub, a, b, a - b)
BINARY(Mul, a, b, a * b)
BINARY(Div, a, b, a / b)

// As Python's: the remainder has the sign of the divisor, and the quotient is the largest whole number below. From the exact
// remainder, since a / b may be rounded up to a whole number, and an infinite divisor leaves nothing of a - floor(a / b) * b.
template <typename T> __device__ __forceinline__ T remainder_(T a, T b) {
  const T rest = fmod(a, b);
  if (rest == T(0)) return copysign(T(0), b);
  return (rest < T(0)) != (b < T(0)) ? rest + b : rest;
}
template <typename T> __device__ __forceinline__ T floor_divide_(T a, T b) {
  if (b == T(0)) return a / b;
  const T rest = fmod(a, b);
  const T below = rest != T(0) && (rest < T(0)) != (b < T(0)) ? T(1) : T(0);
  const T quotient = (a - rest) / b - below;  // a whole number, but for rounding
  return quotient == T(0) ? copysign(T(0), a / b) : rint(quotient);
}
BINARY(FloorDivide, a, b, floor_divide_(a, b))
BINARY(Remainder, a, b, remainder_(a, b))

template <typename T, typename Op>
__global__ void __launch_bounds__(256) unary(const T* __restrict__ x, T* __restrict__ y, i64 n) {
  GRID_STRIDE(i, n) y[i] = Op::apply(x[i]);
}

// Same shapes, all contiguous.
template <typename T, typename Op>
__global__ void __launch_bounds__(256)
binary(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ y, i64 n) {
  GRID_STRIDE(i, n) y[i] = Op::apply(a[i], b[i]);
}

// `a` and `b` are read through strides in elements, 0 where they broadcast. Dimensions are collapsed by the launcher;
// the innermost comes first, and unused ones have size 1. Division of 64-bit indices takes the short path by itself
// when the upper halves are zero.
#define MAX_DIMS 6
struct Layout {
  i64 size[MAX_DIMS], a[MAX_DIMS], b[MAX_DIMS];
  i64 dims;
};
template <typename T, typename Op>
__global__ void __launch_bounds__(256)
broadcast(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ y, Layout layout, i64 n) {
  GRID_STRIDE(i, n) {
    i64 rest = i, at_a = 0, at_b = 0;
#pragma unroll
    for (int d = 0; d < MAX_DIMS; ++d) {
      if (d >= layout.dims) break;
      const i64 quotient = rest / layout.size[d], index = rest - quotient * layout.size[d];
      at_a += index * layout.a[d];
      at_b += index * layout.b[d];
      rest = quotient;
    }
    y[i] = Op::apply(a[at_a], b[at_b]);
  }
}
