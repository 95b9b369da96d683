// What happens at every access to memory: g++ puts a call in front of each (-fsanitize=thread, whose own library is not
// used). Checked are bounds and alignment; races, by the cells of runtime_memory.h; uninitialised memory, by what it holds.
#pragma once

namespace simulator {

// ---- uninitialised memory: see runtime_uninitialized.h
struct UndefinedRead {
  uint64_t event;  // its number
  const void* instruction;
  uint32_t block_step;
  uint32_t thread;
  size_t name;
};
enum Tracing { NOT_TRACING, RECORDING, COMPARING };
struct Uninitialized {
  std::vector<UndefinedRead> reads;
  std::vector<uintptr_t> words;    // of device arrays
  std::vector<std::string> names;  // of the first places
  uint64_t events = 0;             // accesses of this run
  Tracing tracing = NOT_TRACING;
  std::vector<uint64_t> trace;  // the accesses and the stored values of a run, which others are compared with
  size_t position = 0;
  bool can_undo = true;
  int fill = -1;  // the byte that memory is filled with in this run; -1: undefined words
};
static Uninitialized uninitialized;

static void note_undefined(const Array& array, uintptr_t address, size_t bytes, const void* instruction);
static void trace(uint64_t what, const void* instruction);

// ---- what the usual access needs to know. Closed while stores are announced or a run is traced.
struct Shortcut {
  bool open = false;
  uintptr_t shared = 0;
  size_t shared_bytes = 0;
  const unsigned char* usable = nullptr;
  Array* array = nullptr;
  uintptr_t dynamic_end = 0;
};
static Shortcut shortcut;
constexpr unsigned kAllOfShortcut = BOUNDS | RACES | UNINITIALIZED | ALIGNMENT;

// ---- what the launch has overwritten, in order, to run it again
struct Overwritten {
  uintptr_t address;
  uint32_t value;
  bool byte;
};
static std::vector<Overwritten> overwritten;

// ---- a store that has been announced: the instruction stores a little later. Read when two more accesses have been
// announced, or the thread waits.
struct Announced {
  uintptr_t address;
  uint32_t bytes;
  int patience;
  const void* instruction;
  bool compare;  // `before` with what is there then: a race, unless it is the same
  Access other;
  uint32_t other_at;
  Array* array;
  unsigned char before[16];
};
static std::vector<Announced> announced;

[[noreturn]] static void report_race(bool write, Array& array, uintptr_t address, const void* instruction, bool other_wrote,
                                     Access other, uint32_t other_at);

static void open_shortcut() { shortcut.open = shortcut.usable && announced.empty() && !uninitialized.tracing; }

static void settle(const Announced& store) {
  const unsigned char* now = (const unsigned char*)store.address;
  if (store.compare && memcmp(store.before, now, store.bytes))
    report_race(true, *store.array, store.address, store.instruction, true, store.other, store.other_at);
  if (uninitialized.tracing) {
    uint64_t value = store.bytes;
    for (uint32_t i = 0; i < store.bytes; ++i) value = (value ^ now[i]) * 0x100000001b3ull;
    trace(value, store.instruction);
  }
}

static void settle_all() {
  for (const Announced& store : announced) settle(store);
  announced.clear();
  open_shortcut();
}

static void settle_some() {
  size_t left = 0;
  for (size_t i = 0; i < announced.size(); ++i) {
    if (--announced[i].patience > 0)
      announced[left++] = announced[i];
    else
      settle(announced[i]);
  }
  announced.resize(left);
  open_shortcut();
}

// ---- races
static uint3 index_of_block(uint32_t number) {
  const uint3 grid = lucid_grid_shape;
  const size_t step = number - order.first_block, blocks = (size_t)grid.x * grid.y * grid.z;
  const size_t i = state.schedule.order == REVERSE ? blocks - 1 - step : step;
  return {(unsigned)(i % grid.x), (unsigned)(i / grid.x % grid.y), (unsigned)(i / grid.x / grid.y)};
}

static std::string describe(uint32_t block, uint32_t thread) {
  const uint3 index = state.fibers[thread].thread_index;
  if (block == order.block) return text("thread (%u,%u,%u)", index.x, index.y, index.z);
  const uint3 other = index_of_block(block);
  return text("thread (%u,%u,%u) of block (%u,%u,%u)", index.x, index.y, index.z, other.x, other.y, other.z);
}

[[noreturn]] static void report_race(bool write, Array& array, uintptr_t address, const void* instruction, bool other_wrote,
                                     Access other, uint32_t other_at) {
  fail("race: %s %s at pc %p, which %s %s at pc %p, and nothing orders the two", write ? "writes" : "reads",
       name_of(array, address).c_str(), instruction, describe(block_of(other), thread_of(other)).c_str(),
       other_wrote ? "has written" : "has read", (void*)(state.library.begin + other_at));
}

static inline bool same_thread(Access a, Access b) { return ((a ^ b) & kWho) == 0; }

// Whether both are atomic, or volatile, which counts as that unless the lanes of one warp rely on it in shared memory.
static bool both_atomic(const Array& array, Access a, Access b) {
  const uint32_t either = flags_of(a) & flags_of(b);
  if (either & ATOMIC) return true;
  if (!flags_of(a) || !flags_of(b)) return false;
  return !(array.is_shared() && block_of(a) == block_of(b) && thread_of(a) / kWarpSize == thread_of(b) / kWarpSize);
}

static inline bool in_conflict(const Array& array, Access before, Access now) {
  const uint32_t oldest = array.is_shared() ? order.block : order.first_block;
  return block_of(before) >= oldest && !is_known_to_block(before) && !same_thread(before, now) && !is_known(before) &&
         !both_atomic(array, before, now);
}

// How far an access is from the current thread: what a later writer may conflict with even if it waits for this one.
static inline int distance_to(Access other) {
  if (block_of(other) != order.block) return block_of(other) < order.first_block ? 0 : 3;
  if (is_known_to_block(other) || same_thread(other, order.me)) return 0;
  return thread_of(other) / kWarpSize == warp_index() ? 1 : 2;
}

// Whether one more reader adds nothing: whoever writes next is in conflict with a reader that is known, or with none.
static inline bool is_settled(const Cell& cell, Access me) {
  if (cell.settled == order.interval || cell.reader == me) return true;
  // Two lanes of the same warp, since its latest step.
  const Access warp = ~(Access)(kWarpSize - 1);
  return !(((cell.reader ^ me) | (cell.other_reader ^ me)) & warp) && !order.any_knowledge;
}

__attribute__((noinline)) static void check_read(Cell& cell, Array& array, uintptr_t address, Access me, const void* instruction) {
  if (state.checks & RACES && in_conflict(array, cell.writer, me))
    report_race(false, array, address, instruction, true, cell.writer, cell.written_at);
  if (!same_thread(cell.reader, me)) {
    const int distance = distance_to(cell.reader);
    if (distance && distance >= distance_to(cell.other_reader)) {
      cell.other_reader = cell.reader;
      cell.other_read_at = cell.read_at;
    }
  }
  cell.reader = me;
  cell.read_at = (uint32_t)((uintptr_t)instruction - state.library.begin);
  // Two readers of different warps: others before the next barrier add nothing.
  const Access other = cell.other_reader;
  if (block_of(other) == order.block && !is_known_to_block(other) && thread_of(other) / kWarpSize != warp_index() &&
      !order.any_knowledge && !flags_of(me | other) &&
      (block_of(cell.writer) < (array.is_shared() ? order.block : order.first_block) || is_known_to_block(cell.writer)))
    cell.settled = order.interval;
}

__attribute__((noinline)) static void check_write(Cell& cell, Array& array, uintptr_t address, uint32_t bytes, Access me,
                               const void* instruction) {
  if (cell.writer == me && !cell.reader) return;
  if (state.checks & RACES) {
    if (in_conflict(array, cell.writer, me)) {
      Announced store{address, bytes, 2, instruction, true, cell.writer, cell.written_at, &array, {}};
      memcpy(store.before, (const void*)address, bytes);
      announced.push_back(store);
      shortcut.open = false;
    }
    if (in_conflict(array, cell.reader, me))
      report_race(true, array, address, instruction, false, cell.reader, cell.read_at);
    if (in_conflict(array, cell.other_reader, me))
      report_race(true, array, address, instruction, false, cell.other_reader, cell.other_read_at);
  }
  if (block_of(cell.writer) < order.first_block && array.kind != STATIC_SHARED && array.kind != DYNAMIC_SHARED)
    overwritten.push_back({address, bytes == 4 ? *(const uint32_t*)address : *(const unsigned char*)address, bytes == 1});
  // Whoever comes after this write comes after what it has come after.
  cell.writer = me;
  cell.reader = cell.other_reader = 0;
  cell.settled = 0;
  cell.written_at = (uint32_t)((uintptr_t)instruction - state.library.begin);
}

static inline void check_cells(Array& array, uintptr_t address, size_t bytes, bool write, Access me,
                               const void* instruction) {
  const uintptr_t end = address + bytes;
  while (address < end) {
    Chunk& chunk = array.chunk_at(address);
    if (!chunk.bytewise && ((address | end) & 3)) split_cells(chunk);
    if (!chunk.cells) chunk.cells = take_cells(chunk.bytewise);
    const size_t offset = (address - array.base) % kChunkBytes;
    const uint32_t step = chunk.bytewise ? 1 : 4;
    Cell& cell = chunk.cells[offset / step];
    if (write)
      check_write(cell, array, address, step, me, instruction);
    else if (!is_settled(cell, me))
      check_read(cell, array, address, me, instruction);
    address += step;
  }
}

// ---- one access
static Array* array_of(uintptr_t address, size_t bytes) {
  if (address - (uintptr_t)dynamic_memory < kMaxDynamicShared) {
    const uintptr_t end = (uintptr_t)dynamic_memory + state.parameters.dynamic_shared_bytes;
    return address + bytes <= end ? dynamic_shared_array : nullptr;
  }
  LibraryMemory& library = *library_memory;
  if (address - library.shared.begin < library.shared.end - library.shared.begin) {
    const unsigned number = library.granules[(address - library.shared.base) / 16];
    if (!number) return nullptr;
    const SharedVariable& variable = state.library.variable[number - 1];
    if (address + bytes > variable.address + variable.bytes) return nullptr;
    library.use(number - 1);
    return &library.shared;
  }
  if (Array* array = array_at(address))
    return address >= array->begin && address + bytes <= array->end ? array : nullptr;
  for (const auto& array : host_arrays)
    if (address >= array->begin && address + bytes <= array->end) return array.get();
  if (address >= library.image.begin && address + bytes <= library.image.end) return &library.image;
  return nullptr;
}

static bool looks_undefined(uintptr_t address, size_t bytes) {
  if (bytes < 4) {  // so few bytes may look so by chance: the eight around them do not
    const uintptr_t around = address & ~(uintptr_t)7;
    return is_undefined(around) && is_undefined(around + 4);
  }
  for (uintptr_t word = address & ~(uintptr_t)3; word + 4 <= address + bytes; word += 4)
    if (is_undefined(word)) return true;
  return false;
}

template <bool Write>
__attribute__((noinline)) static void check(uintptr_t address, size_t bytes, size_t alignment, uint32_t flags, const void* instruction) {
  if (!announced.empty()) settle_some();
  const char* doing = Write ? "writes" : "reads";
  if (address & (alignment - 1) && state.checks & ALIGNMENT)
    fail("misaligned access: %s %zu bytes at pc %p, at an address that is no multiple of %zu: %p", doing, bytes,
         instruction, alignment, (void*)address);
  if (uninitialized.tracing) {
    const uintptr_t origin = array_of(address, bytes) == &library_memory->image ? state.library.begin : 0;
    trace((address - origin) * 0x9e3779b97f4a7c15ull ^ (uintptr_t)instruction, instruction);
  }
  ++uninitialized.events;
  Array* array = array_of(address, bytes);
  if (!array) {
    if (!(state.checks & BOUNDS)) return;
    fail("invalid memory access: %s %zu bytes at pc %p, %s", doing, bytes, instruction, place_outside(address).c_str());
  }
  if (state.checks & UNINITIALIZED && array->kind != MODULE) {
    if (!Write || flags & ATOMIC)
      if (looks_undefined(address, bytes)) note_undefined(*array, address, bytes, instruction);
    if (Write && uninitialized.tracing && array->kind == DEVICE)
      announced.push_back({address, (uint32_t)bytes, 2, instruction, false, 0, 0, array, {}});
  }
  if (!(state.checks & (RACES | UNINITIALIZED))) return;
  if (array->end - array->begin > kMaxTracked) {
    if (Write) uninitialized.can_undo = false;
    return;
  }
  if (array->read_only && array->launch == launch_number) {
    if (!Write) return;
    array->read_only = false;
  }
  if (flags && !order.releases.empty()) acquire(address);
  check_cells(*array, address, bytes, Write, order.me | (Access)flags << kThreadBits, instruction);
  if (Write && flags) release(address);
}

template <bool Write>
static inline void on_access(const void* pointer, size_t bytes, size_t alignment, uint32_t flags, const void* instruction) {
  const uintptr_t address = (uintptr_t)pointer;
  if (is_local(address) || !state.current || !bytes) return;
  check<Write>(address, bytes, alignment, flags, (const char*)instruction - 1);
}

// The usual case in few instructions: words of shared memory that has been used before, and arrays that are only read.
template <bool Write, size_t Bytes> static inline bool take_shortcut(uintptr_t address, const void* instruction) {
  if (!shortcut.open || address & (Bytes - 1)) return false;
  Array* array;
  if (const uintptr_t offset = address - shortcut.shared; offset < shortcut.shared_bytes) {
    if ((address & 15) + Bytes > shortcut.usable[offset / 16]) return false;
    array = shortcut.array;
  } else if (address - (uintptr_t)dynamic_memory < kMaxDynamicShared) {
    if (address + Bytes > shortcut.dynamic_end) return false;
    array = dynamic_shared_array;
  } else {
    array = array_at(address);
    if (Write || !array || address < array->begin || address + Bytes > array->end) return false;
    if (!array->read_only || array->launch != launch_number) return false;
    for (size_t i = 0; i < Bytes; i += 4)
      if (is_undefined(address + i)) return false;
    ++uninitialized.events;
    return true;
  }
  Chunk& chunk = array->chunk_at(address);
  if (chunk.bytewise || !chunk.cells) return false;
  if (!Write)
    for (size_t i = 0; i < Bytes; i += 4)
      if (is_undefined(address + i)) return false;
  ++uninitialized.events;
  Cell* cells = &chunk.cells[(address - array->base) % kChunkBytes / 4];
  for (size_t i = 0; i < Bytes / 4; ++i)
    if (Write)
      check_write(cells[i], *array, address + 4 * i, 4, order.me, (const char*)instruction - 1);
    else if (!is_settled(cells[i], order.me))
      check_read(cells[i], *array, address + 4 * i, order.me, (const char*)instruction - 1);
  return true;
}

template <bool Write, size_t Bytes> static inline void on_word(const void* pointer, const void* instruction) {
  const uintptr_t address = (uintptr_t)pointer;
  if (is_local(address)) return;
  if constexpr (Bytes >= 4)
    if (take_shortcut<Write, Bytes>(address, instruction)) return;
  on_access<Write>(pointer, Bytes, Bytes, 0, instruction);
}

LUCID_EXPORT void check_atomic(const void* address, size_t bytes) {
  on_access<true>(address, bytes, bytes, ATOMIC, __builtin_return_address(0));
}

}  // namespace simulator

// ---- what g++ calls
#define LUCID_HOOKS(size)                                                                     \
  LUCID_EXPORT void __tsan_read##size(const void* p) {                                        \
    simulator::on_word<false, size>(p, __builtin_return_address(0));                          \
  }                                                                                           \
  LUCID_EXPORT void __tsan_write##size(const void* p) {                                       \
    simulator::on_word<true, size>(p, __builtin_return_address(0));                           \
  }                                                                                           \
  LUCID_EXPORT void __tsan_unaligned_read##size(const void* p) {                              \
    simulator::on_access<false>(p, size, 1, 0, __builtin_return_address(0));                  \
  }                                                                                           \
  LUCID_EXPORT void __tsan_unaligned_write##size(const void* p) {                             \
    simulator::on_access<true>(p, size, 1, 0, __builtin_return_address(0));                   \
  }                                                                                           \
  LUCID_EXPORT void __tsan_volatile_read##size(const void* p) {                               \
    simulator::on_access<false>(p, size, size, simulator::VOLATILE, __builtin_return_address(0)); \
  }                                                                                           \
  LUCID_EXPORT void __tsan_volatile_write##size(const void* p) {                              \
    simulator::on_access<true>(p, size, size, simulator::VOLATILE, __builtin_return_address(0));  \
  }                                                                                           \
  LUCID_EXPORT void __tsan_unaligned_volatile_read##size(const void* p) {                     \
    simulator::on_access<false>(p, size, 1, simulator::VOLATILE, __builtin_return_address(0));    \
  }                                                                                           \
  LUCID_EXPORT void __tsan_unaligned_volatile_write##size(const void* p) {                    \
    simulator::on_access<true>(p, size, 1, simulator::VOLATILE, __builtin_return_address(0));     \
  }

extern "C" {
LUCID_HOOKS(1)
LUCID_HOOKS(2)
LUCID_HOOKS(4)
LUCID_HOOKS(8)
LUCID_HOOKS(16)
LUCID_EXPORT void __tsan_read_range(const void* p, size_t bytes) {
  simulator::on_access<false>(p, bytes, 1, 0, __builtin_return_address(0));
}
LUCID_EXPORT void __tsan_write_range(const void* p, size_t bytes) {
  simulator::on_access<true>(p, bytes, 1, 0, __builtin_return_address(0));
}
LUCID_EXPORT void __tsan_vptr_update(void*, void*) {}
LUCID_EXPORT void __tsan_vptr_read(void*) {}
LUCID_EXPORT void __tsan_init() {}
LUCID_EXPORT void __tsan_func_entry(void*) {}
LUCID_EXPORT void __tsan_func_exit() {}
// The guard of a static variable with a constructor.
LUCID_EXPORT unsigned char __tsan_atomic8_load(const unsigned char* p, int) { return *p; }

// Calls of these functions in kernels (cuda_on_cpu.h gives them other names).
LUCID_EXPORT void* lucid_memcpy(void* to, const void* from, size_t bytes) {
  simulator::on_access<false>(from, bytes, 1, 0, __builtin_return_address(0));
  simulator::on_access<true>(to, bytes, 1, 0, __builtin_return_address(0));
  return memcpy(to, from, bytes);
}
LUCID_EXPORT void* lucid_memmove(void* to, const void* from, size_t bytes) {
  simulator::on_access<false>(from, bytes, 1, 0, __builtin_return_address(0));
  simulator::on_access<true>(to, bytes, 1, 0, __builtin_return_address(0));
  return memmove(to, from, bytes);
}
LUCID_EXPORT void* lucid_memset(void* to, int value, size_t bytes) {
  simulator::on_access<true>(to, bytes, 1, 0, __builtin_return_address(0));
  return memset(to, value, bytes);
}
}
