// Four random words of 32 bits by Philox4x32-10, from a counter and a seed; see lucid_kernels.cpu.random.
#pragma once
#include "common.cuh"

// Where the numbers of a launch begin. With `stored`, in launches that are captured and repeated, `seed` is an address, at which lie
// the seed and what is added to `offset`.
struct Draw { u64 seed, offset; };
template <bool stored> __device__ __forceinline__ Draw draw_of(u64 seed, u64 offset) {
  if (!stored) return {seed, offset};
  const u64* at = reinterpret_cast<const u64*>(seed);
  return {at[0], at[1] + offset};
}

// `attempt` numbers the blocks of one counter.
__device__ __forceinline__ uint4 philox(u64 counter, u64 seed, unsigned attempt = 0) {
  uint4 c = make_uint4((unsigned)counter, (unsigned)(counter >> 32), attempt, 0u);
  unsigned k0 = (unsigned)seed, k1 = (unsigned)(seed >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const unsigned high0 = __umulhi(0xD2511F53u, c.x), low0 = 0xD2511F53u * c.x;
    const unsigned high1 = __umulhi(0xCD9E8D57u, c.z), low1 = 0xCD9E8D57u * c.z;
    c = make_uint4(high1 ^ c.y ^ k0, low1, high0 ^ c.w ^ k1, low0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}
