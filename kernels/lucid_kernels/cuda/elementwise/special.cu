// Special functions: error functions, normal distribution, gamma functions, Bessel functions.
// one module an instance on a GPU
// instantiate: unary<float, Erf>, unary<float, Erfc>, unary<float, Erfinv>, unary<float, Erfcx>, unary<float, Ndtr>
// instantiate: unary<float, Ndtri>, unary<float, LogNdtr>, unary<float, Lgamma>, unary<float, Digamma>, unary<float, I0>
// instantiate: unary<float, I0e>, unary<float, I1>, unary<float, I1e>
// instantiate: polygamma<float>, binary<float, Zeta>, binary<float, Gammainc>, binary<float, Gammaincc>
// instantiate: unary<double, Erf>, unary<double, Erfc>, unary<double, Erfinv>, unary<double, Erfcx>, unary<double, Ndtr>
// instantiate: unary<double, Ndtri>, unary<double, LogNdtr>, unary<double, Lgamma>, unary<double, Digamma>, unary<double, I0>
// instantiate: unary<double, I0e>, unary<double, I1>, unary<double, I1e>
// instantiate: polygamma<double>, binary<double, Zeta>, binary<double, Gammainc>, binary<double, Gammaincc>
// instantiate: unary<__half, Erf>, unary<__half, Erfc>, unary<__half, Erfinv>, unary<__half, Erfcx>, unary<__half, Ndtr>
// instantiate: unary<__half, Ndtri>, unary<__half, LogNdtr>, unary<__half, Lgamma>, unary<__half, Digamma>, unary<__half, I0>
// instantiate: unary<__half, I0e>, unary<__half, I1>, unary<__half, I1e>
// instantiate: polygamma<__half>, binary<__half, Zeta>, binary<__half, Gammainc>, binary<__half, Gammaincc>
// instantiate: unary<__nv_bfloat16, Erf>, unary<__nv_bfloat16, Erfc>, unary<__nv_bfloat16, Erfinv>, unary<__nv_bfloat16, Erfcx>, unary<__nv_bfloat16, Ndtr>
// instantiate: unary<__nv_bfloat16, Ndtri>, unary<__nv_bfloat16, LogNdtr>, unary<__nv_bfloat16, Lgamma>, unary<__nv_bfloat16, Digamma>, unary<__nv_bfloat16, I0>
// instantiate: unary<__nv_bfloat16, I0e>, unary<__nv_bfloat16, I1>, unary<__nv_bfloat16, I1e>
// instantiate: polygamma<__nv_bfloat16>, binary<__nv_bfloat16, Zeta>, binary<__nv_bfloat16, Gammainc>, binary<__nv_bfloat16, Gammaincc>
#include "halves.cuh"
#include "map.cuh"
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

// One element a thread: the functions take longer than the memory.
template <typename T, typename Op>
__global__ void __launch_bounds__(256) unary(T* y, const T* x, Layout<2> layout, i64 n) {
  GRID_STRIDE(i, n) {
    i64 at[2];
    locate<1>(layout, i, at);
    y[at[0]] = narrowed<T>((Accumulator<T>)Op::apply(widened(x[at[1]])));
  }
}

template <typename T, typename Op>
__global__ void __launch_bounds__(256) binary(T* y, const T* a, const T* b, Layout<3> layout, i64 n) {
  GRID_STRIDE(i, n) {
    i64 at[3];
    locate<1>(layout, i, at);
    y[at[0]] = narrowed<T>((Accumulator<T>)Op::apply(widened(a[at[1]]), widened(b[at[2]])));
  }
}

template <typename T>
__global__ void __launch_bounds__(256) polygamma(T* y, const T* x, double order, double factor, Layout<2> layout, i64 n) {
  GRID_STRIDE(i, n) {
    i64 at[2];
    locate<1>(layout, i, at);
    y[at[0]] = narrowed<T>((Accumulator<T>)polygamma_(widened(x[at[1]]), order, factor));
  }
}
