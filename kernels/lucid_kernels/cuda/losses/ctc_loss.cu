// Connectionist temporal classification: logarithms of the probabilities of all states in float64, then the gradient.
// Gradients have the type of sums: those of halves are rounded afterwards.
// instantiate: ctc_states<float>, ctc_states<double>, ctc_states<__half>, ctc_states<__nv_bfloat16>
// instantiate: ctc_grad<float>, ctc_grad<double>, ctc_grad<__half>, ctc_grad<__nv_bfloat16>
#include "halves.cuh"

// log(exp(a) + exp(b) + exp(c)); NaN if one is NaN.
__device__ __forceinline__ double log_sum(double a, double b, double c) {
  const double top = Max()(Max()(a, b), c);
  if (top == -infinity<double>()) return top;
  return top + log(exp(a - top) + exp(b - top) + exp(c - top));
}

// The targets (N, S) with blanks around them: state 2 i + 1 of `size` is label i. No class counts as blank.
struct States {
  const i64* labels;
  i64 size, classes, blank;
  __device__ __forceinline__ i64 of(i64 state) const {
    const i64 label = state & 1 ? labels[state / 2] : blank;
    return label < 0 || label >= classes ? blank : label;
  }
};

__device__ __forceinline__ States states_of(const i64* labels, const i64* lengths, i64 n, i64 width, i64 classes, i64 blank) {
  return States{labels + n * width, 2 * lengths[n] + 1, classes, blank};
}

// log of the probability of all alignments, from the states of the last frame.
__device__ __forceinline__ double all_alignments(const double* last, i64 size) {
  return log_sum(last[size - 1], size > 1 ? last[size - 2] : -infinity<double>(), -infinity<double>());
}

// Block (n, 0) goes through the frames of sequence n, all beginnings into forward (N, T, 2 S + 1), and gives the loss; block (n, 1)
// goes back, all ends into backward, where the states are numbered from the last. Both have the frame itself.
template <typename T>
__global__ void __launch_bounds__(256, 1)
ctc_states(const T* __restrict__ x, const i64* __restrict__ labels, const i64* __restrict__ inputs, const i64* __restrict__ lengths,
           double* __restrict__ forward, double* __restrict__ backward, T* __restrict__ losses, i64 frames, i64 batch, i64 classes,
           i64 width, i64 blank, int zero_infinity, int* __restrict__ flag, int code) {
  const i64 n = blockIdx.x, count = inputs[n], L = 2 * width + 1;
  const bool back = blockIdx.y == 1;
  const States states = states_of(labels, lengths, n, width, classes, blank);
  const i64 size = states.size;
  double* found = (back ? backward : forward) + n * frames * L;
  if (!back) {
    for (i64 i = threadIdx.x; i < size / 2; i += blockDim.x)
      if (states.labels[i] < 0 || states.labels[i] >= classes) set_error(flag, code, states.labels[i], classes);
  }
  for (i64 step = 0; step < count; step++) {
    const i64 t = back ? count - 1 - step : step;
    const double* last = found + (back ? t + 1 : t - 1) * L;  // not read in the first step
    for (i64 p = threadIdx.x; p < size; p += blockDim.x) {
      const i64 s = back ? size - 1 - p : p, label = states.of(s);
      double sum = p < 2 ? 0.0 : -infinity<double>();
      if (step > 0) {
        const bool skips = p > 1 && label != states.of(back ? s + 2 : s - 2);
        sum = log_sum(last[p], p > 0 ? last[p - 1] : -infinity<double>(), skips ? last[p - 2] : -infinity<double>());
      }
      found[t * L + p] = sum + (double)widened(x[(t * batch + n) * classes + label]);
    }
    __syncthreads();
  }
  if (back || threadIdx.x != 0) return;
  const double loss = count > 0 ? -all_alignments(found + (count - 1) * L, size) : size > 1 ? infinity<double>() : 0.0;
  losses[n] = narrowed<T>(zero_infinity && loss == infinity<double>() ? 0.0 : loss);
}

// exp(x) less the shares of the alignments that go through each class: a warp for each frame t and sequence n. Labels are subtracted
// in order by one lane.
template <typename T>
__global__ void __launch_bounds__(32)
ctc_grad(const T* __restrict__ x, const i64* __restrict__ labels, const i64* __restrict__ inputs, const i64* __restrict__ lengths,
         const double* __restrict__ forward, const double* __restrict__ backward, Accumulator<T>* __restrict__ grad, i64 frames,
         i64 batch, i64 classes, i64 width, i64 blank, int zero_infinity) {
  typedef Accumulator<T> A;
  const i64 L = 2 * width + 1;
  for (i64 row = blockIdx.x; row < frames * batch; row += gridDim.x) {
    const i64 t = row / batch, n = row % batch, count = inputs[n];
    const States states = states_of(labels, lengths, n, width, classes, blank);
    const double* begins = forward + (n * frames + t) * L;
    const double* ends = backward + (n * frames + t) * L + states.size - 1;
    const double all = t < count ? all_alignments(forward + (n * frames + count - 1) * L, states.size) : 0.0;
    const bool impossible = all == -infinity<double>();
    for (i64 c = threadIdx.x; c < classes; c += 32) {
      const A nothing = impossible && !zero_infinity ? A(all - all) : A(0);
      grad[row * classes + c] = t >= count || impossible ? nothing : exp_(widened(x[row * classes + c]));
    }
    if (t >= count || impossible) continue;  // the same for all lanes
    double share = 0;
    for (i64 s = 2 * threadIdx.x; s < states.size; s += 64) {
      const double both = begins[s] + ends[-s];
      if (both != -infinity<double>()) share += exp(both - all - (double)widened(x[row * classes + blank]));
    }
    share = warp_reduce(share, Sum());
    __syncwarp();
    if (threadIdx.x == 0) {
      grad[row * classes + blank] -= A(share);
      for (i64 s = 1; s < states.size; s += 2) {
        const i64 label = states.of(s);
        const double both = begins[s] + ends[-s];
        if (both != -infinity<double>()) grad[row * classes + label] -= A(exp(both - all - (double)widened(x[row * classes + label])));
      }
    }
  }
}
