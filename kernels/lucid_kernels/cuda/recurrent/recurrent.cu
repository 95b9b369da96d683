// The elementwise part of a step of a recurrent network, and of its gradient; see lucid_kernels/recurrence.py.
// instantiate: lstm<float>, lstm<double>, lstm_grad<float>, lstm_grad<double>
// instantiate: gru<float>, gru<double>, gru_grad<float>, gru_grad<double>
// instantiate: rnn<float>, rnn<double>, rnn_grad<float>, rnn_grad<double>
#include "common.cuh"

template <typename T> __device__ __forceinline__ T sigmoid_(T x) { return T(1) / (T(1) + exp_(-x)); }
template <typename T> __device__ __forceinline__ T sigmoid_slope(T y) { return y * (T(1) - y); }

// A thread for each of `count` elements of the state, with `n` features in a row. The gates of element j of row r are n apart,
// from (r * gates) * n + j on. hidden and cell are updated in place, by the one thread that reads them.
template <typename T>
__global__ void __launch_bounds__(256)
lstm(const T* gates, const T* product, T* kept, T* before, T* cells, T* output, T* hidden, T* cell, i64 count, i64 n) {
  GRID_STRIDE(i, count) {
    const i64 at = i / n * 4 * n + i % n;
    const T into = sigmoid_(gates[at] + product[at]);
    const T forget = sigmoid_(gates[at + n] + product[at + n]);
    const T fresh = tanh_(gates[at + 2 * n] + product[at + 2 * n]);
    const T out = sigmoid_(gates[at + 3 * n] + product[at + 3 * n]);
    kept[at] = into;
    kept[at + n] = forget;
    kept[at + 2 * n] = fresh;
    kept[at + 3 * n] = out;
    before[i] = hidden[i];
    cells[i] = cell[i];
    cell[i] = forget * cell[i] + into * fresh;
    output[i] = hidden[i] = out * tanh_(cell[i]);
  }
}

template <typename T>
__global__ void __launch_bounds__(256)
lstm_grad(const T* g, const T* kept, const T* cells, T* d_gates, const T* d_hidden, T* d_cell, i64 count, i64 n) {
  GRID_STRIDE(i, count) {
    const i64 at = i / n * 4 * n + i % n;
    const T into = kept[at], forget = kept[at + n], fresh = kept[at + 2 * n], out = kept[at + 3 * n];
    const T t = tanh_(forget * cells[i] + into * fresh);
    const T d = d_hidden[i] + g[i], dc = d_cell[i] + d * out * (T(1) - t * t);
    d_gates[at] = dc * fresh * sigmoid_slope(into);
    d_gates[at + n] = dc * cells[i] * sigmoid_slope(forget);
    d_gates[at + 2 * n] = dc * into * (T(1) - fresh * fresh);
    d_gates[at + 3 * n] = d * t * sigmoid_slope(out);
    d_cell[i] = dc * forget;
  }
}

// Rows of `gates` and `product` have 3 gates; those of `kept` also the product of the last one.
template <typename T>
__global__ void __launch_bounds__(256)
gru(const T* gates, const T* product, T* kept, T* before, T* output, T* hidden, i64 count, i64 n) {
  GRID_STRIDE(i, count) {
    const i64 at = i / n * 3 * n + i % n, to = i / n * 4 * n + i % n;
    const T reset = sigmoid_(gates[at] + product[at]);
    const T update = sigmoid_(gates[at + n] + product[at + n]);
    const T part = product[at + 2 * n];
    const T fresh = tanh_(gates[at + 2 * n] + reset * part);
    kept[to] = reset;
    kept[to + n] = update;
    kept[to + 2 * n] = fresh;
    kept[to + 3 * n] = part;
    before[i] = hidden[i];
    output[i] = hidden[i] = fresh + update * (hidden[i] - fresh);
  }
}

// d_hidden is left with what does not come through the product.
template <typename T>
__global__ void __launch_bounds__(256)
gru_grad(const T* g, const T* kept, const T* before, T* d_gates, T* d_product, T* d_hidden, i64 count, i64 n) {
  GRID_STRIDE(i, count) {
    const i64 at = i / n * 4 * n + i % n, to = i / n * 3 * n + i % n;
    const T reset = kept[at], update = kept[at + n], fresh = kept[at + 2 * n], part = kept[at + 3 * n];
    const T d = d_hidden[i] + g[i];
    const T d_fresh = d * (T(1) - update) * (T(1) - fresh * fresh);
    d_gates[to] = d_product[to] = d_fresh * part * sigmoid_slope(reset);
    d_gates[to + n] = d_product[to + n] = d * (before[i] - fresh) * sigmoid_slope(update);
    d_gates[to + 2 * n] = d_fresh;
    d_product[to + 2 * n] = d_fresh * reset;
    d_hidden[i] = d * update;
  }
}

template <typename T>
__global__ void __launch_bounds__(256)
rnn(const T* gates, const T* product, T* kept, T* before, T* output, T* hidden, i64 count, int relu) {
  GRID_STRIDE(i, count) {
    const T sum = gates[i] + product[i];
    const T value = relu ? (sum <= T(0) ? T(0) : sum) : tanh_(sum);  // a NaN stays
    before[i] = hidden[i];
    kept[i] = output[i] = hidden[i] = value;
  }
}

template <typename T>
__global__ void __launch_bounds__(256)
rnn_grad(const T* g, const T* kept, T* d_gates, const T* d_hidden, i64 count, int relu) {
  GRID_STRIDE(i, count) {
    const T d = d_hidden[i] + g[i], y = kept[i];
    d_gates[i] = relu ? (y <= T(0) ? T(0) : d) : d * (T(1) - y * y);
  }
}
