// Running one block of threads, and finding races between blocks.
#pragma once

namespace simulator {

// ---- races between blocks: an element that two blocks change, at least one of them without an atomic operation
static void note_atomic(const void* address) {
  const unsigned char* byte = (const unsigned char*)address;
  for (Watch& watch : state.watches)
    if (byte >= watch.address && byte < watch.address + watch.bytes)
      watch.atomic_writer[(byte - watch.address) / watch.element_bytes] = state.block_number;
}

static void begin_watching() {
  for (Watch& watch : state.watches) memcpy(watch.before.data(), watch.address, watch.bytes);
}

static void end_watching() {
  for (size_t array = 0; array < state.watches.size(); ++array) {
    Watch& watch = state.watches[array];
    for (size_t i = 0; i < watch.writer.size(); ++i) {
      const size_t offset = i * watch.element_bytes;
      if (!memcmp(&watch.before[offset], watch.address + offset, watch.element_bytes)) continue;
      const bool atomic = watch.atomic_writer[i] == state.block_number;
      const unsigned writer = watch.writer[i];
      const bool both_atomic = atomic && (writer & 1);
      if (writer && !both_atomic)
        fail("blocks %u and %u both write element %zu of mutable array %zu, not atomically", writer / 2 - 1,
             state.block_number - 1, i, array);
      watch.writer[i] = 2 * state.block_number + atomic;
    }
  }
}

// ---- order
static unsigned random_number() {  // xorshift32
  state.random_state ^= state.random_state << 13;
  state.random_state ^= state.random_state >> 17;
  state.random_state ^= state.random_state << 5;
  return state.random_state;
}

// The numbers below `count` in the order of the schedule; shuffled anew each time.
static void arrange(std::vector<unsigned>& order, unsigned count) {
  if (order.size() == count && state.schedule.order != SHUFFLED) return;
  order.resize(count);
  for (unsigned i = 0; i < count; ++i) order[i] = state.schedule.order == REVERSE ? count - 1 - i : i;
  if (state.schedule.order == SHUFFLED)
    for (unsigned i = count; i > 1; --i) std::swap(order[i - 1], order[random_number() % i]);
}

// ---- one block
static void reset_threads() {
  const unsigned count = state.threads;
  const dim3 shape = state.block;
  state.alive = count;
  state.arrived = 0;
  state.predicate_sum = state.predicate_result = 0;
  memset(state.named_arrived, 0, sizeof state.named_arrived);
  for (unsigned i = 0; i < count; ++i) {
    Fiber& fiber = state.fibers[i];
    fiber.linear_index = i;
    fiber.thread_index = {i % shape.x, i / shape.x % shape.y, i / (shape.x * shape.y)};
    fiber.state = NEW;
    fiber.copies.clear();
    fiber.copy_group = 0;
    fiber.mask = 0;
  }
  for (unsigned first = 0; first < count; first += kWarpSize) {
    Warp& warp = state.warps[first / kWarpSize];
    const unsigned lanes = std::min(count - first, kWarpSize);
    warp.present = lanes == kWarpSize ? 0xffffffffu : (1u << lanes) - 1;
    warp.exited = warp.arrived = warp.operations = 0;
  }
}

static void reset_shared_memory() {
  if (state.schedule.poison) {
    if (__start_lucid_shared) memset(__start_lucid_shared, 0xFF, __stop_lucid_shared - __start_lucid_shared);
    memset(dynamic_shared, 0xFF, state.dynamic_shared_bytes);
  }
  memset(dynamic_shared + state.dynamic_shared_bytes, kCanary, kCanaryBytes);
}

static void check_shared_memory() {
  for (size_t i = 0; i < kCanaryBytes; ++i)
    if (dynamic_shared[state.dynamic_shared_bytes + i] != kCanary)
      fail("write past the %zu bytes of dynamic shared memory (offset +%zu)", state.dynamic_shared_bytes, i);
}

[[noreturn]] static void report_deadlock() {
  std::string waiting;
  const Fiber* shown = nullptr;
  int count = 0;
  for (unsigned i = 0; i < state.threads && count < 4; ++i) {
    const Fiber& fiber = state.fibers[i];
    if (fiber.state == DONE) continue;
    if (shown && shown->line == fiber.line && shown->state == fiber.state) continue;
    waiting += " [thread " + std::to_string(i) + " waits in " + fiber.operation;
    waiting += " line " + std::to_string(fiber.line) + "]";
    shown = &fiber;
    ++count;
  }
  const uint3 block = state.block_index;
  fail("deadlock in block (%u,%u,%u): %u of %u threads alive, none can run:%s", block.x, block.y, block.z, state.alive,
       state.threads, waiting.c_str());
}

// Run every lane of a warp that can run, until none can. Whether one could.
static bool run_warp(unsigned warp) {
  bool progress = false;
  for (bool ran = true; ran;) {
    ran = false;
    arrange(state.lane_order, kWarpSize);
    for (unsigned lane : state.lane_order) {
      const unsigned i = warp * kWarpSize + lane;
      if (i >= state.threads || state.fibers[i].state > READY) continue;
      resume(state.fibers[i]);
      ran = progress = true;
    }
  }
  return progress;
}

static void run_block() {
  reset_threads();
  reset_shared_memory();
  const unsigned warps = (state.threads + kWarpSize - 1) / kWarpSize;
  while (state.alive) {
    // One warp runs ahead until all its lanes wait at a barrier of the block, then the next: this shows values that are
    // overwritten before they have been read, not only values that are read before they have been written.
    bool progress = false;
    arrange(state.warp_order, warps);
    for (unsigned warp : state.warp_order) progress |= run_warp(warp);
    if (!progress) report_deadlock();
  }
  check_shared_memory();
}

}  // namespace simulator
