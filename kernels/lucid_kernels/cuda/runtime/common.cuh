// Reductions over warps and blocks, index helpers and the error flag, for float and double.
#pragma once
#include <math_constants.h>

typedef long long i64;
typedef unsigned long long u64;

// ---- grid-stride loops: `GRID_STRIDE(i, n) body` runs once for every i in [0, n) over all threads of the grid
#define GRID_STRIDE(i, n)                                                               \
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x, i##_step = (i64)gridDim.x * blockDim.x; i < (n); i += i##_step)

// ---- scalars
template <typename T> __device__ __forceinline__ T infinity();
template <> __device__ __forceinline__ float infinity<float>() { return CUDART_INF_F; }
template <> __device__ __forceinline__ double infinity<double>() { return (double)CUDART_INF_F; }

// Accurate functions by type; the fast ones (__expf) differ from the CPU by more than a few ulp.
__device__ __forceinline__ float exp_(float x) { return expf(x); }
__device__ __forceinline__ double exp_(double x) { return exp(x); }
__device__ __forceinline__ float log_(float x) { return logf(x); }
__device__ __forceinline__ double log_(double x) { return log(x); }
__device__ __forceinline__ float tanh_(float x) { return tanhf(x); }
__device__ __forceinline__ double tanh_(double x) { return tanh(x); }
__device__ __forceinline__ float erfc_(float x) { return erfcf(x); }
__device__ __forceinline__ double erfc_(double x) { return erfc(x); }
__device__ __forceinline__ float sqrt_(float x) { return sqrtf(x); }
__device__ __forceinline__ double sqrt_(double x) { return sqrt(x); }

// ---- reductions
struct Sum {
  template <typename T> __device__ __forceinline__ T operator()(T a, T b) const { return a + b; }
};
// NaN wins, as in torch: fmax would drop it.
struct Max {
  template <typename T> __device__ __forceinline__ T operator()(T a, T b) const { return (a > b || a != a) ? a : b; }
};

// All 32 lanes get the result; all 32 lanes must call.
template <typename T, typename Op> __device__ __forceinline__ T warp_reduce(T value, Op op) {
#pragma unroll
  for (int offset = 16; offset > 0; offset >>= 1) value = op(value, __shfl_xor_sync(0xffffffffu, value, offset));
  return value;
}

// All threads of the block get the result; all must call. blockDim.x is a multiple of 32; `scratch` holds 32 values.
// The order of the operations depends on blockDim.x only.
template <typename T, typename Op> __device__ __forceinline__ T block_reduce(T value, Op op, T identity, T* scratch) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  value = warp_reduce(value, op);
  __syncthreads();  // `scratch` may still be read from the previous reduction
  if (lane == 0) scratch[warp] = value;
  __syncthreads();
  value = lane < warps ? scratch[lane] : identity;
  return warp_reduce(value, op);
}

// ---- slices: an array seen as (outer, C, inner) has outer * inner slices of C elements, `inner` apart.
// ROWS (inner == 1): blockDim.x threads share a slice, blockDim.y slices a block; blockDim.x is 32, or blockDim.y is 1.
// Otherwise each thread walks a slice of its own, and neighbouring threads read neighbouring addresses.
//
//   for (i64 i = S::first(); i < slices; i += S::step()) {
//     const i64 base = S::base(i, C, inner);
//     for (i64 c = S::begin(); c < C; c += S::stride()) ... x[base + c * inner] ...
//     total = S::reduce(partial, Sum(), T(0), scratch);   // every thread of the slice gets the result
//   }
template <bool ROWS> struct Slices;
template <> struct Slices<true> {
  static __device__ __forceinline__ i64 first() { return (i64)blockIdx.x * blockDim.y + threadIdx.y; }
  static __device__ __forceinline__ i64 step() { return (i64)gridDim.x * blockDim.y; }
  static __device__ __forceinline__ i64 base(i64 i, i64 C, i64) { return i * C; }
  static __device__ __forceinline__ i64 begin() { return threadIdx.x; }
  static __device__ __forceinline__ i64 stride() { return blockDim.x; }
  template <typename T, typename Op> static __device__ __forceinline__ T reduce(T value, Op op, T identity, T* scratch) {
    return blockDim.x == 32 ? warp_reduce(value, op) : block_reduce(value, op, identity, scratch);
  }
};
template <> struct Slices<false> {
  static __device__ __forceinline__ i64 first() { return (i64)blockIdx.x * blockDim.x + threadIdx.x; }
  static __device__ __forceinline__ i64 step() { return (i64)gridDim.x * blockDim.x; }
  static __device__ __forceinline__ i64 base(i64 i, i64 C, i64 inner) { return i / inner * C * inner + i % inner; }
  static __device__ __forceinline__ i64 begin() { return 0; }
  static __device__ __forceinline__ i64 stride() { return 1; }
  template <typename T, typename Op> static __device__ __forceinline__ T reduce(T value, Op, T, T*) { return value; }
};

// ---- errors
// The first error stays until the host reads it (launch.raise_pending): code, -, value, limit.
__device__ __forceinline__ void set_error(int* flag, int code, i64 value, i64 limit) {
  if (atomicCAS(flag, 0, code) == 0) {
    flag[2] = (int)value;
    flag[3] = (int)(value >> 32);
    flag[4] = (int)limit;
    flag[5] = (int)(limit >> 32);
  }
}
