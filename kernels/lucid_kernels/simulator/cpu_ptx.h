// What kernels reach through inline PTX on a GPU: asynchronous copies and tensor cores. A wrapper in a .cuh file calls
// these under `#ifdef LUCID_SIMULATOR`. The layouts follow the PTX ISA; they have not been compared with hardware.
#pragma once

namespace simulator {

// ---- cp.async
// A copy lands as late as allowed, at the wait, which shows a missing wait; or (schedule: eager_copies) at once, which
// shows a buffer that is overwritten while others still read it.
static inline void cp_async(void* target, const void* source, unsigned bytes) {
  if (((uintptr_t)target | (uintptr_t)source) & (bytes - 1)) fail("cp.async of %u bytes on misaligned address", bytes);
  if (state.schedule.eager_copies) memcpy(target, source, bytes);
  state.current->copies.push_back({target, source, bytes, state.current->copy_group});
}

static inline void cp_commit() { ++state.current->copy_group; }

// Wait until at most `pending` committed groups are under way.
static inline void cp_wait(unsigned pending) {
  Fiber& fiber = *state.current;
  std::vector<AsyncCopy> rest;
  for (const AsyncCopy& copy : fiber.copies) {
    if (copy.group + pending >= fiber.copy_group)
      rest.push_back(copy);
    else if (!state.schedule.eager_copies)
      memcpy(copy.target, copy.source, copy.bytes);
  }
  fiber.copies.swap(rest);
}

// ---- mma.sync.m16n8k16, row.col, accumulated in float32
template <class T> static void mma_m16n8k16(float* d, const uint32_t* a, const uint32_t* b, const float* c, int line) {
  struct Registers {
    const uint32_t *a, *b;
  };
  const Registers mine{a, b};
  sync_warp(0xffffffffu, to_bits(&mine), "mma.sync", line);
  if (state.current->exchanged_lanes != 0xffffffffu) fail("mma.sync (line %d) needs all 32 lanes", line);
  const uint64_t* exchanged = state.current->exchanged;
  const auto of_lane = [exchanged](int lane) { return from_bits<const Registers*>(exchanged[lane]); };
  const auto element = [](const uint32_t* registers, int index) {
    T value;
    memcpy(&value, (const char*)registers + 2 * index, 2);
    return (float)value;
  };
  const auto element_a = [&](int row, int k) {
    return element(of_lane((row & 7) * 4 + (k & 7) / 2)->a, (row >> 3) * 2 + (k >> 3) * 4 + (k & 1));
  };
  const auto element_b = [&](int k, int column) {
    return element(of_lane(column * 4 + (k & 7) / 2)->b, (k >> 3) * 2 + (k & 1));
  };
  float result[4];
  for (int i = 0; i < 4; ++i) {
    const int row = (int)lane() / 4 + (i >> 1) * 8, column = ((int)lane() & 3) * 2 + (i & 1);
    result[i] = c[i];
    for (int k = 0; k < 16; ++k) result[i] += element_a(row, k) * element_b(k, column);
  }
  sync_warp(0xffffffffu, 0, "mma.sync", line);  // `d` may be `c` of a lane that still reads
  for (int i = 0; i < 4; ++i) d[i] = result[i];
}

// ---- ldmatrix.x4 of 8x8 matrices of 16-bit elements; lane l gives the address of row l % 8 of matrix l / 8
template <bool Transposed> static void ldmatrix_x4(uint32_t* registers, const void* row, int line) {
  if ((uintptr_t)row & 15) fail("ldmatrix (line %d): row address not 16-byte aligned", line);
  sync_warp(0xffffffffu, to_bits(row), "ldmatrix", line);
  const uint64_t* rows = state.current->exchanged;
  uint16_t elements[8];
  for (int matrix = 0; matrix < 4; ++matrix)
    for (int element = 0; element < 2; ++element) {
      int i = (int)lane() / 4, j = ((int)lane() & 3) * 2 + element;
      if (Transposed) std::swap(i, j);
      elements[matrix * 2 + element] = ((const uint16_t*)rows[matrix * 8 + i])[j];
    }
  sync_warp(0xffffffffu, 0, "ldmatrix", line);
  memcpy(registers, elements, 16);
}

}  // namespace simulator
