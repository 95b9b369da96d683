// CUDA's built-in variables, barriers, warp operations and atomics.
#pragma once

#define threadIdx (simulator::state.current->thread_index)
#define blockIdx (simulator::state.block_index)
#define blockDim (simulator::state.block)
#define gridDim (simulator::state.grid)
static constexpr int warpSize = simulator::kWarpSize;
#define LUCID_DYNAMIC_SHARED_MEMORY(T, name) T* const name = reinterpret_cast<T*>(simulator::dynamic_shared)

// ---- barriers
#define __syncthreads() simulator::sync_block(__LINE__)
#define __syncthreads_count(p) ((int)simulator::sync_block_sum(__LINE__, !!(p)))
#define __syncthreads_or(p) ((int)(simulator::sync_block_sum(__LINE__, !!(p)) != 0))
#define __syncthreads_and(p) ((int)(simulator::sync_block_sum(__LINE__, !(p)) == 0))

namespace simulator {
struct SyncWarp {
  int line;
  void operator()(unsigned mask = 0xffffffffu) const { sync_warp(mask, 0, "__syncwarp", line); }
};

// ---- warp operations
template <class T> uint64_t to_bits(T value) {
  static_assert(sizeof(T) <= 8, "warp operations exchange at most eight bytes");
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T> T from_bits(uint64_t bits) {
  T value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

// `keep`: the source lies outside the segment, the lane keeps its own value.
template <class T> T shuffle(unsigned mask, T value, int source, bool keep, const char* operation, int line) {
  sync_warp(mask, to_bits(value), operation, line);
  if (keep) return value;
  const Fiber& fiber = *state.current;
  if (!(fiber.exchanged_lanes >> (source & 31) & 1)) {
    if (state.schedule.strict)
      fail("%s (line %d): lane %u reads lane %d, which is not active", operation, line, lane(), source);
    return value;
  }
  return from_bits<T>(fiber.exchanged[source & 31]);
}
static inline int segment_start(int width) { return (int)lane() & ~(width - 1); }

template <class T> T shuffle_index(int line, unsigned mask, T value, int source, int width = 32) {
  return shuffle(mask, value, segment_start(width) + (source & (width - 1)), false, "__shfl_sync", line);
}
template <class T> T shuffle_up(int line, unsigned mask, T value, unsigned delta, int width = 32) {
  const int source = (int)lane() - (int)delta;
  return shuffle(mask, value, source, source < segment_start(width), "__shfl_up_sync", line);
}
template <class T> T shuffle_down(int line, unsigned mask, T value, unsigned delta, int width = 32) {
  const int source = (int)(lane() + delta);
  return shuffle(mask, value, source, source >= segment_start(width) + width, "__shfl_down_sync", line);
}
template <class T> T shuffle_xor(int line, unsigned mask, T value, int lanes, int width = 32) {
  const int source = (int)(lane() ^ lanes);
  return shuffle(mask, value, source, source >= segment_start(width) + width, "__shfl_xor_sync", line);
}

static inline unsigned ballot(int line, unsigned mask, int predicate) {
  sync_warp(mask, !!predicate, "__ballot_sync", line);
  const Fiber& fiber = *state.current;
  unsigned result = 0;
  for (unsigned i = 0; i < kWarpSize; ++i)
    if ((fiber.exchanged_lanes >> i & 1) && fiber.exchanged[i]) result |= 1u << i;
  return result;
}

struct Sum {
  template <class T> T operator()(T a, T b) const { return a + b; }
};
struct Larger {
  template <class T> T operator()(T a, T b) const { return a > b ? a : b; }
};
struct Smaller {
  template <class T> T operator()(T a, T b) const { return a < b ? a : b; }
};
template <class T, class Operation> T warp_reduce(int line, unsigned mask, T value, Operation operation) {
  sync_warp(mask, to_bits(value), "__reduce_sync", line);
  const Fiber& fiber = *state.current;
  bool first = true;
  T result{};
  for (unsigned i = 0; i < kWarpSize; ++i) {
    if (!(fiber.exchanged_lanes >> i & 1)) continue;
    const T other = from_bits<T>(fiber.exchanged[i]);
    result = first ? other : operation(result, other);
    first = false;
  }
  return result;
}
}  // namespace simulator

#define __syncwarp simulator::SyncWarp{__LINE__}
#define __shfl_sync(...) simulator::shuffle_index(__LINE__, __VA_ARGS__)
#define __shfl_up_sync(...) simulator::shuffle_up(__LINE__, __VA_ARGS__)
#define __shfl_down_sync(...) simulator::shuffle_down(__LINE__, __VA_ARGS__)
#define __shfl_xor_sync(...) simulator::shuffle_xor(__LINE__, __VA_ARGS__)
#define __ballot_sync(mask, p) simulator::ballot(__LINE__, mask, p)
#define __any_sync(mask, p) ((int)(simulator::ballot(__LINE__, mask, p) != 0))
#define __all_sync(mask, p) ((int)(simulator::ballot(__LINE__, mask, !(p)) == 0))
#define __reduce_add_sync(mask, v) simulator::warp_reduce(__LINE__, mask, v, simulator::Sum())
#define __reduce_max_sync(mask, v) simulator::warp_reduce(__LINE__, mask, v, simulator::Larger())
#define __reduce_min_sync(mask, v) simulator::warp_reduce(__LINE__, mask, v, simulator::Smaller())
static inline unsigned __activemask() { return simulator::my_warp().present & ~simulator::my_warp().exited; }

static inline void __threadfence() {}
static inline void __threadfence_block() {}
static inline void __threadfence_system() {}
static inline void __nanosleep(unsigned) { simulator::yield(); }
static inline long long clock64() { return (long long)simulator::state.switches; }
#define __trap() simulator::fail("__trap() at line %d", __LINE__)

// ---- atomics: with one thread of the operating system, reading and then writing is atomic as it stands
namespace simulator {
template <class T, class Operation> T read_modify_write(T* address, Operation operation) {
  note_atomic(address);
  const T old = *address;
  *address = operation(old);
  return old;
}
}  // namespace simulator

template <class T, class U> T atomicAdd(T* p, U v) {
  return simulator::read_modify_write(p, [v](T old) { return (T)(old + (T)v); });
}
template <class T, class U> T atomicSub(T* p, U v) {
  return simulator::read_modify_write(p, [v](T old) { return (T)(old - (T)v); });
}
template <class T, class U> T atomicMax(T* p, U v) {
  return simulator::read_modify_write(p, [v](T old) { return (T)v > old ? (T)v : old; });
}
template <class T, class U> T atomicMin(T* p, U v) {
  return simulator::read_modify_write(p, [v](T old) { return (T)v < old ? (T)v : old; });
}
template <class T, class U> T atomicExch(T* p, U v) {
  return simulator::read_modify_write(p, [v](T) { return (T)v; });
}
template <class T, class U> T atomicOr(T* p, U v) {
  return simulator::read_modify_write(p, [v](T old) { return (T)(old | (T)v); });
}
template <class T, class U> T atomicAnd(T* p, U v) {
  return simulator::read_modify_write(p, [v](T old) { return (T)(old & (T)v); });
}
template <class T, class U> T atomicXor(T* p, U v) {
  return simulator::read_modify_write(p, [v](T old) { return (T)(old ^ (T)v); });
}
template <class T> T atomicInc(T* p, T limit) {
  return simulator::read_modify_write(p, [limit](T old) { return old >= limit ? (T)0 : (T)(old + 1); });
}
template <class T, class U, class V> T atomicCAS(T* p, U expected, V v) {
  return simulator::read_modify_write(p, [expected, v](T old) { return old == (T)expected ? (T)v : old; });
}

// ---- loads and stores with a cache hint
template <class T> T __ldg(const T* p) { return *p; }
template <class T> T __ldca(const T* p) { return *p; }
template <class T> T __ldcs(const T* p) { return *p; }
template <class T> T __ldcg(const T* p) { return *p; }
template <class T> T __ldlu(const T* p) { return *p; }
template <class T> T __ldcv(const T* p) { return *p; }
template <class T> void __stcs(T* p, T v) { *p = v; }
template <class T> void __stcg(T* p, T v) { *p = v; }
template <class T> void __stwb(T* p, T v) { *p = v; }
template <class T> void __stwt(T* p, T v) { *p = v; }
static inline size_t __cvta_generic_to_shared(const void* p) { return (size_t)p; }
