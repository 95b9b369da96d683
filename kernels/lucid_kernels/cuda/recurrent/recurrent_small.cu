// Steps of recurrent networks with a small state, whose products are too small for cuBLAS to fill a device: a launch does the product and the
// rest of a step. A block has 32 rows, a lane each, and a few features; its warps share out the depth of the product, of which 128
// are in shared memory at a time, while the next ones are on their way. All sums have an order that the shape fixes.
// instantiate: lstm_small<float>, lstm_small<double>, lstm_small_grad<float>, lstm_small_grad<double>
// instantiate: gru_small<float>, gru_small<double>, gru_small_grad<float>, gru_small_grad<double>
// instantiate: rnn_small<float>, rnn_small<double>, rnn_small_grad<float>, rnn_small_grad<double>
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

// The products of ROWS rows of `left` (rows, depth) and 4 * GROUPS columns of `right`. Whether there is an element e of its DEPTH rows
// from `first` on says place(e, first, at, k, slot), and where it is read, in which of these rows, and where it goes in memory.
// Afterwards sum_of<GROUPS>(memory, group, column) is the product of the lane's row.
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

// A step; the hidden state before it are the rows of `output` from element `previous` on, or `initial` if that is negative. The
// columns of a group are the gates of a feature.
template <int GATES, typename T, typename Step>
__device__ __forceinline__ void step_of(const Step& step, const T* initial, const T* output, const T* weight, const T* bias,
                                        int has_bias, i64 rows, i64 n, i64 previous) {
  __shared__ Memory<T, 2> memory;
  const i64 top = (i64)blockIdx.y * ROWS, column = (i64)blockIdx.x * 2;
  const T* from = (previous < 0 ? initial : output + previous) + top * n;
  multiply<2>(from, rows - top, n, memory, weight, [&](int e, i64 k0, i64& at, int& k, int& slot) {
    const int gate = e / DEPTH % 4, group = e / DEPTH / 4;
    k = e % DEPTH;
    slot = (group * DEPTH + k) * 4 + gate;
    at = (gate * n + column + group) * n + k0 + k;
    return gate < GATES && column + group < n;
  });
  const int lane = threadIdx.x & 31, group = threadIdx.x / 32;
  const i64 feature = column + group;
  if (group >= 2 || top + lane >= rows || feature >= n) return;
  step((top + lane) * n + feature, from[lane * n + feature],
       [&](int k) { return sum_of<2>(memory, group, k) + (has_bias ? bias[k * n + feature] : T(0)); });
}

// The gradient of one. That of the hidden state behind it is the product of the gates' gradients of the later step, the rows of
// `d_product` from GATES * `later` on, and the weight, and with `adds` what `d_hidden` has; or that alone if `later` is negative.
template <int GATES, typename T, typename Step>
__device__ __forceinline__ void gradient_of(const Step& step, const T* weight, const T* d_product, const T* d_hidden, bool adds,
                                            i64 rows, i64 n, i64 later) {
  __shared__ Memory<T, 1> memory;
  const i64 top = (i64)blockIdx.y * ROWS, column = (i64)blockIdx.x * 4;
  if (later >= 0)
    multiply<1>(d_product + GATES * (later + top * n), rows - top, GATES * n, memory, weight,
                [&](int e, i64 k0, i64& at, int& k, int& slot) {
                  k = e / 4;
                  slot = e;
                  at = (k0 + k) * n + column + e % 4;
                  return column + e % 4 < n;
                });
  const int lane = threadIdx.x & 31, one = threadIdx.x / 32;
  const i64 feature = column + one;
  if (one >= 4 || top + lane >= rows || feature >= n) return;
  const i64 j = (top + lane) * n + feature;
  const T left = later < 0 || adds ? d_hidden[j] : T(0);
  step(j, later < 0 ? left : left + sum_of<1>(memory, 0, one), [](int, T) {});
}

template <typename T>
__global__ void __launch_bounds__(THREADS, 1)
lstm_small(const T* gates, const T* initial, const T* weight, const T* bias, int has_bias, T* kept, T* before, T* output, T* hidden,
           T* cells, T* cell, i64 rows, i64 n, i64 first, i64 previous) {
  const Lstm<T> step{gates, kept, before, cells, output, hidden, cell, n, first};
  step_of<4>(step, initial, output, weight, bias, has_bias, rows, n, previous);
}

template <typename T>
__global__ void __launch_bounds__(THREADS, 1)
gru_small(const T* gates, const T* initial, const T* weight, const T* bias, int has_bias, T* kept, T* before, T* output, T* hidden,
          i64 rows, i64 n, i64 first, i64 previous) {
  const Gru<T> step{gates, kept, before, output, hidden, n, first};
  step_of<3>(step, initial, output, weight, bias, has_bias, rows, n, previous);
}

template <typename T>
__global__ void __launch_bounds__(THREADS, 1)
rnn_small(const T* gates, const T* initial, const T* weight, const T* bias, int has_bias, T* kept, T* before, T* output, T* hidden,
          int relu, i64 rows, i64 n, i64 first, i64 previous) {
  const Rnn<T> step{gates, kept, before, output, hidden, n, first, relu};
  step_of<1>(step, initial, output, weight, bias, has_bias, rows, n, previous);
}

template <typename T>
__global__ void __launch_bounds__(THREADS, 1)
lstm_small_grad(const T* g, int has_g, const T* kept, const T* weight, const T* d_hidden, T* d_gates, const T* cells, T* d_cell,
                i64 rows, i64 n, i64 first, i64 later) {
  const LstmGrad<T> step{g, has_g, kept, cells, d_gates, d_cell, n, first};
  gradient_of<4>(step, weight, d_gates, d_hidden, false, rows, n, later);
}

template <typename T>
__global__ void __launch_bounds__(THREADS, 1)
gru_small_grad(const T* g, int has_g, const T* kept, const T* weight, T* d_hidden, T* d_gates, const T* before, T* d_product,
               i64 rows, i64 n, i64 first, i64 later) {
  const GruGrad<T> step{g, has_g, kept, before, d_gates, d_product, d_hidden, n, first};
  gradient_of<3>(step, weight, d_product, d_hidden, true, rows, n, later);
}

template <typename T>
__global__ void __launch_bounds__(THREADS, 1)
rnn_small_grad(const T* g, int has_g, const T* kept, const T* weight, const T* d_hidden, T* d_gates, int relu, i64 rows, i64 n,
               i64 first, i64 later) {
  const RnnGrad<T> step{g, has_g, kept, d_gates, first, relu};
  gradient_of<1>(step, weight, d_gates, d_hidden, false, rows, n, later);
}
