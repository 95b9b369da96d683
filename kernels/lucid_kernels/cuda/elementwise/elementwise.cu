// Activations with their gradients, whose operators are written from their formulas, and arithmetic.
// one module an instance on a GPU
// each operation is rounded alone
// instantiate: binary<float, FloorDivide>, binary<double, FloorDivide>
// instantiate: binary<__half, FloorDivide>, binary<__nv_bfloat16, FloorDivide>
// instantiate: binary<float, Remainder>, binary<double, Remainder>, binary<__half, Remainder>, binary<__nv_bfloat16, Remainder>
#include "formulas.cuh"
#include "halves.cuh"
#include "map.cuh"

struct Remainder {
  template <typename T> static __device__ __forceinline__ T apply(T a, T b) { return remainder_(a, b); }
};
struct FloorDivide {
  template <typename T> static __device__ __forceinline__ T apply(T a, T b) { return floor_divide_(a, b); }
};

template <typename T, typename Op>
__global__ void __launch_bounds__(256) unary(T* y, const T* x, Layout<2> layout, i64 groups) {
  constexpr int V = 16 / sizeof(T);
  GRID_STRIDE(group, groups) {
    i64 at[2];
    Accumulator<T> elements[V];
    const int count = locate<V>(layout, group, at);
    read<V>(layout, 1, x, at[1], count, elements);
#pragma unroll
    for (int v = 0; v < V; ++v) elements[v] = Op::apply(elements[v]);
    write<V>(layout, 0, y, at[0], count, elements);
  }
}

template <typename T, typename Op>
__global__ void __launch_bounds__(256) binary(T* y, const T* a, const T* b, Layout<3> layout, i64 groups) {
  constexpr int V = 16 / sizeof(T);
  GRID_STRIDE(group, groups) {
    i64 at[3];
    Accumulator<T> left[V], right[V];
    const int count = locate<V>(layout, group, at);
    read<V>(layout, 1, a, at[1], count, left);
    read<V>(layout, 2, b, at[2], count, right);
#pragma unroll
    for (int v = 0; v < V; ++v) left[v] = Op::apply(left[v], right[v]);
    write<V>(layout, 0, y, at[0], count, left);
  }
}
