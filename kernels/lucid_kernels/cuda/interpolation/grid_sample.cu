// instantiate: grid_sample<float, 2, 1>, grid_sample<float, 2, 2>, grid_sample<float, 2, 4>, grid_sample<float, 3, 1>, grid_sample<float, 3, 2>
// instantiate: grid_sample<double, 2, 1>, grid_sample<double, 2, 2>, grid_sample<double, 2, 4>, grid_sample<double, 3, 1>, grid_sample<double, 3, 2>
// instantiate: grid_sample<__half, 2, 1>, grid_sample<__half, 2, 2>, grid_sample<__half, 2, 4>, grid_sample<__half, 3, 1>, grid_sample<__half, 3, 2>
// instantiate: grid_sample<__nv_bfloat16, 2, 1>, grid_sample<__nv_bfloat16, 2, 2>, grid_sample<__nv_bfloat16, 2, 4>, grid_sample<__nv_bfloat16, 3, 1>, grid_sample<__nv_bfloat16, 3, 2>
// instantiate: grid_sample_grad<float, 2, 1>, grid_sample_grad<float, 2, 2>, grid_sample_grad<float, 2, 4>, grid_sample_grad<float, 3, 1>, grid_sample_grad<float, 3, 2>
// instantiate: grid_sample_grad<double, 2, 1>, grid_sample_grad<double, 2, 2>, grid_sample_grad<double, 2, 4>, grid_sample_grad<double, 3, 1>, grid_sample_grad<double, 3, 2>
// instantiate: grid_sample_grad<__half, 2, 1>, grid_sample_grad<__half, 2, 2>, grid_sample_grad<__half, 2, 4>, grid_sample_grad<__half, 3, 1>, grid_sample_grad<__half, 3, 2>
// instantiate: grid_sample_grad<__nv_bfloat16, 2, 1>, grid_sample_grad<__nv_bfloat16, 2, 2>, grid_sample_grad<__nv_bfloat16, 2, 4>, grid_sample_grad<__nv_bfloat16, 3, 1>, grid_sample_grad<__nv_bfloat16, 3, 2>
// one module an instance on a GPU
//
// Images and volumes read at any coordinates: one thread for each point, which walks the channels, so that offsets and weights
// are computed once. Neighbouring threads have neighbouring points: of a smooth grid these read neighbouring elements.
//
// __launch_bounds__(_, 1): without the 1 ptxas aims at more threads and spills registers for it.
#include "halves.cuh"

enum Padding { ZEROS, BORDER, REFLECTION };
#define KEYS -0.75  // "Cubic convolution interpolation for digital image processing", 1981

// The neighbours along one dimension: their offsets (-1 outside), weights, and the slopes of these by the coordinate.
template <typename T, int TAPS> struct Neighbours {
  i64 place[TAPS];
  T weight[TAPS], slope[TAPS];
};

// `position` moved into the input; its slope is multiplied.
template <typename T> __device__ __forceinline__ T padded(T position, T& slope, i64 length, int padding, int align_corners) {
  const T last = T(length - 1);
  if (padding == REFLECTION) {
    const T low = align_corners ? T(0) : T(-0.5), span = align_corners ? last : T(length);
    T distance = position - low;
    if (distance < T(0)) slope = -slope, distance = -distance;
    const T turns = floor(distance / span), rest = distance - turns * span;
    const bool odd = turns - floor(turns * T(0.5)) * T(2) != T(0);
    if (odd) slope = -slope;
    position = (odd ? span - rest : rest) + low;
  }
  if (padding != ZEROS) {
    if (!(position > T(0))) slope = position = T(0);  // NaN too
    else if (!(position < last)) slope = T(0), position = last;
  }
  return position;
}

template <typename T> __device__ __forceinline__ i64 place_of(T position, i64 length) {
  return position >= T(0) && position < T(length) ? i64(position) : -1;
}

template <typename T, int TAPS>
__device__ __forceinline__ void find(Neighbours<T, TAPS>& axis, T coordinate, i64 length, int padding, int align_corners) {
  const T scale = T(align_corners ? length - 1 : length) * T(0.5);
  T position = (coordinate + T(1)) * scale - (align_corners ? T(0) : T(0.5)), slope = scale;
  if (TAPS == 4) {
    const T start = floor(position), share = position - start;
#pragma unroll
    for (int t = 0; t < TAPS; t++) {
      const T side = t < 2 ? T(1) : T(-1), d = (share - T(t - 1)) * side, a = T(KEYS);
      const bool near = t == 1 || t == 2;
      axis.weight[t] = near ? ((a + T(2)) * d - (a + T(3))) * d * d + T(1) : ((d - T(5)) * d + T(8)) * d * a - T(4) * a;
      axis.slope[t] = side * scale * (near ? (T(3) * (a + T(2)) * d - T(2) * (a + T(3))) * d : ((T(3) * d - T(10)) * d + T(8)) * a);
      axis.place[t] = place_of(padded(start + T(t - 1), slope, length, padding, align_corners), length);
    }
    return;
  }
  position = padded(position, slope, length, padding, align_corners);
  const T start = TAPS == 1 ? rint(position) : floor(position);
#pragma unroll
  for (int t = 0; t < TAPS; t++) {
    axis.place[t] = place_of(start + T(t), length);
    axis.weight[t] = TAPS == 1 ? T(1) : t == 0 ? start + T(1) - position : position - start;
    axis.slope[t] = TAPS == 1 ? T(0) : t == 0 ? -slope : slope;
  }
}

// The neighbourhood of a point: `each(place, weight, x, y, z)` for every element of it that is inside.
template <typename T, int DIMS, int TAPS> struct Neighbourhood {
  Neighbours<T, TAPS> axes[DIMS];
  i64 height, width;

  template <typename S>
  __device__ __forceinline__ Neighbourhood(const S* grid, i64 depth, i64 height, i64 width, int padding, int align_corners)
      : height(height), width(width) {
    const i64 lengths[3] = {width, height, depth};
#pragma unroll
    for (int dim = 0; dim < DIMS; dim++) find(axes[dim], widened(grid[dim]), lengths[dim], padding, align_corners);
  }

  template <typename Each> __device__ __forceinline__ void walk(Each each) const {
#pragma unroll
    for (int z = 0; z < (DIMS == 3 ? TAPS : 1); z++)
#pragma unroll
      for (int y = 0; y < TAPS; y++)
#pragma unroll
        for (int x = 0; x < TAPS; x++) {
          const i64 plane = DIMS == 3 ? axes[DIMS - 1].place[z] : 0;
          const bool inside = axes[0].place[x] >= 0 && axes[1].place[y] >= 0 && plane >= 0;
          const T weight = axes[0].weight[x] * axes[1].weight[y] * (DIMS == 3 ? axes[DIMS - 1].weight[z] : T(1));
          each(inside ? (plane * height + axes[1].place[y]) * width + axes[0].place[x] : -1, weight, x, y, z);
        }
  }
};

// What is outside counts as 0, whatever its weight: NaN for coordinates that are NaN.
template <typename T, int DIMS, int TAPS>
__global__ void __launch_bounds__(256, 1)
grid_sample(const T* __restrict__ x, const T* __restrict__ grid, T* __restrict__ y, i64 samples, i64 channels, i64 points,
            i64 depth, i64 height, i64 width, int padding, int align_corners) {
  typedef Accumulator<T> A;
  const i64 area = depth * height * width;
  GRID_STRIDE(e, samples * points) {
    const i64 n = e / points, p = e % points;
    const Neighbourhood<A, DIMS, TAPS> around(grid + e * DIMS, depth, height, width, padding, align_corners);
    for (i64 c = n * channels; c < (n + 1) * channels; c++) {
      A sum = A(0);
      around.walk([&](i64 place, A weight, int, int, int) {
        if (place >= 0) sum += (TAPS == 1 ? A(1) : weight) * widened(x[c * area + place]);
        else if (TAPS > 1) sum += weight * A(0);
      });
      y[c * points + p] = narrowed<T>(sum);
    }
  }
}

// Adds to dx, which is zero at first, in the order in which threads arrive; writes dgrid. Each only where it is wanted.
template <typename T, int DIMS, int TAPS>
__global__ void __launch_bounds__(256, 1)
grid_sample_grad(const T* __restrict__ g, const T* __restrict__ x, const T* __restrict__ grid,
                 Accumulator<T>* __restrict__ dx, T* __restrict__ dgrid, i64 samples, i64 channels, i64 points, i64 depth, i64 height, i64 width, int padding,
                 int align_corners, int with_input, int with_grid) {
  typedef Accumulator<T> A;
  const i64 area = depth * height * width;
  GRID_STRIDE(e, samples * points) {
    const i64 n = e / points, p = e % points;
    const Neighbourhood<A, DIMS, TAPS> around(grid + e * DIMS, depth, height, width, padding, align_corners);
    A slopes[3] = {A(0), A(0), A(0)};
    for (i64 c = n * channels; c < (n + 1) * channels; c++) {
      const A upstream = widened(g[c * points + p]);
      around.walk([&](i64 place, A weight, int i, int j, int k) {
        const Neighbours<A, TAPS>&across = around.axes[0], &down = around.axes[1], &deep = around.axes[DIMS - 1];
        const A through = DIMS == 3 ? deep.weight[k] : A(1);
        const A product = upstream * (place >= 0 ? widened(x[c * area + place]) : A(0));
        if (with_input && place >= 0) atomicAdd(dx + c * area + place, (TAPS == 1 ? A(1) : weight) * upstream);
        if (TAPS == 1) return;
        slopes[0] += product * across.slope[i] * down.weight[j] * through;
        slopes[1] += product * across.weight[i] * down.slope[j] * through;
        if (DIMS == 3) slopes[2] += product * across.weight[i] * down.weight[j] * deep.slope[k];
      });
    }
    if (with_grid)
#pragma unroll
      for (int dim = 0; dim < DIMS; dim++) dgrid[e * DIMS + dim] = narrowed<T>(slopes[dim]);
  }
}
