// instantiate: relu_max_pairs<float>, relu_max_pairs<double>, relu_max_pairs_grad<float>, relu_max_pairs_grad<double>
//
// ReLU of the maxima of windows of 2x2 pixels side by side, and the gradient. `planes` is batch * channels; a plane of
// pixels is a contiguous h*w image, one of windows has (h/2)*(w/2): an odd last row or column belongs to none. The winner
// of a window, a byte, is the place of its maximum, 0 to 3 in row order, or CLIPPED where ReLU lets no gradient pass.
#include "common.cuh"

typedef unsigned char Winner;
constexpr Winner CLIPPED = 4;

template <typename T>
__global__ void __launch_bounds__(256, 1)
relu_max_pairs(const T* __restrict__ x, T* __restrict__ y, Winner* __restrict__ winners, i64 planes, i64 h, i64 w) {
  const i64 rows = h / 2, columns = w / 2;
  GRID_STRIDE(e, planes * rows * columns) {
    const T* corner = x + (e / columns / rows * h + e / columns % rows * 2) * w + e % columns * 2;
    T best = corner[0];
    Winner winner = 0;
    for (int k = 1; k < 4; ++k) {
      const T value = corner[k / 2 * w + k % 2];
      if (value > best || value != value) { best = value; winner = (Winner)k; }
    }
    y[e] = best < T(0) ? T(0) : best;
    winners[e] = best <= T(0) ? CLIPPED : winner;
  }
}

// A thread for each pixel, which reads the winner of its window: nothing is added up.
template <typename T>
__global__ void __launch_bounds__(256, 1)
relu_max_pairs_grad(const T* __restrict__ g, const Winner* __restrict__ winners, T* __restrict__ dx, i64 planes, i64 h,
                    i64 w) {
  const i64 rows = h / 2, columns = w / 2;
  GRID_STRIDE(e, planes * h * w) {
    const i64 row = e / w % h, column = e % w;
    T value = T(0);
    if (row < 2 * rows && column < 2 * columns) {
      const i64 window = (e / w / h * rows + row / 2) * columns + column / 2;
      if (winners[window] == row % 2 * 2 + column % 2) value = g[window];
    }
    dx[e] = value;
  }
}
