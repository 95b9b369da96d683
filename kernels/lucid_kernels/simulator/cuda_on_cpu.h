// simulator.h - execute CUDA C++ kernels on the CPU, for tests only.
//
// A .cu file is compiled by g++ as C++17 with this header in front of it. Each
// CUDA thread of a block becomes a fiber (user-space context) on ONE OS thread;
// blocks run one after another. Fibers switch only at synchronisation points
// (__syncthreads, warp intrinsics, named barriers), so a missing barrier makes a
// reader run before the writer for at least one of the schedules (forward,
// reverse, shuffled) that the test harness tries.
//
// Checks that a GPU does not make: divergent or mismatched barriers, shuffles
// that read an inactive lane, deadlocks, use of uninitialised shared memory
// (poisoned with 0xFF = NaN), writes past the dynamic shared memory, faults with
// kernel/block/thread coordinates, launch limits of a real device.
#pragma once
#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <sys/mman.h>
#if defined(__x86_64__)
#include <immintrin.h>
#else
#include <ucontext.h>
#endif
// NVIDIA's own headers have host paths for the 16-bit types: exact rounding, exact API.
#include <cuda_fp16.h>
#include <cuda_bf16.h>

#define LUCID_SIMULATOR 1
#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __constant__
#undef __forceinline__
#undef __launch_bounds__
#undef __grid_constant__
#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __grid_constant__
#ifndef __align__
#define __align__(n) __attribute__((aligned(n)))
#endif
// All static shared arrays of the module live in one linker section, so that it
// can be poisoned at the start of every block (the source sits in an anonymous
// namespace: no COMDAT, no section conflict).
#define __shared__ static __attribute__((section("lucid_shared"), aligned(16)))
extern "C" {
extern char __start_lucid_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_lucid_shared[] __attribute__((weak, visibility("hidden")));
}

namespace simulator {

constexpr size_t kStack = 128 << 10, kMaxThreads = 1024, kMaxDynSmem = 227 << 10, kCanary = 256;
constexpr int kGen = 64;
enum State { NEW, READY, WAIT_BLOCK, WAIT_WARP, WAIT_BAR, DONE };
static const char* const kStateName[] = {"new", "ready", "__syncthreads", "warp op", "named barrier", "done"};

struct CpAsync { void* dst; const void* src; unsigned bytes, group; };
struct Fiber {
#if defined(__x86_64__)
  void* sp = nullptr;
#else
  ucontext_t ctx;
#endif
  char* stack = nullptr;
  uint3 tid{};
  unsigned lin = 0;
  State state = NEW;
  int site = 0;               // source line of the pending synchronisation
  const char* op = "";
  unsigned mask = 0;          // lanes named by the pending warp op
  const uint64_t* in = nullptr;  // values exchanged by the last warp op
  unsigned in_active = 0;
  unsigned bar_id = 0;
  unsigned cp_group = 0;
  std::vector<CpAsync> cp;    // cp.async not yet waited for
};
struct Warp {
  unsigned present = 0, exited = 0, arrived = 0;
  uint64_t slot[32];
  uint64_t gen[kGen][32];
  unsigned next = 0;
};
struct Config { int order = 0; unsigned seed = 1; int poison = 1; int ftz = 1; int strict = 1; int eager = 0; double time_limit = 0; };
struct NamedBar { unsigned arrived = 0; };
// Device arrays watched for plain (non-atomic) writes of one word by two blocks.
struct Watch {
  unsigned char* ptr; size_t bytes, word;
  std::vector<unsigned char> before;
  std::vector<unsigned> owner;  // 0 none, 2*(block+1) plain, +1 atomic
  std::vector<unsigned> atom;   // block+1 that touched the word atomically last
};
// Everything mutable sits in one hidden static object per module (.so).
struct Sim {
  Fiber fib[kMaxThreads];
  Warp warp[kMaxThreads / 32];
  NamedBar bar[16];
  std::vector<char*> free_stacks;
  std::vector<Watch> watch;
  unsigned block_no = 0;
  std::vector<unsigned> order, lanes;
  Fiber* cur = nullptr;
  unsigned nthreads = 0, live = 0, arrived = 0;
  long pred_acc = 0, pred_res = 0;
  uint3 bid{};
  dim3 bdim, gdim;
  size_t smem_bytes = 0;
  Config cfg;
  const char* kernel = "";
  char err[1024] = "";
  bool failed = false;
  void (*entry)(void*) = nullptr;
  void* entry_arg = nullptr;
#if defined(__x86_64__)
  void* main_sp = nullptr;
#else
  ucontext_t main_ctx;
#endif
  sigjmp_buf jb;
  unsigned rng = 1;
  unsigned long long switches = 0;
};
static Sim S;
alignas(1024) static unsigned char dyn_smem[kMaxDynSmem + kCanary];

// ---- context switch -------------------------------------------------------
#if defined(__x86_64__)
__attribute__((naked, noinline)) static void ctx_switch(void** /*save*/, void* /*load*/) {
  asm volatile(
      "pushq %rbp\n pushq %rbx\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n"
      "movq %rsp,(%rdi)\n movq %rsi,%rsp\n"
      "popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbx\n popq %rbp\n ret\n");
}
#endif
static void to_main() {
#if defined(__x86_64__)
  ctx_switch(&S.cur->sp, S.main_sp);
#else
  swapcontext(&S.cur->ctx, &S.main_ctx);
#endif
}
[[noreturn]] static void fail(const char* fmt, ...) {
  if (!S.failed) {
    char msg[700];
    va_list ap; va_start(ap, fmt); vsnprintf(msg, sizeof msg, fmt, ap); va_end(ap);
    if (S.cur)
      snprintf(S.err, sizeof S.err, "kernel %s block (%u,%u,%u) thread (%u,%u,%u): %s", S.kernel, S.bid.x, S.bid.y,
               S.bid.z, S.cur->tid.x, S.cur->tid.y, S.cur->tid.z, msg);
    else
      snprintf(S.err, sizeof S.err, "kernel %s: %s", S.kernel, msg);
    S.failed = true;
  }
  siglongjmp(S.jb, 1);
}

// ---- barriers -------------------------------------------------------------
static inline unsigned lane_id() { return S.cur->lin & 31; }
static inline Warp& my_warp() { return S.warp[S.cur->lin >> 5]; }

static void release_block() {
  int site = 0;
  for (unsigned i = 0; i < S.nthreads; ++i) {
    Fiber& f = S.fib[i];
    if (f.state != WAIT_BLOCK && &f != S.cur) continue;
    if (f.state == DONE) continue;
    if (S.cfg.strict && site && f.site != site)
      fail("threads of one block meet at different __syncthreads (lines %d and %d)", site, f.site);
    site = f.site;
    f.state = READY;
  }
  S.arrived = 0;
  S.pred_res = S.pred_acc;
  S.pred_acc = 0;
}
static void sync_block(int line, const char* op = "__syncthreads") {
  Fiber* f = S.cur;
  f->site = line; f->op = op;
  if (++S.arrived == S.live) { release_block(); return; }
  f->state = WAIT_BLOCK;
  to_main();
}
static long sync_block_pred(int line, long v) { S.pred_acc += v; sync_block(line); return S.pred_res; }

static void try_release_warp(unsigned wi, unsigned mask) {
  Warp& w = S.warp[wi];
  unsigned need = mask & w.present & ~w.exited;
  if (!need || (w.arrived & mask) != need) return;
  uint64_t* g = w.gen[w.next++ % kGen];
  memcpy(g, w.slot, sizeof w.slot);
  const char* op = nullptr; int site = 0;
  for (unsigned l = 0; l < 32; ++l) {
    if (!(need >> l & 1)) continue;
    Fiber& f = S.fib[wi * 32 + l];
    if (f.mask != mask) return;  // a lane waits in another group: not complete
    if (S.cfg.strict && op && (f.site != site || strcmp(op, f.op)))
      fail("lanes of one warp meet at different warp ops (%s line %d, %s line %d)", op, site, f.op, f.site);
    op = f.op; site = f.site;
  }
  for (unsigned l = 0; l < 32; ++l)
    if (need >> l & 1) { Fiber& f = S.fib[wi * 32 + l]; f.state = READY; f.in = g; f.in_active = need; }
  w.arrived &= ~mask;
}
// One collective step of the lanes in `mask`; every lane contributes `v`.
static void sync_warp(unsigned mask, uint64_t v, const char* op, int line) {
  Fiber* f = S.cur; Warp& w = my_warp(); unsigned bit = 1u << lane_id();
  if (!(mask & bit)) fail("%s (line %d): the calling lane %u is not in its mask 0x%08x", op, line, lane_id(), mask);
  f->mask = mask; f->op = op; f->site = line;
  w.slot[lane_id()] = v;
  w.arrived |= bit;
  f->state = WAIT_WARP;
  try_release_warp(f->lin >> 5, mask);
  if (f->state == WAIT_WARP) to_main();
}
// bar.sync id, count (count in threads; all threads of the block when 0)
static void sync_named(unsigned id, unsigned count, int line) {
  if (id > 15 || (count & 31)) fail("named barrier %u with count %u", id, count);
  Fiber* f = S.cur; f->site = line; f->op = "bar.sync"; f->bar_id = id;
  if (!count) count = S.nthreads;
  if (++S.bar[id].arrived == count) {
    for (unsigned i = 0; i < S.nthreads; ++i)
      if (S.fib[i].state == WAIT_BAR && S.fib[i].bar_id == id) S.fib[i].state = READY;
    S.bar[id].arrived = 0;
    return;
  }
  f->state = WAIT_BAR;
  to_main();
}
static void yield() { S.cur->state = READY; to_main(); }  // for spin loops

// ---- races between blocks ----------------------------------------------------
static void note_atomic(const void* p, size_t) {
  for (auto& w : S.watch)
    if ((unsigned char*)p >= w.ptr && (unsigned char*)p < w.ptr + w.bytes) w.atom[((unsigned char*)p - w.ptr) / w.word] = S.block_no;
}
static void watch_begin() { for (auto& w : S.watch) memcpy(w.before.data(), w.ptr, w.bytes); }
static void watch_end() {
  for (size_t k = 0; k < S.watch.size(); ++k) {
    Watch& w = S.watch[k];
    for (size_t i = 0; i < w.owner.size(); ++i) {
      if (!memcmp(&w.before[i * w.word], w.ptr + i * w.word, w.word)) continue;
      const unsigned atomic = w.atom[i] == S.block_no, o = w.owner[i];
      if (o && !(atomic && (o & 1)))
        fail("blocks %u and %u both write element %zu of mutable array %zu, not atomically", o / 2 - 1, S.block_no - 1, i, k);
      w.owner[i] = 2 * S.block_no + atomic;
    }
  }
}

// ---- one block ------------------------------------------------------------
static char* get_stack() {
  if (!S.free_stacks.empty()) { char* p = S.free_stacks.back(); S.free_stacks.pop_back(); return p; }
  char* p = (char*)mmap(nullptr, kStack + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) fail("no memory for fiber stacks");
  mprotect(p, 4096, PROT_NONE);
  return p;
}
static void finish_current() {
  Fiber* f = S.cur;
  if (!f->cp.empty() && S.cfg.strict) fail("thread ends with %zu cp.async copies never waited for", f->cp.size());
  f->state = DONE;
  --S.live;
  Warp& w = my_warp();
  w.exited |= 1u << lane_id();
  if (S.arrived && S.arrived == S.live) release_block();
  for (unsigned l = 0; l < 32; ++l) {  // an exit may complete a pending warp op
    unsigned i = (f->lin & ~31u) + l;
    if (i < S.nthreads && S.fib[i].state == WAIT_WARP) try_release_warp(f->lin >> 5, S.fib[i].mask);
  }
}
[[noreturn]] static void fiber_main() {
  S.entry(S.entry_arg);
  finish_current();
  to_main();
  __builtin_unreachable();
}
static void resume(Fiber* f) {
  S.cur = f;
  ++S.switches;
  if (f->state == NEW) {
    f->stack = get_stack();
    f->state = READY;
    char* top = f->stack + 4096 + kStack;
#if defined(__x86_64__)
    void** sp = (void**)(((uintptr_t)top & ~15ull) - 8);  // as after a call
    *--sp = (void*)&fiber_main;
    for (int i = 0; i < 6; ++i) *--sp = nullptr;
    f->sp = sp;
#else
    getcontext(&f->ctx);
    f->ctx.uc_stack.ss_sp = f->stack + 4096; f->ctx.uc_stack.ss_size = kStack; f->ctx.uc_link = nullptr;
    makecontext(&f->ctx, (void (*)())fiber_main, 0);
    (void)top;
#endif
  }
#if defined(__x86_64__)
  ctx_switch(&S.main_sp, f->sp);
#else
  swapcontext(&S.main_ctx, &f->ctx);
#endif
  if (f->state == DONE) { S.free_stacks.push_back(f->stack); f->stack = nullptr; }
  S.cur = nullptr;
}
static unsigned rnd() { S.rng ^= S.rng << 13; S.rng ^= S.rng >> 17; S.rng ^= S.rng << 5; return S.rng; }
static void make_order(std::vector<unsigned>& o, unsigned n) {
  if (o.size() == n && S.cfg.order != 2) return;
  o.resize(n);
  for (unsigned i = 0; i < n; ++i) o[i] = S.cfg.order == 1 ? n - 1 - i : i;
  if (S.cfg.order == 2) for (unsigned i = n; i > 1; --i) std::swap(o[i - 1], o[rnd() % i]);
}
static void run_block() {
  unsigned n = S.nthreads;
  S.live = n; S.arrived = 0; S.pred_acc = S.pred_res = 0;
  for (auto& b : S.bar) b.arrived = 0;
  for (unsigned i = 0; i < n; ++i) {
    Fiber& f = S.fib[i];
    f.lin = i; f.state = NEW; f.cp.clear(); f.cp_group = 0; f.mask = 0;
    f.tid = {i % S.bdim.x, i / S.bdim.x % S.bdim.y, i / (S.bdim.x * S.bdim.y)};
  }
  for (unsigned w = 0; w * 32 < n; ++w) {
    Warp& W = S.warp[w];
    unsigned k = n - w * 32 < 32 ? n - w * 32 : 32;
    W.present = k == 32 ? 0xffffffffu : (1u << k) - 1; W.exited = W.arrived = 0; W.next = 0;
  }
  if (S.cfg.poison) {
    if (__start_lucid_shared) memset(__start_lucid_shared, 0xff, __stop_lucid_shared - __start_lucid_shared);
    memset(dyn_smem, 0xff, S.smem_bytes);
  }
  memset(dyn_smem + S.smem_bytes, 0xA5, kCanary);
  // One warp runs ahead until all its lanes wait at a block-wide barrier, then the
  // next: this exposes write-after-read hazards, not only read-after-write ones.
  const unsigned nw = (n + 31) / 32;
  while (S.live) {
    bool progress = false;
    make_order(S.order, nw);
    for (unsigned w : S.order)
      for (bool ran = true; ran;) {
        ran = false;
        make_order(S.lanes, 32);
        for (unsigned l : S.lanes) {
          const unsigned i = w * 32 + l;
          if (i < n && S.fib[i].state <= READY) { ran = progress = true; resume(&S.fib[i]); }
        }
      }
    if (!progress) {
      std::string who;
      for (unsigned i = 0, shown = 0; i < n && shown < 4; ++i)
        if (S.fib[i].state != DONE && (i == 0 || S.fib[i].site != S.fib[i - 1].site || S.fib[i].state != S.fib[i - 1].state)) {
          char b[96]; snprintf(b, sizeof b, " [thread %u waits in %s line %d]", i, S.fib[i].op, S.fib[i].site); who += b; ++shown;
        }
      fail("deadlock in block (%u,%u,%u): %u of %u threads alive, none can run:%s", S.bid.x, S.bid.y, S.bid.z, S.live, n, who.c_str());
    }
  }
  for (size_t i = 0; i < kCanary; ++i)
    if (dyn_smem[S.smem_bytes + i] != 0xA5) fail("write past the %zu bytes of dynamic shared memory (offset +%zu)", S.smem_bytes, i);
}

// ---- launch ---------------------------------------------------------------
static void on_signal(int sig, siginfo_t* si, void* uc) {
  const char* what = sig == SIGSEGV || sig == SIGBUS ? "invalid memory access" : sig == SIGILL ? "bounds/UB check failed" : sig == SIGFPE ? "integer division by zero" : "abort";
  void* pc = nullptr;
#if defined(__x86_64__)
  pc = (void*)((ucontext_t*)uc)->uc_mcontext.gregs[REG_RIP];
#endif
  (void)uc;
  fail("%s (address %p, pc %p)", what, si->si_addr, pc);
}
template <class F> static int launch(const char* name, dim3 g, dim3 b, size_t smem, const Config& cfg, F&& body) {
  S.kernel = name; S.err[0] = 0; S.failed = false; S.cur = nullptr; S.cfg = cfg; S.rng = cfg.seed | 1;
  size_t n = (size_t)b.x * b.y * b.z;
  if (n == 0 || n > kMaxThreads || b.z > 64) { snprintf(S.err, sizeof S.err, "kernel %s: bad block (%u,%u,%u)", name, b.x, b.y, b.z); return 1; }
  if (!g.x || !g.y || !g.z || g.y > 65535 || g.z > 65535 || g.x > 0x7fffffffu) { snprintf(S.err, sizeof S.err, "kernel %s: bad grid (%u,%u,%u)", name, g.x, g.y, g.z); return 1; }
  if (smem > kMaxDynSmem) { snprintf(S.err, sizeof S.err, "kernel %s: %zu bytes of dynamic shared memory", name, smem); return 1; }
  S.gdim = g; S.bdim = b; S.nthreads = (unsigned)n; S.smem_bytes = smem;
  S.order.clear(); S.lanes.clear();
  S.entry = [](void* p) { (*(std::remove_reference_t<F>*)p)(); };
  S.entry_arg = (void*)&body;
  static char altstack[64 << 10];
  stack_t ss{}, oldss; ss.ss_sp = altstack; ss.ss_size = sizeof altstack; sigaltstack(&ss, &oldss);
  const int sigs[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}; struct sigaction old[5], sa{};
  sa.sa_sigaction = on_signal; sa.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (int i = 0; i < 5; ++i) sigaction(sigs[i], &sa, &old[i]);
#if defined(__x86_64__)
  unsigned csr = _mm_getcsr(); if (cfg.ftz) _mm_setcsr(csr | 0x8040);  // CuPy compiles with -ftz=true
#endif
  if (sigsetjmp(S.jb, 1) == 0) {
    size_t nb = (size_t)g.x * g.y * g.z;
    for (size_t k = 0; k < nb; ++k) {
      size_t i = cfg.order == 1 ? nb - 1 - k : k;
      S.bid = {(unsigned)(i % g.x), (unsigned)(i / g.x % g.y), (unsigned)(i / g.x / g.y)};
      S.block_no = (unsigned)i + 1;
      watch_begin();
      run_block();
      watch_end();
    }
  } else {  // failed: the abandoned fibers' stacks are reused
    for (auto& f : S.fib) if (f.stack) { S.free_stacks.push_back(f.stack); f.stack = nullptr; }
    S.cur = nullptr;
  }
#if defined(__x86_64__)
  _mm_setcsr(csr);
#endif
  for (int i = 0; i < 5; ++i) sigaction(sigs[i], &old[i], nullptr);
  sigaltstack(&oldss, nullptr);
  return S.failed;
}

// ---- typed launch: argument signature for the Python side ------------------
template <class T> std::string code() {
  if constexpr (std::is_pointer_v<T>) {
    using P = std::remove_pointer_t<T>;
    return std::string("*") + (std::is_const_v<P> ? "c" : "m") + code<std::remove_cv_t<P>>();
  } else if constexpr (std::is_void_v<T>) return "v0";
  else if constexpr (std::is_same_v<T, __half>) return "h2";
  else if constexpr (std::is_same_v<T, __nv_bfloat16>) return "B2";
  else if constexpr (std::is_same_v<T, bool>) return "b1";
  else if constexpr (std::is_floating_point_v<T>) return "f" + std::to_string(sizeof(T));
  else if constexpr (std::is_integral_v<T>) return (std::is_signed_v<T> ? "i" : "u") + std::to_string(sizeof(T));
  else return "x" + std::to_string(sizeof(T));  // struct, passed by value
}
template <class... A> struct Sig {
  static const char* get(void (*)(A...)) {
    static std::string s = [] { std::string r; ((r += code<A>() + ","), ...); return r; }();
    return s.c_str();
  }
  template <size_t... I>
  static int run(const char* name, void (*k)(A...), void** a, dim3 g, dim3 b, size_t smem, const Config& c, std::index_sequence<I...>) {
    return launch(name, g, b, smem, c, [=] { k(*(std::remove_cv_t<A>*)a[I]...); });
  }
};
template <class... A> const char* sig(void (*k)(A...)) { return Sig<A...>::get(k); }
template <class... A> int go(const char* name, void (*k)(A...), void** a, const unsigned* gb, size_t smem, const Config* c) {
  return Sig<A...>::run(name, k, a, dim3(gb[0], gb[1], gb[2]), dim3(gb[3], gb[4], gb[5]), smem, *c, std::index_sequence_for<A...>{});
}
#define LUCID_EXPORT_KERNEL(i, ...)                                                                              \
  extern "C" const char* lucid_signature_##i() { return simulator::sig(__VA_ARGS__); }                              \
  extern "C" int lucid_launch_##i(const char* n, void** a, const unsigned* gb, size_t sm, const simulator::Config* c) { \
    return simulator::go(n, __VA_ARGS__, a, gb, sm, c);                                                       \
  }
// Called before a launch with the mutable arrays; cleared by n = 0.
extern "C" void lucid_watch(int n, void** ptr, const size_t* bytes, const size_t* word) {
  S.watch.clear();
  for (int i = 0; i < n; ++i)
    S.watch.push_back({(unsigned char*)ptr[i], bytes[i], word[i], std::vector<unsigned char>(bytes[i]),
                       std::vector<unsigned>(bytes[i] / word[i]), std::vector<unsigned>(bytes[i] / word[i])});
}
extern "C" const char* lucid_error() { return S.err; }
extern "C" unsigned long long lucid_switches() { return S.switches; }

// ---- values through warps --------------------------------------------------
template <class T> uint64_t pack(T v) { static_assert(sizeof(T) <= 8); uint64_t r = 0; memcpy(&r, &v, sizeof v); return r; }
template <class T> T unpack(uint64_t r) { T v; memcpy(&v, &r, sizeof v); return v; }
template <class T> T shfl(unsigned mask, T v, int src, bool oob, const char* op, int line) {
  sync_warp(mask, pack(v), op, line);
  if (oob) return v;
  if (!(S.cur->in_active >> (src & 31) & 1)) {
    if (S.cfg.strict) fail("%s (line %d): lane %u reads lane %d, which is not active", op, line, lane_id(), src);
    return v;
  }
  return unpack<T>(S.cur->in[src & 31]);
}
static inline int seg(int width) { return (int)lane_id() & ~(width - 1); }
}  // namespace simulator

// ---- CUDA built-ins ---------------------------------------------------------
#define threadIdx (simulator::S.cur->tid)
#define blockIdx (simulator::S.bid)
#define blockDim (simulator::S.bdim)
#define gridDim (simulator::S.gdim)
static constexpr int warpSize = 32;
#define LUCID_DYNAMIC_SHARED_MEMORY(T, name) T* const name = reinterpret_cast<T*>(simulator::dyn_smem)

#define __syncthreads() simulator::sync_block(__LINE__)
#define __syncthreads_count(p) ((int)simulator::sync_block_pred(__LINE__, !!(p)))
#define __syncthreads_or(p) ((int)(simulator::sync_block_pred(__LINE__, !!(p)) != 0))
#define __syncthreads_and(p) ((int)(simulator::sync_block_pred(__LINE__, !(p)) == 0))
struct simulator_syncwarp { int line; void operator()(unsigned m = 0xffffffffu) const { simulator::sync_warp(m, 0, "__syncwarp", line); } };
#define __syncwarp simulator_syncwarp{__LINE__}
template <class T> T simulator_shfl(int line, unsigned m, T v, int s, int w = 32) { return simulator::shfl(m, v, simulator::seg(w) + (s & (w - 1)), false, "__shfl_sync", line); }
template <class T> T simulator_up(int line, unsigned m, T v, unsigned d, int w = 32) { int s = (int)simulator::lane_id() - (int)d; return simulator::shfl(m, v, s, s < simulator::seg(w), "__shfl_up_sync", line); }
template <class T> T simulator_down(int line, unsigned m, T v, unsigned d, int w = 32) { int s = (int)(simulator::lane_id() + d); return simulator::shfl(m, v, s, s >= simulator::seg(w) + w, "__shfl_down_sync", line); }
template <class T> T simulator_xor(int line, unsigned m, T v, int x, int w = 32) { int s = (int)(simulator::lane_id() ^ x); return simulator::shfl(m, v, s, s >= simulator::seg(w) + w, "__shfl_xor_sync", line); }
#define __shfl_sync(...) simulator_shfl(__LINE__, __VA_ARGS__)
#define __shfl_up_sync(...) simulator_up(__LINE__, __VA_ARGS__)
#define __shfl_down_sync(...) simulator_down(__LINE__, __VA_ARGS__)
#define __shfl_xor_sync(...) simulator_xor(__LINE__, __VA_ARGS__)
static inline unsigned simulator_ballot(int line, unsigned m, int p) {
  simulator::sync_warp(m, !!p, "__ballot_sync", line);
  unsigned r = 0;
  for (int l = 0; l < 32; ++l) if ((simulator::S.cur->in_active >> l & 1) && simulator::S.cur->in[l]) r |= 1u << l;
  return r;
}
#define __ballot_sync(m, p) simulator_ballot(__LINE__, m, p)
#define __any_sync(m, p) ((int)(simulator_ballot(__LINE__, m, p) != 0))
#define __all_sync(m, p) ((int)(simulator_ballot(__LINE__, m, !(p)) == 0))
template <class T, class F> T simulator_reduce(int line, unsigned m, T v, F f) {
  simulator::sync_warp(m, simulator::pack(v), "__reduce_sync", line);
  bool first = true; T r{};
  for (int l = 0; l < 32; ++l) if (simulator::S.cur->in_active >> l & 1) { T x = simulator::unpack<T>(simulator::S.cur->in[l]); r = first ? x : f(r, x); first = false; }
  return r;
}
#define __reduce_add_sync(m, v) simulator_reduce(__LINE__, m, v, [](auto a, auto b) { return decltype(a)(a + b); })
#define __reduce_max_sync(m, v) simulator_reduce(__LINE__, m, v, [](auto a, auto b) { return a > b ? a : b; })
#define __reduce_min_sync(m, v) simulator_reduce(__LINE__, m, v, [](auto a, auto b) { return a < b ? a : b; })
static inline unsigned __activemask() { return simulator::my_warp().present & ~simulator::my_warp().exited; }
static inline void __threadfence() {}
static inline void __threadfence_block() {}
static inline void __threadfence_system() {}
static inline void __nanosleep(unsigned) { simulator::yield(); }
static inline long long clock64() { return (long long)simulator::S.switches; }
#define __trap() simulator::fail("__trap() at line %d", __LINE__)

// One OS thread: read-modify-write is atomic as it stands.
template <class T, class U> T atomicAdd(T* p, U v) { simulator::note_atomic(p, sizeof(T)); T o = *p; *p = (T)(o + (T)v); return o; }
template <class T, class U> T atomicSub(T* p, U v) { simulator::note_atomic(p, sizeof(T)); T o = *p; *p = (T)(o - (T)v); return o; }
template <class T, class U> T atomicMax(T* p, U v) { simulator::note_atomic(p, sizeof(T)); T o = *p; if ((T)v > o) *p = (T)v; return o; }
template <class T, class U> T atomicMin(T* p, U v) { simulator::note_atomic(p, sizeof(T)); T o = *p; if ((T)v < o) *p = (T)v; return o; }
template <class T, class U> T atomicExch(T* p, U v) { simulator::note_atomic(p, sizeof(T)); T o = *p; *p = (T)v; return o; }
template <class T, class U> T atomicOr(T* p, U v) { simulator::note_atomic(p, sizeof(T)); T o = *p; *p = o | (T)v; return o; }
template <class T, class U> T atomicAnd(T* p, U v) { simulator::note_atomic(p, sizeof(T)); T o = *p; *p = o & (T)v; return o; }
template <class T> T atomicInc(T* p, T lim) { simulator::note_atomic(p, sizeof(T)); T o = *p; *p = o >= lim ? 0 : o + 1; return o; }
template <class T, class U, class V> T atomicCAS(T* p, U c, V v) { simulator::note_atomic(p, sizeof(T)); T o = *p; if (o == (T)c) *p = (T)v; return o; }

template <class T> T __ldg(const T* p) { return *p; }
template <class T> T __ldcs(const T* p) { return *p; }
template <class T> T __ldcg(const T* p) { return *p; }
template <class T> T __ldlu(const T* p) { return *p; }
template <class T> void __stcs(T* p, T v) { *p = v; }
template <class T> void __stcg(T* p, T v) { *p = v; }
template <class T> void __stwt(T* p, T v) { *p = v; }

// glibc declares internal functions of these names: macros, not functions
#define __expf expf
#define __exp10f exp10f
#define __logf logf
#define __log2f log2f
#define __log10f log10f
#define __powf powf
#define __sinf sinf
#define __cosf cosf
#define __tanf tanf
#define __sincosf sincosf
static inline float __fdividef(float a, float b) { return a / b; }
static inline float __frcp_rn(float x) { return 1.0f / x; }
static inline float __fsqrt_rn(float x) { return sqrtf(x); }
static inline float __frsqrt_rn(float x) { return 1.0f / sqrtf(x); }
static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }
static inline float __saturatef(float x) { return x < 0 ? 0 : x > 1 ? 1 : x; }
static inline float __fadd_rn(float a, float b) { volatile float r = a + b; return r; }
static inline float __fsub_rn(float a, float b) { volatile float r = a - b; return r; }
static inline float __fmul_rn(float a, float b) { volatile float r = a * b; return r; }
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline float __int2float_rn(int i) { return (float)i; }
static inline float __uint2float_rn(unsigned i) { return (float)i; }
static inline double __dadd_rn(double a, double b) { volatile double r = a + b; return r; }
static inline double __dsub_rn(double a, double b) { volatile double r = a - b; return r; }
static inline double __dmul_rn(double a, double b) { volatile double r = a * b; return r; }
static inline double __ddiv_rn(double a, double b) { volatile double r = a / b; return r; }
static inline double __dsqrt_rn(double x) { return sqrt(x); }
static inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
static inline float __fdiv_rn(float a, float b) { volatile float r = a / b; return r; }
static inline double __longlong_as_double(long long i) { return simulator::unpack<double>((uint64_t)i); }
static inline long long __double_as_longlong(double x) { return (long long)simulator::pack(x); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return (unsigned long long)(((unsigned __int128)a * b) >> 64); }
static inline int __float2int_rn(float x) { return (int)nearbyintf(x); }
static inline int __float2int_rz(float x) { return (int)x; }
static inline unsigned __float2uint_rn(float x) { return (unsigned)nearbyintf(x); }
static inline float __int_as_float(int i) { return simulator::unpack<float>((uint32_t)i); }
static inline float __uint_as_float(unsigned i) { return simulator::unpack<float>(i); }
static inline int __float_as_int(float f) { return (int)simulator::pack(f); }
static inline unsigned __float_as_uint(float f) { return (unsigned)simulator::pack(f); }
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((uint64_t)a * b) >> 32); }
static inline int __mulhi(int a, int b) { return (int)(((int64_t)a * b) >> 32); }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline unsigned __brev(unsigned x) { unsigned r = 0; for (int i = 0; i < 32; ++i) r |= (x >> i & 1) << (31 - i); return r; }
static inline size_t __cvta_generic_to_shared(const void* p) { return (size_t)p; }
template <class T, class U> constexpr std::common_type_t<T, U> min(T a, U b) { using C = std::common_type_t<T, U>; return (C)b < (C)a ? (C)b : (C)a; }
template <class T, class U> constexpr std::common_type_t<T, U> max(T a, U b) { using C = std::common_type_t<T, U>; return (C)a < (C)b ? (C)b : (C)a; }
#define CUDART_INF_F __builtin_inff()
#define CUDART_INF __builtin_inf()
#define CUDART_NAN __builtin_nan("")
#define CUDART_NAN_F __builtin_nanf("")
// the few 16-bit intrinsics that NVIDIA's headers keep device-only
static inline __half __hfma(__half a, __half b, __half c) { return __float2half(fmaf(__half2float(a), __half2float(b), __half2float(c))); }
static inline __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) { return __float2bfloat16(fmaf(__bfloat162float(a), __bfloat162float(b), __bfloat162float(c))); }
static inline __half hexp(__half a) { return __float2half(expf(__half2float(a))); }
static inline __half hrsqrt(__half a) { return __float2half(rsqrtf(__half2float(a))); }

// ---- emulated PTX (the kernels reach these through ptx.cuh only) ------------
namespace simulator {
// cp.async lands either as late as allowed (at the wait: shows a missing wait_group) or at
// once (shows a buffer overwritten while others still read it); schedules try both.
static inline void cp_async(void* dst, const void* src, unsigned bytes) {
  if (((uintptr_t)dst | (uintptr_t)src) & (bytes - 1)) fail("cp.async of %u bytes on misaligned address", bytes);
  if (S.cfg.eager) memcpy(dst, src, bytes);
  S.cur->cp.push_back({dst, src, bytes, S.cur->cp_group});
}
static inline void cp_commit() { ++S.cur->cp_group; }
static inline void cp_wait(unsigned keep) {
  auto& q = S.cur->cp; size_t k = 0;
  for (auto& c : q)
    if (c.group + keep >= S.cur->cp_group) q[k++] = c;
    else if (!S.cfg.eager) memcpy(c.dst, c.src, c.bytes);
  q.resize(k);
}
// mma.sync.m16n8k16 row.col, f32 accumulate; fragment layout of the PTX ISA.
template <class T> static void mma_m16n8k16(float* d, const uint32_t* a, const uint32_t* b, const float* c, int line) {
  struct P { const uint32_t *a, *b; const float* c; } me{a, b, c};
  sync_warp(0xffffffffu, pack((const P*)&me), "mma.sync", line);
  if (S.cur->in_active != 0xffffffffu) fail("mma.sync (line %d) needs all 32 lanes", line);
  const P* p[32];
  for (int l = 0; l < 32; ++l) p[l] = unpack<const P*>(S.cur->in[l]);
  auto el = [](const uint32_t* r, int i) { T v; memcpy(&v, (const char*)r + 2 * i, 2); return (float)v; };
  auto A = [&](int r, int k) { return el(p[(r & 7) * 4 + (k & 7) / 2]->a, (r >> 3) * 2 + (k >> 3) * 4 + (k & 1)); };
  auto B = [&](int k, int n) { return el(p[n * 4 + (k & 7) / 2]->b, (k >> 3) * 2 + (k & 1)); };
  int lane = lane_id(); float out[4];
  for (int i = 0; i < 4; ++i) {
    int r = lane / 4 + (i >> 1) * 8, n = (lane & 3) * 2 + (i & 1);
    float s = c[i];
    for (int k = 0; k < 16; ++k) s += A(r, k) * B(k, n);
    out[i] = s;
  }
  sync_warp(0xffffffffu, 0, "mma.sync", line);  // d may alias c of a lane still reading
  for (int i = 0; i < 4; ++i) d[i] = out[i];
}
// ldmatrix .x4 / .x4.trans of 8x8 16-bit matrices; lane l gives the row address l&7 of matrix l>>3.
template <bool Trans> static void ldmatrix_x4(uint32_t* r, const void* row, int line) {
  if ((uintptr_t)row & 15) fail("ldmatrix (line %d): row address not 16-byte aligned", line);
  sync_warp(0xffffffffu, pack(row), "ldmatrix", line);
  int l = lane_id(); const uint64_t* in = S.cur->in; uint16_t h[8];
  for (int m = 0; m < 4; ++m)
    for (int e = 0; e < 2; ++e) {
      int i = l / 4, j = (l & 3) * 2 + e;
      if (Trans) std::swap(i, j);
      h[m * 2 + e] = ((const uint16_t*)in[m * 8 + i])[j];
    }
  sync_warp(0xffffffffu, 0, "ldmatrix", line);
  memcpy(r, h, 16);
}
}  // namespace simulator
