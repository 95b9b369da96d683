// instantiate: random_uniform<float>, random_uniform<double>, random_normal<float>, random_normal<double>
// instantiate: random_exponential<float>, random_exponential<double>
// instantiate: random_integers<long long>, dropout<float>, dropout<double>
// instantiate: random_uniform<float, true>, random_uniform<double, true>, random_normal<float, true>, random_normal<double, true>
// instantiate: random_exponential<float, true>, random_exponential<double, true>
// instantiate: random_integers<long long, true>, dropout<float, true>, dropout<double, true>
// instantiate: dropout<__half>, dropout<__nv_bfloat16>, dropout<__half, true>, dropout<__nv_bfloat16, true>
//
// Random numbers of which element i depends on (seed, offset, i) only, not on the launch. A thread makes one block of four words at
// a time.
#include "halves.cuh"
#include "numbers.cuh"

// ---- what one block of words becomes: four float, or two 64-bit numbers
template <typename T> struct Numbers { static constexpr int count = sizeof(T) == 4 ? 4 : 2; alignas(16) T at[count]; };

template <typename T> struct Range { T span, low, top; };  // see lucid_kernels/uniform_range.py

template <typename T> __device__ __forceinline__ T in_range(T unit, Range<T> range) {
  const T number = add(mul(unit, range.span), range.low);
  return number < range.top ? number : range.top;
}
__device__ __forceinline__ void uniform(uint4 w, Range<float> range, Numbers<float>& y) {
  const float unit = 5.9604644775390625e-08f;  // 2^-24
  y.at[0] = in_range(mul((float)(w.x >> 8), unit), range);
  y.at[1] = in_range(mul((float)(w.y >> 8), unit), range);
  y.at[2] = in_range(mul((float)(w.z >> 8), unit), range);
  y.at[3] = in_range(mul((float)(w.w >> 8), unit), range);
}
__device__ __forceinline__ void uniform(uint4 w, Range<double> range, Numbers<double>& y) {
  y.at[0] = in_range(mul((double)bits53(w.x, w.y), 1.1102230246251565e-16), range);
  y.at[1] = in_range(mul((double)bits53(w.z, w.w), 1.1102230246251565e-16), range);
}
__device__ __forceinline__ void exponential(uint4 w, Numbers<float>& y) {
  y.at[0] = exponential(w.x);
  y.at[1] = exponential(w.y);
  y.at[2] = exponential(w.z);
  y.at[3] = exponential(w.w);
}
__device__ __forceinline__ void exponential(uint4 w, Numbers<double>& y) {
  y.at[0] = exponential(bits53(w.x, w.y));
  y.at[1] = exponential(bits53(w.z, w.w));
}
__device__ __forceinline__ void normal(uint4 w, Numbers<float>& y) {
  box_muller(w.x, w.y, y.at[0], y.at[1]);
  box_muller(w.z, w.w, y.at[2], y.at[3]);
}
__device__ __forceinline__ void normal(uint4 w, Numbers<double>& y) {
  box_muller(bits53(w.x, w.y), bits53(w.z, w.w), y.at[0], y.at[1]);
}

template <typename T> __device__ __forceinline__ void store(const Numbers<T>& numbers, T* y, i64 first, i64 n) {
  if (first + Numbers<T>::count <= n && (u64)y % 16 == 0) {
    Pack<T, Numbers<T>::count>(numbers.at).store(y + first);
    return;
  }
#pragma unroll
  for (int j = 0; j < Numbers<T>::count; ++j)
    if (first + j < n) y[first + j] = numbers.at[j];
}

// ---- kernels: `blocks` blocks of words for n numbers. The seeds of captured launches are `stored`: round keys that are not the
// launch's own take 20 registers more.
template <typename T, bool stored = false>
__global__ void __launch_bounds__(256, 1)
random_uniform(T* __restrict__ y, T span, T low, T top, u64 seed, u64 offset, i64 blocks, i64 n) {
  const Draw draw = draw_of<stored>(seed, offset);
  GRID_STRIDE(q, blocks) {
    Numbers<T> made;
    uniform(philox(draw.offset + q, draw.seed), Range<T>{span, low, top}, made);
    store(made, y, q * Numbers<T>::count, n);
  }
}

template <typename T, bool stored = false>
__global__ void __launch_bounds__(256, 1)
random_exponential(T* __restrict__ y, u64 seed, u64 offset, i64 blocks, i64 n) {
  const Draw draw = draw_of<stored>(seed, offset);
  GRID_STRIDE(q, blocks) {
    Numbers<T> made;
    exponential(philox(draw.offset + q, draw.seed), made);
    store(made, y, q * Numbers<T>::count, n);
  }
}

template <typename T, bool stored = false>
__global__ void __launch_bounds__(256, 1)
random_normal(T* __restrict__ y, u64 seed, u64 offset, i64 blocks, i64 n) {
  const Draw draw = draw_of<stored>(seed, offset);
  GRID_STRIDE(q, blocks) {
    Numbers<T> made;
    normal(philox(draw.offset + q, draw.seed), made);
    store(made, y, q * Numbers<T>::count, n);
  }
}

template <typename T, bool stored = false>
__global__ void __launch_bounds__(256, 1)
random_integers(T* __restrict__ y, T low, u64 span, u64 seed, u64 offset, i64 blocks, i64 n) {
  const Draw draw = draw_of<stored>(seed, offset);
  GRID_STRIDE(q, blocks) {
    const uint4 w = philox(draw.offset + q, draw.seed);
    Numbers<T> made;  // unsigned sums: they may wrap around
    made.at[0] = (T)((u64)low + __umul64hi((u64)w.x << 32 | w.y, span));
    made.at[1] = (T)((u64)low + __umul64hi((u64)w.z << 32 | w.w, span));
    store(made, y, q * Numbers<T>::count, n);
  }
}

template <typename T, bool stored = false>
__global__ void __launch_bounds__(256, 1)
dropout(const T* __restrict__ x, T* __restrict__ y, unsigned threshold, Accumulator<T> scale, u64 seed, u64 offset,
        i64 blocks, i64 n) {
  const Draw draw = draw_of<stored>(seed, offset);
  GRID_STRIDE(q, blocks) {
    const uint4 w = philox(draw.offset + q, draw.seed);
    const unsigned words[4] = {w.x, w.y, w.z, w.w};
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const i64 i = q * 4 + j;
      // A product, not a choice: a dropped NaN or inf gives NaN, as in torch.
      if (i < n) y[i] = narrowed<T>(widened(x[i]) * (words[j] >= threshold ? scale : Accumulator<T>(0)));
    }
  }
}
