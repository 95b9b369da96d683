// The runtime of the simulator: the part that all kernels share. Built once, with optimisation and without instrumentation.
#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <pthread.h>
#include <string>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unordered_map>
#include <utility>
#include <vector>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define LUCID_EXPORT __attribute__((visibility("default")))
#define LUCID_RUNTIME

#include "cpu_runtime.h"
#include "runtime_fibers.h"
#include "runtime_order.h"
#include "runtime_memory.h"
#include "runtime_access.h"
#include "runtime_uninitialized.h"
#include "runtime_barriers.h"
#include "runtime_ptx.h"
#include "runtime_blocks.h"
#include "runtime_grid.h"
