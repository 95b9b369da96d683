// Running one block of threads.
#pragma once

namespace simulator {

// ---- order
static unsigned random_number() {  // xorshift32
  state.random_state ^= state.random_state << 13;
  state.random_state ^= state.random_state >> 17;
  state.random_state ^= state.random_state << 5;
  return state.random_state;
}

// The indices below `count` in the order of the schedule; shuffled anew each time.
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
  const uint3 shape = lucid_block_shape;
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
    fiber.barriers = 0;
  }
  for (unsigned first = 0; first < count; first += kWarpSize) {
    Warp& warp = state.warps[first / kWarpSize];
    const unsigned lanes = std::min(count - first, kWarpSize);
    warp.present = lanes == kWarpSize ? 0xffffffffu : (1u << lanes) - 1;
    warp.exited = warp.arrived = warp.operations = 0;
  }
}

static void fill(void* memory, size_t bytes) {
  if (uninitialized.fill < 0)
    fill_undefined(memory, bytes);
  else
    memset(memory, uninitialized.fill, bytes);
}

static void fill(unsigned number) {
  const SharedVariable& variable = state.library.variable[number];
  fill((void*)variable.address, variable.bytes);
}

static void reset_shared_memory() {
  if (!state.schedule.poison) return;
  if (state.checks & ~BARRIERS)
    for (const unsigned number : library_memory->used) fill(number);
  else  // nobody notes what is used
    for (unsigned number = 0; number < state.library.variables; ++number) fill(number);
  fill(dynamic_memory, state.parameters.dynamic_shared_bytes);
}

[[noreturn]] static void report_deadlock() {
  std::string waiting;
  const Fiber* shown = nullptr;
  int count = 0;
  for (unsigned i = 0; i < state.threads && count < 4; ++i) {
    const Fiber& fiber = state.fibers[i];
    if (fiber.state == DONE) continue;
    if (shown && same_place(*shown, fiber) && shown->state == fiber.state) continue;
    waiting += text(" [thread %u waits in %s at %s:%d]", i, fiber.operation, fiber.place.file, fiber.place.line);
    shown = &fiber;
    ++count;
  }
  const uint3 block = lucid_block_index;
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
  begin_order_of_block();
  reset_shared_memory();
  const unsigned warps = (state.threads + kWarpSize - 1) / kWarpSize;
  while (state.alive) {
    // One warp runs ahead until all its lanes wait at a barrier of the block, then the next: this shows values that are
    // overwritten before they have been read, not only values that are read before they have been written.
    bool progress = false;
    for (unsigned i = 0; i < state.threads; ++i)
      if (state.fibers[i].state == YIELDED) state.fibers[i].state = READY;
    arrange(state.warp_order, warps);
    for (unsigned warp : state.warp_order) progress |= run_warp(warp);
    if (!progress) report_deadlock();
  }
}

}  // namespace simulator
