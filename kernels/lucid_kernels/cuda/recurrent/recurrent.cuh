// A step of an LSTM and its gradient, element by element: see lucid_kernels/recurrence.py.
#pragma once
#include "common.cuh"

template <typename T> __device__ __forceinline__ T sigmoid_(T x) { return T(1) / (T(1) + exp_(-x)); }
template <typename T> __device__ __forceinline__ T sigmoid_slope(T y) { return y * (T(1) - y); }

// Element j of a step is element first + j of all times; its gates are n apart. `old` is the hidden state before, and inner(k) what
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
