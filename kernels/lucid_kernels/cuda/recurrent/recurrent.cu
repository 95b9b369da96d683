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

// A thread for each of `count` elements of the state, with `n` features in a row. hidden and cell are updated in place, by the one
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

template <typename T>
__global__ void __launch_bounds__(256, 1)
gru(const T* gates, const T* product, const T* bias, int has_bias, T* kept, T* before, T* output, T* hidden, i64 count, i64 n,
    i64 first) {
  const Product<T> inner{product, bias, has_bias};
  const Gru<T> step{gates, kept, before, output, hidden, n, first};
  GRID_STRIDE(j, count) {
    const i64 here = j / n * 3 * n + j % n, gate = j % n;
    step(j, hidden[j], [&](int k) { return inner(here + k * n, gate + k * n); });
  }
}

// d_hidden is left with what does not come through the product.
template <typename T>
__global__ void __launch_bounds__(256, 1)
gru_grad(const T* g, int has_g, const T* kept, const T* before, T* d_gates, T* d_product, T* step, T* d_hidden, i64 count, i64 n,
         i64 first) {
  const GruGrad<T> gradient{g, has_g, kept, before, d_gates, d_product, d_hidden, n, first};
  GRID_STRIDE(j, count) {
    const i64 here = j / n * 3 * n + j % n;
    gradient(j, d_hidden[j], [&](int k, T value) { step[here + k * n] = value; });
  }
}

template <typename T>
__global__ void __launch_bounds__(256, 1)
rnn(const T* gates, const T* product, const T* bias, int has_bias, T* kept, T* before, T* output, T* hidden, i64 count, i64 n,
    i64 first, int relu) {
  const Product<T> inner{product, bias, has_bias};
  const Rnn<T> step{gates, kept, before, output, hidden, n, first, relu};
  GRID_STRIDE(j, count) step(j, hidden[j], [&](int) { return inner(j, j % n); });
}

template <typename T>
__global__ void __launch_bounds__(256, 1)
rnn_grad(const T* g, int has_g, const T* kept, T* d_gates, T* step, const T* d_hidden, i64 count, i64 n, i64 first, int relu) {
  const RnnGrad<T> gradient{g, has_g, kept, d_gates, first, relu};
  GRID_STRIDE(j, count) gradient(j, d_hidden[j], [&](int, T value) { step[j] = value; });
}
