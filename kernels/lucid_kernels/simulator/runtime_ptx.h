// Asynchronous copies and tensor cores.
#pragma once
#include <cmath>

namespace simulator {

// ---- cp.async
LUCID_EXPORT void cp_async_zfill(void* target, const void* source, unsigned bytes, unsigned present) {
  const void* issued = __builtin_return_address(0);
  if (bytes != 4 && bytes != 8 && bytes != 16) fail("cp.async of %u bytes", bytes);
  if (present > bytes) fail("cp.async of %u bytes with a source of %u", bytes, present);
  // Not even the address of absent bytes is looked at.
  if (((uintptr_t)target | (present ? (uintptr_t)source : 0)) & (bytes - 1))
    fail("cp.async of %u bytes on misaligned address", bytes);
  // The bytes may arrive at any time from now until the wait: both ends are checked.
  on_access<false>(source, present, 1, 0, issued);
  on_access<true>(target, bytes, 1, 0, issued);
  AsyncCopy copy{(char*)target, (const char*)source, bytes, present, state.current->copy_group, issued};
  if (state.schedule.eager_copies) copy.land();
  state.current->copies.push_back(copy);
}

LUCID_EXPORT void cp_commit() { ++state.current->copy_group; }

LUCID_EXPORT void cp_wait(unsigned pending) {
  Fiber& fiber = *state.current;
  size_t left = 0;
  for (size_t i = 0; i < fiber.copies.size(); ++i) {
    const AsyncCopy copy = fiber.copies[i];
    if (copy.group + pending >= fiber.copy_group) {
      fiber.copies[left++] = copy;
      continue;
    }
    on_access<true>(copy.target, copy.bytes, 1, 0, copy.issued);
    if (!state.schedule.eager_copies) copy.land();
  }
  fiber.copies.resize(left);
}

// ---- tensor cores
struct Operands {
  const uint32_t *a, *b;
};

// Tensor cores add the products of an mma and what was there before without rounding in between, and round the sum towards zero.
// Real ones also drop what lies far below the largest term.
static float towards_zero(double sum) {
  const float near = (float)sum;
  return std::isfinite(near) && std::fabs((double)near) > std::fabs(sum) ? std::nextafterf(near, 0.f) : near;
}

template <class A, class B>
static void multiply(int depth, float* d, const uint32_t* a, const uint32_t* b, const float* c, Place place, A element_a,
                     B element_b) {
  const Operands mine{a, b};
  const Exchange exchange = sync_warp(0xffffffffu, (uint64_t)&mine, "mma.sync", place);
  if (exchange.lanes != 0xffffffffu) fail("mma.sync (%s:%d) needs all 32 lanes", place.file, place.line);
  const auto of_lane = [&](int lane) { return (const Operands*)exchange.values[lane]; };
  float result[4];
  for (int i = 0; i < 4; ++i) {
    const int row = (int)lane() / 4 + (i >> 1) * 8, column = ((int)lane() & 3) * 2 + (i & 1);
    double sum = c[i];
    for (int k = 0; k < depth; ++k) sum += (double)element_a(of_lane, row, k) * element_b(of_lane, k, column);
    result[i] = towards_zero(sum);
  }
  sync_warp(0xffffffffu, 0, "mma.sync", place);  // `d` may be `c` of a lane that still reads
  for (int i = 0; i < 4; ++i) d[i] = result[i];
}

template <class T> static float half_of(const uint32_t* registers, int index) {
  T value;
  memcpy(&value, (const char*)registers + 2 * index, 2);
  return (float)value;
}

template <class T>
static void mma_m16n8k16(float* d, const uint32_t* a, const uint32_t* b, const float* c, Place place) {
  multiply(
      16, d, a, b, c, place,
      [](auto of_lane, int row, int k) {
        return half_of<T>(of_lane((row & 7) * 4 + (k & 7) / 2)->a, (row >> 3) * 2 + (k >> 3) * 4 + (k & 1));
      },
      [](auto of_lane, int k, int column) {
        return half_of<T>(of_lane(column * 4 + (k & 7) / 2)->b, (k >> 3) * 2 + (k & 1));
      });
}
LUCID_EXPORT void mma_m16n8k16_half(float* d, const uint32_t* a, const uint32_t* b, const float* c, Place place) {
  mma_m16n8k16<__half>(d, a, b, c, place);
}
LUCID_EXPORT void mma_m16n8k16_bfloat16(float* d, const uint32_t* a, const uint32_t* b, const float* c, Place place) {
  mma_m16n8k16<__nv_bfloat16>(d, a, b, c, place);
}

// The last 13 bits of an operand are ignored.
static float tf32(uint32_t bits) {
  bits &= 0xffffe000u;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
LUCID_EXPORT void mma_m16n8k8_tf32(float* d, const uint32_t* a, const uint32_t* b, const float* c, Place place) {
  multiply(
      8, d, a, b, c, place,
      [](auto of_lane, int row, int k) {
        return tf32(of_lane((row & 7) * 4 + (k & 3))->a[(row >> 3) + (k >> 2) * 2]);
      },
      [](auto of_lane, int k, int column) { return tf32(of_lane(column * 4 + (k & 3))->b[k >> 2]); });
}

LUCID_EXPORT void ldmatrix_x4(bool transposed, uint32_t* registers, const void* row, Place place) {
  const void* issued = __builtin_return_address(0);
  if ((uintptr_t)row & 15) fail("ldmatrix (%s:%d): row address not 16-byte aligned", place.file, place.line);
  const Exchange exchange = sync_warp(0xffffffffu, (uint64_t)row, "ldmatrix", place);
  on_access<false>(row, 16, 1, 0, issued);
  uint16_t elements[8];
  for (int matrix = 0; matrix < 4; ++matrix)
    for (int element = 0; element < 2; ++element) {
      int i = (int)lane() / 4, j = ((int)lane() & 3) * 2 + element;
      if (transposed) std::swap(i, j);
      elements[matrix * 2 + element] = ((const uint16_t*)exchange.values[matrix * 8 + i])[j];
    }
  sync_warp(0xffffffffu, 0, "ldmatrix", place);
  memcpy(registers, elements, 16);
}

}  // namespace simulator
