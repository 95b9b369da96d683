// What `scatter.cu` computes, with the values of one element added or multiplied in their order, or the last one written: the same in
// every run. Halves are computed in float and rounded once.
//
// `scatter_places` says where each value goes; then the first value of an element finds the others: of few by looking through all,
// of many behind it, in places that have been sorted.
// one module an instance on a GPU
// instantiate: scatter_places<1>, scatter_places<2>, scatter_places<3>
// instantiate: scatter_unsorted<float>, scatter_unsorted<double>, scatter_unsorted<__half>, scatter_unsorted<__nv_bfloat16>
// instantiate: scatter_unsorted<unsigned char>, scatter_unsorted<unsigned short>, scatter_unsorted<unsigned int>
// instantiate: scatter_unsorted<unsigned long long>, scatter_unsorted<bool>
// instantiate: scatter_sorted<float>, scatter_sorted<double>, scatter_sorted<__half>, scatter_sorted<__nv_bfloat16>
// instantiate: scatter_sorted<unsigned char>, scatter_sorted<unsigned short>, scatter_sorted<unsigned int>
// instantiate: scatter_sorted<unsigned long long>, scatter_sorted<bool>
#include "halves.cuh"
#include "scatter.cuh"

constexpr i64 NOWHERE = -9223372036854775807ll - 1;

// how: 0 written, 1 added, 2 multiplied.
template <typename A> __device__ __forceinline__ A next(A sum, A value, int how) {
  return how == 0 ? value : how == 1 ? A(sum + value) : A(sum * value);
}

// places[i] = where value i goes in y, or NOWHERE.
template <int K>
__global__ void __launch_bounds__(256)
scatter_places(i64* places, const i64* a, const i64* b, const i64* c, Layout<K + 2> layout, Indexed indexed, i64 n) {
  GRID_STRIDE(i, n) {
    i64 at[K + 2];
    locate<1>(layout, i, at);
    places[i] = find<K>(indexed, at, a, b, c) ? at[0] : NOWHERE;
  }
}

template <typename T>
__global__ void __launch_bounds__(256)
scatter_unsorted(T* y, const T* values, const i64* places, i64 n, int how) {
  GRID_STRIDE(i, n) {
    const i64 place = places[i];
    if (place < 0) continue;
    i64 before = 0;
    while (before < i && places[before] != place) ++before;
    if (before < i) continue;
    Accumulator<T> sum = how ? widened(y[place]) : Accumulator<T>(0);
    for (i64 q = i; q < n; ++q)
      if (places[q] == place) sum = next(sum, widened(values[q]), how);
    y[place] = narrowed<T>(sum);
  }
}

// places in ascending order, and order[i] the value that belongs to places[i].
template <typename T>
__global__ void __launch_bounds__(256)
scatter_sorted(T* y, const T* values, const i64* places, const i64* order, i64 n, int how) {
  GRID_STRIDE(i, n) {
    const i64 place = places[i];
    if (place < 0 || (i > 0 && places[i - 1] == place)) continue;
    Accumulator<T> sum = how ? widened(y[place]) : Accumulator<T>(0);
    for (i64 q = i; q < n && places[q] == place; ++q)
      sum = next(sum, widened(values[order[q]]), how);
    y[place] = narrowed<T>(sum);
  }
}
