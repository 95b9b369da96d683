// Special functions: error functions, normal distribution, gamma functions, Bessel functions.
// instantiate: unary<float, Erf>, unary<float, Erfc>, unary<float, Erfinv>, unary<float, Erfcx>, unary<float, Ndtr>
// instantiate: unary<float, Ndtri>, unary<float, LogNdtr>, unary<float, Lgamma>, unary<float, Digamma>
// instantiate: unary<float, I0>, unary<float, I0e>, unary<float, I1>, unary<float, I1e>
// instantiate: unary<double, Erf>, unary<double, Erfc>, unary<double, Erfinv>, unary<double, Erfcx>, unary<double, Ndtr>
// instantiate: unary<double, Ndtri>, unary<double, LogNdtr>, unary<double, Lgamma>, unary<double, Digamma>
// instantiate: unary<double, I0>, unary<double, I0e>, unary<double, I1>, unary<double, I1e>
// instantiate: polygamma<float>, polygamma<double>
// instantiate: binary<float, Zeta>, binary<float, Gammainc>, binary<float, Gammaincc>
// instantiate: binary<double, Zeta>, binary<double, Gammainc>, binary<double, Gammaincc>
#include "special_bessel.cuh"
#include "special_gamma.cuh"
#include "special_incomplete_gamma.cuh"
#include "special_normal.cuh"

// In double, rounded once to T: float formulas would lose digits near zeros and in tails. On chips with few double units that
// costs time; erf and erfc, the ones in inner loops of models, have float versions.
#define UNARY(Name, function)                                                                \
  struct Name {                                                                              \
    static __device__ __forceinline__ double apply(double x) { return function(x); }         \
  };
#define BINARY(Name, function)                                                               \
  struct Name {                                                                              \
    static __device__ __forceinline__ double apply(double a, double b) { return function(a, b); } \
  };

struct Erf {
  static __device__ __forceinline__ float apply(float x) { return erff(x); }
  static __device__ __forceinline__ double apply(double x) { return erf(x); }
};
struct Erfc {
  static __device__ __forceinline__ float apply(float x) { return erfcf(x); }
  static __device__ __forceinline__ double apply(double x) { return erfc(x); }
};
UNARY(Erfinv, erfinv_)
UNARY(Erfcx, erfcx_)
UNARY(Ndtr, ndtr_)
UNARY(Ndtri, ndtri_)
UNARY(LogNdtr, log_ndtr_)
UNARY(Lgamma, lgamma)
UNARY(Digamma, digamma_)
UNARY(I0, i0_)
UNARY(I0e, i0e_)
UNARY(I1, i1_)
UNARY(I1e, i1e_)
BINARY(Zeta, zeta_)
BINARY(Gammainc, gammainc_)
BINARY(Gammaincc, gammaincc_)

template <typename T, typename Op>
__global__ void __launch_bounds__(256) unary(const T* __restrict__ x, T* __restrict__ y, i64 n) {
  GRID_STRIDE(i, n) y[i] = (T)Op::apply(x[i]);
}

template <typename T, typename Op>
__global__ void __launch_bounds__(256)
binary(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ y, i64 n) {
  GRID_STRIDE(i, n) y[i] = (T)Op::apply(a[i], b[i]);
}

template <typename T>
__global__ void __launch_bounds__(256)
polygamma(const T* __restrict__ x, T* __restrict__ y, double order, double factor, i64 n) {
  GRID_STRIDE(i, n) y[i] = (T)polygamma_(x[i], order, factor);
}
