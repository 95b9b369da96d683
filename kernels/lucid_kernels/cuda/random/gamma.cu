// instantiate: random_gamma<float>, random_gamma<double>
//
// Gamma numbers by the method, and with the counters, of lucid_kernels.cpu.random.gamma; up to the exponential function of shapes
// below 1 bit for bit the same. A thread makes one number: it waits for the one in twenty of its warp that is tried again.
#include "numbers.cuh"

#define ATTEMPTS 200

// The root v of an accepted number d v^3.
__device__ __forceinline__ double cube_root(double d, u64 counter, u64 seed) {
  const double c = __ddiv_rn(1.0, __dsqrt_rn(mul(9.0, d)));
  for (unsigned attempt = 1; attempt < ATTEMPTS; ++attempt) {
    const uint4 w = philox(counter, seed, attempt);
    double normal, unused;
    box_muller(bits53(w.x, w.y), (i64)w.z << 21, normal, unused);
    const double v = add(1.0, mul(c, normal));
    if (!(v > 0.0)) continue;
    const double square = mul(normal, normal), unit = mul(add((double)w.w, 0.5), 2.3283064365386963e-10);  // 2^-32
    if (unit < add(1.0, -mul(0.0331, mul(square, square)))) return v;
    const double cube = mul(mul(v, v), v);
    if (log_unit(unit) < add(mul(0.5, square), mul(d, add(add(1.0, -cube), log_unit(cube))))) return v;
  }
  return 1.0;
}

template <typename T>
__global__ void __launch_bounds__(256)
random_gamma(const T* __restrict__ shapes, T* __restrict__ y, int log_wanted, double least, u64 seed, u64 offset, i64 n) {
  GRID_STRIDE(i, n) {
    const double shape = (double)shapes[i];
    double number = shape;
    if (!(shape >= 0.0)) {
      number = CUDART_NAN;
    } else if (shape < CUDART_INF) {
      const bool small = shape < 1.0;
      const double d = add(small ? add(shape, 1.0) : shape, -1.0 / 3.0), v = cube_root(d, offset + i, seed);
      double exponent = 0.0;
      if (small) {
        const uint4 w = philox(offset + i, seed, 0);
        exponent = __ddiv_rn(log_unit(mul(add((double)bits53(w.x, w.y), 0.5), 1.1102230246251565e-16)), shape);  // 2^-53
      }
      if (log_wanted)
        number = add(add(log_unit(d), mul(3.0, log_unit(v))), exponent);
      else
        number = mul(mul(d, mul(mul(v, v), v)), small ? exp(exponent) : 1.0);
    }
    y[i] = (T)(number < least ? least : number);
  }
}
