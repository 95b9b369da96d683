// Where threads wait for each other: the block's barrier, warp operations, named barriers.
#pragma once

namespace simulator {

// ---- __syncthreads
static void release_block() {
  int line = 0;
  for (unsigned i = 0; i < state.threads; ++i) {
    Fiber& fiber = state.fibers[i];
    // The last thread to arrive does not wait; one that has just ended is no part of the barrier.
    const bool arrived = fiber.state == WAIT_BLOCK || (&fiber == state.current && fiber.state != DONE);
    if (!arrived) continue;
    if (state.schedule.strict && line && fiber.line != line)
      fail("threads of one block meet at different __syncthreads (lines %d and %d)", line, fiber.line);
    line = fiber.line;
    fiber.state = READY;
  }
  state.arrived = 0;
  state.predicate_result = state.predicate_sum;
  state.predicate_sum = 0;
}

static void sync_block(int line) {
  Fiber& fiber = *state.current;
  fiber.line = line;
  fiber.operation = "__syncthreads";
  if (++state.arrived == state.alive) {
    release_block();
    return;
  }
  fiber.state = WAIT_BLOCK;
  suspend();
}

// The sum of `value` over the block.
static long sync_block_sum(int line, long value) {
  state.predicate_sum += value;
  sync_block(line);
  return state.predicate_result;
}

// ---- warp operations
// Let the lanes of `mask` go on when all of them that still run have arrived.
static void try_release_warp(unsigned index, unsigned mask) {
  Warp& warp = state.warps[index];
  const unsigned needed = mask & warp.present & ~warp.exited;
  if (!needed || (warp.arrived & mask) != needed) return;
  Fiber* fibers = &state.fibers[index * kWarpSize];
  const Fiber* first = nullptr;
  for (unsigned i = 0; i < kWarpSize; ++i) {
    if (!(needed >> i & 1)) continue;
    if (fibers[i].mask != mask) return;  // it waits with another group of lanes
    if (!first) first = &fibers[i];
    if (state.schedule.strict && (fibers[i].line != first->line || strcmp(fibers[i].operation, first->operation)))
      fail("lanes of one warp meet at different warp ops (%s line %d, %s line %d)", first->operation, first->line,
           fibers[i].operation, fibers[i].line);
  }
  uint64_t* values = warp.history[warp.operations++ % kWarpHistory];
  memcpy(values, warp.brought, sizeof warp.brought);
  for (unsigned i = 0; i < kWarpSize; ++i) {
    if (!(needed >> i & 1)) continue;
    fibers[i].state = READY;
    fibers[i].exchanged = values;
    fibers[i].exchanged_lanes = needed;
  }
  warp.arrived &= ~mask;
}

// One common step of the lanes in `mask`. Each brings `value`; all find the values in `exchanged`.
static void sync_warp(unsigned mask, uint64_t value, const char* operation, int line) {
  Fiber& fiber = *state.current;
  const unsigned me = 1u << lane();
  if (!(mask & me)) fail("%s (line %d): the calling lane %u is not in its mask 0x%08x", operation, line, lane(), mask);
  fiber.mask = mask;
  fiber.operation = operation;
  fiber.line = line;
  fiber.state = WAIT_WARP;
  my_warp().brought[lane()] = value;
  my_warp().arrived |= me;
  try_release_warp(warp_index(), mask);
  if (fiber.state == WAIT_WARP) suspend();
}

// ---- bar.sync: `count` threads; 0 means all of the block
static void sync_named(unsigned barrier, unsigned count, int line) {
  if (barrier >= kNamedBarriers || count % kWarpSize) fail("named barrier %u with count %u", barrier, count);
  Fiber& fiber = *state.current;
  fiber.line = line;
  fiber.operation = "bar.sync";
  fiber.named_barrier = barrier;
  if (!count) count = state.threads;
  if (++state.named_arrived[barrier] < count) {
    fiber.state = WAIT_NAMED;
    suspend();
    return;
  }
  state.named_arrived[barrier] = 0;
  for (unsigned i = 0; i < state.threads; ++i) {
    Fiber& other = state.fibers[i];
    if (other.state == WAIT_NAMED && other.named_barrier == barrier) other.state = READY;
  }
}

// Let others run: for loops that wait for another thread.
static void yield() {
  state.current->state = READY;
  suspend();
}

// ---- the end of a thread: it may be what others wait for
static void finish_current() {
  Fiber& fiber = *state.current;
  if (!fiber.copies.empty() && state.schedule.strict)
    fail("thread ends with %zu cp.async copies never waited for", fiber.copies.size());
  fiber.state = DONE;
  --state.alive;
  my_warp().exited |= 1u << lane();
  if (state.arrived && state.arrived == state.alive) release_block();
  const unsigned first = warp_index() * kWarpSize;
  for (unsigned i = first; i < first + kWarpSize && i < state.threads; ++i)
    if (state.fibers[i].state == WAIT_WARP) try_release_warp(warp_index(), state.fibers[i].mask);
}

}  // namespace simulator
