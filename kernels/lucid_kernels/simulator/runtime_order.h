// What happens before what: clocks of the threads, moved on by barriers, warp operations, fences and atomics.
//
// A thread's clock counts what it has done up to its latest step with others. An access at clock c of thread t has
// happened before what thread u does now if u knows t up to c. All know each other up to the latest barrier of the block,
// lanes up to the latest step of their whole warp; what else a thread knows is its Knowledge.
#pragma once

namespace simulator {

// The releases at one address: a flag or counter that atomic operations change after a fence.
struct Releases {
  std::vector<std::shared_ptr<const Knowledge>> entries;
  std::map<const Releases*, size_t> acquired;  // by those who released here
};

struct Knowledge {
  uint32_t block = 0;
  bool whole_device = false;
  std::vector<uint32_t> clocks;                 // of the threads of the block; empty: no more than all know
  std::map<const Releases*, size_t> acquired;  // the first so many entries of each
};

// ---- an access: its block (numbered over all launches), clock, flags and thread
using Access = uint64_t;
constexpr uint32_t kThreadBits = 10, kFlagBits = 2, kClockShift = kThreadBits + kFlagBits;
constexpr uint32_t kLastClock = (1u << (32 - kClockShift)) - 1;
enum Flag : uint32_t { ATOMIC = 1, VOLATILE = 2 };
constexpr Access kWho = 0xffffffff00000000ull | ((1 << kThreadBits) - 1);

static inline uint32_t block_of(Access access) { return (uint32_t)(access >> 32); }
static inline uint32_t thread_of(Access access) { return (uint32_t)access & ((1 << kThreadBits) - 1); }
static inline uint32_t flags_of(Access access) { return (uint32_t)access >> kThreadBits & ((1 << kFlagBits) - 1); }
static inline uint32_t clock_of(Access access) { return (uint32_t)access >> kClockShift; }

struct Clocks {
  alignas(64) uint32_t clock[kMaxThreads];
  alignas(64) uint32_t known_to_block[kMaxThreads];
  alignas(64) uint32_t known_to_warp[kMaxThreads];
  uint32_t block = 0;        // the number of the current one
  uint32_t first_block = 1;  // of the launch: older accesses do not count
  uint32_t interval = 0;     // between two barriers of a block, numbered over all launches
  Access me = 0;             // an access of the current thread, now
  bool any_knowledge = false;
  std::unordered_map<uintptr_t, std::unique_ptr<Releases>> releases;
};
static Clocks order;

static void begin_thread() {
  const uint32_t thread = state.current->linear_index;
  order.me = (Access)order.block << 32 | (Access)order.clock[thread] << kClockShift | thread;
}

static void begin_order_of_launch() {
  order.first_block = order.block + 1;
  order.releases.clear();
}

static void begin_order_of_block() {
  ++order.block;
  ++order.interval;
  std::fill_n(order.clock, state.threads, 1u);
  std::fill_n(order.known_to_block, state.threads, 0u);
  std::fill_n(order.known_to_warp, state.threads, 0u);
  if (!order.any_knowledge) return;
  for (Fiber& fiber : state.fibers) fiber.knowledge = nullptr, fiber.released = nullptr;
  order.any_knowledge = false;
}

// So many steps that a clock has no room: forget what was before.
static void restart_clocks() {
  begin_order_of_block();
  order.first_block = order.block;
  order.releases.clear();
}

static bool knows_block(const Knowledge& knowledge, Access access) {
  for (const auto& [releases, count] : knowledge.acquired)
    for (size_t i = 0; i < count; ++i) {
      const Knowledge& entry = *releases->entries[i];
      if (entry.block == block_of(access) && entry.whole_device && clock_of(access) <= entry.clocks[thread_of(access)])
        return true;
    }
  return false;
}

// Whether the current thread knows of `access` beyond what all threads of its block do.
__attribute__((noinline)) static bool is_known(Access access) {
  const uint32_t thread = thread_of(access), clock = clock_of(access);
  const Knowledge* knowledge = state.current->knowledge.get();
  if (block_of(access) != order.block) return knowledge && knows_block(*knowledge, access);
  if (thread / kWarpSize == warp_index() && clock <= order.known_to_warp[thread]) return true;
  return knowledge && !knowledge->clocks.empty() && clock <= knowledge->clocks[thread];
}

static inline bool is_known_to_block(Access access) {
  return block_of(access) == order.block && clock_of(access) <= order.known_to_block[thread_of(access)];
}

static void add(std::map<const Releases*, size_t>& sum, const std::map<const Releases*, size_t>& more) {
  for (const auto& [releases, count] : more) sum[releases] = std::max(sum[releases], count);
}

// All that a thread knows, itself included.
static std::shared_ptr<Knowledge> everything_known(const Fiber& fiber) {
  auto all = fiber.knowledge ? std::make_shared<Knowledge>(*fiber.knowledge) : std::make_shared<Knowledge>();
  all->block = order.block;
  all->clocks.resize(state.threads);
  const unsigned me = fiber.linear_index, warp = me / kWarpSize * kWarpSize;
  for (unsigned i = 0; i < state.threads; ++i) all->clocks[i] = std::max(all->clocks[i], order.known_to_block[i]);
  for (unsigned i = warp; i < std::min(warp + kWarpSize, state.threads); ++i)
    all->clocks[i] = std::max(all->clocks[i], order.known_to_warp[i]);
  all->clocks[me] = order.clock[me];
  return all;
}

static void advance(unsigned thread) {
  if (++order.clock[thread] >= kLastClock) restart_clocks();
}

// Some threads wait for each other; `taking_part(i)` tells which of those below `count`, from `first` on.
template <class Predicate> static void order_some(unsigned first, unsigned count, Predicate taking_part) {
  auto joined = std::make_shared<Knowledge>();
  joined->clocks.resize(state.threads);
  for (unsigned i = first; i < first + count; ++i) {
    if (!taking_part(i)) continue;
    const auto one = everything_known(state.fibers[i]);
    for (unsigned j = 0; j < state.threads; ++j) joined->clocks[j] = std::max(joined->clocks[j], one->clocks[j]);
    add(joined->acquired, one->acquired);
  }
  for (unsigned i = first; i < first + count; ++i) {
    if (!taking_part(i)) continue;
    state.fibers[i].knowledge = joined;
    advance(i);
  }
  order.any_knowledge = true;
  begin_thread();
}

// What other blocks have released is known to all of these threads as soon as one knows it.
static void share_knowledge(unsigned first, unsigned count, bool clocks) {
  auto joined = std::make_shared<Knowledge>();
  bool any = false;
  for (unsigned i = first; i < first + count; ++i) {
    const Knowledge* one = state.fibers[i].knowledge.get();
    if (!one) continue;
    any = true;
    add(joined->acquired, one->acquired);
    if (!clocks || one->clocks.empty()) continue;
    joined->clocks.resize(state.threads);
    for (unsigned j = 0; j < state.threads; ++j) joined->clocks[j] = std::max(joined->clocks[j], one->clocks[j]);
  }
  if (!any) return;
  for (unsigned i = first; i < first + count; ++i) state.fibers[i].knowledge = joined;
}

static void order_block() {
  ++order.interval;
  uint32_t last = 0;
  for (unsigned i = 0; i < state.threads; ++i) {
    order.known_to_block[i] = order.clock[i]++;
    last = std::max(last, order.clock[i]);
  }
  if (order.any_knowledge) share_knowledge(0, state.threads, false);
  if (last >= kLastClock) restart_clocks();
  begin_thread();
}

static void order_warp(unsigned index) {
  const unsigned first = index * kWarpSize, count = std::min(state.threads - first, kWarpSize);
  uint32_t last = 0;
  for (unsigned i = first; i < first + count; ++i) {
    order.known_to_warp[i] = order.clock[i]++;
    last = std::max(last, order.clock[i]);
  }
  if (order.any_knowledge) share_knowledge(first, count, true);
  if (last >= kLastClock) restart_clocks();
  begin_thread();
}

// ---- fences and atomics: what a thread had known at a fence, it tells with its next atomic or volatile write
LUCID_EXPORT void fence(bool whole_device) {
  Fiber& fiber = *state.current;
  auto known = everything_known(fiber);
  known->whole_device = whole_device;
  fiber.released = std::move(known);
  order.any_knowledge = true;
  advance(fiber.linear_index);
  begin_thread();
}

static void acquire(uintptr_t address) {
  const auto found = order.releases.find(address);
  if (found == order.releases.end()) return;
  Fiber& fiber = *state.current;
  const Releases& releases = *found->second;
  auto known = fiber.knowledge ? std::make_shared<Knowledge>(*fiber.knowledge) : std::make_shared<Knowledge>();
  add(known->acquired, releases.acquired);
  known->acquired[&releases] = releases.entries.size();
  for (const auto& entry : releases.entries) {
    if (entry->block != order.block) continue;
    known->clocks.resize(state.threads);
    for (unsigned i = 0; i < state.threads; ++i) known->clocks[i] = std::max(known->clocks[i], entry->clocks[i]);
  }
  fiber.knowledge = std::move(known);
  order.any_knowledge = true;
}

static void release(uintptr_t address) {
  const Fiber& fiber = *state.current;
  if (!fiber.released) return;
  std::unique_ptr<Releases>& releases = order.releases[address];
  if (!releases) releases = std::make_unique<Releases>();
  releases->entries.push_back(fiber.released);
  add(releases->acquired, fiber.released->acquired);
}

}  // namespace simulator
