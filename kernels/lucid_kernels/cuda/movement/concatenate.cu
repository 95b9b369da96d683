// Up to 16 arrays one after the other, in one launch. Each is seen as rows of `T`, the largest unit in which all rows can be moved;
// a row of the result has one of each beside each other. Bytes moved: those of the arrays, twice.
// instantiate: concatenate<unsigned char>, concatenate<unsigned short>, concatenate<unsigned>, concatenate<u64>, concatenate<uint4>
#include "common.cuh"

#define ARRAYS 16

struct Sections {
  i64 begin[ARRAYS + 1];  // of each array in the part of a row that this launch writes, and its end
};

template <typename T>
__global__ void __launch_bounds__(256)
concatenate(void* y, const void* x0, const void* x1, const void* x2, const void* x3, const void* x4, const void* x5, const void* x6,
            const void* x7, const void* x8, const void* x9, const void* x10, const void* x11, const void* x12, const void* x13,
            const void* x14, const void* x15, Sections sections, i64 first, i64 row, i64 n) {
  const i64 width = sections.begin[ARRAYS];
  GRID_STRIDE(i, n) {
    const i64 r = i / width, place = i - r * width;
    const void* source = x0;
    i64 begin = 0, end = sections.begin[1];
#define SECTION(k)                         \
  if (place >= sections.begin[k]) {        \
    source = x##k;                         \
    begin = sections.begin[k];             \
    end = sections.begin[k + 1];           \
  }
    SECTION(1) SECTION(2) SECTION(3) SECTION(4) SECTION(5) SECTION(6) SECTION(7) SECTION(8)
    SECTION(9) SECTION(10) SECTION(11) SECTION(12) SECTION(13) SECTION(14) SECTION(15)
    ((T*)y)[r * row + first + place] = ((const T*)source)[r * (end - begin) + place - begin];
  }
}
