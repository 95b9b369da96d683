// The state of a launch, and the switch from one CUDA thread to another.
#pragma once

extern "C" {
LUCID_EXPORT uint3 lucid_thread_index, lucid_block_index;
LUCID_EXPORT uint3 lucid_block_shape, lucid_grid_shape;
LUCID_EXPORT unsigned lucid_lane;
}

namespace simulator {

constexpr size_t kPageBytes = 4096;
constexpr size_t kStackBytes = kPageBytes + (128 << 10);  // the lowest page is inaccessible: endless recursion faults
constexpr size_t kMaxThreads = 1024;
// Results of warp operations are kept for this many operations: a slow lane reads its own, not a later one.
constexpr int kWarpHistory = 64;
constexpr unsigned kNamedBarriers = 16;

// `state <= READY` means that the thread can run.
enum State { NEW, READY, YIELDED, WAIT_BLOCK, WAIT_WARP, WAIT_NAMED, DONE };
enum Order { FORWARD, REVERSE, SHUFFLED };
// What LUCID_SIMULATOR_CHECKS names: the bits of scheduling.py.
enum Check { BOUNDS = 1, RACES = 2, UNINITIALIZED = 4, BARRIERS = 8, ALIGNMENT = 16 };

// A cp.async that has not been waited for: `present` bytes of the source, then zeros.
struct AsyncCopy {
  char* target;
  const char* source;
  unsigned bytes, present;
  unsigned group;
  const void* issued;  // the instruction

  void land() const {
    memcpy(target, source, present);
    memset(target + present, 0, bytes - present);
  }
};

struct Knowledge;  // runtime_order.h

// One CUDA thread.
struct Fiber {
#if defined(__x86_64__)
  void* stack_pointer = nullptr;
#else
  ucontext_t context;
#endif
  char* stack = nullptr;
  uint3 thread_index{};
  unsigned linear_index = 0;
  State state = NEW;
  // The operation that the thread waits in, and where it stands.
  const char* operation = "";
  Place place = 0;
  unsigned barriers = 0;  // how many __syncthreads it has reached
  unsigned named_barrier = 0;
  // The lanes that take part in the warp operation, the values that they brought, and which of them were there.
  unsigned mask = 0;
  bool orders_memory = false;  // as __syncwarp does, and shuffles, votes and products of matrices do not
  Exchange exchange{};
  std::vector<AsyncCopy> copies;
  unsigned copy_group = 0;
  // What the thread knows of others beyond barriers of the block and full warps, and what it had known at its latest fence.
  std::shared_ptr<Knowledge> knowledge;
  std::shared_ptr<const Knowledge> released;
};

struct Warp {
  unsigned present = 0;
  unsigned exited = 0;
  unsigned arrived = 0;
  uint64_t brought[kWarpSize];
  uint64_t history[kWarpHistory][kWarpSize];
  unsigned operations = 0;
};

// Everything that changes during a launch.
struct Launch {
  Fiber fibers[kMaxThreads];
  Warp warps[kMaxThreads / kWarpSize];
  unsigned named_arrived[kNamedBarriers];
  std::vector<unsigned> warp_order, lane_order;

  LaunchParameters parameters{};
  Library library{};
  void (*body)(void*) = nullptr;
  void* body_argument = nullptr;
  Schedule schedule{};
  unsigned checks = 0;
  unsigned random_state = 1;

  Fiber* current = nullptr;  // null outside the kernel's threads
  unsigned threads = 0;      // of the block
  unsigned alive = 0;
  unsigned arrived = 0;  // at the block's barrier
  long predicate_sum = 0;
  long predicate_result = 0;
  unsigned long long switches = 0;

  bool failed = false;
  char error[2048] = "";
  sigjmp_buf on_failure;
  pthread_t os_thread;
#if defined(__x86_64__)
  void* main_stack_pointer = nullptr;
#else
  ucontext_t main_context;
#endif
};
static Launch state;

static inline unsigned lane() { return state.current->linear_index % kWarpSize; }
static inline unsigned warp_index() { return state.current->linear_index / kWarpSize; }
static inline Warp& my_warp() { return state.warps[warp_index()]; }

// ---- failing: the launch ends, and the host raises SimulatorError with the first message
LUCID_EXPORT [[noreturn]] void fail(const char* format, ...) {
  if (!state.failed) {
    char message[1500];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    const char* kernel = state.parameters.kernel;
    if (state.current) {
      const uint3 block = lucid_block_index, thread = state.current->thread_index;
      snprintf(state.error, sizeof state.error, "kernel %s block (%u,%u,%u) thread (%u,%u,%u): %s", kernel, block.x,
               block.y, block.z, thread.x, thread.y, thread.z, message);
    } else {
      snprintf(state.error, sizeof state.error, "kernel %s: %s", kernel, message);
    }
    state.failed = true;
  }
  siglongjmp(state.on_failure, 1);
}

// ---- stacks: one stretch of memory, so that one comparison tells a local variable
static char* const stacks = [] {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* memory = mmap(nullptr, kMaxThreads * kStackBytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (memory == MAP_FAILED) abort();
  return (char*)memory;
}();
static std::vector<char*> free_stacks;

static inline bool is_local(uintptr_t address) { return address - (uintptr_t)stacks < kMaxThreads * kStackBytes; }

static char* take_stack() {
  if (free_stacks.empty()) {
    static size_t used = 0;
    char* stack = stacks + kStackBytes * used++;
    mprotect(stack, kPageBytes, PROT_NONE);
    return stack;
  }
  char* stack = free_stacks.back();
  free_stacks.pop_back();
  return stack;
}

static void give_stack(Fiber& fiber) {
  if (fiber.stack) free_stacks.push_back(fiber.stack);
  fiber.stack = nullptr;
}

// ---- switching
#if defined(__x86_64__)
// Saves the registers that a called function must keep, and the stack with them. swapcontext would do, but it calls the
// kernel of the operating system each time: 20 times slower.
__attribute__((naked, noinline)) static void switch_stack(void** /*save*/, void* /*load*/) {
  asm volatile(
      "pushq %rbp\n pushq %rbx\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n"
      "movq %rsp,(%rdi)\n movq %rsi,%rsp\n"
      "popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbx\n popq %rbp\n ret\n");
}
#endif

static void settle_all();      // runtime_access.h
static void open_shortcut();   // runtime_access.h
static void finish_current();  // runtime_barriers.h
static void begin_thread();    // runtime_order.h

// Leave the current thread until `resume` comes back to it.
static void suspend() {
  settle_all();
#if defined(__x86_64__)
  switch_stack(&state.current->stack_pointer, state.main_stack_pointer);
#else
  swapcontext(&state.current->context, &state.main_context);
#endif
}

[[noreturn]] static void fiber_main() {
  state.body(state.body_argument);
  finish_current();
  suspend();
  __builtin_unreachable();
}

static void start(Fiber& fiber) {
  fiber.stack = take_stack();
  fiber.state = READY;
#if defined(__x86_64__)
  char* top = fiber.stack + kStackBytes;
  void** pointer = (void**)(((uintptr_t)top & ~15ull) - 8);  // aligned as after a call
  *--pointer = (void*)&fiber_main;
  for (int saved_register = 0; saved_register < 6; ++saved_register) *--pointer = nullptr;
  fiber.stack_pointer = pointer;
#else
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack + kPageBytes;
  fiber.context.uc_stack.ss_size = kStackBytes - kPageBytes;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, (void (*)())fiber_main, 0);
#endif
}

// Run a thread until it waits or ends.
static void resume(Fiber& fiber) {
  state.current = &fiber;
  lucid_thread_index = fiber.thread_index;
  lucid_lane = fiber.linear_index % kWarpSize;
  begin_thread();
  open_shortcut();
  ++state.switches;
  if (fiber.state == NEW) start(fiber);
#if defined(__x86_64__)
  switch_stack(&state.main_stack_pointer, fiber.stack_pointer);
#else
  swapcontext(&state.main_context, &fiber.context);
#endif
  if (fiber.state == DONE) give_stack(fiber);
  state.current = nullptr;
}

LUCID_EXPORT unsigned long long switches() { return state.switches; }

}  // namespace simulator
