// Steps of recurrent networks and their gradients, element by element: see lucid_kernels/recurrence.py.
#pragma once
#include "common.cuh"

template <typename T> __device__ __forceinline__ T sigmoid_(T x) { return T(1) / (T(1) + exp_(-x)); }
template <typename T> __device__ __forceinline__ T sigmoid_slope(T y) { return y * (T(1) - y); }

// An LSTM's. Element j of a step is element first + j of all times; its gates are n apart. `old` is the hidden state before, and inner(k) what
// that contributes to gate k. The cell is updated in place.
template <typename T> struct Lstm {
  const T* gates;
  T *kept, *before, *cells, *output, *hidden, *cell;
  i64 n, first;
  template <typename Inner> __device__ __forceinline__ void operator()(i64 j, T old, Inner inner) const {
    const i64 i = first + j, at = i / n * 4 * n + i % n;
    const T into = sigmoid_(gates[at] + inner(0));
    const T forget = sigmoid_(gates[at + n] + inner(1));
    const T fresh = tanh_(gates[at + 2 * n] + inner(2));
    const T out = sigmoid_(gates[at + 3 * n] + inner(3));
    kept[at] = into;
    kept[at + n] = forget;
    kept[at + 2 * n] = fresh;
    kept[at + 3 * n] = out;
    before[i] = old;
    cells[i] = cell[j];
    cell[j] = forget * cell[j] + into * fresh;
    output[i] = hidden[j] = out * tanh_(cell[j]);
  }
};

// `d_hidden` is the gradient of the hidden state behind the step that later steps give; the gates' also go to also(k, value).
template <typename T> struct LstmGrad {
  const T* g;
  int has_g;
  const T *kept, *cells;
  T *d_gates, *d_cell;
  i64 n, first;
  template <typename Also> __device__ __forceinline__ void operator()(i64 j, T d_hidden, Also also) const {
    const i64 i = first + j, at = i / n * 4 * n + i % n;
    const T into = kept[at], forget = kept[at + n], fresh = kept[at + 2 * n], out = kept[at + 3 * n];
    const T t = tanh_(forget * cells[i] + into * fresh);
    const T d = d_hidden + (has_g ? g[i] : T(0)), dc = d_cell[j] + d * out * (T(1) - t * t);
    const T found[4] = {dc * fresh * sigmoid_slope(into), dc * cells[i] * sigmoid_slope(forget), dc * into * (T(1) - fresh * fresh),
                        d * t * sigmoid_slope(out)};
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      d_gates[at + k * n] = found[k];
      also(k, found[k]);
    }
    d_cell[j] = dc * forget;
  }
};

// A GRU's: elements have 3 gates, and of what is kept also the product of the last one.
template <typename T> struct Gru {
  const T* gates;
  T *kept, *before, *output, *hidden;
  i64 n, first;
  template <typename Inner> __device__ __forceinline__ void operator()(i64 j, T old, Inner inner) const {
    const i64 i = first + j, at = i / n * 3 * n + i % n, to = i / n * 4 * n + i % n;
    const T reset = sigmoid_(gates[at] + inner(0));
    const T update = sigmoid_(gates[at + n] + inner(1));
    const T part = inner(2);
    const T fresh = tanh_(gates[at + 2 * n] + reset * part);
    kept[to] = reset;
    kept[to + n] = update;
    kept[to + 2 * n] = fresh;
    kept[to + 3 * n] = part;
    before[i] = old;
    output[i] = hidden[j] = fresh + update * (old - fresh);
  }
};

// also(k, value) gets what goes into the product, and `left` what does not come through it.
template <typename T> struct GruGrad {
  const T* g;
  int has_g;
  const T *kept, *before;
  T *d_gates, *d_product, *left;
  i64 n, first;
  template <typename Also> __device__ __forceinline__ void operator()(i64 j, T d_hidden, Also also) const {
    const i64 i = first + j, at = i / n * 4 * n + i % n, to = i / n * 3 * n + i % n;
    const T reset = kept[at], update = kept[at + n], fresh = kept[at + 2 * n], part = kept[at + 3 * n];
    const T d = d_hidden + (has_g ? g[i] : T(0));
    const T d_fresh = d * (T(1) - update) * (T(1) - fresh * fresh);
    const T found[3] = {d_fresh * part * sigmoid_slope(reset), d * (before[i] - fresh) * sigmoid_slope(update), d_fresh * reset};
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      d_gates[to + k * n] = k == 2 ? d_fresh : found[k];
      d_product[to + k * n] = found[k];
      also(k, found[k]);
    }
    left[j] = d * update;
  }
};

// That of a network without gates.
template <typename T> struct Rnn {
  const T* gates;
  T *kept, *before, *output, *hidden;
  i64 n, first;
  int relu;
  template <typename Inner> __device__ __forceinline__ void operator()(i64 j, T old, Inner inner) const {
    const i64 i = first + j;
    const T sum = gates[i] + inner(0);
    const T value = relu ? (sum <= T(0) ? T(0) : sum) : tanh_(sum);  // a NaN stays
    before[i] = old;
    kept[i] = output[i] = hidden[j] = value;
  }
};

template <typename T> struct RnnGrad {
  const T* g;
  int has_g;
  const T* kept;
  T* d_gates;
  i64 first;
  int relu;
  template <typename Also> __device__ __forceinline__ void operator()(i64 j, T d_hidden, Also also) const {
    const i64 i = first + j;
    const T d = d_hidden + (has_g ? g[i] : T(0)), y = kept[i], found = relu ? (y <= T(0) ? T(0) : d) : d * (T(1) - y * y);
    d_gates[i] = found;
    also(0, found);
  }
};
