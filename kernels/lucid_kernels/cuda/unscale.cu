// instantiate: unscale<float>, unscale<double>, unscale<__half>, unscale<__nv_bfloat16>
// instantiate: multi_tensor_unscale<float>, multi_tensor_unscale<double>
// instantiate: multi_tensor_unscale<__half>, multi_tensor_unscale<__nv_bfloat16>
//
// Gradients of a loss that was scaled: multiplied by a factor in place, and whether one of them is not finite. Moves each element twice.
#include "halves.cuh"

// Multiplies an element by `inverse`; whether it was not finite.
template <typename T> __device__ __forceinline__ bool unscale_element(T* element, float inverse) {
  const auto g = widened(*element);
  *element = narrowed<T>(g * inverse);
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

// Of a list of arrays: `words` has, behind a word that is not used here, the elements before each array and their sum (tensors + 1),
// and the addresses of the arrays. Blocks take parts of `part` elements, whatever arrays these lie in.
template <typename T>
__global__ void __launch_bounds__(256, 1)
multi_tensor_unscale(const i64* words, int tensors, i64 part, float* found, const float* inverse) {
  const i64 *offsets = words + 1, *addresses = offsets + tensors + 1;
  const i64 total = offsets[tensors];
  bool bad = false;
  for (i64 begin = blockIdx.x * part; begin < total; begin += gridDim.x * part) {
    const i64 end = begin + part < total ? begin + part : total;
    int k = 0;
    for (int high = tensors; high - k > 1;) {  // the last array with no more than `begin` elements before it
      const int middle = (k + high) >> 1;
      if (offsets[middle] <= begin) k = middle;
      else high = middle;
    }
    for (i64 start = begin; start < end; ++k) {
      const i64 next = offsets[k + 1], stop = next < end ? next : end;
      T* grad = reinterpret_cast<T*>(addresses[k]);
      for (i64 i = start - offsets[k] + threadIdx.x; i < stop - offsets[k]; i += blockDim.x)
        bad |= unscale_element(grad + i, *inverse);
      start = stop;
    }
  }
  report(bad, found);
}
