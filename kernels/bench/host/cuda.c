// A CUDA whose calls succeed at once and compute nothing: what is left of a call's time is the host's own.
// The runtime's functions stand here as rt_<name>; `stub.py` puts them in place of those linked into CuPy, and says which CUDA it is.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifndef CUDA
#define CUDA 13
#endif
enum { LAUNCHES, PRODUCTS, ALLOCATIONS, COPIES, COUNTERS };
static long counters[COUNTERS];
static int capturing;

void stub_count(int which) { ++counters[which]; }  // also called by the stubs of the libraries
void stub_read(long* to) { memcpy(to, counters, sizeof counters); memset(counters, 0, sizeof counters); }
int stub_success(void) { return 0; }  // every function without one of its own

static int handle(void** p) { *p = malloc(16); return 0; }  // anything with an address

static int device_attribute(int* value, int attribute) {
  switch (attribute) {  // cudaDeviceAttr and CUdevice_attribute have the same numbers
    case 1: *value = 1024; break;     // threads per block
    case 8: *value = 48 << 10; break;   // bytes of shared memory per block
    case 10: *value = 32; break;      // threads per warp
    case 16: *value = 132; break;     // multiprocessors
    case 39: *value = 2048; break;    // threads per multiprocessor
    case 75: *value = 9; break;       // compute capability
    case 76: *value = 0; break;
    case 81: *value = 228 << 10; break;  // bytes of shared memory per multiprocessor
    case 97: *value = 227 << 10; break;  // bytes of shared memory per block, when asked for
    default: *value = 1;
  }
  return 0;
}

static int map(void** p, size_t bytes) {
  stub_count(ALLOCATIONS);
  // Host memory that costs nothing until it is touched: copies to the device and back work, and give zeros for results.
  *p = mmap(0, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return *p == MAP_FAILED ? 2 : 0;
}

static int move(void* to, const void* from, size_t bytes) { stub_count(COPIES); memcpy(to, from, bytes); return 0; }

// ------------------------------------------------------------------------------------------------------------ runtime
int rt_cudaGetDevice(int* device) { *device = 0; return 0; }
int rt_cudaGetDeviceCount(int* count) { *count = 1; return 0; }
int rt_cudaDriverGetVersion(int* version) { *version = 1000 * CUDA; return 0; }
int rt_cudaRuntimeGetVersion(int* version) { *version = 1000 * CUDA; return 0; }
int rt_cudaDeviceGetAttribute(int* value, int attribute, int device) { return device_attribute(value, attribute); }
int rt_cudaGetDeviceProperties(char* properties, int device) {
  strcpy(memset(properties, 0, 800), "stub");
  *(size_t*)(properties + 288) = (size_t)80 << 30;  // totalGlobalMem
  return 0;
}
int rt_cudaMalloc(void** p, size_t bytes) { return map(p, bytes); }
int rt_cudaMallocHost(void** p, size_t bytes, unsigned flags) { *p = calloc(1, bytes ? bytes : 1); return 0; }
int rt_cudaHostAlloc(void** p, size_t bytes, unsigned flags) { return rt_cudaMallocHost(p, bytes, flags); }
int rt_cudaMemcpy(void* to, const void* from, size_t bytes, int kind) { return move(to, from, bytes); }
int rt_cudaMemcpyAsync(void* to, const void* from, size_t bytes, int kind, void* stream) { return move(to, from, bytes); }
int rt_cudaMemset(void* p, int value, size_t bytes) { memset(p, value, bytes < 4096 ? bytes : 4096); return 0; }  // a GPU's work
int rt_cudaMemsetAsync(void* p, int value, size_t bytes, void* stream) { return rt_cudaMemset(p, value, bytes); }
int rt_cudaMemGetInfo(size_t* free, size_t* total) { *free = *total = (size_t)80 << 30; return 0; }
int rt_cudaPointerGetAttributes(void** attributes, const void* p) {
  ((int*)attributes)[0] = 2;  // device memory
  ((int*)attributes)[1] = 0;
  attributes[1] = (void*)p;
  attributes[2] = 0;
  return 0;
}
int rt_cudaStreamCreate(void** stream) { return handle(stream); }
int rt_cudaStreamCreateWithFlags(void** stream, unsigned flags) { return handle(stream); }
int rt_cudaStreamCreateWithPriority(void** stream, unsigned flags, int priority) { return handle(stream); }
int rt_cudaEventCreate(void** event) { return handle(event); }
int rt_cudaEventCreateWithFlags(void** event, unsigned flags) { return handle(event); }
int rt_cudaStreamIsCapturing(void* stream, int* status) { *status = capturing; return 0; }
int rt_cudaStreamBeginCapture(void* stream, int mode) { capturing = 1; return 0; }
int rt_cudaStreamEndCapture(void* stream, void** graph) { capturing = 0; return handle(graph); }
int rt_cudaGraphInstantiate(void** executable, void* graph, unsigned long long flags) { return handle(executable); }
const char* rt_cudaGetErrorName(int error) { return "cudaErrorOfStub"; }
const char* rt_cudaGetErrorString(int error) { return "an error of the stub"; }

// ------------------------------------------------------------------------------------------------------------- driver
int cuInit(unsigned flags) { return 0; }
int cuDriverGetVersion(int* version) { *version = 1000 * CUDA; return 0; }
int cuDeviceGetCount(int* count) { *count = 1; return 0; }
int cuDeviceGet(int* device, int ordinal) { *device = 0; return 0; }
int cuDeviceGetAttribute(int* value, int attribute, int device) { return device_attribute(value, attribute); }
int cuCtxGetCurrent(void** context) { *context = counters; return 0; }
int cuCtxGetDevice(int* device) { *device = 0; return 0; }
int cuDevicePrimaryCtxRetain(void** context, int device) { *context = counters; return 0; }
int cuModuleLoadData(void** module, const void* image) { return handle(module); }
int cuModuleLoadDataEx(void** module, const void* image, unsigned n, void* options, void* values) { return handle(module); }
int cuModuleGetFunction(void** function, void* module, const char* name) { return handle(function); }
int cuModuleGetGlobal_v2(void** p, size_t* bytes, void* module, const char* name) {
  *p = calloc(1, 4096);
  if (bytes) *bytes = 4096;
  return 0;
}
int cuLibraryLoadData(void** library, const void* code, void* a, void* b, unsigned c, void* d, void* e, unsigned f) {
  return handle(library);
}
int cuLibraryGetKernel(void** kernel, void* library, const char* name) { return handle(kernel); }
int cuKernelGetFunction(void** function, void* kernel) { return handle(function); }
int cuFuncGetAttribute(int* value, int attribute, void* function) { *value = 32; return 0; }
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* function, int threads, size_t shared) {
  *blocks = 2;
  return 0;
}
// Tests look at what a launch is given.
typedef void (*Launched)(void* function, const unsigned* sizes, void* stream, void** parameters);
static Launched launched;
void stub_watch(Launched callback) { launched = callback; }

int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void* stream, void** parameters, void** extra) {
  stub_count(LAUNCHES);
  if (launched) {
    const unsigned sizes[] = {gx, gy, gz, bx, by, bz, shared};
    launched(function, sizes, stream, parameters);
  }
  return 0;
}
int cuLaunchKernelEx(void* configuration, void* function, void** parameters, void** extra) { stub_count(LAUNCHES); return 0; }
int cuStreamIsCapturing(void* stream, int* status) { *status = capturing; return 0; }
int cuGetErrorName(int error, const char** text) { *text = "CUDA_ERROR_OF_STUB"; return 0; }
int cuGetErrorString(int error, const char** text) { *text = "an error of the stub"; return 0; }

int cuGetProcAddress_v2(const char* name, void** function, int version, unsigned long long flags, int* status) {
  static void* self;
  char versioned[200];
  Dl_info info;
  if (!self && dladdr((void*)&cuInit, &info)) self = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  snprintf(versioned, sizeof versioned, "%s_v2", name);
  *function = dlsym(self, versioned);
  if (!*function) *function = dlsym(self, name);
  if (!*function) *function = (void*)&stub_success;
  if (status) *status = 0;
  return 0;
}
int cuGetProcAddress(const char* name, void** function, int version, unsigned long long flags) {
  return cuGetProcAddress_v2(name, function, version, flags, 0);
}
