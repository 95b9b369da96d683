// Reductions along any dimensions of arrays of any strides, in an order that the shape alone fixes: sums, means, products, extremes with
// their indices, truth, norms, variances, log-sum-exp (reduce.cuh).
//
// Bytes moved: those of the array and of the results, once; where few results leave the device idle, the accumulators of the chunks
// beside them, 8 to 24 bytes each, of which `combine` makes the results.
// one module an instance on a GPU
// instantiate: rows<SumAll<float>>, rows<Mean<float>>, rows<NanSum<float>>, rows<Product<float>>
// instantiate: rows<Maximum<float>>, rows<Minimum<float>>, rows<Any<float>>, rows<All<float>>
// instantiate: rows<Norm1<float>>, rows<Norm2<float>>, rows<NormP<float>>, rows<ArgMax<float>>
// instantiate: rows<ArgMin<float>>, rows<Variance<float>>, rows<Deviation<float>>, rows<LogSumExp<float>>
// instantiate: rows<SumAll<double>>, rows<Mean<double>>, rows<NanSum<double>>, rows<Product<double>>
// instantiate: rows<Maximum<double>>, rows<Minimum<double>>, rows<Any<double>>, rows<All<double>>
// instantiate: rows<Norm1<double>>, rows<Norm2<double>>, rows<NormP<double>>, rows<ArgMax<double>>
// instantiate: rows<ArgMin<double>>, rows<Variance<double>>, rows<Deviation<double>>, rows<LogSumExp<double>>
// instantiate: rows<SumAll<__half>>, rows<Mean<__half>>, rows<NanSum<__half>>, rows<Product<__half>>
// instantiate: rows<Maximum<__half>>, rows<Minimum<__half>>, rows<Any<__half>>, rows<All<__half>>
// instantiate: rows<Norm1<__half>>, rows<Norm2<__half>>, rows<NormP<__half>>, rows<ArgMax<__half>>
// instantiate: rows<ArgMin<__half>>, rows<Variance<__half>>, rows<Deviation<__half>>, rows<LogSumExp<__half>>
// instantiate: rows<SumAll<__nv_bfloat16>>, rows<Mean<__nv_bfloat16>>, rows<NanSum<__nv_bfloat16>>, rows<Product<__nv_bfloat16>>
// instantiate: rows<Maximum<__nv_bfloat16>>, rows<Minimum<__nv_bfloat16>>, rows<Any<__nv_bfloat16>>, rows<All<__nv_bfloat16>>
// instantiate: rows<Norm1<__nv_bfloat16>>, rows<Norm2<__nv_bfloat16>>, rows<NormP<__nv_bfloat16>>, rows<ArgMax<__nv_bfloat16>>
// instantiate: rows<ArgMin<__nv_bfloat16>>, rows<Variance<__nv_bfloat16>>, rows<Deviation<__nv_bfloat16>>, rows<LogSumExp<__nv_bfloat16>>
// instantiate: rows<SumAll<bool>>, rows<Product<bool>>, rows<Any<bool>>, rows<All<bool>>
// instantiate: rows<SumAll<i64>>, rows<Product<i64>>, rows<Any<i64>>, rows<All<i64>>
// instantiate: rows<SumAll<int>>, rows<Product<int>>, rows<Any<int>>, rows<All<int>>
// instantiate: columns<SumAll<float>>, columns<Mean<float>>, columns<NanSum<float>>, columns<Product<float>>
// instantiate: columns<Maximum<float>>, columns<Minimum<float>>, columns<Any<float>>, columns<All<float>>
// instantiate: columns<Norm1<float>>, columns<Norm2<float>>, columns<NormP<float>>, columns<ArgMax<float>>
// instantiate: columns<ArgMin<float>>, columns<Variance<float>>, columns<Deviation<float>>, columns<LogSumExp<float>>
// instantiate: columns<SumAll<double>>, columns<Mean<double>>, columns<NanSum<double>>, columns<Product<double>>
// instantiate: columns<Maximum<double>>, columns<Minimum<double>>, columns<Any<double>>, columns<All<double>>
// instantiate: columns<Norm1<double>>, columns<Norm2<double>>, columns<NormP<double>>, columns<ArgMax<double>>
// instantiate: columns<ArgMin<double>>, columns<Variance<double>>, columns<Deviation<double>>, columns<LogSumExp<double>>
// instantiate: columns<SumAll<__half>>, columns<Mean<__half>>, columns<NanSum<__half>>, columns<Product<__half>>
// instantiate: columns<Maximum<__half>>, columns<Minimum<__half>>, columns<Any<__half>>, columns<All<__half>>
// instantiate: columns<Norm1<__half>>, columns<Norm2<__half>>, columns<NormP<__half>>, columns<ArgMax<__half>>
// instantiate: columns<ArgMin<__half>>, columns<Variance<__half>>, columns<Deviation<__half>>, columns<LogSumExp<__half>>
// instantiate: columns<SumAll<__nv_bfloat16>>, columns<Mean<__nv_bfloat16>>, columns<NanSum<__nv_bfloat16>>, columns<Product<__nv_bfloat16>>
// instantiate: columns<Maximum<__nv_bfloat16>>, columns<Minimum<__nv_bfloat16>>, columns<Any<__nv_bfloat16>>, columns<All<__nv_bfloat16>>
// instantiate: columns<Norm1<__nv_bfloat16>>, columns<Norm2<__nv_bfloat16>>, columns<NormP<__nv_bfloat16>>, columns<ArgMax<__nv_bfloat16>>
// instantiate: columns<ArgMin<__nv_bfloat16>>, columns<Variance<__nv_bfloat16>>, columns<Deviation<__nv_bfloat16>>, columns<LogSumExp<__nv_bfloat16>>
// instantiate: columns<SumAll<bool>>, columns<Product<bool>>, columns<Any<bool>>, columns<All<bool>>
// instantiate: columns<SumAll<i64>>, columns<Product<i64>>, columns<Any<i64>>, columns<All<i64>>
// instantiate: columns<SumAll<int>>, columns<Product<int>>, columns<Any<int>>, columns<All<int>>
// instantiate: combine<SumAll<float>>, combine<Mean<float>>, combine<NanSum<float>>, combine<Product<float>>
// instantiate: combine<Maximum<float>>, combine<Minimum<float>>, combine<Any<float>>, combine<All<float>>
// instantiate: combine<Norm1<float>>, combine<Norm2<float>>, combine<NormP<float>>, combine<ArgMax<float>>
// instantiate: combine<ArgMin<float>>, combine<Variance<float>>, combine<Deviation<float>>, combine<LogSumExp<float>>
// instantiate: combine<SumAll<double>>, combine<Mean<double>>, combine<NanSum<double>>, combine<Product<double>>
// instantiate: combine<Maximum<double>>, combine<Minimum<double>>, combine<Any<double>>, combine<All<double>>
// instantiate: combine<Norm1<double>>, combine<Norm2<double>>, combine<NormP<double>>, combine<ArgMax<double>>
// instantiate: combine<ArgMin<double>>, combine<Variance<double>>, combine<Deviation<double>>, combine<LogSumExp<double>>
// instantiate: combine<SumAll<__half>>, combine<Mean<__half>>, combine<NanSum<__half>>, combine<Product<__half>>
// instantiate: combine<Maximum<__half>>, combine<Minimum<__half>>, combine<Any<__half>>, combine<All<__half>>
// instantiate: combine<Norm1<__half>>, combine<Norm2<__half>>, combine<NormP<__half>>, combine<ArgMax<__half>>
// instantiate: combine<ArgMin<__half>>, combine<Variance<__half>>, combine<Deviation<__half>>, combine<LogSumExp<__half>>
// instantiate: combine<SumAll<__nv_bfloat16>>, combine<Mean<__nv_bfloat16>>, combine<NanSum<__nv_bfloat16>>, combine<Product<__nv_bfloat16>>
// instantiate: combine<Maximum<__nv_bfloat16>>, combine<Minimum<__nv_bfloat16>>, combine<Any<__nv_bfloat16>>, combine<All<__nv_bfloat16>>
// instantiate: combine<Norm1<__nv_bfloat16>>, combine<Norm2<__nv_bfloat16>>, combine<NormP<__nv_bfloat16>>, combine<ArgMax<__nv_bfloat16>>
// instantiate: combine<ArgMin<__nv_bfloat16>>, combine<Variance<__nv_bfloat16>>, combine<Deviation<__nv_bfloat16>>, combine<LogSumExp<__nv_bfloat16>>
// instantiate: combine<SumAll<bool>>, combine<Product<bool>>, combine<Any<bool>>, combine<All<bool>>
// instantiate: combine<SumAll<i64>>, combine<Product<i64>>, combine<Any<i64>>, combine<All<i64>>
// instantiate: combine<SumAll<int>>, combine<Product<int>>, combine<Any<int>>, combine<All<int>>
#include "map.cuh"
#include "reduce.cuh"

// All lanes of a group of `width` lanes call, a power of two; the first one gets the result.
template <typename Op> __device__ __forceinline__ typename Op::Acc over_lanes(typename Op::Acc acc, int width) {
  constexpr int WORDS = sizeof(typename Op::Acc) / 4;
  for (int offset = width / 2; offset > 0; offset >>= 1) {
    typename Op::Acc other;
#pragma unroll
    for (int word = 0; word < WORDS; ++word) {
      unsigned moved = ((const unsigned*)&acc)[word];
      ((unsigned*)&other)[word] = __shfl_xor_sync(0xffffffffu, moved, offset);
    }
    acc = Op::merged(acc, other);
  }
  return acc;
}

// The accumulator of chunk blockIdx.y, or the results where that is the only one.
template <typename Op>
__device__ __forceinline__ void deliver(typename Op::Acc acc, typename Op::Result* y, typename Op::Second* second, void* parts,
                                        i64 at, i64 output, i64 outputs, double p, double q) {
  if (gridDim.y == 1)
    Op::finish(acc, p, q, y + at, second + at);
  else
    ((typename Op::Acc*)parts)[blockIdx.y * outputs + output] = acc;
}

// A row of elements that lie close together for each output: blockDim.x threads share it, by groups of V elements side by side.
template <typename Op, typename T>
__device__ __forceinline__ void reduce_rows(typename Op::Result* y, typename Op::Second* second, void* parts, const T* x,
                                            const Layout<2>& kept, const Layout<1>& reduced, i64 outputs, i64 groups, i64 chunk,
                                            double p, double q) {
  constexpr int V = 16 / sizeof(T) > 8 ? 8 : 16 / sizeof(T);
  __shared__ double scratch[16 * sizeof(typename Op::Acc) / 8];  // an accumulator for each warp
  typename Op::Acc* shared = (typename Op::Acc*)scratch;
  const int lanes = blockDim.x < 32 ? blockDim.x : 32;
  const i64 start = blockIdx.y * chunk, end = start + chunk < groups ? start + chunk : groups;
  const i64 output = (i64)blockIdx.x * blockDim.y + threadIdx.y;
  i64 places[2] = {0, 0};
  typename Op::Acc acc = Op::start();
  if (output < outputs) {
    locate<1>(kept, output, places);
    for (i64 group = start + threadIdx.x; group < end; group += blockDim.x) {
      i64 at[1];
      Accumulated<T> elements[V];
      const int count = locate<V>(reduced, group, at);
      read<V>(reduced, 0, x + places[1], at[0], count, elements);
      Op::template add<V>(acc, elements, count, group * V, p);
    }
  }
  acc = over_lanes<Op>(acc, lanes);  // of all threads of a warp
  if (blockDim.x > 32) {             // one row a block
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = acc;
    __syncthreads();
    if (threadIdx.x == 0)
      for (int warp = 1; warp < blockDim.x / 32; ++warp) acc = Op::merged(acc, shared[warp]);
  }
  if (threadIdx.x == 0 && output < outputs) deliver<Op>(acc, y, second, parts, places[0], output, outputs, p, q);
}

// Outputs beside each other read elements beside each other: a thread walks down one column, and blockDim.y threads share it.
template <typename Op, typename T>
__device__ __forceinline__ void reduce_columns(typename Op::Result* y, typename Op::Second* second, void* parts, const T* x,
                                               const Layout<2>& kept, const Layout<1>& reduced, i64 outputs, i64 length, i64 chunk,
                                               double p, double q) {
  constexpr int V = 4;  // elements that are on their way at once
  __shared__ double scratch[256 * sizeof(typename Op::Acc) / 8];
  typename Op::Acc* shared = (typename Op::Acc*)scratch;
  const i64 start = blockIdx.y * chunk, end = start + chunk < length ? start + chunk : length;
  const i64 output = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  i64 places[2] = {0, 0};
  typename Op::Acc acc = Op::start();
  if (output < outputs) {
    locate<1>(kept, output, places);
    for (i64 first = start + (i64)threadIdx.y * V; first < end; first += blockDim.y * V) {
      const int count = end - first < V ? (int)(end - first) : V;
      Accumulated<T> elements[V];
#pragma unroll
      for (int v = 0; v < V; ++v) {
        i64 at[1];
        locate<1>(reduced, first + (v < count ? v : count - 1), at);
        elements[v] = (Accumulated<T>)widened(x[places[1] + at[0]]);
      }
      Op::template add<V>(acc, elements, count, first, p);
    }
  }
  if (blockDim.y > 1) {
    shared[threadIdx.y * blockDim.x + threadIdx.x] = acc;
    __syncthreads();
    if (threadIdx.y == 0)
      for (int turn = 1; turn < blockDim.y; ++turn) acc = Op::merged(acc, shared[turn * blockDim.x + threadIdx.x]);
  }
  if (threadIdx.y == 0 && output < outputs) deliver<Op>(acc, y, second, parts, places[0], output, outputs, p, q);
}

template <typename Op> struct ElementOf;
template <typename T, typename A, typename B, typename C, typename R> struct ElementOf<Folding<T, A, B, C, R>> {
  using Type = T;
};
template <typename T, typename Fold> struct ElementOf<Extreme<T, Fold>> {
  using Type = T;
};
template <typename T, bool ROOT> struct ElementOf<Moments<T, ROOT>> {
  using Type = T;
};
template <typename T> struct ElementOf<LogSumExp<T>> {
  using Type = T;
};

template <typename Op>
__global__ void __launch_bounds__(512)
rows(typename Op::Result* y, typename Op::Second* second, void* parts, const typename ElementOf<Op>::Type* x, Layout<2> kept,
     Layout<1> reduced, i64 outputs, i64 groups, i64 chunk, double p, double q) {
  reduce_rows<Op>(y, second, parts, x, kept, reduced, outputs, groups, chunk, p, q);
}
template <typename Op>
__global__ void __launch_bounds__(256)
columns(typename Op::Result* y, typename Op::Second* second, void* parts, const typename ElementOf<Op>::Type* x, Layout<2> kept,
        Layout<1> reduced, i64 outputs, i64 length, i64 chunk, double p, double q) {
  reduce_columns<Op>(y, second, parts, x, kept, reduced, outputs, length, chunk, p, q);
}

// The results from the accumulators of all chunks: a warp for each. Extremes of doubles spill 8 bytes on sm_80, where the compiler
// keeps to 32 registers; a few results do that once.
template <typename Op>
__global__ void __launch_bounds__(256)
combine(typename Op::Result* y, typename Op::Second* second, const void* parts, Layout<2> kept, i64 outputs, i64 chunks, double p,
        double q) {
  const i64 rounds = (outputs + blockDim.y - 1) / blockDim.y;
  for (i64 round = blockIdx.x; round < rounds; round += gridDim.x) {
    const i64 output = round * blockDim.y + threadIdx.y;
    typename Op::Acc acc = Op::start();
    if (output < outputs)
      for (i64 chunk = threadIdx.x; chunk < chunks; chunk += 32)
        acc = Op::merged(acc, ((const typename Op::Acc*)parts)[chunk * outputs + output]);
    acc = over_lanes<Op>(acc, 32);
    if (threadIdx.x == 0 && output < outputs) {
      i64 places[2];
      locate<1>(kept, output, places);
      Op::finish(acc, p, q, y + places[0], second + places[0]);
    }
  }
}
