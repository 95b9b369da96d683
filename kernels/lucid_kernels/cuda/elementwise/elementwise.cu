// Activations with their gradients, whose operators are written from their formulas, and arithmetic with broadcasting.
// instantiate: binary<float, FloorDivide>, binary<float, Remainder>, binary<double, FloorDivide>, binary<double, Remainder>
// instantiate: broadcast<float, FloorDivide>, broadcast<float, Remainder>
// instantiate: broadcast<double, FloorDivide>, broadcast<double, Remainder>
// instantiate: broadcast<float, Add>, broadcast<float, Sub>, broadcast<float, Mul>, broadcast<float, Div>
// instantiate: broadcast<double, Add>, broadcast<double, Sub>, broadcast<double, Mul>, broadcast<double, Div>
#include "common.cuh"
#include "formulas.cuh"

// As Python's: the remainder has the sign of the divisor, and the quotient is the largest whole number below. From the exact
// remainder, since a / b may be rounded up to a whole number, and an infinite divisor leaves nothing of a - floor(a / b) * b.
struct Remainder {
  template <typename T> static __device__ __forceinline__ T apply(T a, T b) {
    const T rest = fmod(a, b);
    if (rest == T(0)) return copysign(T(0), b);
    return (rest < T(0)) != (b < T(0)) ? rest + b : rest;
  }
};
struct FloorDivide {
  template <typename T> static __device__ __forceinline__ T apply(T a, T b) {
    if (b == T(0)) return a / b;
    const T rest = fmod(a, b);
    const T below = rest != T(0) && (rest < T(0)) != (b < T(0)) ? T(1) : T(0);
    const T quotient = (a - rest) / b - below;  // a whole number, but for rounding
    return quotient == T(0) ? copysign(T(0), a / b) : rint(quotient);
  }
};

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
