// What kernels call of the runtime, which is built once, without instrumentation (runtime.cpp), and shared by all of them.
#pragma once

#define LUCID_INLINE __attribute__((always_inline)) inline
#define LUCID_UNCHECKED __attribute__((noinline, no_sanitize("thread")))

// The built-in variables. They change with the thread that runs; what one thread sees of them never does: `const` keeps
// the compiler from checking accesses to them.
#ifndef LUCID_RUNTIME
extern "C" {
extern const uint3 lucid_thread_index, lucid_block_index;
extern const uint3 lucid_block_shape, lucid_grid_shape;
extern const unsigned lucid_lane;
extern unsigned char lucid_dynamic_shared[];
}
#endif

namespace simulator {

constexpr unsigned kWarpSize = 32;
constexpr size_t kMaxDynamicShared = 227 << 10;

// Where in the source an operation stands.
struct Place {
  Place(int line) : line(line) {}
  Place(const char* file, int line) : file(file), line(line) {}
  const char* file = "line";
  int line = 0;
};
#define LUCID_PLACE (simulator::Place{__FILE__, __LINE__})

// scheduling.py has the same fields.
struct Schedule {
  int order;
  unsigned seed;
  int poison;
  int flush_denormals;
  int strict;
  int eager_copies;
  double time_limit;
};

// An array that a launch is given. module.py has the same fields.
struct Argument {
  uintptr_t address;
  size_t bytes;
  int writable;
  const char* name;
};

// A static shared variable: module.py reads them from the library's symbols.
struct SharedVariable {
  uintptr_t address;
  size_t bytes;
  const char* name;
};

// What a library of kernels tells of itself. `shared` points to its static shared memory.
struct Library {
  uintptr_t begin, end;
  char *shared_begin, *shared_end;
  size_t variables;
  const SharedVariable* variable;
};

struct LaunchParameters {
  const char* kernel;
  dim3 grid, block;
  size_t dynamic_shared_bytes;
  const Schedule* schedule;
  unsigned checks;
  size_t arguments;
  const Argument* argument;
};

[[noreturn]] void fail(const char* format, ...);
int launch(const LaunchParameters&, const Library&, void (*body)(void*), void* body_argument);

// ---- waiting for each other
struct Exchange {
  const uint64_t* values;
  unsigned lanes;
};
void sync_block(Place place);
// The sum of `value` over the block.
long sync_block_sum(Place place, long value);
// bar.sync: `count` threads, or 0 for all of the block
void sync_named(unsigned barrier, unsigned count, Place place);
// One common step of the lanes in `mask`: each brings a value.
Exchange sync_warp(unsigned mask, uint64_t value, const char* operation, Place place, bool orders_memory = false);
// The bits that lane `source` brought; with `keep` its own.
uint64_t shuffle(unsigned mask, uint64_t value, int source, bool keep, const char* operation, Place place);
unsigned ballot(unsigned mask, bool predicate, Place place);
unsigned active_mask();
void fence(bool whole_device);
void yield();
unsigned long long switches();

// ---- memory
// Called in front of a read-modify-write.
void check_atomic(const void* address, size_t bytes);

// ---- cp.async. A copy lands as late as allowed, at the wait, which shows a missing wait; or (schedule: eager_copies) at
// once, which shows a buffer that is overwritten while others still read it. Zeros fill what `present` leaves of `bytes`.
void cp_async_zfill(void* target, const void* source, unsigned bytes, unsigned present);
void cp_commit();
// Wait until at most `pending` committed groups are under way.
void cp_wait(unsigned pending);

// ---- tensor cores: the layouts follow the PTX ISA; they have not been compared with hardware
void mma_m16n8k16_half(float* d, const uint32_t* a, const uint32_t* b, const float* c, Place place);
void mma_m16n8k16_bfloat16(float* d, const uint32_t* a, const uint32_t* b, const float* c, Place place);
void mma_m16n8k8_tf32(float* d, const uint32_t* a, const uint32_t* b, const float* c, Place place);
void ldmatrix_x4(bool transposed, uint32_t* registers, const void* row, Place place);

}  // namespace simulator
