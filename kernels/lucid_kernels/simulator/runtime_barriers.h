// Where threads wait for each other: the block's barrier, warp operations, named barriers.
#pragma once

namespace simulator {

static bool strict() { return state.schedule.strict && state.checks & BARRIERS; }

static bool same_place(const Fiber& a, const Fiber& b) {
  return a.place.line == b.place.line && !strcmp(a.place.file, b.place.file);
}

// ---- __syncthreads
static void release_block() {
  const Fiber* first = nullptr;
  const Fiber* ended = nullptr;
  for (unsigned i = 0; i < state.threads; ++i) {
    Fiber& fiber = state.fibers[i];
    // The last thread to arrive does not wait.
    const bool arrived = fiber.state == WAIT_BLOCK || (&fiber == state.current && fiber.state != DONE);
    if (!arrived) {
      ended = &fiber;
      continue;
    }
    if (!first) first = &fiber;
    if (strict() && !same_place(fiber, *first))
      fail("threads of one block meet at different __syncthreads (%s:%d and %s:%d)", first->place.file, first->place.line,
           fiber.place.file, fiber.place.line);
    fiber.state = READY;
  }
  if (strict() && ended) {
    const uint3 index = ended->thread_index;
    fail("threads of one block reach a different number of barriers: thread (%u,%u,%u) has ended after %u, and others wait "
         "in __syncthreads at %s:%d, their number %u", index.x, index.y, index.z, ended->barriers, first->place.file,
         first->place.line, first->barriers);
  }
  state.arrived = 0;
  state.predicate_result = state.predicate_sum;
  state.predicate_sum = 0;
  order_block();
}

LUCID_EXPORT void sync_block(Place place) {
  Fiber& fiber = *state.current;
  fiber.place = place;
  fiber.operation = "__syncthreads";
  ++fiber.barriers;
  settle_all();
  if (++state.arrived == state.alive) {
    release_block();
    return;
  }
  fiber.state = WAIT_BLOCK;
  suspend();
}

LUCID_EXPORT long sync_block_sum(Place place, long value) {
  state.predicate_sum += value;
  sync_block(place);
  return state.predicate_result;
}

// ---- warp operations
// Let the lanes of `mask` go on when all of them that still run have arrived.
static void try_release_warp(unsigned index, unsigned mask) {
  Warp& warp = state.warps[index];
  const unsigned alive = warp.present & ~warp.exited, needed = mask & alive;
  if (!needed || (warp.arrived & mask) != needed) return;
  Fiber* fibers = &state.fibers[index * kWarpSize];
  const Fiber* first = nullptr;
  for (unsigned i = 0; i < kWarpSize; ++i) {
    if (!(needed >> i & 1)) continue;
    if (fibers[i].mask != mask) return;  // it waits with another group of lanes
    if (!first) first = &fibers[i];
    if (strict() && (!same_place(fibers[i], *first) || strcmp(fibers[i].operation, first->operation)))
      fail("lanes of one warp meet at different warp ops (%s at %s:%d, %s at %s:%d)", first->operation, first->place.file,
           first->place.line, fibers[i].operation, fibers[i].place.file, fibers[i].place.line);
  }
  uint64_t* values = warp.history[warp.operations++ % kWarpHistory];
  memcpy(values, warp.brought, sizeof warp.brought);
  for (unsigned i = 0; i < kWarpSize; ++i) {
    if (!(needed >> i & 1)) continue;
    fibers[i].state = READY;
    fibers[i].exchange = {values, needed};
  }
  warp.arrived &= ~mask;
  if (!first->orders_memory) return;  // a shuffle or vote: lanes meet, but their accesses are as unordered as before
  if (needed == alive)
    order_warp(index);
  else
    order_some(index * kWarpSize, kWarpSize, [&](unsigned i) { return needed >> i % kWarpSize & 1; });
}

LUCID_EXPORT Exchange sync_warp(unsigned mask, uint64_t value, const char* operation, Place place, bool orders_memory) {
  Fiber& fiber = *state.current;
  const unsigned me = 1u << lane();
  if (!(mask & me))
    fail("%s (%s:%d): the calling lane %u is not in its mask 0x%08x", operation, place.file, place.line, lane(), mask);
  fiber.mask = mask;
  fiber.orders_memory = orders_memory;
  fiber.operation = operation;
  fiber.place = place;
  fiber.state = WAIT_WARP;
  my_warp().brought[lane()] = value;
  my_warp().arrived |= me;
  settle_all();
  try_release_warp(warp_index(), mask);
  if (fiber.state == WAIT_WARP) suspend();
  return fiber.exchange;
}

LUCID_EXPORT uint64_t shuffle(unsigned mask, uint64_t value, int source, bool keep, const char* operation, Place place) {
  const Exchange exchange = sync_warp(mask, value, operation, place);
  if (keep) return value;
  if (exchange.lanes >> (source & 31) & 1) return exchange.values[source & 31];
  if (strict())
    fail("%s (%s:%d): lane %u reads lane %d, which is not active", operation, place.file, place.line, lane(), source);
  return value;
}

LUCID_EXPORT unsigned ballot(unsigned mask, bool predicate, Place place) {
  const Exchange exchange = sync_warp(mask, predicate, "__ballot_sync", place);
  unsigned result = 0;
  for (unsigned i = 0; i < kWarpSize; ++i)
    if ((exchange.lanes >> i & 1) && exchange.values[i]) result |= 1u << i;
  return result;
}

LUCID_EXPORT unsigned active_mask() { return my_warp().present & ~my_warp().exited; }

// ---- bar.sync
LUCID_EXPORT void sync_named(unsigned barrier, unsigned count, Place place) {
  if (barrier >= kNamedBarriers || count % kWarpSize) fail("named barrier %u with count %u", barrier, count);
  Fiber& fiber = *state.current;
  fiber.place = place;
  fiber.operation = "bar.sync";
  fiber.named_barrier = barrier;
  if (!count) count = state.threads;
  settle_all();
  fiber.state = WAIT_NAMED;
  if (++state.named_arrived[barrier] < count) {
    suspend();
    return;
  }
  state.named_arrived[barrier] = 0;
  const auto waits = [&](unsigned i) {
    return state.fibers[i].state == WAIT_NAMED && state.fibers[i].named_barrier == barrier;
  };
  order_some(0, state.threads, waits);
  for (unsigned i = 0; i < state.threads; ++i)
    if (waits(i)) state.fibers[i].state = READY;
}

// Let others run, of other warps too: for loops that wait for another thread.
LUCID_EXPORT void yield() {
  state.current->state = YIELDED;
  suspend();
}

// ---- the end of a thread: it may be what others wait for
static void finish_current() {
  Fiber& fiber = *state.current;
  if (!fiber.copies.empty() && strict())
    fail("thread ends with %zu cp.async copies never waited for", fiber.copies.size());
  settle_all();
  fiber.state = DONE;
  --state.alive;
  my_warp().exited |= 1u << lane();
  if (state.arrived && state.arrived == state.alive) release_block();
  const unsigned first = warp_index() * kWarpSize;
  for (unsigned i = first; i < first + kWarpSize && i < state.threads; ++i)
    if (state.fibers[i].state == WAIT_WARP) try_release_warp(warp_index(), state.fibers[i].mask);
}

}  // namespace simulator
