// Elements multiplied with others, or replaced by larger or smaller ones, where indices name them, in arrays of any strides.
//
// A thread compares and swaps until no other was faster, and not at all where nothing changes: the largest and the smallest are the
// same in every run, products are made in the order in which threads arrive; `scatter_in_order.cu` has those in the order of the
// elements. Bytes moved: the indices and the values once, and of what they name a line each.
// one module an instance on a GPU
// instantiate: scatter_combine<float>, scatter_combine<double>
// instantiate: scatter_combine<int>, scatter_combine<long long>, scatter_combine<unsigned long long>
#include "scatter.cuh"

template <int SIZE> struct WordOf {
  using Type = unsigned;
};
template <> struct WordOf<8> {
  using Type = u64;
};
template <typename T> using Word = typename WordOf<sizeof(T)>::Type;

template <typename To, typename From> __device__ __forceinline__ To same_bits(From x) {
  To y;
  memcpy(&y, &x, sizeof(y));
  return y;
}

__device__ __forceinline__ float times(float a, float b) { return a * b; }
__device__ __forceinline__ double times(double a, double b) { return a * b; }
__device__ __forceinline__ int times(int a, int b) { return (int)((unsigned)a * (unsigned)b); }
__device__ __forceinline__ i64 times(i64 a, i64 b) { return (i64)((u64)a * (u64)b); }
__device__ __forceinline__ u64 times(u64 a, u64 b) { return a * b; }

// how: 2 the product, 3 the larger one, 4 the smaller one; NaN wins.
template <typename T> __device__ __forceinline__ T combined(T a, T b, int how) {
  if (how == 2) return times(a, b);
  return a != a || (how == 3 ? a > b : a < b) ? a : b;
}

template <typename T>
__global__ void __launch_bounds__(256)
scatter_combine(T* y, const T* values, const i64* a, const i64* b, const i64* c, Layout<3> layout, Indexed indexed, i64 n, int how) {
  GRID_STRIDE(i, n) {
    i64 at[3];
    locate<1>(layout, i, at);
    if (!find<1>(indexed, at, a, b, c)) continue;
    Word<T>* const word = reinterpret_cast<Word<T>*>(y + at[0]);
    const T value = values[at[1]];
    Word<T> seen = *(volatile Word<T>*)word;
    for (;;) {
      const Word<T> wanted = same_bits<Word<T>>(combined(same_bits<T>(seen), value, how));
      if (wanted == seen) break;
      const Word<T> before = atomicCAS(word, seen, wanted);
      if (before == seen) break;
      seen = before;
    }
  }
}
