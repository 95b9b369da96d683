// Copies between arrays whose innermost dimensions differ, such as of a transposed matrix or of channels that lie last. A tile is read
// along the neighbours of `x`, and written along those of `y`: whole lines of memory are moved both ways. Bytes moved: those of both
// arrays, once.
#pragma once
#include "common.cuh"

#define OUTER 6
#define SHORT 15  // rows of which a tile has all, and so many columns as a block has threads
#define WIDE 256

struct Tiles {
  i64 columns, rows;            // columns lie beside each other in y, rows in x
  i64 column_step, row_step;    // of columns in x, of rows in y
  i64 across, down;             // tiles along the columns and the rows
  i64 size[OUTER];              // of the other dimensions, the innermost first
  i64 x_step[OUTER], y_step[OUTER];
  i64 x_first, y_first;         // where the first element is: in front of it lies what has negative steps
  i64 dims;                     // others than columns and rows
};

// Where the elements of x and y are that come first in the other dimensions.
__device__ __forceinline__ void begin(const Tiles& tiles, i64 outer, i64& from, i64& to) {
  from = tiles.x_first, to = tiles.y_first;
#pragma unroll 1
  for (int d = 0; d < tiles.dims; ++d) {
    const i64 quotient = outer / tiles.size[d], place = outer - quotient * tiles.size[d];
    from += place * tiles.x_step[d];
    to += place * tiles.y_step[d];
    outer = quotient;
  }
}

// What an X is as a Y.
template <typename Y, typename X> struct Copied;
template <typename X> struct Copied<X, X> {
  static __device__ __forceinline__ X of(X x) { return x; }
};

// Elements on a side: of halves more, so that enough bytes are on their way.
template <typename Y> constexpr int side = sizeof(Y) == 2 ? 64 : 32;

template <typename X, typename Y>
__global__ void __launch_bounds__(256) transpose(Y* __restrict__ y, const X* __restrict__ x, Tiles tiles, i64 count) {
  constexpr int SIDE = side<Y>, PAD = sizeof(Y) == 2 ? 2 : 1;  // so that a column of the tile has all banks
  __shared__ Y tile[SIDE][SIDE + PAD];
  for (i64 index = blockIdx.x; index < count; index += gridDim.x) {
    const i64 line = index / tiles.across, first_column = (index - line * tiles.across) * SIDE;
    const i64 outer = line / tiles.down, first_row = (line - outer * tiles.down) * SIDE;
    i64 from, to;
    begin(tiles, outer, from, to);
    X elements[SIDE / 8][SIDE / 32];
#pragma unroll
    for (int k = 0; k < SIDE / 8; ++k)
#pragma unroll
      for (int s = 0; s < SIDE / 32; ++s) {
        const i64 column = first_column + threadIdx.y + k * 8, row = first_row + threadIdx.x + s * 32;
        if (column < tiles.columns && row < tiles.rows) elements[k][s] = x[from + column * tiles.column_step + row];
      }
#pragma unroll
    for (int k = 0; k < SIDE / 8; ++k)
#pragma unroll
      for (int s = 0; s < SIDE / 32; ++s) {
        const i64 column = first_column + threadIdx.y + k * 8, row = first_row + threadIdx.x + s * 32;
        if (column < tiles.columns && row < tiles.rows)
          tile[threadIdx.y + k * 8][threadIdx.x + s * 32] = Copied<Y, X>::of(elements[k][s]);
      }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < SIDE / 8; ++k)
#pragma unroll
      for (int s = 0; s < SIDE / 32; ++s) {
        const i64 row = first_row + threadIdx.y + k * 8, column = first_column + threadIdx.x + s * 32;
        if (row < tiles.rows && column < tiles.columns)
          y[to + row * tiles.row_step + column] = tile[threadIdx.x + s * 32][threadIdx.y + k * 8];
      }
    __syncthreads();
  }
}

// The same of few rows, such as the channels of images that lie last: most of a square tile would be empty.
template <typename X, typename Y>
__global__ void __launch_bounds__(WIDE) transpose_short(Y* __restrict__ y, const X* __restrict__ x, Tiles tiles, i64 count) {
  __shared__ Y tile[SHORT][WIDE + 1];
  const int rows = (int)tiles.rows;
  for (i64 index = blockIdx.x; index < count; index += gridDim.x) {
    const i64 outer = index / tiles.across, first = (index - outer * tiles.across) * WIDE;
    const int columns = (int)(tiles.columns - first < WIDE ? tiles.columns - first : WIDE);
    i64 from, to;
    begin(tiles, outer, from, to);
    for (int i = threadIdx.x; i < columns * rows; i += WIDE) {
      const int column = i / rows, row = i - column * rows;
      tile[row][column] = Copied<Y, X>::of(x[from + (first + column) * tiles.column_step + row]);
    }
    __syncthreads();
    if (threadIdx.x < columns)
      for (int row = 0; row < rows; ++row) y[to + row * tiles.row_step + first + threadIdx.x] = tile[row][threadIdx.x];
    __syncthreads();
  }
}
