// instantiate: store_words
//
// Writes `count` words of 64 bits, which the launch carries among its arguments: nothing is copied from the host or waited for,
// and a captured launch has them too.
#include "common.cuh"

constexpr int WORDS = 256;
struct Words { i64 at[WORDS]; };

extern "C" __global__ void __launch_bounds__(256, 1) store_words(i64* target, int count, Words words) {
  if (threadIdx.x < count) target[threadIdx.x] = words.at[threadIdx.x];
}
