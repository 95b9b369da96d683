// Steps of an LSTM with a small state, whose products are too small for cuBLAS to fill a device: a launch does the product and the
// rest of a step. A block has 32 rows, a lane each, and a few features; its warps share out the depth of the product, of which 128
// are in shared memory at a time, while the next ones are on their way. All sums have an order that the shape fixes.
// instantiate: lstm_small<float>, lstm_small<double>, lstm_small_grad<float>, lstm_small_grad<double>
#include "recurrent.cuh"

constexpr int ROWS = 32, DEPTH = 128, STRIDE = DEPTH + 4, THREADS = 256;  // rows lie so that lanes meet in no bank

template <typename T> struct alignas(4 * sizeof(T)) Four {
  T at[4];
};

// The memory of a block: rows of the left factor, of the right one 4 columns of each group beside each other, and in the end the sums
// of the warps in place of the rows.
template <typename T, int GROUPS> struct Memory {
  Four<T> left[ROWS * STRIDE / 4], right[GROUPS * DEPTH];
};

// The products of ROWS rows of `left` (rows, depth) and 4 * GROUPS columns: element e of the right one's first DEPTH rows is
// right(e, k), in row k, which it sets, and goes to the place that it returns; `from` are its elements a row apart by `step`.
// Afterwards sum_of<GROUPS>(memory, group, column) is that of the lane's row.
template <int GROUPS, typename T, typename Place>
__device__ __forceinline__ void multiply(const T* left, i64 rows, i64 depth, Memory<T, GROUPS>& memory, const T* right, Place place) {
  constexpr int OF_LEFT = ROWS * DEPTH / THREADS, OF_RIGHT = 4 * GROUPS * DEPTH / THREADS, SLICES = THREADS / 32 / GROUPS;
  const int thread = threadIdx.x, lane = thread & 31, group = thread / 32 % GROUPS, slice = thread / 32 / GROUPS;
  T a[OF_LEFT], b[OF_RIGHT], sum[4] = {};
  auto fetch = [&](i64 first) {
#pragma unroll
    for (int i = 0; i < OF_LEFT; ++i) {
      const int e = thread + i * THREADS;
      a[i] = e / DEPTH < rows && first + e % DEPTH < depth ? left[e / DEPTH * depth + first + e % DEPTH] : T(0);
    }
#pragma unroll
    for (int i = 0; i < OF_RIGHT; ++i) {
      i64 from;
      int k, slot;
      const bool inside = place(thread + i * THREADS, first, from, k, slot);
      b[i] = inside && first + k < depth ? right[from] : T(0);
    }
  };
  fetch(0);
  for (i64 first = 0; first < depth; first += DEPTH) {
#pragma unroll
    for (int i = 0; i < OF_LEFT; ++i) {
      const int e = thread + i * THREADS;
      ((T*)memory.left)[e / DEPTH * STRIDE + e % DEPTH] = a[i];
    }
#pragma unroll
    for (int i = 0; i < OF_RIGHT; ++i) {
      i64 from;
      int k, slot;
      place(thread + i * THREADS, first, from, k, slot);
      ((T*)memory.right)[slot] = b[i];
    }
    __syncthreads();
    if (first + DEPTH < depth) fetch(first + DEPTH);
#pragma unroll
    for (int k = 0; k < DEPTH / SLICES; k += 4) {
      const int from = slice * (DEPTH / SLICES) + k;
      const Four<T> row = memory.left[(lane * STRIDE + from) / 4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const Four<T> columns = memory.right[group * DEPTH + from + i];
#pragma unroll
        for (int c = 0; c < 4; ++c) sum[c] += row.at[i] * columns.at[c];
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int c = 0; c < 4; ++c) ((T*)memory.left)[((slice * GROUPS + group) * 4 + c) * 32 + lane] = sum[c];
  __syncthreads();
}

template <int GROUPS, typename T>
__device__ __forceinline__ T sum_of(const Memory<T, GROUPS>& memory, int group, int column) {
  constexpr int SLICES = THREADS / 32 / GROUPS;
  T sum = 0;
#pragma unroll
  for (int slice = 0; slice < SLICES; ++slice)
    sum += ((const T*)memory.left)[((slice * GROUPS + group) * 4 + column) * 32 + (threadIdx.x & 31)];
  return sum;
}

// The hidden state before a step are the rows of `output` from element `previous` on, or `initial` if that is negative. The columns of
// a group are the gates of a feature.
template <typename T>
__global__ void __launch_bounds__(THREADS, 1)
lstm_small(const T* gates, const T* initial, const T* weight, const T* bias, int has_bias, T* kept, T* before, T* cells, T* output,
           T* hidden, T* cell, i64 rows, i64 n, i64 first, i64 previous) {
  __shared__ Memory<T, 2> memory;
  const i64 top = (i64)blockIdx.y * ROWS, column = (i64)blockIdx.x * 2;
  const T* from = (previous < 0 ? initial : output + previous) + top * n;
  multiply<2>(from, rows - top, n, memory, weight, [&](int e, i64 k0, i64& at, int& k, int& slot) {
    const int gate = e / DEPTH % 4, group = e / DEPTH / 4;
    k = e % DEPTH;
    slot = (group * DEPTH + k) * 4 + gate;
    at = (gate * n + column + group) * n + k0 + k;
    return column + group < n;
  });
  const int lane = threadIdx.x & 31, group = threadIdx.x / 32;
  const i64 feature = column + group;
  if (group >= 2 || top + lane >= rows || feature >= n) return;
  const Lstm<T> step{gates, kept, before, cells, output, hidden, cell, n, first};
  step((top + lane) * n + feature, from[lane * n + feature],
       [&](int k) { return sum_of<2>(memory, group, k) + (has_bias ? bias[k * n + feature] : T(0)); });
}

// The gradient of the hidden state behind a step is the product of the gates' gradients of the later step, the rows of `d_gates` from
// 4 * `later` on, and the weight; or `d_hidden` if `later` is negative.
template <typename T>
__global__ void __launch_bounds__(THREADS, 1)
lstm_small_grad(const T* g, int has_g, const T* kept, const T* cells, const T* weight, const T* d_hidden, T* d_gates, T* d_cell,
                i64 rows, i64 n, i64 first, i64 later) {
  __shared__ Memory<T, 1> memory;
  const i64 top = (i64)blockIdx.y * ROWS, column = (i64)blockIdx.x * 4;
  if (later >= 0)
    multiply<1>(d_gates + 4 * later + top * 4 * n, rows - top, 4 * n, memory, weight, [&](int e, i64 k0, i64& at, int& k, int& slot) {
      k = e / 4;
      slot = e;
      at = (k0 + k) * n + column + e % 4;
      return column + e % 4 < n;
    });
  const int lane = threadIdx.x & 31, one = threadIdx.x / 32;
  const i64 feature = column + one;
  if (one >= 4 || top + lane >= rows || feature >= n) return;
  const i64 j = (top + lane) * n + feature;
  const LstmGrad<T> step{g, has_g, kept, cells, d_gates, d_cell, n, first};
  step(j, later < 0 ? d_hidden[j] : sum_of<1>(memory, 0, one), [](int, T) {});
}
