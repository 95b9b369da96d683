// CUDA C++ kernels on the CPU.
//
// g++ compiles a .cu file as C++17 with this header in front of it. Each CUDA thread of a block becomes a fiber, all on
// one thread of the operating system; blocks run one after another. Fibers switch only where they wait for each other
// (__syncthreads, warp operations, named barriers). A missing barrier therefore lets a reader run before the writer
// under at least one of the orders (forward, reverse, shuffled) that the tests try.
//
// What is checked is listed in __init__.py. The runtime (runtime.cpp) is built once and does the work; here is what is
// compiled with each kernel.
#pragma once
#include <cassert>
#include <cfloat>
#include <climits>
// Without the special functions of C++17, which kernels do not have: with them, <string> or <algorithm>, templates are instantiated
// for each kernel anew, in half of the time to build a small one.
#undef _GLIBCXX_USE_STD_SPEC_FUNCS
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
// NVIDIA's own headers have host versions of the 16-bit types: exact rounding, exact interface.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define LUCID_SIMULATOR 1

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __constant__
#undef __forceinline__
#undef __launch_bounds__
#undef __grid_constant__
#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __grid_constant__
#ifndef __align__
#define __align__(n) __attribute__((aligned(n)))
#endif
// The static shared arrays of a module lie in one section of the library; build.py puts gaps between them, and knows them
// by their alignment in templates. `used`: g++ takes one that is only read for zero. The source stands in an anonymous namespace: no two copies of a symbol can meet.
#define __shared__ static __attribute__((section("lucid_shared"), aligned(128), used))

#include "cpu_runtime.h"

// Calls of these functions in kernels go through the runtime, which checks what they read and write.
extern "C" {
void* memcpy(void*, const void*, size_t) noexcept __asm__("lucid_memcpy");
void* memmove(void*, const void*, size_t) noexcept __asm__("lucid_memmove");
void* memset(void*, int, size_t) noexcept __asm__("lucid_memset");
}

#include "cpu_builtins.h"
#include "cpu_arithmetic.h"
#include "cpu_ptx.h"
#include "cpu_launch.h"
