// Checking indices before CuPy's functions use them, which wrap around what is out of range; and divisors.
// instantiate: check_bounds<int>, check_bounds<long long>
// instantiate: check_nonzero<unsigned char>, check_nonzero<unsigned short>, check_nonzero<unsigned>, check_nonzero<u64>
#include "common.cuh"

// Sets the flag if an index is not in [low, high); the limit in the message is `high`.
template <typename T>
__global__ void __launch_bounds__(256)
check_bounds(const T* __restrict__ indices, i64 n, i64 low, i64 high, int* __restrict__ flag, int code) {
  GRID_STRIDE(i, n) {
    const i64 index = indices[i];
    if (index < low || index >= high) set_error(flag, code, index, high);
  }
}

// Sets the flag if a number is 0; numbers of one size are the same here.
template <typename T>
__global__ void __launch_bounds__(256)
check_nonzero(const T* __restrict__ numbers, i64 n, int* __restrict__ flag, int code) {
  GRID_STRIDE(i, n) {
    if (numbers[i] == 0) set_error(flag, code, i, n);
  }
}
