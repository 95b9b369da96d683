// The memory of a launch: device arrays, shared memory, and for each word of them who accessed it last.
#pragma once

extern "C" {
// The dynamic shared memory starts at a page, so that it is aligned for everything.
alignas(4096) LUCID_EXPORT unsigned char lucid_dynamic_shared[simulator::kMaxDynamicShared];
}

namespace simulator {

static unsigned char* const dynamic_memory = lucid_dynamic_shared;

// ---- what memory holds that nothing has been written to: NaN of every floating type, by address, which no data looks
// like. It repeats every 64 KB; guard.py fills device memory with the same.
constexpr size_t kUndefinedWords = 1 << 14;

static const uint32_t* const undefined_words = [] {
  static uint32_t words[kUndefinedWords];
  for (uint32_t i = 0; i < kUndefinedWords; ++i) {
    const uint32_t mixed = i * 2654435761u;
    words[i] = (0xfff1 + (mixed >> 20) % 14) << 16 | (0xff81 + (mixed >> 8) % 126);
  }
  return words;
}();

static inline uint32_t undefined_word(uintptr_t address) { return undefined_words[address / 4 % kUndefinedWords]; }

static inline bool is_undefined(uintptr_t word) {
  const uint32_t value = *(const uint32_t*)word;
  return (value & 0xfff0ff80) == 0xfff0ff80 && value == undefined_word(word);
}

static void fill_undefined(void* memory, size_t bytes) {
  constexpr size_t period = 4 * kUndefinedWords;
  char* to = (char*)memory;
  while (bytes) {
    const size_t offset = (uintptr_t)to % period, part = std::min(bytes, period - offset);
    memcpy(to, (const char*)undefined_words + offset, part);
    to += part, bytes -= part;
  }
}

// ---- who accessed a word last: the writer, the latest reader, and another reader, as far from that one as possible
struct Cell {
  Access writer, reader, other_reader;
  uint32_t written_at, read_at, other_read_at;  // offsets of instructions in the library
  uint32_t settled;  // the interval in which another reader would add nothing
};

constexpr size_t kChunkBytes = 4096;
// Larger arrays have no cells, which take ten times the memory (forty of single bytes).
constexpr size_t kMaxTracked = 32 << 20;

// The cells of `kChunkBytes` of memory: one a word, or one a byte as soon as parts of words are accessed.
struct Chunk {
  Cell* cells = nullptr;
  bool bytewise = false;
};

// Cells need no clearing when a launch is over: accesses of earlier ones do not count.
static std::vector<Cell*> free_cells[2], all_cells[2];

static size_t cells_of(bool bytewise) { return bytewise ? kChunkBytes : kChunkBytes / 4; }

static Cell* take_cells(bool bytewise) {
  std::vector<Cell*>& free = free_cells[bytewise];
  if (free.empty()) {
    free.push_back(new Cell[cells_of(bytewise)]());
    all_cells[bytewise].push_back(free.back());
  }
  Cell* cells = free.back();
  free.pop_back();
  return cells;
}

static void give_cells(Chunk& chunk) {
  if (chunk.cells) free_cells[chunk.bytewise].push_back(chunk.cells);
  chunk = {};
}

static void split_cells(Chunk& chunk) {
  Cell* bytes = take_cells(true);
  if (chunk.cells) {
    for (size_t i = 0; i < kChunkBytes; ++i) bytes[i] = chunk.cells[i / 4];
    std::fill_n(chunk.cells, cells_of(false), Cell{});  // another array may take them in this launch
  } else
    std::fill_n(bytes, kChunkBytes, Cell{});
  give_cells(chunk);
  chunk = {bytes, true};
}

constexpr uint32_t kLastBlock = 0xf0000000;

// Block indices have come to their end: all accesses are forgotten.
static void forget_cells() {
  for (int bytewise = 0; bytewise < 2; ++bytewise)
    for (Cell* cells : all_cells[bytewise]) std::fill_n(cells, cells_of(bytewise), Cell{});
  order.block = 0;
}

// ---- arrays
enum Kind { DEVICE, STATIC_SHARED, DYNAMIC_SHARED, MODULE };

struct Array {
  Array(Kind kind, uintptr_t begin, size_t bytes)
      : kind(kind), begin(begin), end(begin + bytes), base(begin & ~(uintptr_t)15),
        chunks((end - base + kChunkBytes - 1) / kChunkBytes) {}
  ~Array() {
    for (Chunk& chunk : chunks) give_cells(chunk);
  }
  Array(const Array&) = delete;

  Chunk& chunk_at(uintptr_t address) { return chunks[(address - base) / kChunkBytes]; }
  bool is_shared() const { return kind == STATIC_SHARED || kind == DYNAMIC_SHARED; }

  const Kind kind;
  const uintptr_t begin, end, base;
  std::vector<Chunk> chunks;
  unsigned launch = 0;  // the latest that was given this array, as `argument`
  size_t argument = 0;
  bool read_only = false;  // in that launch
};

static unsigned launch_number = 0;
static Array* dynamic_shared_array = new Array(DYNAMIC_SHARED, (uintptr_t)dynamic_memory, kMaxDynamicShared);

// The device arrays that Python has told of, by page: two levels of tables, for addresses of 47 bits.
constexpr unsigned kPageBits = 12, kLeafBits = 18;
static Array** page_table[1 << (47 - kPageBits - kLeafBits)];

static void set_pages(const Array& array, Array* value) {
  for (uintptr_t page = array.begin >> kPageBits; page <= (array.end - 1) >> kPageBits; ++page) {
    Array**& leaf = page_table[page >> kLeafBits];
    if (!leaf) leaf = (Array**)calloc(1 << kLeafBits, sizeof(Array*));
    leaf[page & ((1 << kLeafBits) - 1)] = value;
  }
}

static inline Array* array_at(uintptr_t address) {
  const uintptr_t page = address >> kPageBits, root = page >> kLeafBits;
  if (root >= sizeof page_table / sizeof *page_table || !page_table[root]) return nullptr;
  return page_table[root][page & ((1 << kLeafBits) - 1)];
}

// Arrays of this launch that are no device arrays: NumPy's, given by the tests of the simulator itself.
static std::vector<std::unique_ptr<Array>> host_arrays;

// ---- the static memory of a library. Variables that no thread has accessed in this launch hold undefined words.
struct LibraryMemory {
  explicit LibraryMemory(const Library& library)
      : library(library), image(MODULE, library.begin, library.end - library.begin),
        shared(STATIC_SHARED, (uintptr_t)library.shared_begin, library.shared_end - library.shared_begin),
        granules((shared.end - shared.base + 15) / 16), usable(granules.size()) {
    for (size_t i = 0; i < library.variables; ++i) {
      const SharedVariable& variable = library.variable[i];
      for (size_t offset = 0; offset < variable.bytes; offset += 16)
        granules[(variable.address + offset - shared.base) / 16] = (unsigned)i + 1;
    }
    use_all();
  }

  // The variable at an address becomes one that is used.
  void use(unsigned number) {
    const SharedVariable& variable = library.variable[number];
    unsigned char* granule = &usable[(variable.address - shared.base) / 16];
    if (*granule) return;
    for (size_t offset = 0; offset < variable.bytes; offset += 16)
      *granule++ = (unsigned char)std::min<size_t>(16, variable.bytes - offset);
    used.push_back(number);
  }

  // Whatever they hold: to be filled.
  void use_all() {
    for (unsigned number = 0; number < library.variables; ++number) use(number);
  }

  void forget_use() {
    for (const unsigned number : used) {
      const SharedVariable& variable = library.variable[number];
      std::fill_n(&usable[(variable.address - shared.base) / 16], (variable.bytes + 15) / 16, 0);
    }
    used.clear();
  }

  const Library library;
  Array image, shared;
  std::vector<unsigned> granules;     // of each 16 bytes the variable's number + 1, or 0
  std::vector<unsigned char> usable;  // of each 16 bytes, how many belong to a variable that is used
  std::vector<unsigned> used;
};
static std::unordered_map<uintptr_t, std::unique_ptr<LibraryMemory>> libraries;
static LibraryMemory* library_memory;

// ---- names, for messages
static std::string text(const char* format, ...) {
  char buffer[400];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  return buffer;
}

static std::string name_of(const Array& array, uintptr_t address) {
  const LaunchParameters& launch = state.parameters;
  switch (array.kind) {
    case DYNAMIC_SHARED: return text("offset %zu of the dynamic shared memory", (size_t)(address - array.begin));
    case MODULE: return "a variable of the module";
    case STATIC_SHARED: {
      const unsigned number = library_memory->granules[(address - array.base) / 16];
      if (!number) return "shared memory between variables";
      const SharedVariable& variable = state.library.variable[number - 1];
      return text("offset %zu of shared '%s'", (size_t)(address - variable.address), variable.name);
    }
    case DEVICE: break;
  }
  const size_t offset = address - array.begin;
  if (array.launch != launch_number) return text("offset %zu of a device array that is no argument", offset);
  return text("offset %zu of argument %zu '%s'", offset, array.argument, launch.argument[array.argument].name);
}

// Where an address lies that belongs to no array.
static std::string place_outside(uintptr_t address) {
  const LaunchParameters& launch = state.parameters;
  if (address - (uintptr_t)dynamic_memory < kMaxDynamicShared)
    return text("past the %zu bytes of dynamic shared memory (offset %zu)", launch.dynamic_shared_bytes,
                (size_t)(address - (uintptr_t)dynamic_memory));
  if (library_memory && address - library_memory->shared.begin < library_memory->shared.end - library_memory->shared.begin) {
    const SharedVariable* before = nullptr;
    for (size_t i = 0; i < state.library.variables; ++i) {
      const SharedVariable& variable = state.library.variable[i];
      if (variable.address <= address && (!before || variable.address > before->address)) before = &variable;
    }
    if (before)
      return text("%zu bytes past the end of shared '%s' (%zu bytes)",
                  (size_t)(address - before->address - before->bytes), before->name, before->bytes);
    return "in front of the shared variables";
  }
  const Argument* nearest = nullptr;
  size_t distance = SIZE_MAX;
  bool past = false;
  for (size_t i = 0; i < launch.arguments; ++i) {
    const Argument& argument = launch.argument[i];
    const bool behind = address >= argument.address + argument.bytes;
    const size_t away = behind ? address - argument.address - argument.bytes : argument.address - address;
    if (away >= distance) continue;
    distance = away, past = behind, nearest = &argument;
  }
  if (!nearest || distance > (size_t)1 << 32) return text("at %p, outside every array", (void*)address);
  return text("%zu bytes %s argument %zu '%s' (%zu bytes)", distance, past ? "past the end of" : "in front of",
              (size_t)(nearest - launch.argument), nearest->name, nearest->bytes);
}

}  // namespace simulator

// ---- called by Python: a device array is there, or has gone
extern "C" {
LUCID_EXPORT void lucid_allocated(uintptr_t address, size_t bytes) {
  auto* array = new simulator::Array(simulator::DEVICE, address, bytes);
  simulator::set_pages(*array, array);
}
LUCID_EXPORT void lucid_freed(uintptr_t address) {
  simulator::Array* array = simulator::array_at(address);
  if (!array) return;
  simulator::set_pages(*array, nullptr);
  delete array;
}
}
