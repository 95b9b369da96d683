// Packs of halves that a thread keeps for later.
#pragma once
#include "halves.cuh"

// Nothing, but the compiler forgets what it has made of a pack: it would keep the floats of halves, in twice the registers.
template <typename T, int N> __device__ __forceinline__ void packed_again(Pack<T, N>& pack) {
#ifndef LUCID_SIMULATOR
  if constexpr (sizeof(T) == 2 && N == 8) {
    uint4 words;
    memcpy(&words, &pack, 16);
    asm volatile("" : "+r"(words.x), "+r"(words.y), "+r"(words.z), "+r"(words.w));
    memcpy(&pack, &words, 16);
  }
#endif
}
