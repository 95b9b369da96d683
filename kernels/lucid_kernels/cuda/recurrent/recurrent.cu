// The elementwise part of a step of a recurrent network, and of its gradient; see lucid_kernels/recurrence.py.
// instantiate: lstm<float>, lstm<double>, lstm_grad<float>, lstm_grad<double>
// instantiate: gru<float>, gru<double>, gru_grad<float>, gru_grad<double>
// instantiate: rnn<float>, rnn<double>, rnn_grad<float>, rnn_grad<double>
//
// __launch_bounds__(_, 1): without the 1 ptxas aims at more threads and spills registers for it.
#include "recurrent.cuh"

// What the hidden state contributes to the gates: the product, and a bias if there is one.
template <typename T> struct Product {
  const T* product;
  const T* bias;
  int has_bias;
  __device__ __forceinline__ T operator()(i64 at, i64 gate) const { return product[at] + (has_bias ? bias[gate] : T(0)); }
};

// A thread for each of `count` elements of the state, with `n` features in a row: element i of the step is element first + i of all
// times. The gates of element j of row r are n apart, from (r * gates) * n + j on. hidden and cell are updated in place, by the one
// thread that reads them.
template <typename T>
__global__ void __launch_bounds__(256, 1)
lstm(const T* gates, const T* product, const T* bias, int has_bias, T* kept, T* before, T* cells, T* output, T* hidden, T* cell,
     i64 count, i64 n, i64 first) {
  const Product<T> inner{product, bias, has_bias};
  const Lstm<T> step{gates, kept, before, cells, output, hidden, cell, n, first};
  GRID_STRIDE(j, count) {
    const i64 here = j / n * 4 * n + j % n, gate = j % n;
    step(j, hidden[j], [&](int k) { return inner(here + k * n, gate + k * n); });
  }
}

// The gradients of a step, which goes into the next product, lie beside each other in `step` too.
template <typename T>
__global__ void __launch_bounds__(256, 1)
lstm_grad(const T* g, int has_g, const T* kept, const T* cells, T* d_gates, T* step, const T* d_hidden, T* d_cell, i64 count, i64 n,
          i64 first) {
  const LstmGrad<T> gradient{g, has_g, kept, cells, d_gates, d_cell, n, first};
  GRID_STRIDE(j, count) {
    const i64 here = j / n * 4 * n + j % n;
    gradient(j, d_hidden[j], [&](int k, T value) { step[here + k * n] = value; });
  }
}

// Rows of `gates` and `product` have 3 gates; those of `kept` also the product of the last one.
template <typename T>
__global__ void __launch_bounds__(256, 1)
gru(const T* gates, const T* product, const T* bias, int has_bias, T* kept, T* before, T* output, T* hidden, i64 count, i64 n,
    i64 first) {
  const Product<T> inner{product, bias, has_bias};
  GRID_STRIDE(j, count) {
    const i64 i = first + j, here = j / n * 3 * n + j % n, gate = j % n;
    const i64 at = i / n * 3 * n + i % n, to = i / n * 4 * n + i % n;
    const T reset = sigmoid_(gates[at] + inner(here, gate));
    const T update = sigmoid_(gates[at + n] + inner(here + n, gate + n));
    const T part = inner(here + 2 * n, gate + 2 * n);
    const T fresh = tanh_(gates[at + 2 * n] + reset * part);
    kept[to] = reset;
    kept[to + n] = update;
    kept[to + 2 * n] = fresh;
    kept[to + 3 * n] = part;
    before[i] = hidden[j];
    output[i] = hidden[j] = fresh + update * (hidden[j] - fresh);
  }
}

// d_hidden is left with what does not come through the product.
template <typename T>
__global__ void __launch_bounds__(256, 1)
gru_grad(const T* g, int has_g, const T* kept, const T* before, T* d_gates, T* d_product, T* step, T* d_hidden, i64 count, i64 n,
         i64 first) {
  GRID_STRIDE(j, count) {
    const i64 i = first + j, here = j / n * 3 * n + j % n;
    const i64 at = i / n * 4 * n + i % n, to = i / n * 3 * n + i % n;
    const T reset = kept[at], update = kept[at + n], fresh = kept[at + 2 * n], part = kept[at + 3 * n];
    const T d = d_hidden[j] + (has_g ? g[i] : T(0));
    const T d_fresh = d * (T(1) - update) * (T(1) - fresh * fresh);
    d_gates[to] = d_product[to] = step[here] = d_fresh * part * sigmoid_slope(reset);
    d_gates[to + n] = d_product[to + n] = step[here + n] = d * (before[i] - fresh) * sigmoid_slope(update);
    d_gates[to + 2 * n] = d_fresh;
    d_product[to + 2 * n] = step[here + 2 * n] = d_fresh * reset;
    d_hidden[j] = d * update;
  }
}

template <typename T>
__global__ void __launch_bounds__(256, 1)
rnn(const T* gates, const T* product, const T* bias, int has_bias, T* kept, T* before, T* output, T* hidden, i64 count, i64 n,
    i64 first, int relu) {
  const Product<T> inner{product, bias, has_bias};
  GRID_STRIDE(j, count) {
    const i64 i = first + j;
    const T sum = gates[i] + inner(j, j % n);
    const T value = relu ? (sum <= T(0) ? T(0) : sum) : tanh_(sum);  // a NaN stays
    before[i] = hidden[j];
    kept[i] = output[i] = hidden[j] = value;
  }
}

template <typename T>
__global__ void __launch_bounds__(256, 1)
rnn_grad(const T* g, int has_g, const T* kept, T* d_gates, T* step, const T* d_hidden, i64 count, i64 n, i64 first, int relu) {
  GRID_STRIDE(j, count) {
    const i64 i = first + j;
    const T d = d_hidden[j] + (has_g ? g[i] : T(0)), y = kept[i];
    d_gates[i] = step[j] = relu ? (y <= T(0) ? T(0) : d) : d * (T(1) - y * y);
  }
}
