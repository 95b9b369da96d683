// Losses of margins between the scores of classes over rows (N, C), with their gradients.
// instantiate: multi_margin<float>, multi_margin<double>, multilabel_margin<float>, multilabel_margin<double>
#include "common.cuh"

// losses[r] = weight[t] / C sum over c != t of max(0, margin - x[t] + x[c]) ** p, of the label t of row r; the gradient is that of
// scale * C times it. A gap that is NaN counts nothing.
template <typename T>
__global__ void __launch_bounds__(256)
multi_margin(const T* __restrict__ x, const i64* __restrict__ target, const T* __restrict__ weight, int weighted,
             T* __restrict__ losses, T* __restrict__ grad, int with_grad, i64 rows, i64 C, int square, T margin, T scale,
             int* __restrict__ flag, int code) {
  typedef Slices<true> S;
  __shared__ T scratch[32];
  for (i64 r = S::first(); r < rows; r += S::step()) {
    const T* row = x + r * C;
    T* slopes = grad + r * C;
    const i64 t = target[r];
    const bool leader = S::begin() == 0;
    if (t < 0 || t >= C) {  // the same for all threads of the row
      if (leader) {
        set_error(flag, code, t, C);
        losses[r] = T(0);
      }
      if (with_grad)
        for (i64 c = S::begin(); c < C; c += S::stride()) slopes[c] = T(0);
      continue;
    }
    const T base = margin - row[t], own = weighted ? weight[t] : T(1), unit = scale * own;
    T total = 0, pushes = 0;
    for (i64 c = S::begin(); c < C; c += S::stride()) {
      if (c == t) continue;
      const T gap = base + row[c];
      const bool lacks = gap > T(0);
      const T push = square ? T(2) * gap : T(1);
      if (lacks) {
        total += square ? gap * gap : gap;
        pushes += push;
      }
      if (with_grad) slopes[c] = lacks ? unit * push : T(0);
    }
    total = S::reduce(total, Sum(), T(0), scratch);
    pushes = S::reduce(pushes, Sum(), T(0), scratch);
    if (leader) {
      losses[r] = total > T(0) ? total * own / T(C) : T(0);
      if (with_grad) slopes[t] = pushes > T(0) ? -unit * pushes : T(0);
    }
  }
}

struct Min {
  template <typename T> __device__ __forceinline__ T operator()(T a, T b) const { return a < b ? a : b; }
};

// losses[r] = 1 / C sum over labels t and classes c that are none of max(0, 1 - x[t] + x[c]); a row of labels ends at the first -1.
// A block a row. `times` (N, C) says how often a class is a label; a thread goes through the labels for each class that is none,
// and through the classes that are none for each label.
template <typename T>
__global__ void __launch_bounds__(256)
multilabel_margin(const T* __restrict__ x, const i64* __restrict__ target, int* __restrict__ times, T* __restrict__ losses,
                  T* __restrict__ grad, int with_grad, i64 rows, i64 C, T scale, int* __restrict__ flag, int code) {
  __shared__ T scratch[32];
  __shared__ i64 places[32];
  for (i64 r = blockIdx.x; r < rows; r += gridDim.x) {
    const T* row = x + r * C;
    const i64* labels = target + r * C;
    int* often = times + r * C;
    i64 count = C;
    for (i64 c = threadIdx.x; c < C; c += blockDim.x) {
      often[c] = 0;
      if (labels[c] < 0 && c < count) count = c;
      if (labels[c] < -1 || labels[c] >= C) set_error(flag, code, labels[c], C);
    }
    count = block_reduce(count, Min(), C, places);  // with a barrier, behind which all of `often` is 0
    for (i64 i = threadIdx.x; i < count; i += blockDim.x)
      if (labels[i] < C) atomicAdd(&often[labels[i]], 1);
    __syncthreads();
    T total = 0;
    for (i64 c = threadIdx.x; c < C; c += blockDim.x) {
      const T own = row[c];
      T lacks = 0, pushes = 0;
      if (often[c] > 0) {
        for (i64 o = 0; o < C; o++) {
          const T gap = T(1) - own + row[o];
          if (often[o] == 0 && gap > T(0)) {
            lacks += gap;
            pushes -= T(1);
          }
        }
        total += T(often[c]) * lacks;
        pushes *= T(often[c]);
      } else if (with_grad) {
        for (i64 i = 0; i < count; i++)
          if (labels[i] < C && T(1) - row[labels[i]] + own > T(0)) pushes += T(1);
      }
      if (with_grad) grad[r * C + c] = pushes * scale;
    }
    total = block_reduce(total, Sum(), T(0), scratch);
    if (threadIdx.x == 0) losses[r] = total / T(C);
  }
}
