"""Kernels with one fault each, marked in the line where it is, and kernels without that look alike."""

WRONG = r"""
extern "C" __global__ void shift(const float* x, float* y) {
  __shared__ float tile[128];
  int t = threadIdx.x;
  tile[t] = x[t];
  y[t] = t ? tile[t - 1] : 0.f;  // FAULT shift
}
extern "C" __global__ void tree(const float* x, float* y) {
  __shared__ float sums[128];
  int t = threadIdx.x;
  sums[t] = x[t];
  __syncthreads();
  for (int d = 64; d; d >>= 1)
    if (t < d) sums[t] += sums[t + d];  // FAULT tree
  if (t == 0) *y = sums[0];
}
extern "C" __global__ void scan(const float* x, float* y) {
  __shared__ float sums[128];
  int t = threadIdx.x;
  sums[t] = x[t];
  __syncthreads();
  for (int d = 1; d < 128; d *= 2) {
    float more = t >= d ? sums[t - d] : 0.f;  // FAULT scan
    sums[t] += more;                          // FAULT scan
    __syncthreads();
  }
  y[t] = sums[t];
}
extern "C" __global__ void double_buffer(const float* x, float* y, int steps) {
  __shared__ float tiles[2][128];
  int t = threadIdx.x;
  float sum = 0;
  tiles[0][t] = x[t];
  for (int i = 0; i < steps; ++i) {
    if (i + 1 < steps) tiles[(i + 1) % 2][t] = x[(i + 1) * 128 + t];  // FAULT double_buffer
    sum += tiles[i % 2][127 - t];                                      // FAULT double_buffer
  }
  y[t] = sum;
}
extern "C" __global__ void write_after_read(const float* x, float* y) {
  __shared__ float tile[128];
  int t = threadIdx.x;
  tile[t] = x[t];
  __syncthreads();
  float neighbour = tile[127 - t];  // FAULT write_after_read
  tile[t] = neighbour + 1.f;        // FAULT write_after_read
  __syncthreads();
  y[t] = tile[t];
}
extern "C" __global__ void lanes(const float* x, float* y) {
  __shared__ float tile[32];
  int t = threadIdx.x;
  tile[t] = x[t];
  y[t] = tile[t ^ 1];  // FAULT lanes
}
extern "C" __global__ void warp_synchronous(const float* x, float* y) {
  __shared__ volatile float sums[64];
  int t = threadIdx.x;
  sums[t] = x[t];
  sums[t + 32] = x[t + 32];
  for (int d = 32; d; d >>= 1) sums[t] += sums[t + d];  // FAULT warp_synchronous
  if (t == 0) *y = sums[0];
}
extern "C" __global__ void half_of_the_lanes(const float* x, float* y) {
  __shared__ float tile[32];
  int t = threadIdx.x;
  tile[t] = x[t];
  if (t < 16) __syncwarp(0x0000ffffu); else __syncwarp(0xffff0000u);
  y[t] = tile[31 - t];  // FAULT half_of_the_lanes
}
extern "C" __global__ void shuffle_for_a_barrier(const float* x, float* y) {
  __shared__ float tile[32];
  int t = threadIdx.x;
  tile[t] = x[t];
  float sum = __shfl_down_sync(0xffffffffu, x[t], 1);
  y[t] = sum + tile[t ^ 1];  // FAULT shuffle_for_a_barrier
}
extern "C" __global__ void shared_counter(int* y) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  count += 1;  // FAULT shared_counter
  __syncthreads();
  if (threadIdx.x == 0) *y = count;
}
extern "C" __global__ void global_sum(const float* x, float* sum) {
  *sum += x[threadIdx.x];  // FAULT global_sum
}
extern "C" __global__ void sum_of_blocks(const float* x, float* sum) {
  if (threadIdx.x == 0) *sum += x[blockIdx.x];  // FAULT sum_of_blocks
}
extern "C" __global__ void atomic_and_plain(int* count, int* y) {
  atomicAdd(count, 1);     // FAULT atomic_and_plain
  y[threadIdx.x] = *count;  // FAULT atomic_and_plain
}
extern "C" __global__ void bytes(unsigned char* y) {
  y[threadIdx.x / 2] = threadIdx.x;  // FAULT bytes
}
extern "C" __global__ void neighbours_of_blocks(float* x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + 1 < gridDim.x * blockDim.x) x[i] = x[i + 1];  // FAULT neighbours_of_blocks
}
extern "C" __global__ void last_block_without_fence(const int* x, int* partial, unsigned* count, int* y) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = x[blockIdx.x];  // FAULT last_block_without_fence
    last = atomicAdd(count, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0)
    for (int b = 0; b < (int)gridDim.x; ++b) *y += partial[b];  // FAULT last_block_without_fence
}
extern "C" __global__ void early_copy(const int4* x, int* y) {
  __shared__ int4 tile[64];
  simulator::cp_async(&tile[threadIdx.x], &x[threadIdx.x], 16);  // FAULT early_copy
  simulator::cp_commit();
  __syncthreads();
  y[threadIdx.x] = tile[63 - threadIdx.x].x;  // FAULT early_copy
  simulator::cp_wait(0);
}
template <class T> __device__ T largest(const T* values, int n) {
  T result = -1e30f;
  for (int i = 0; i < n; ++i) result = fmaxf(result, values[i]);  // FAULT uninitialised_shared uninitialised_global
  return result;
}
extern "C" __global__ void uninitialised_shared(const float* x, float* y, int n) {
  __shared__ float tile[64];
  if (threadIdx.x < n) tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) *y = largest(tile, 64);
}
extern "C" __global__ void uninitialised_global(const float* x, float* y, int n) { *y = largest(x, n); }
extern "C" __global__ void uninitialised_branch(const int* x, float* y) {
  if (*x > 3) *y = 1.f;  // FAULT uninitialised_branch
}
extern "C" __global__ void uninitialised_index(const int* x, float* y) {
  y[*x & 1] = 1.f;  // FAULT uninitialised_index
}
template <class T> __global__ void uninitialised_in_template(T* y) {
  __shared__ T value;
  *y = value + T(1);  // FAULT uninitialised_in_template
}
extern "C" __global__ void write_at(float* x, int i) {
  x[i] = 1.f;  // FAULT write_at
}
extern "C" __global__ void read_at(const float* x, float* y, int i) {
  *y = x[i];  // FAULT read_at
}
extern "C" __global__ void copy_too_much(const float* x, float* y, int n) {
  memcpy(y, x, n * sizeof(float));  // FAULT copy_too_much
}
__device__ void fill(float* values, int n) {
  for (int i = 0; i < n; ++i) values[i] = i;  // FAULT shared_overrun
}
extern "C" __global__ void shared_overrun(float* y, int n) {
  __shared__ float first[20], second[20];
  fill(first, n);
  fill(second, n);
  *y = first[0] + second[1];
}
extern "C" __global__ void dynamic_overrun(float* y, int n) {
  extern __shared__ float values[];
  values[n] = 1.f;  // FAULT dynamic_overrun
  *y = values[n];
}
extern "C" __global__ void misaligned(const float* x, float* y, int i) {
  float4 four = *reinterpret_cast<const float4*>(x + i);  // FAULT misaligned
  *y = four.x + four.w;
}
extern "C" __global__ void leaves_early(const float* x, float* y, int n) {
  __shared__ float tile[64];
  if (threadIdx.x >= n) return;
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();  // FAULT leaves_early
  y[threadIdx.x] = tile[0];
}
extern "C" __global__ void loops_longer(float* y) {
  for (int i = 0; i < 3 + (threadIdx.x == 0); ++i) __syncthreads();  // FAULT loops_longer
  y[threadIdx.x] = 1.f;
}
"""

TOO_MUCH_SHARED = r"""
extern "C" __global__ void too_much(float* y) {
  __shared__ float tile[20480];  // FAULT too_much
  tile[threadIdx.x] = 1.f;
  *y = tile[0];
}
"""

RIGHT = r"""
__device__ int counter = 0;
extern "C" __global__ void tree(const float* x, float* y) {
  __shared__ float sums[128];
  int t = threadIdx.x;
  sums[t] = x[t];
  for (int d = 64; d; d >>= 1) {
    __syncthreads();
    if (t < d) sums[t] += sums[t + d];
  }
  if (t == 0) *y = sums[0];
}
extern "C" __global__ void shuffles(const float* x, float* y) {
  __shared__ float sums[4];
  int t = threadIdx.x;
  float sum = x[t];
  for (int d = 16; d; d >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, d);
  if (t % 32 == 0) sums[t / 32] = sum;
  __syncthreads();
  if (t < 32) {
    sum = t < 4 ? sums[t] : 0.f;
    for (int d = 2; d; d >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (t == 0) *y = sum;
  }
}
extern "C" __global__ void scan(const float* x, float* y) {
  __shared__ float sums[2][128];
  int t = threadIdx.x, from = 0;
  sums[0][t] = x[t];
  __syncthreads();
  for (int d = 1; d < 128; d *= 2, from = 1 - from) {
    sums[1 - from][t] = sums[from][t] + (t >= d ? sums[from][t - d] : 0.f);
    __syncthreads();
  }
  y[t] = sums[from][t];
}
extern "C" __global__ void double_buffer(const float* x, float* y, int steps) {
  __shared__ float tiles[2][128];
  int t = threadIdx.x;
  float sum = 0;
  tiles[0][t] = x[t];
  for (int i = 0; i < steps; ++i) {
    __syncthreads();
    if (i + 1 < steps) tiles[(i + 1) % 2][t] = x[(i + 1) * 128 + t];
    sum += tiles[i % 2][127 - t];
  }
  y[t] = sum;
}
extern "C" __global__ void last_block(const int* x, int* partial, unsigned* count, int* y) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = x[blockIdx.x];
    __threadfence();
    last = atomicAdd(count, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    int sum = 0;
    for (int b = 0; b < (int)gridDim.x; ++b) sum += partial[b];
    *y = sum;
  }
}
extern "C" __global__ void histogram(const unsigned char* x, int* y, int n) {
  __shared__ int counts[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) counts[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&counts[x[i]], 1);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&y[i], counts[i]);
}
extern "C" __global__ void pipeline(const int4* x, int* y, int steps) {
  __shared__ int4 tiles[3][64];
  int t = threadIdx.x, sum = 0;
  for (int i = 0; i < 2; ++i) {
    if (i < steps) simulator::cp_async(&tiles[i][t], &x[i * 64 + t], 16);
    simulator::cp_commit();
  }
  for (int i = 0; i < steps; ++i) {
    simulator::cp_wait(1);
    __syncthreads();
    if (i + 2 < steps) simulator::cp_async(&tiles[(i + 2) % 3][t], &x[(i + 2) * 64 + t], 16);
    simulator::cp_commit();
    sum += tiles[i % 3][63 - t].x;
  }
  simulator::cp_wait(0);
  y[t] = sum;
}
extern "C" __global__ void warp_synchronous(const float* x, float* y) {
  __shared__ float sums[64];
  int t = threadIdx.x;
  sums[t] = x[t];
  sums[t + 32] = x[t + 32];
  for (int d = 32; d; d >>= 1) {
    __syncwarp();
    float sum = sums[t] + (t < d ? sums[t + d] : 0.f);
    __syncwarp();
    sums[t] = sum;
  }
  if (t == 0) *y = sums[0];
}
extern "C" __global__ void halves_of_a_warp(const float* x, float* y) {
  __shared__ float tile[32];
  int t = threadIdx.x;
  tile[t] = x[t];
  if (t < 16) __syncwarp(0x0000ffffu); else __syncwarp(0xffff0000u);
  y[t] = tile[t ^ 15];
}
extern "C" __global__ void named_barriers(const float* x, float* y) {
  __shared__ float tile[2][64];
  int half = threadIdx.x / 64, t = threadIdx.x % 64;
  tile[half][t] = x[threadIdx.x];
  simulator::sync_named(1 + half, 64, __LINE__);
  y[threadIdx.x] = tile[half][63 - t];
}
extern "C" __global__ void same_value(const int* x, int* found) {
  if (x[threadIdx.x] > 3) *found = 1;
}
// A flag in shared memory: one warp waits for the other.
extern "C" __global__ void spin(const float* x, float* y) {
  __shared__ float tile[32];
  __shared__ volatile int flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x < 32) {
    tile[threadIdx.x] = x[threadIdx.x];
    __syncwarp();
    __threadfence_block();
    if (threadIdx.x == 0) flag = 1;
  } else {
    while (!flag) __nanosleep(10);
    y[threadIdx.x - 32] = tile[63 - threadIdx.x];
  }
}
extern "C" __global__ void bytes(const unsigned char* x, unsigned char* y, bool* flags) {
  int t = threadIdx.x;
  y[t] = x[t];
  flags[t] = x[t] > 3;
  __syncthreads();
  y[t] += flags[127 - t];
}
// Padding is read with the rest and dropped.
extern "C" __global__ void padded(const float* x, float* y, int n) {
  __shared__ float4 tile[32];
  float* numbers = reinterpret_cast<float*>(tile);
  int t = threadIdx.x;
  if (t < n) numbers[t] = x[t];
  __syncthreads();
  float4 four = tile[t / 4];
  float mine = t % 4 == 0 ? four.x : t % 4 == 1 ? four.y : t % 4 == 2 ? four.z : four.w;
  if (t < n) y[t] = mine;
}
extern "C" __global__ void module_variable(int* y) {
  atomicAdd(&counter, 1);
  __syncthreads();
  if (threadIdx.x == 0) *y = counter;
}
extern "C" __global__ void lock(int* mutex, float* sum, const float* x) {
  if (threadIdx.x % 32) return;
  while (atomicCAS(mutex, 0, 1) != 0) {}
  *sum += x[blockIdx.x];
  __threadfence();
  atomicExch(mutex, 0);
}
// One warp tells another of what it has written, in device memory.
extern "C" __global__ void flag_in_device_memory(float* data, volatile int* flag, float* y) {
  if (threadIdx.x == 32) {
    *data = 5.f;
    __threadfence();
    *flag = 1;
  } else if (threadIdx.x == 0) {
    while (*flag == 0) __nanosleep(1);
    __threadfence();
    *y = *data;
  }
}
extern "C" __global__ void queue(int* next, int* y, int n) {
  __shared__ int item;
  while (true) {
    if (threadIdx.x == 0) item = atomicAdd(next, 1);
    __syncthreads();
    int mine = item;
    __syncthreads();
    if (mine >= n) break;
    y[mine * 32 + threadIdx.x] = mine;
  }
}
struct Three { float a, b, c; };
extern "C" __global__ void eighths_of_a_warp(const Three* x, Three* y) {
  __shared__ Three tile[32];
  int t = threadIdx.x;
  unsigned mask = 0xfu << (t & ~3);
  for (int round = 0; round < 3; ++round) {
    tile[t] = x[t];
    __syncwarp(mask);
    Three three = tile[t ^ 1];
    __syncwarp(mask);
    y[t].a = three.c, y[t].b = three.b, y[t].c = three.a;
  }
}
"""
