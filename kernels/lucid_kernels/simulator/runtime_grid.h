// Running a grid.
#pragma once

namespace simulator {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGPROF};
constexpr int kSignalCount = sizeof kSignals / sizeof kSignals[0];

static const char* describe_signal(int signal) {
  switch (signal) {
    case SIGSEGV:
    case SIGBUS: return "invalid memory access";
    case SIGILL: return "bounds/UB check failed";  // a check of -fsanitize
    case SIGFPE: return "integer division by zero";
    default: return "abort";
  }
}

static void on_signal(int signal, siginfo_t* info, void* context) {
  if (signal == SIGPROF) {
    if (!pthread_equal(pthread_self(), state.os_thread)) {  // the timer's signal may come to any thread
      pthread_kill(state.os_thread, signal);
      return;
    }
    fail("still running after %g seconds", state.schedule.time_limit);
  }
  void* instruction = nullptr;
#if defined(__x86_64__)
  instruction = (void*)((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
  instruction = (void*)((ucontext_t*)context)->uc_mcontext.pc;
#endif
  fail("%s (address %p) at pc %p", describe_signal(signal), info->si_addr, instruction);
}

// Faults of the kernel become failures while this lives; denormals and the time limit are the schedule's.
class Environment {
 public:
  explicit Environment(const Schedule& schedule) {
    static char alternate_stack[64 << 10];  // a fault may be that the stack is full
    stack_t stack{};
    stack.ss_sp = alternate_stack;
    stack.ss_size = sizeof alternate_stack;
    sigaltstack(&stack, &old_stack_);
    struct sigaction action {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (int i = 0; i < kSignalCount; ++i) sigaction(kSignals[i], &action, &old_actions_[i]);
    set_timer(schedule.time_limit);
#if defined(__x86_64__)
    old_control_ = _mm_getcsr();
    if (schedule.flush_denormals) _mm_setcsr(old_control_ | 0x8040);
#endif
  }
  ~Environment() {
#if defined(__x86_64__)
    _mm_setcsr(old_control_);
#endif
    set_timer(0);
    for (int i = 0; i < kSignalCount; ++i) sigaction(kSignals[i], &old_actions_[i], nullptr);
    sigaltstack(&old_stack_, nullptr);
  }

 private:
  static void set_timer(double seconds) {
    itimerval timer{};
    timer.it_value.tv_sec = (time_t)seconds;
    timer.it_value.tv_usec = (suseconds_t)((seconds - (double)timer.it_value.tv_sec) * 1e6);
    setitimer(ITIMER_PROF, &timer, nullptr);
  }

  stack_t old_stack_;
  struct sigaction old_actions_[kSignalCount];
  unsigned old_control_ = 0;
};

static void run_grid() {
  const uint3 grid = lucid_grid_shape;
  const size_t blocks = (size_t)grid.x * grid.y * grid.z;
  state.random_state = state.schedule.seed | 1;
  state.switches = 0;
  state.warp_order.clear();
  state.lane_order.clear();
  uninitialized.events = 0;
  begin_order_of_launch();
  reset_shared_memory();
  library_memory->forget_use();
  LibraryMemory& memory = *library_memory;
  shortcut = {false, memory.shared.begin, memory.shared.end - memory.shared.begin, memory.usable.data(), &memory.shared,
              (uintptr_t)dynamic_memory + state.parameters.dynamic_shared_bytes};
  if ((state.checks & kAllOfShortcut) != kAllOfShortcut) shortcut.usable = nullptr;
  for (size_t step = 0; step < blocks; ++step) {
    const size_t i = state.schedule.order == REVERSE ? blocks - 1 - step : step;
    lucid_block_index = {(unsigned)(i % grid.x), (unsigned)(i / grid.x % grid.y), (unsigned)(i / grid.x / grid.y)};
    run_block();
  }
}

// The limits of compute capability 9.0. Empty: fine.
static std::string problem_with(dim3 grid, dim3 block, size_t dynamic_shared_bytes) {
  const auto shape = [](dim3 d) {
    return "(" + std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z) + ")";
  };
  const size_t threads = (size_t)block.x * block.y * block.z;
  if (threads == 0 || threads > kMaxThreads || block.z > 64) return "bad block " + shape(block);
  if (!grid.x || !grid.y || !grid.z || grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535)
    return "bad grid " + shape(grid);
  if (dynamic_shared_bytes > kMaxDynamicShared)
    return std::to_string(dynamic_shared_bytes) + " bytes of dynamic shared memory are more than a device has";
  return "";
}

static void take_arguments() {
  ++launch_number;
  for (size_t i = 0; i < state.parameters.arguments; ++i) {
    const Argument& argument = state.parameters.argument[i];
    Array* array = array_at(argument.address);
    for (const auto& other : host_arrays)
      if (!array && other->begin <= argument.address && argument.address + argument.bytes <= other->end) array = other.get();
    if (!array) {
      host_arrays.push_back(std::make_unique<Array>(DEVICE, argument.address, argument.bytes));
      array = host_arrays.back().get();
    }
    array->read_only = !argument.writable && (array->launch != launch_number || array->read_only);
    array->launch = launch_number;
    array->argument = i;
  }
}

static void abandon() {
  for (Fiber& fiber : state.fibers) give_stack(fiber);
  state.current = nullptr;
  library_memory->use_all();
  announced.clear();
}

// 0, or 1 with a message in state.error.
LUCID_EXPORT int launch(const LaunchParameters& parameters, const Library& library, void (*body)(void*),
                        void* body_argument) {
  state.parameters = parameters;
  state.schedule = *parameters.schedule;
  state.checks = parameters.checks;
  state.library = library;
  state.body = body;
  state.body_argument = body_argument;
  state.error[0] = 0;
  state.failed = false;
  state.current = nullptr;
  const std::string problem = problem_with(parameters.grid, parameters.block, parameters.dynamic_shared_bytes);
  if (!problem.empty()) {
    snprintf(state.error, sizeof state.error, "kernel %s: %s", parameters.kernel, problem.c_str());
    return 1;
  }
  lucid_grid_shape = {parameters.grid.x, parameters.grid.y, parameters.grid.z};
  lucid_block_shape = {parameters.block.x, parameters.block.y, parameters.block.z};
  state.threads = parameters.block.x * parameters.block.y * parameters.block.z;
  state.os_thread = pthread_self();
  std::unique_ptr<LibraryMemory>& memory = libraries[library.begin];
  if (!memory) memory = std::make_unique<LibraryMemory>(library);
  library_memory = memory.get();
  if (order.block > kLastBlock) forget_cells();
  take_arguments();
  begin_tracking();
  const Environment environment(state.schedule);
  if (sigsetjmp(state.on_failure, 1) == 0) {
    run_grid();
    if (!uninitialized.reads.empty() && uninitialized.can_undo) run_with_other_contents();
  } else {
    abandon();
  }
  shortcut.open = false;
  host_arrays.clear();
  return state.failed;
}

}  // namespace simulator

extern "C" {
LUCID_EXPORT const char* lucid_error() { return simulator::state.error; }
LUCID_EXPORT unsigned long long lucid_switches() { return simulator::state.switches; }
}
