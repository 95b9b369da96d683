// The state of a launch, and the switch from one CUDA thread to another.
#pragma once

namespace simulator {

constexpr size_t kStackBytes = 128 << 10;
constexpr size_t kPageBytes = 4096;
constexpr size_t kMaxThreads = 1024;
constexpr size_t kMaxDynamicShared = 227 << 10;
constexpr size_t kCanaryBytes = 256;
constexpr unsigned char kCanary = 0xA5;
constexpr unsigned kWarpSize = 32;
// Results of warp operations are kept for this many operations: a slow lane reads its own, not a later one.
constexpr int kWarpHistory = 64;
constexpr unsigned kNamedBarriers = 16;

// `state <= READY` means that the thread can run.
enum State { NEW, READY, WAIT_BLOCK, WAIT_WARP, WAIT_NAMED, DONE };
enum Order { FORWARD, REVERSE, SHUFFLED };

// scheduling.py has the same fields.
struct Schedule {
  int order = FORWARD;
  unsigned seed = 1;
  int poison = 1;
  int flush_denormals = 1;
  int strict = 1;
  int eager_copies = 0;
  double time_limit = 0;
};

// A cp.async that has not been waited for.
struct AsyncCopy {
  void* target;
  const void* source;
  unsigned bytes;
  unsigned group;
};

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
  // The operation that the thread waits in, and its source line.
  const char* operation = "";
  int line = 0;
  unsigned named_barrier = 0;
  // The lanes that take part in the warp operation, the values that they brought, and which of them were there.
  unsigned mask = 0;
  const uint64_t* exchanged = nullptr;
  unsigned exchanged_lanes = 0;
  std::vector<AsyncCopy> copies;
  unsigned copy_group = 0;
};

struct Warp {
  unsigned present = 0;
  unsigned exited = 0;
  unsigned arrived = 0;
  uint64_t brought[kWarpSize];
  uint64_t history[kWarpHistory][kWarpSize];
  unsigned operations = 0;
};

// A device array watched for plain writes of one element by two blocks.
struct Watch {
  unsigned char* address;
  size_t bytes;
  size_t element_bytes;
  std::vector<unsigned char> before;    // the contents at the start of the block
  std::vector<unsigned> writer;         // 0: nobody; else 2 * (block + 1), plus 1 for an atomic write
  std::vector<unsigned> atomic_writer;  // block + 1 of the latest atomic operation
};

// Everything that changes during a launch. One hidden object per library.
struct Launch {
  Fiber fibers[kMaxThreads];
  Warp warps[kMaxThreads / kWarpSize];
  unsigned named_arrived[kNamedBarriers];
  std::vector<char*> free_stacks;
  std::vector<Watch> watches;
  std::vector<unsigned> warp_order, lane_order;

  const char* kernel = "";
  void (*body)(void*) = nullptr;
  void* body_argument = nullptr;
  dim3 grid, block;
  size_t dynamic_shared_bytes = 0;
  Schedule schedule;
  unsigned random_state = 1;

  Fiber* current = nullptr;  // null outside the kernel's threads
  uint3 block_index{};
  unsigned block_number = 0;  // from 1
  unsigned threads = 0;       // of the block
  unsigned alive = 0;
  unsigned arrived = 0;  // at the block's barrier
  long predicate_sum = 0;
  long predicate_result = 0;
  unsigned long long switches = 0;

  bool failed = false;
  char error[1024] = "";
  sigjmp_buf on_failure;
  pthread_t os_thread;
#if defined(__x86_64__)
  void* main_stack_pointer = nullptr;
#else
  ucontext_t main_context;
#endif
};
static Launch state;
alignas(1024) static unsigned char dynamic_shared[kMaxDynamicShared + kCanaryBytes];

static inline unsigned lane() { return state.current->linear_index % kWarpSize; }
static inline unsigned warp_index() { return state.current->linear_index / kWarpSize; }
static inline Warp& my_warp() { return state.warps[warp_index()]; }

// ---- failing: the launch ends, and the host raises SimulatorError with the first message
[[noreturn]] static void fail(const char* format, ...) {
  if (!state.failed) {
    char message[700];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (state.current) {
      const uint3 block = state.block_index, thread = state.current->thread_index;
      snprintf(state.error, sizeof state.error, "kernel %s block (%u,%u,%u) thread (%u,%u,%u): %s", state.kernel,
               block.x, block.y, block.z, thread.x, thread.y, thread.z, message);
    } else {
      snprintf(state.error, sizeof state.error, "kernel %s: %s", state.kernel, message);
    }
    state.failed = true;
  }
  siglongjmp(state.on_failure, 1);
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

// Leave the current thread until `resume` comes back to it.
static void suspend() {
#if defined(__x86_64__)
  switch_stack(&state.current->stack_pointer, state.main_stack_pointer);
#else
  swapcontext(&state.current->context, &state.main_context);
#endif
}

static void finish_current();  // cpu_barriers.h

[[noreturn]] static void fiber_main() {
  state.body(state.body_argument);
  finish_current();
  suspend();
  __builtin_unreachable();
}

// The lowest page of a stack is inaccessible: endless recursion faults.
static char* take_stack() {
  if (!state.free_stacks.empty()) {
    char* stack = state.free_stacks.back();
    state.free_stacks.pop_back();
    return stack;
  }
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  char* stack = (char*)mmap(nullptr, kPageBytes + kStackBytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (stack == MAP_FAILED) fail("no memory for the stacks of the threads");
  mprotect(stack, kPageBytes, PROT_NONE);
  return stack;
}

static void give_stack(Fiber& fiber) {
  if (fiber.stack) state.free_stacks.push_back(fiber.stack);
  fiber.stack = nullptr;
}

static void start(Fiber& fiber) {
  fiber.stack = take_stack();
  fiber.state = READY;
#if defined(__x86_64__)
  char* top = fiber.stack + kPageBytes + kStackBytes;
  void** pointer = (void**)(((uintptr_t)top & ~15ull) - 8);  // aligned as after a call
  *--pointer = (void*)&fiber_main;
  for (int saved_register = 0; saved_register < 6; ++saved_register) *--pointer = nullptr;
  fiber.stack_pointer = pointer;
#else
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack + kPageBytes;
  fiber.context.uc_stack.ss_size = kStackBytes;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, (void (*)())fiber_main, 0);
#endif
}

// Run a thread until it waits or ends.
static void resume(Fiber& fiber) {
  state.current = &fiber;
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

}  // namespace simulator
