// Copies by tiles of words of the size of an element.
// instantiate: transpose<unsigned char, unsigned char>, transpose<unsigned short, unsigned short>, transpose<unsigned, unsigned>
// instantiate: transpose<u64, u64>, transpose_short<unsigned char, unsigned char>, transpose_short<unsigned short, unsigned short>
// instantiate: transpose_short<unsigned, unsigned>, transpose_short<u64, u64>
#include "transpose.cuh"
