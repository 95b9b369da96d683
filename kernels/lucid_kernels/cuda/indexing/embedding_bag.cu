// Bags of rows of a table: bag b has the rows that indices[edges[b]] to indices[edges[b + 1] - 1] name.
//
// Bytes moved: each row that is named once, and the results. A thread walks a bag for N columns, in the order of the indices: the
// same sums in every run, and neighbouring threads read neighbouring columns. Halves are added in float and rounded once. Rows out
// of range, which somebody has reported, are left out.
// instantiate: bag_edges<int>, bag_edges<long long>, bag_indices
// instantiate: bag_lengths<float>, bag_lengths<double>, bag_lengths<__half>, bag_lengths<__nv_bfloat16>
// instantiate: bag_sums<float, 4>, bag_sums<float, 1>, bag_sums<double, 2>, bag_sums<double, 1>
// instantiate: bag_sums<__half, 8>, bag_sums<__half, 1>, bag_sums<__nv_bfloat16, 8>, bag_sums<__nv_bfloat16, 1>
// instantiate: bag_maxima<float>, bag_maxima<double>, bag_maxima<__half>, bag_maxima<__nv_bfloat16>
#include "halves.cuh"

// edges[b] = offsets[b], and behind these `count`, which all are at most. Of offsets that do not begin with 0, do not end within
// `count` or decrease the first found is reported; the edges stay in range then.
template <typename I>
__global__ void __launch_bounds__(256, 1)
bag_edges(const I* __restrict__ offsets, i64 n, i64* __restrict__ edges, i64 m, i64 count, int* __restrict__ flag, int not_zero,
          int too_large, int decreasing) {
  GRID_STRIDE(b, m) {
    const i64 offset = b < n ? (i64)offsets[b] : count;
    if (b == 0 && n > 0 && offset != 0) set_error(flag, not_zero, offset, count);
    if (b > 0 && b < n && offset < offsets[b - 1]) set_error(flag, decreasing, offset, count);
    if (b == n - 1 && offset > count) set_error(flag, too_large, offset, count);
    edges[b] = offset < 0 ? 0 : offset < count ? offset : count;
  }
}

// bags[i] = how many of the edges between bags are not above i.
__global__ void __launch_bounds__(256, 1)
bag_indices(const i64* __restrict__ edges, i64* __restrict__ bags, i64 count, i64 last) {
  GRID_STRIDE(i, count) {
    i64 low = 0, high = last;  // edges[1 .. low] are not above i, edges[high + 1 ..] are
    while (low < high) {
      const i64 middle = low + (high - low) / 2;
      if (edges[middle + 1] <= i) low = middle + 1;
      else high = middle;
    }
    bags[i] = low;
  }
}

template <typename T>
__global__ void __launch_bounds__(256, 1)
bag_lengths(const i64* __restrict__ edges, T* __restrict__ lengths, i64 bags) {
  GRID_STRIDE(b, bags) {
    const i64 length = edges[b + 1] - edges[b];
    lengths[b] = narrowed<T>(length > 1 ? length : 1);
  }
}

template <typename T, int N>
__global__ void __launch_bounds__(256, 1)
bag_sums(const T* __restrict__ weight, const i64* __restrict__ indices, const i64* __restrict__ edges,
         const T* __restrict__ factors, int has_factors, T* __restrict__ y, i64 bags, i64 packs, i64 rows) {
  GRID_STRIDE(e, bags * packs) {
    const i64 b = e / packs, pack = e % packs, end = edges[b + 1];
    Accumulator<T> sum[N] = {};
    for (i64 i = edges[b]; i < end; ++i) {
      const i64 row = indices[i];
      if (row < 0 || row >= rows) continue;
      Accumulator<T> value[N];
      load<N>(weight + (row * packs + pack) * N, value);
      const Accumulator<T> factor = has_factors ? widened(factors[i]) : Accumulator<T>(1);
#pragma unroll
      for (int j = 0; j < N; ++j) sum[j] += value[j] * factor;
    }
    store<N>(y + e * N, sum);
  }
}

// The row of the maximum: the first of equal ones, NaN where it comes first, -1 of an empty bag.
template <typename T>
__global__ void __launch_bounds__(256, 1)
bag_maxima(const T* __restrict__ weight, const i64* __restrict__ indices, const i64* __restrict__ edges, i64* __restrict__ y,
           i64 bags, i64 width, i64 rows) {
  GRID_STRIDE(e, bags * width) {
    const i64 b = e / width, column = e % width, end = edges[b + 1];
    i64 found = -1;
    Accumulator<T> peak = 0;
    for (i64 i = edges[b]; i < end; ++i) {
      const i64 row = indices[i];
      if (row < 0 || row >= rows) continue;
      const Accumulator<T> value = widened(weight[row * width + column]);
      if (found < 0 || value > peak) {
        peak = value;
        found = row;
      }
    }
    y[e] = found;
  }
}
