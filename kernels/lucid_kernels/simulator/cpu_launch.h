// Running a grid, and the functions that Python calls.
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
  fail("%s (address %p, pc %p)", describe_signal(signal), info->si_addr, instruction);
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
  const dim3 grid = state.grid;
  const size_t blocks = (size_t)grid.x * grid.y * grid.z;
  for (size_t step = 0; step < blocks; ++step) {
    const size_t i = state.schedule.order == REVERSE ? blocks - 1 - step : step;
    state.block_index = {(unsigned)(i % grid.x), (unsigned)(i / grid.x % grid.y), (unsigned)(i / grid.x / grid.y)};
    state.block_number = (unsigned)i + 1;
    begin_watching();
    run_block();
    end_watching();
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

// 0, or 1 with a message in state.error.
template <class Body>
static int launch(const char* name, dim3 grid, dim3 block, size_t dynamic_shared_bytes, const Schedule& schedule,
                  Body&& body) {
  state.kernel = name;
  state.error[0] = 0;
  state.failed = false;
  state.current = nullptr;
  const std::string problem = problem_with(grid, block, dynamic_shared_bytes);
  if (!problem.empty()) {
    snprintf(state.error, sizeof state.error, "kernel %s: %s", name, problem.c_str());
    return 1;
  }
  state.grid = grid;
  state.block = block;
  state.threads = block.x * block.y * block.z;
  state.dynamic_shared_bytes = dynamic_shared_bytes;
  state.schedule = schedule;
  state.random_state = schedule.seed | 1;
  state.os_thread = pthread_self();
  state.warp_order.clear();
  state.lane_order.clear();
  state.body = [](void* argument) { (*(std::remove_reference_t<Body>*)argument)(); };
  state.body_argument = (void*)&body;
  const Environment environment(schedule);
  if (sigsetjmp(state.on_failure, 1) == 0) {
    run_grid();
  } else {  // the threads were abandoned: take their stacks back
    for (Fiber& fiber : state.fibers) give_stack(fiber);
    state.current = nullptr;
  }
  return state.failed;
}

// ---- signatures: one code per argument, which module.py compares with what it is given
template <class T> std::string type_code() {
  if constexpr (std::is_pointer_v<T>) {
    using Pointed = std::remove_pointer_t<T>;
    return std::string("*") + (std::is_const_v<Pointed> ? "c" : "m") + type_code<std::remove_cv_t<Pointed>>();
  } else if constexpr (std::is_void_v<T>) {
    return "v0";
  } else if constexpr (std::is_same_v<T, __half>) {
    return "h2";
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return "B2";
  } else if constexpr (std::is_same_v<T, bool>) {
    return "b1";
  } else if constexpr (std::is_floating_point_v<T>) {
    return "f" + std::to_string(sizeof(T));
  } else if constexpr (std::is_integral_v<T>) {
    return (std::is_signed_v<T> ? "i" : "u") + std::to_string(sizeof(T));
  } else {
    return "x" + std::to_string(sizeof(T));  // a struct, by value
  }
}

template <class... Arguments> const char* signature_of(void (*)(Arguments...)) {
  static const std::string codes = [] {
    std::string joined;
    ((joined += type_code<Arguments>() + ","), ...);
    return joined;
  }();
  return codes.c_str();
}

// `arguments` points to the values; `sizes` is the grid and the block.
template <class... Arguments, size_t... I>
int launch_packed(const char* name, void (*kernel)(Arguments...), void** arguments, const unsigned* sizes,
                  size_t shared, const Schedule* schedule, std::index_sequence<I...>) {
  const dim3 grid(sizes[0], sizes[1], sizes[2]), block(sizes[3], sizes[4], sizes[5]);
  return launch(name, grid, block, shared, *schedule, [=] { kernel(*(std::remove_cv_t<Arguments>*)arguments[I]...); });
}

template <class... Arguments>
int launch_packed(const char* name, void (*kernel)(Arguments...), void** arguments, const unsigned* sizes,
                  size_t shared, const Schedule* schedule) {
  return launch_packed(name, kernel, arguments, sizes, shared, schedule, std::index_sequence_for<Arguments...>{});
}

}  // namespace simulator

#define LUCID_EXPORT_KERNEL(index, ...)                                                                         \
  extern "C" const char* lucid_signature_##index() { return simulator::signature_of(__VA_ARGS__); }             \
  extern "C" int lucid_launch_##index(const char* name, void** arguments, const unsigned* sizes, size_t shared, \
                                      const simulator::Schedule* schedule) {                                    \
    return simulator::launch_packed(name, __VA_ARGS__, arguments, sizes, shared, schedule);                     \
  }

// The arrays that the next launches may write, to be watched for races.
extern "C" void lucid_watch(int count, void** addresses, const size_t* bytes, const size_t* element_bytes) {
  simulator::state.watches.clear();
  for (int i = 0; i < count; ++i) {
    const size_t elements = bytes[i] / element_bytes[i];
    simulator::state.watches.push_back({(unsigned char*)addresses[i], bytes[i], element_bytes[i],
                                        std::vector<unsigned char>(bytes[i]), std::vector<unsigned>(elements),
                                        std::vector<unsigned>(elements)});
  }
}
extern "C" const char* lucid_error() { return simulator::state.error; }
extern "C" unsigned long long lucid_switches() { return simulator::state.switches; }
