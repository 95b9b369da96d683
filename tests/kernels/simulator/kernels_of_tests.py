"""CUDA sources for the simulator's tests: what CUDA promises, and one kernel for each class of bug."""

SEMANTICS = r"""
extern "C" __global__ void shuffles(int* out) {
  int t = threadIdx.x, v = 100 + t;
  int* row = out + t * 8;
  row[0] = __shfl_sync(0xffffffffu, v, 3);
  row[1] = __shfl_sync(0xffffffffu, v, 1, 8);
  row[2] = __shfl_up_sync(0xffffffffu, v, 2, 16);
  row[3] = __shfl_down_sync(0xffffffffu, v, 5);
  row[4] = __shfl_xor_sync(0xffffffffu, v, 9);
  row[5] = (int)__ballot_sync(0xffffffffu, t % 3 == 0);
  row[6] = __reduce_add_sync(0xffffffffu, v);
  row[7] = __syncthreads_count(t & 1);
}
extern "C" __global__ void votes(int* out, int limit) {
  int t = threadIdx.x;
  out[t * 4] = __any_sync(0xffffffffu, t == limit);
  out[t * 4 + 1] = __all_sync(0xffffffffu, t < limit);
  out[t * 4 + 2] = __syncthreads_or(t == limit);
  out[t * 4 + 3] = __syncthreads_and(t < limit);
}
// Two groups of one warp in different code.
extern "C" __global__ void half_warps(int* out) {
  int t = threadIdx.x, v = t;
  if (t < 16) {
    for (int d = 8; d; d >>= 1) v += __shfl_xor_sync(0x0000ffffu, v, d);
  } else {
    v = __shfl_sync(0xffff0000u, v, 31);
  }
  out[t] = v;
}
extern "C" __global__ void early_exit(int* out) {
  if (threadIdx.x >= 40) return;
  __syncthreads();
  out[threadIdx.x] = 1;
}
// The last block to finish adds up what the others have left.
extern "C" __global__ void last_block(const int* x, int* partial, unsigned* count, int* out, int n) {
  __shared__ bool last;
  int sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
  for (int d = 16; d; d >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, d);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();
    last = atomicAdd(count, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    int total = 0;
    for (int b = 0; b < (int)gridDim.x; ++b) total += partial[b];
    *out = total;
  }
}
// What is known of words of shared memory is not taken for accesses to an array, when it is kept by bytes from then on.
extern "C" __global__ void words_then_bytes(int* y) {
  __shared__ int words[64];
  __shared__ bool done;
  words[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) done = true;
  __syncthreads();
  if (blockIdx.x == 0 && threadIdx.x == 0) y[0] = done ? words[63] : 0;
  if (blockIdx.x == 1)
    for (int i = 1 + threadIdx.x; i < 1024; i += 64) y[i] += i;
}
// One warp produces, the other consumes; named barriers.
extern "C" __global__ void producer_consumer(int* out, int n) {
  __shared__ int buffer;
  bool producer = threadIdx.x < 32;
  for (int i = 0; i < n; ++i) {
    if (producer && threadIdx.x == 0) buffer = i * i;
    simulator::sync_named(1, 64, __LINE__);
    if (threadIdx.x == 32) out[i] = buffer;
    simulator::sync_named(2, 64, __LINE__);
  }
}
extern "C" __global__ void types(float a, double b, int c, unsigned char d, bool e, const double* p, long long* q) {
  q[0] = (long long)(a + b) + c + d + e;
}
extern "C" __global__ void atomics(int* x) {
  atomicAdd(x, 1);
  atomicSub(x + 1, 2);
  atomicMax(x + 2, (int)threadIdx.x);
  atomicMin(x + 3, -(int)threadIdx.x);
  atomicOr(x + 4, 1 << (threadIdx.x % 8));
  atomicCAS(x + 5, 0, 7);
}
extern "C" __global__ void arithmetic(double* out, double a, double b, unsigned long long u) {
  out[0] = __dmul_rn(a, b);
  out[1] = __fma_rn(a, b, -__dmul_rn(a, b));
  out[2] = (double)__umul64hi(u, u);
  out[3] = __longlong_as_double(__double_as_longlong(a));
  out[4] = (double)__popc(255u) + __clz(1) + __ffs(8) + (double)(__brev(1u) == 0x80000000u);
  out[5] = CUDART_INF;
  out[6] = rsqrt(a * a);
}
template <typename T, int N> __global__ void scaled(T* x) { x[threadIdx.x] *= (T)N; }
"""

BUGS = r"""
extern "C" __global__ void divergent(int* out) {
  if (threadIdx.x < 32) __syncthreads();
  else
    __syncthreads();
  out[threadIdx.x] = 1;
}
extern "C" __global__ void stuck(int* out) {
  if (threadIdx.x != 3) __syncwarp();
  else __syncthreads();
}
extern "C" __global__ void different_warp_ops(int* out) {
  int v = threadIdx.x;
  if (v < 16) v = __shfl_sync(0xffffffffu, v, 0);
  else v = __shfl_xor_sync(0xffffffffu, v, 1);
  out[threadIdx.x] = v;
}
extern "C" __global__ void inactive_lane(int* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_down_sync(0x0000ffffu, 1, 8);
}
extern "C" __global__ void not_in_mask(int* out) { __syncwarp(0x0000fffeu); }
extern "C" __global__ void overrun(int* out, int n) { out[n] = 1; }
extern "C" __global__ void shared_bounds(int* out, int n) {
  __shared__ int s[8];
  s[n] = 1;
  out[0] = s[n];
}
extern "C" __global__ void uninitialised(float* out) {
  __shared__ float s[4];
  out[0] = s[2];
}
extern "C" __global__ void dynamic_shared(float* out, int n) {
  extern __shared__ float buffer[];
  buffer[n] = 1.f;
  out[0] = buffer[n];
}
__device__ int deep(int n) {
  volatile char pad[4096];
  pad[0] = n;
  return n ? deep(n - 1) + pad[0] : 0;
}
extern "C" __global__ void stack_overflow(int* out, int n) { out[0] = deep(n); }
extern "C" __global__ void division(int* out, int n) { out[0] = 1 / n; }
extern "C" __global__ void endless(volatile int* out) {
  while (out[0] == 0) {
  }
}
extern "C" __global__ void blocks_race(int* out) { out[0] = blockIdx.x + 1; }
extern "C" __global__ void blocks_add(int* out) { atomicAdd(out, 1); }
extern "C" __global__ void missing_barrier(const int* x, int* out) {
  __shared__ int s[64];
  s[threadIdx.x] = x[threadIdx.x];
  out[threadIdx.x] = s[63 - threadIdx.x];
}
extern "C" __global__ void forgotten_copy(const int4* x, int* out) {
  __shared__ int4 s[32];
  simulator::cp_async(&s[threadIdx.x], &x[threadIdx.x], 16);
  simulator::cp_commit();
  out[threadIdx.x] = s[threadIdx.x].x;
}
extern "C" __global__ void awaited_copy(const int4* x, int* out) {
  __shared__ int4 s[32];
  simulator::cp_async(&s[threadIdx.x], &x[threadIdx.x], 16);
  simulator::cp_commit();
  simulator::cp_wait(0);
  out[threadIdx.x] = s[threadIdx.x].x;
}
"""

TENSOR_CORE = r"""
// C (16 x 8) = A (16 x 16) @ B (16 x 8), one warp: ldmatrix, mma.sync.
template <typename T> __device__ void multiply_tile(const T* a, const T* b, float* c) {
  __shared__ __align__(16) T shared_a[16 * 16];
  __shared__ __align__(16) T shared_b[16 * 8];
  for (int i = threadIdx.x; i < 256; i += 32) shared_a[i] = a[i];
  for (int i = threadIdx.x; i < 128; i += 32) shared_b[i] = b[i];
  __syncwarp();
  int lane = threadIdx.x;
  unsigned ra[4], rb[4];
  simulator::ldmatrix_x4<false>(ra, &shared_a[(lane % 16) * 16 + lane / 16 * 8], __LINE__);
  simulator::ldmatrix_x4<true>(rb, &shared_b[(lane % 16) * 8], __LINE__);
  float acc[4] = {0, 0, 0, 0};
  simulator::mma_m16n8k16<T>(acc, ra, rb, acc, __LINE__);
  for (int i = 0; i < 4; ++i) c[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = acc[i];
}
extern "C" __global__ void tile(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c) { multiply_tile(a, b, c); }
extern "C" __global__ void tile_float16(const __half* a, const __half* b, float* c) { multiply_tile(a, b, c); }
// C (16 x 8) = A (16 x 8) @ B (8 x 8), one warp, in tf32.
extern "C" __global__ void tile_tf32(const float* a, const float* b, float* c) {
  int group = threadIdx.x / 4, place = threadIdx.x % 4;
  unsigned ra[4], rb[2];
  for (int i = 0; i < 4; ++i) ra[i] = __float_as_uint(a[(group + i % 2 * 8) * 8 + place + i / 2 * 4]);
  for (int i = 0; i < 2; ++i) rb[i] = __float_as_uint(b[(place + i * 4) * 8 + group]);
  float acc[4] = {0, 0, 0, 0};
  simulator::mma_m16n8k8_tf32(acc, ra, rb, acc, __LINE__);
  for (int i = 0; i < 4; ++i) c[(group + i / 2 * 8) * 8 + place * 2 + i % 2] = acc[i];
}
extern "C" __global__ void filled_copy(const int4* x, int4* out, int present) {
  __shared__ int4 s[32];
  simulator::cp_async_zfill(&s[threadIdx.x], present ? &x[threadIdx.x] : nullptr, 16, present);
  simulator::cp_commit();
  simulator::cp_wait(0);
  out[threadIdx.x] = s[threadIdx.x];
}
"""
