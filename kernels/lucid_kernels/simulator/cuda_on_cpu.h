// CUDA C++ kernels on the CPU.
//
// g++ compiles a .cu file as C++17 with this header in front of it. Each CUDA thread of a block becomes a fiber, all on
// one thread of the operating system; blocks run one after another. Fibers switch only where they wait for each other
// (__syncthreads, warp operations, named barriers). A missing barrier therefore lets a reader run before the writer
// under at least one of the orders (forward, reverse, shuffled) that the tests try.
//
// Checks that a GPU does not make: divergent or mismatched barriers, shuffles that read an inactive lane, deadlocks,
// uninitialised shared memory (0xFF bytes: NaN), writes past the dynamic shared memory, faults with the coordinates of
// kernel, block and thread, elements written by two blocks, launch limits of a real device.
#pragma once
#include <algorithm>
#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <pthread.h>
#include <string>
#include <sys/mman.h>
#include <sys/time.h>
#include <tuple>
#include <type_traits>
#include <ucontext.h>
#include <utility>
#include <vector>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif
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
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __grid_constant__
#ifndef __align__
#define __align__(n) __attribute__((aligned(n)))
#endif
// The static shared arrays of a module lie in one section of the library, so that they can be poisoned at the start of
// every block. The source stands in an anonymous namespace: no two copies of a section's symbol can meet.
#define __shared__ static __attribute__((section("lucid_shared"), aligned(16)))
extern "C" {
extern char __start_lucid_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_lucid_shared[] __attribute__((weak, visibility("hidden")));
}

#include "cpu_fibers.h"
#include "cpu_barriers.h"
#include "cpu_blocks.h"
#include "cpu_launch.h"
#include "cpu_builtins.h"
#include "cpu_arithmetic.h"
#include "cpu_ptx.h"
