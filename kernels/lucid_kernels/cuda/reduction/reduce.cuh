// What is accumulated by the kernels of `reduce.cu`, for each operation: an accumulator without gaps, so that it can be moved word by
// word, with what it is at first, how elements go into it, how two become one, and what comes out of it.
//
// Floats and halves are accumulated in float, doubles in double, whole numbers in 64 bits.
#pragma once
#include "halves.cuh"

template <typename T> struct AccumulatedOf {
  using Type = i64;
};
template <> struct AccumulatedOf<float> {
  using Type = float;
};
template <> struct AccumulatedOf<double> {
  using Type = double;
};
template <> struct AccumulatedOf<__half> {
  using Type = float;
};
template <> struct AccumulatedOf<__nv_bfloat16> {
  using Type = float;
};
template <typename T> using Accumulated = typename AccumulatedOf<T>::Type;
template <typename T> struct SumOf {  // the dtype of a sum
  using Type = T;
};
template <> struct SumOf<bool> {
  using Type = i64;
};
template <> struct SumOf<int> {
  using Type = i64;
};

// Of the means of a variance: an ulp more does not show there, and a division proper would take most of the time.
__device__ __forceinline__ float share_of(float part, float count) { return __fdividef(part, count); }
__device__ __forceinline__ double share_of(double part, double count) { return part / count; }

__device__ __forceinline__ float pow_of(float x, float p) { return powf(x, p); }
__device__ __forceinline__ double pow_of(double x, double p) { return pow(x, p); }

template <typename A> struct alignas(8) Single {
  A value;
};
template <> struct alignas(8) Single<float> {
  float value, none = 0.f;
};

// An operation that folds elements, each changed by `Each`, with `Fold`; `Last` makes the result of that and of two numbers.
template <typename T, typename Each, typename Fold, typename Last, typename R = T> struct Folding {
  using Element = T;
  using A = Accumulated<T>;
  using Acc = Single<A>;
  using Result = R;
  using Second = R;  // the type of a second result, which there is none of
  static constexpr bool PAIR = false;
  static __device__ __forceinline__ Acc start() {
    Acc acc;
    acc.value = Fold::template start<A>();
    return acc;
  }
  template <int V> static __device__ __forceinline__ void add(Acc& acc, const A* x, int count, i64, double p) {
#pragma unroll
    for (int v = 0; v < V; ++v)
      if (v < count) acc.value = Fold::apply(acc.value, Each::apply(x[v], (A)p));
  }
  static __device__ __forceinline__ Acc merged(Acc a, Acc b) {
    a.value = Fold::apply(a.value, b.value);
    return a;
  }
  static __device__ __forceinline__ void finish(Acc acc, double p, double q, Result* y, Second*) {
    *y = narrowed<Result>(Last::apply(acc.value, (A)p, (A)q));
  }
};

struct Itself {
  template <typename A> static __device__ __forceinline__ A apply(A x, A) { return x; }
  template <typename A> static __device__ __forceinline__ A apply(A x, A, A) { return x; }
};
struct Plus {
  template <typename A> static __device__ __forceinline__ A start() { return A(0); }
  template <typename A> static __device__ __forceinline__ A apply(A a, A b) { return a + b; }
};
struct Times {
  template <typename A> static __device__ __forceinline__ A start() { return A(1); }
  template <typename A> static __device__ __forceinline__ A apply(A a, A b) { return a * b; }
};
// NaN wins.
struct Larger {
  template <typename A> static __device__ __forceinline__ A start() { return -infinity<A>(); }
  template <typename A> static __device__ __forceinline__ A apply(A a, A b) { return a > b || a != a ? a : b; }
};
struct Smaller {
  template <typename A> static __device__ __forceinline__ A start() { return infinity<A>(); }
  template <typename A> static __device__ __forceinline__ A apply(A a, A b) { return a < b || a != a ? a : b; }
};
struct Or {
  template <typename A> static __device__ __forceinline__ A start() { return A(0); }
  template <typename A> static __device__ __forceinline__ A apply(A a, A b) { return a != A(0) || b != A(0) ? A(1) : A(0); }
};
struct And {
  template <typename A> static __device__ __forceinline__ A start() { return A(1); }
  template <typename A> static __device__ __forceinline__ A apply(A a, A b) { return a != A(0) && b != A(0) ? A(1) : A(0); }
};
struct Square {
  template <typename A> static __device__ __forceinline__ A apply(A x, A) { return x * x; }
};
struct Size {
  template <typename A> static __device__ __forceinline__ A apply(A x, A) { return x < A(0) ? -x : x; }
};
struct Power {
  template <typename A> static __device__ __forceinline__ A apply(A x, A p) { return pow_of(x < A(0) ? -x : x, p); }
};
struct NotNan {
  template <typename A> static __device__ __forceinline__ A apply(A x, A) { return x == x ? x : A(0); }
};
struct Quotient {
  template <typename A> static __device__ __forceinline__ A apply(A x, A p, A) { return x / p; }
};
struct Root {
  template <typename A> static __device__ __forceinline__ A apply(A x, A, A) { return sqrt_(x); }
};
struct PowerOf {  // of the second number
  template <typename A> static __device__ __forceinline__ A apply(A x, A, A q) { return pow_of(x, q); }
};

template <typename T> using SumAll = Folding<T, Itself, Plus, Itself, typename SumOf<T>::Type>;
template <typename T> using Mean = Folding<T, Itself, Plus, Quotient>;
template <typename T> using NanSum = Folding<T, NotNan, Plus, Itself>;
template <typename T> using Product = Folding<T, Itself, Times, Itself, typename SumOf<T>::Type>;
template <typename T> using Maximum = Folding<T, Itself, Larger, Itself>;
template <typename T> using Minimum = Folding<T, Itself, Smaller, Itself>;
template <typename T> using Any = Folding<T, Itself, Or, Itself, bool>;
template <typename T> using All = Folding<T, Itself, And, Itself, bool>;
template <typename T> using Norm1 = Folding<T, Size, Plus, Itself>;
template <typename T> using Norm2 = Folding<T, Square, Plus, Root>;
template <typename T> using NormP = Folding<T, Power, Plus, PowerOf>;

// The largest element, or the smallest, and where it is: the first of equal ones, the first NaN.
template <typename T, typename Fold> struct Extreme {
  using Element = T;
  using A = Accumulated<T>;
  struct alignas(8) Acc {
    i64 index;
    Single<A> best;
  };
  using Result = T;
  using Second = i64;
  static constexpr bool PAIR = true;
  static __device__ __forceinline__ bool beats(A a, A b) { return Fold::apply(a, b) == a ? a != b : a != a && b == b; }
  static __device__ __forceinline__ Acc start() {
    Acc acc;
    acc.index = -1;  // nothing yet
    acc.best.value = A(0);
    return acc;
  }
  template <int V> static __device__ __forceinline__ void add(Acc& acc, const A* x, int count, i64 index, double) {
#pragma unroll
    for (int v = 0; v < V; ++v)
      if (v < count && (acc.index < 0 || beats(x[v], acc.best.value))) {
        acc.best.value = x[v];
        acc.index = index + v;
      }
  }
  static __device__ __forceinline__ Acc merged(Acc a, Acc b) {
    if (b.index < 0) return a;
    if (a.index < 0 || beats(b.best.value, a.best.value)) return b;
    if (beats(a.best.value, b.best.value)) return a;
    return a.index < b.index ? a : b;
  }
  static __device__ __forceinline__ void finish(Acc acc, double, double, Result* y, Second* where) {
    *y = narrowed<T>(acc.best.value);
    *where = acc.index;
  }
};
template <typename T> using ArgMax = Extreme<T, Larger>;
template <typename T> using ArgMin = Extreme<T, Smaller>;

// The variance, or its root, and the mean. The elements of a group at first, then groups, by the distances of their means: of large
// means no digits are lost, and one quotient is taken for a group.
template <typename T, bool ROOT> struct Moments {
  using Element = T;
  using A = Accumulated<T>;
  struct alignas(8) Acc {
    A mean, squares, count, none;
  };
  using Result = T;
  using Second = T;
  static constexpr bool PAIR = true;
  static __device__ __forceinline__ Acc start() { return Acc{A(0), A(0), A(0), A(0)}; }
  template <int V> static __device__ __forceinline__ void add(Acc& acc, const A* x, int count, i64, double) {
    A sum = A(0), squares = A(0);
#pragma unroll
    for (int v = 0; v < V; ++v)
      if (v < count) sum += x[v];
    const A mean = share_of(sum, A(count));
#pragma unroll
    for (int v = 0; v < V; ++v)
      if (v < count) squares += (x[v] - mean) * (x[v] - mean);
    acc = merged(acc, Acc{mean, squares, A(count), A(0)});
  }
  static __device__ __forceinline__ Acc merged(Acc a, Acc b) {
    if (b.count == A(0)) return a;
    if (a.count == A(0)) return b;
    const A count = a.count + b.count, step = b.mean - a.mean, share = share_of(b.count, count);
    return Acc{a.mean + step * share, a.squares + b.squares + step * step * (a.count * share), count, A(0)};
  }
  static __device__ __forceinline__ void finish(Acc acc, double freedom, double, Result* y, Second* mean) {
    const A variance = acc.squares / (A)freedom;
    *y = narrowed<T>(ROOT ? sqrt_(variance) : variance);
    *mean = narrowed<T>(acc.mean);
  }
};
template <typename T> using Variance = Moments<T, false>;
template <typename T> using Deviation = Moments<T, true>;

// log(sum(exp(x))): the largest element, and the sum of the others' exponentials beside it.
template <typename T> struct LogSumExp {
  using Element = T;
  using A = Accumulated<T>;
  struct alignas(8) Acc {
    A peak, sum;
  };
  using Result = T;
  using Second = T;
  static constexpr bool PAIR = false;
  static __device__ __forceinline__ Acc start() { return Acc{-infinity<A>(), A(0)}; }
  template <int V> static __device__ __forceinline__ void add(Acc& acc, const A* x, int count, i64, double) {
    Acc group = start();
#pragma unroll
    for (int v = 0; v < V; ++v)
      if (v < count && (x[v] > group.peak || x[v] != x[v])) group.peak = x[v];
#pragma unroll
    for (int v = 0; v < V; ++v)
      if (v < count) group.sum += beside(x[v], group.peak);
    acc = merged(acc, group);
  }
  // exp(x - peak), also of infinities that are equal.
  static __device__ __forceinline__ A beside(A x, A peak) { return x == peak ? A(1) : exp_(x - peak); }
  static __device__ __forceinline__ Acc merged(Acc a, Acc b) {
    const A peak = Larger::apply(a.peak, b.peak);
    return Acc{peak, a.sum * beside(a.peak, peak) + b.sum * beside(b.peak, peak)};
  }
  static __device__ __forceinline__ void finish(Acc acc, double, double, Result* y, Second*) {
    *y = narrowed<T>(acc.peak + log_(acc.sum));
  }
};

// The largest element, the smallest, or that of the sizes of the elements, as `p` says, and how many there are of it: those equal to
// it, or NaN as it is.
template <typename T> struct Peak {
  using Element = T;
  using A = Accumulated<T>;
  struct alignas(8) Acc {
    i64 ties;
    Single<A> best;  // the smallest one with the other sign
  };
  using Result = T;
  using Second = A;
  static constexpr bool PAIR = true;
  static __device__ __forceinline__ bool smallest(double p) { return p == 1 || p == 3; }
  static __device__ __forceinline__ bool of_sizes(double p) { return p >= 2; }
  static __device__ __forceinline__ bool same(A a, A b) { return a == b || (a != a && b != b); }
  static __device__ __forceinline__ Acc start() {
    Acc acc;
    acc.ties = 0;
    acc.best.value = -infinity<A>();
    return acc;
  }
  template <int V> static __device__ __forceinline__ void add(Acc& acc, const A* x, int count, i64, double p) {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      if (v >= count) break;
      const A size = of_sizes(p) && x[v] < A(0) ? -x[v] : x[v];
      Acc one;
      one.ties = 1;
      one.best.value = smallest(p) ? -size : size;
      acc = merged(acc, one);
    }
  }
  static __device__ __forceinline__ Acc merged(Acc a, Acc b) {
    Acc acc;
    acc.best.value = Larger::apply(a.best.value, b.best.value);
    acc.ties = (same(a.best.value, acc.best.value) ? a.ties : 0) + (same(b.best.value, acc.best.value) ? b.ties : 0);
    return acc;
  }
  static __device__ __forceinline__ void finish(Acc acc, double p, double, Result* y, Second* ties) {
    *y = narrowed<T>(smallest(p) ? -acc.best.value : acc.best.value);
    *ties = A(acc.ties);
  }
};
