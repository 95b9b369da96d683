// Elements of one array or another, by a mask, as words of their size: none is changed, so any dtype will do.
// instantiate: where<unsigned char>, where<unsigned short>, where<unsigned>, where<i64>
#include "map.cuh"

// y = condition ? a : b. `number` stands in the place of a with `numbers` == 1, and of b with 2: that array is not read then.
template <typename T>
__global__ void __launch_bounds__(256) where(T* y, const bool* condition, const T* a, const T* b, T number, int numbers,
                                             Layout<4> layout, i64 groups) {
  constexpr int V = 16 / sizeof(T);
  GRID_STRIDE(group, groups) {
    i64 at[4];
    bool chosen[V];
    T left[V], right[V];
    const int count = locate<V>(layout, group, at);
    read<V>(layout, 1, condition, at[1], count, chosen);
#pragma unroll
    for (int v = 0; v < V; ++v) left[v] = right[v] = number;
    if (numbers != 1) read<V>(layout, 2, a, at[2], count, left);
    if (numbers != 2) read<V>(layout, 3, b, at[3], count, right);
#pragma unroll
    for (int v = 0; v < V; ++v) left[v] = chosen[v] ? left[v] : right[v];
    write<V>(layout, 0, y, at[0], count, left);
  }
}
