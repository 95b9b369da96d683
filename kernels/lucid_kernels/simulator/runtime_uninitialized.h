// Whether a value that was read before it was written matters.
//
// A launch that has read such words runs again, in the same order and from the same memory, with other contents in them:
// large, small, zero. If that changes which accesses follow, or what is stored in a device array, the value was used in a
// branch, an address or a result. A value that is read and dropped changes nothing, and is not reported.
#pragma once

namespace simulator {

constexpr size_t kMaxUndefinedReads = 1 << 20, kMaxTrace = 1 << 25, kMaxNames = 1000;
// NaN was the first. For all of float, double and integers of four bytes: large, small and zero.
constexpr int kFills[] = {0x7B, 0xFB, 0x00, -1};

static void note_undefined(const Array& array, uintptr_t address, size_t bytes, const void* instruction) {
  Uninitialized& all = uninitialized;
  if (all.tracing || all.reads.size() >= kMaxUndefinedReads) return;
  if (all.names.size() < kMaxNames) all.names.push_back(name_of(array, address));
  all.reads.push_back({all.events, instruction, order.block - order.first_block, state.current->linear_index,
                       all.names.size() - 1});
  if (array.is_shared()) return;
  const uintptr_t unit = bytes < 4 ? 8 : 4, end = (address + bytes + unit - 1) & ~(unit - 1);
  for (uintptr_t word = address & ~(unit - 1); word < end; word += 4)
    if (word >= array.begin && word + 4 <= array.end && is_undefined(word)) all.words.push_back(word);
}

// The read that a difference at this event comes from: the thread's latest before it, or else anybody's.
static const UndefinedRead& cause() {
  const UndefinedRead *own = nullptr, *any = &uninitialized.reads.front();
  for (const UndefinedRead& read : uninitialized.reads) {
    if (read.event > uninitialized.events) break;
    any = &read;
    if (state.current && read.block_step == order.block - order.first_block &&
        read.thread == state.current->linear_index)
      own = &read;
  }
  return own ? *own : *any;
}

[[noreturn]] static void report_undefined(const void* instruction) {
  const UndefinedRead& read = cause();
  const std::string effect = instruction ? text("what happens at pc %p", instruction) : "how much happens afterwards";
  fail("uninitialised memory: %s is read at pc %p before it is written, and %s depends on it",
       uninitialized.names[read.name].c_str(), read.instruction, effect.c_str());
}

static void trace(uint64_t what, const void* instruction) {
  std::vector<uint64_t>& trace = uninitialized.trace;
  if (uninitialized.tracing == RECORDING) {
    if (trace.size() < kMaxTrace) trace.push_back(what);
    return;
  }
  if (uninitialized.position == kMaxTrace) return;
  if (uninitialized.position < trace.size() && trace[uninitialized.position++] == what) return;
  report_undefined(instruction);
}

static void undo() {
  for (size_t i = overwritten.size(); i--;) {
    const Overwritten& old = overwritten[i];
    if (old.byte)
      *(unsigned char*)old.address = (unsigned char)old.value;
    else
      *(uint32_t*)old.address = old.value;
  }
  overwritten.clear();
}

static void begin_tracking() {
  uninitialized.reads.clear();
  uninitialized.words.clear();
  uninitialized.names.clear();
  uninitialized.trace.clear();
  uninitialized.tracing = NOT_TRACING;
  uninitialized.can_undo = true;
  uninitialized.fill = -1;
  overwritten.clear();
}

static void run_grid();  // runtime_grid.h

// Run the launch again with other contents where it has read what nobody had written; the last time with the same.
static void run_with_other_contents() {
  for (const int fill : kFills) {
    undo();
    for (const uintptr_t word : uninitialized.words)
      *(uint32_t*)word = fill < 0 ? undefined_word(word) : (uint32_t)fill * 0x01010101u;
    library_memory->use_all();
    uninitialized.fill = fill;
    uninitialized.tracing = fill == kFills[0] ? RECORDING : COMPARING;
    uninitialized.position = 0;
    run_grid();
    if (uninitialized.tracing == COMPARING && uninitialized.position < uninitialized.trace.size()) report_undefined(nullptr);
  }
}

}  // namespace simulator
