// Copies by tiles into another floating-point dtype, in one pass over both arrays.
// instantiate: transpose<float, __half>, transpose<float, __nv_bfloat16>, transpose<float, double>, transpose<double, float>
// instantiate: transpose<__half, float>, transpose<__half, __nv_bfloat16>, transpose<__nv_bfloat16, float>
// instantiate: transpose<__nv_bfloat16, __half>
// instantiate: transpose_short<float, __half>, transpose_short<float, __nv_bfloat16>, transpose_short<float, double>
// instantiate: transpose_short<double, float>, transpose_short<__half, float>, transpose_short<__half, __nv_bfloat16>
// instantiate: transpose_short<__nv_bfloat16, float>, transpose_short<__nv_bfloat16, __half>
// one module an instance on a GPU
#include "halves.cuh"
#include "transpose.cuh"

template <typename Y, typename X> struct Copied {
  static __device__ __forceinline__ Y of(X x) { return narrowed<Y>(widened(x)); }
};
