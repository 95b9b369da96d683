// Products of a matrix of which only some elements are kept, by rows (CSR): those of row r are values[p] in column plain[p] for p
// from compressed[r] to compressed[r + 1]. A thread adds up one element of the result, in the order of p. Halves are added in float.
// instantiate: csr_matmul<float>, csr_matmul<double>, csr_matmul<__half>, csr_matmul<__nv_bfloat16>
// instantiate: csr_sampled<float>, csr_sampled<double>, csr_sampled<__half>, csr_sampled<__nv_bfloat16>
#include "halves.cuh"

// y (rows, width), dense (columns, width): neighbouring threads read neighbouring columns.
template <typename T>
__global__ void __launch_bounds__(256, 1)
csr_matmul(const T* __restrict__ values, const i64* __restrict__ compressed, const i64* __restrict__ plain,
           const T* __restrict__ dense, T* __restrict__ y, i64 rows, i64 columns, i64 width) {
  GRID_STRIDE(e, rows * width) {
    const i64 row = e / width, column = e % width;
    Accumulator<T> sum = 0;
    for (i64 p = compressed[row]; p < compressed[row + 1]; ++p) {
      const i64 at = plain[p];
      if (at >= 0 && at < columns) sum += widened(values[p]) * widened(dense[at * width + column]);
    }
    y[e] = narrowed<T>(sum);
  }
}

// y[p] = the product of row r of a (rows, width) and row plain[p] of b (columns, width), for the elements p of row r.
template <typename T>
__global__ void __launch_bounds__(256, 1)
csr_sampled(const T* __restrict__ a, const T* __restrict__ b, const i64* __restrict__ compressed, const i64* __restrict__ plain,
            T* __restrict__ y, i64 count, i64 rows, i64 columns, i64 width) {
  GRID_STRIDE(p, count) {
    i64 low = 0, high = rows;  // the last row that begins at p or before it
    while (low + 1 < high) {
      const i64 middle = (low + high) / 2;
      if (compressed[middle] <= p) low = middle;
      else high = middle;
    }
    const i64 at = plain[p];
    Accumulator<T> sum = 0;
    if (at >= 0 && at < columns)
      for (i64 j = 0; j < width; ++j) sum += widened(a[low * width + j]) * widened(b[at * width + j]);
    y[p] = narrowed<T>(sum);
  }
}
