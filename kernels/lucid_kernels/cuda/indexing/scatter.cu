// Elements written, or added, where indices name them, in arrays of any strides.
//
// Bytes moved: the indices and the values once, and of what they name a line each. Sums are atomic, in the order in which threads
// arrive; `scatter_in_order.cu` has those in the order of the elements. Elements of 16 bytes are written as two words.
// one module an instance on a GPU
// instantiate: scatter_put<unsigned char, 1>, scatter_put<unsigned char, 2>, scatter_put<unsigned char, 3>
// instantiate: scatter_put<unsigned short, 1>, scatter_put<unsigned short, 2>, scatter_put<unsigned short, 3>
// instantiate: scatter_put<unsigned int, 1>, scatter_put<unsigned int, 2>, scatter_put<unsigned int, 3>
// instantiate: scatter_put<unsigned long long, 1>, scatter_put<unsigned long long, 2>, scatter_put<unsigned long long, 3>
// instantiate: scatter_add<float, 1>, scatter_add<float, 2>, scatter_add<float, 3>
// instantiate: scatter_add<double, 1>, scatter_add<double, 2>, scatter_add<double, 3>
// instantiate: scatter_add<unsigned int, 1>, scatter_add<unsigned int, 2>, scatter_add<unsigned int, 3>
// instantiate: scatter_add<unsigned long long, 1>, scatter_add<unsigned long long, 2>, scatter_add<unsigned long long, 3>
#include "scatter.cuh"

// Several values for one element: one of them stays, whole.
template <typename W, int K>
__global__ void __launch_bounds__(256)
scatter_put(W* y, const W* values, const i64* a, const i64* b, const i64* c, Layout<K + 2> layout, Indexed indexed, i64 n) {
  GRID_STRIDE(i, n) {
    i64 at[K + 2];
    locate<1>(layout, i, at);
    if (find<K>(indexed, at, a, b, c)) *(volatile W*)(y + at[0]) = values[at[1]];
  }
}

template <typename T, int K>
__global__ void __launch_bounds__(256)
scatter_add(T* y, const T* values, const i64* a, const i64* b, const i64* c, Layout<K + 2> layout, Indexed indexed, i64 n) {
  GRID_STRIDE(i, n) {
    i64 at[K + 2];
    locate<1>(layout, i, at);
    if (find<K>(indexed, at, a, b, c)) atomicAdd(y + at[0], values[at[1]]);
  }
}
