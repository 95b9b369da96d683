// Up to 16 arrays one after the other, in one launch. Each is seen as rows of `T`, the largest unit in which all rows can be moved;
// a row of the result has one of each beside each other. Bytes moved: those of the arrays, twice.
// instantiate: concatenate<unsigned char>, concatenate<unsigned short>, concatenate<unsigned>, concatenate<u64>, concatenate<uint4>
#include "common.cuh"

#define ARRAYS 16
#define THREADS 256
#define AT_ONCE 4  // units of a thread

struct Sections {
  i64 begin[ARRAYS + 1];  // of each array in the part of a row that this launch writes, and its end
  i64 block[ARRAYS];      // the first block of each array, whose units these share out in turn
};

template <typename T>
__global__ void __launch_bounds__(THREADS)
concatenate(void* y, const void* x0, const void* x1, const void* x2, const void* x3, const void* x4, const void* x5, const void* x6,
            const void* x7, const void* x8, const void* x9, const void* x10, const void* x11, const void* x12, const void* x13,
            const void* x14, const void* x15, Sections sections, i64 first, i64 row, i64 rows) {
  const void* source = x0;
  i64 begin = 0, end = sections.begin[1], block = 0;
#define SECTION(k)                         \
  if (blockIdx.x >= sections.block[k]) {   \
    source = x##k;                         \
    begin = sections.begin[k];             \
    end = sections.begin[k + 1];           \
    block = sections.block[k];             \
  }
  SECTION(1) SECTION(2) SECTION(3) SECTION(4) SECTION(5) SECTION(6) SECTION(7) SECTION(8)
  SECTION(9) SECTION(10) SECTION(11) SECTION(12) SECTION(13) SECTION(14) SECTION(15)
  const i64 width = end - begin, n = rows * width, own = (blockIdx.x - block) * (AT_ONCE * THREADS) + threadIdx.x;
  T units[AT_ONCE];
#pragma unroll
  for (int k = 0; k < AT_ONCE; ++k)
    if (own + k * THREADS < n) units[k] = ((const T*)source)[own + k * THREADS];
#pragma unroll
  for (int k = 0; k < AT_ONCE; ++k) {
    const i64 i = own + k * THREADS;
    if (i < n) ((T*)y)[i + i / width * (row - width) + first + begin] = units[k];
  }
}
