// CUDA's built-in variables, barriers, warp operations and atomics.
#pragma once

#define threadIdx lucid_thread_index
#define blockIdx lucid_block_index
#define blockDim lucid_block_shape
#define gridDim lucid_grid_shape
static constexpr int warpSize = simulator::kWarpSize;
#define LUCID_DYNAMIC_SHARED_MEMORY(T, name) T* const name = reinterpret_cast<T*>(lucid_dynamic_shared)

// ---- barriers
#define __syncthreads() simulator::sync_block(LUCID_PLACE)
#define __syncthreads_count(p) ((int)simulator::sync_block_sum(LUCID_PLACE, !!(p)))
#define __syncthreads_or(p) ((int)(simulator::sync_block_sum(LUCID_PLACE, !!(p)) != 0))
#define __syncthreads_and(p) ((int)(simulator::sync_block_sum(LUCID_PLACE, !(p)) == 0))

namespace simulator {
struct SyncWarp {
  Place place;
  LUCID_INLINE void operator()(unsigned mask = 0xffffffffu) const { sync_warp(mask, 0, "__syncwarp", place, true); }
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

template <class T>
T shuffle_value(unsigned mask, T value, int source, bool keep, const char* operation, Place place) {
  return from_bits<T>(shuffle(mask, to_bits(value), source, keep, operation, place));
}
static inline int segment_start(int width) { return (int)lucid_lane & ~(width - 1); }

template <class T> T shuffle_index(Place place, unsigned mask, T value, int source, int width = 32) {
  return shuffle_value(mask, value, segment_start(width) + (source & (width - 1)), false, "__shfl_sync", place);
}
template <class T> T shuffle_up(Place place, unsigned mask, T value, unsigned delta, int width = 32) {
  const int source = (int)lucid_lane - (int)delta;
  return shuffle_value(mask, value, source, source < segment_start(width), "__shfl_up_sync", place);
}
template <class T> T shuffle_down(Place place, unsigned mask, T value, unsigned delta, int width = 32) {
  const int source = (int)(lucid_lane + delta);
  return shuffle_value(mask, value, source, source >= segment_start(width) + width, "__shfl_down_sync", place);
}
template <class T> T shuffle_xor(Place place, unsigned mask, T value, int lanes, int width = 32) {
  const int source = (int)(lucid_lane ^ lanes);
  return shuffle_value(mask, value, source, source >= segment_start(width) + width, "__shfl_xor_sync", place);
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
template <class T, class Operation> LUCID_UNCHECKED T warp_reduce(Place place, unsigned mask, T value, Operation operation) {
  const Exchange exchange = sync_warp(mask, to_bits(value), "__reduce_sync", place);
  bool first = true;
  T result{};
  for (unsigned i = 0; i < kWarpSize; ++i) {
    if (!(exchange.lanes >> i & 1)) continue;
    const T other = from_bits<T>(exchange.values[i]);
    result = first ? other : operation(result, other);
    first = false;
  }
  return result;
}
}  // namespace simulator

#define __syncwarp simulator::SyncWarp{LUCID_PLACE}
#define __shfl_sync(...) simulator::shuffle_index(LUCID_PLACE, __VA_ARGS__)
#define __shfl_up_sync(...) simulator::shuffle_up(LUCID_PLACE, __VA_ARGS__)
#define __shfl_down_sync(...) simulator::shuffle_down(LUCID_PLACE, __VA_ARGS__)
#define __shfl_xor_sync(...) simulator::shuffle_xor(LUCID_PLACE, __VA_ARGS__)
#define __ballot_sync(mask, p) simulator::ballot(mask, p, LUCID_PLACE)
#define __any_sync(mask, p) ((int)(simulator::ballot(mask, p, LUCID_PLACE) != 0))
#define __all_sync(mask, p) ((int)(simulator::ballot(mask, !(p), LUCID_PLACE) == 0))
#define __reduce_add_sync(mask, v) simulator::warp_reduce(LUCID_PLACE, mask, v, simulator::Sum())
#define __reduce_max_sync(mask, v) simulator::warp_reduce(LUCID_PLACE, mask, v, simulator::Larger())
#define __reduce_min_sync(mask, v) simulator::warp_reduce(LUCID_PLACE, mask, v, simulator::Smaller())
static inline unsigned __activemask() { return simulator::active_mask(); }

static inline void __threadfence() { simulator::fence(true); }
static inline void __threadfence_block() { simulator::fence(false); }
static inline void __threadfence_system() { simulator::fence(true); }
static inline void __nanosleep(unsigned) { simulator::yield(); }
static inline long long clock64() { return (long long)simulator::switches(); }
#define __trap() simulator::fail("__trap() at %s:%d", __FILE__, __LINE__)

// ---- atomics: with one thread of the operating system, reading and then writing is atomic as it stands
namespace simulator {
template <class T, class Operation> LUCID_UNCHECKED T modify(T* address, Operation operation) {
  const T old = *address;
  *address = operation(old);
  return old;
}
template <class T, class Operation> LUCID_INLINE T read_modify_write(T* address, Operation operation) {
  check_atomic((const void*)address, sizeof(T));
  return modify(address, operation);
}
}  // namespace simulator

template <class T, class U> LUCID_INLINE T atomicAdd(T* p, U v) {
  return simulator::read_modify_write(p, [v](T old) { return (T)(old + (T)v); });
}
template <class T, class U> LUCID_INLINE T atomicSub(T* p, U v) {
  return simulator::read_modify_write(p, [v](T old) { return (T)(old - (T)v); });
}
template <class T, class U> LUCID_INLINE T atomicMax(T* p, U v) {
  return simulator::read_modify_write(p, [v](T old) { return (T)v > old ? (T)v : old; });
}
template <class T, class U> LUCID_INLINE T atomicMin(T* p, U v) {
  return simulator::read_modify_write(p, [v](T old) { return (T)v < old ? (T)v : old; });
}
template <class T, class U> LUCID_INLINE T atomicExch(T* p, U v) {
  return simulator::read_modify_write(p, [v](T) { return (T)v; });
}
template <class T, class U> LUCID_INLINE T atomicOr(T* p, U v) {
  return simulator::read_modify_write(p, [v](T old) { return (T)(old | (T)v); });
}
template <class T, class U> LUCID_INLINE T atomicAnd(T* p, U v) {
  return simulator::read_modify_write(p, [v](T old) { return (T)(old & (T)v); });
}
template <class T, class U> LUCID_INLINE T atomicXor(T* p, U v) {
  return simulator::read_modify_write(p, [v](T old) { return (T)(old ^ (T)v); });
}
template <class T> LUCID_INLINE T atomicInc(T* p, T limit) {
  return simulator::read_modify_write(p, [limit](T old) { return old >= limit ? (T)0 : (T)(old + 1); });
}
template <class T, class U, class V> LUCID_INLINE T atomicCAS(T* p, U expected, V v) {
  return simulator::read_modify_write(p, [expected, v](T old) { return old == (T)expected ? (T)v : old; });
}

// ---- loads and stores with a cache hint
template <class T> LUCID_INLINE T __ldg(const T* p) { return *p; }
template <class T> LUCID_INLINE T __ldca(const T* p) { return *p; }
template <class T> LUCID_INLINE T __ldcs(const T* p) { return *p; }
template <class T> LUCID_INLINE T __ldcg(const T* p) { return *p; }
template <class T> LUCID_INLINE T __ldlu(const T* p) { return *p; }
template <class T> LUCID_INLINE T __ldcv(const T* p) { return *p; }
template <class T> LUCID_INLINE void __stcs(T* p, T v) { *p = v; }
template <class T> LUCID_INLINE void __stcg(T* p, T v) { *p = v; }
template <class T> LUCID_INLINE void __stwb(T* p, T v) { *p = v; }
template <class T> LUCID_INLINE void __stwt(T* p, T v) { *p = v; }
static inline size_t __cvta_generic_to_shared(const void* p) { return (size_t)p; }
