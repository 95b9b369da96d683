// CUDA's arithmetic functions that the C++ library does not have.
#pragma once

#define CUDART_INF_F __builtin_inff()
#define CUDART_NAN_F __builtin_nanf("")
#define CUDART_INF __builtin_inf()
#define CUDART_NAN __builtin_nan("")
#define CUDART_PI_F 3.141592654f
#define CUDART_PI 3.1415926535897931

// ---- fast versions: the accurate ones. Macros, because glibc declares functions of these names.
#define __expf expf
#define __exp10f exp10f
#define __logf logf
#define __log2f log2f
#define __log10f log10f
#define __powf powf
#define __sinf sinf
#define __cosf cosf
#define __tanf tanf
#define __sincosf sincosf
static inline float __fdividef(float a, float b) { return a / b; }
static inline float __frcp_rn(float x) { return 1.0f / x; }
static inline float __fsqrt_rn(float x) { return sqrtf(x); }
static inline float __frsqrt_rn(float x) { return 1.0f / sqrtf(x); }
static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }
static inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }  // NaN becomes 0
static inline float normcdff(float x) { return 0.5f * erfcf(-x * 0.70710678f); }
static inline double normcdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752); }

// ---- one rounding each: `volatile` keeps the compiler from fusing them
static inline float __fadd_rn(float a, float b) { volatile float result = a + b; return result; }
static inline float __fsub_rn(float a, float b) { volatile float result = a - b; return result; }
static inline float __fmul_rn(float a, float b) { volatile float result = a * b; return result; }
static inline float __fdiv_rn(float a, float b) { volatile float result = a / b; return result; }
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline double __dadd_rn(double a, double b) { volatile double result = a + b; return result; }
static inline double __dsub_rn(double a, double b) { volatile double result = a - b; return result; }
static inline double __dmul_rn(double a, double b) { volatile double result = a * b; return result; }
static inline double __ddiv_rn(double a, double b) { volatile double result = a / b; return result; }
static inline double __dsqrt_rn(double x) { return sqrt(x); }
static inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }

// ---- conversions
static inline float __int2float_rn(int i) { return (float)i; }
static inline float __uint2float_rn(unsigned i) { return (float)i; }
static inline float __ll2float_rn(long long i) { return (float)i; }
static inline float __ull2float_rn(unsigned long long i) { return (float)i; }
static inline double __ull2double_rn(unsigned long long i) { return (double)i; }
static inline float __double2float_rn(double x) { return (float)x; }
static inline int __float2int_rn(float x) { return (int)nearbyintf(x); }
static inline int __float2int_rz(float x) { return (int)x; }
static inline int __float2int_rd(float x) { return (int)floorf(x); }
static inline int __float2int_ru(float x) { return (int)ceilf(x); }
static inline unsigned __float2uint_rn(float x) { return (unsigned)nearbyintf(x); }
static inline float __int_as_float(int i) { return simulator::from_bits<float>((uint32_t)i); }
static inline float __uint_as_float(unsigned i) { return simulator::from_bits<float>(i); }
static inline int __float_as_int(float x) { return (int)simulator::to_bits(x); }
static inline unsigned __float_as_uint(float x) { return (unsigned)simulator::to_bits(x); }
static inline double __longlong_as_double(long long i) { return simulator::from_bits<double>((uint64_t)i); }
static inline long long __double_as_longlong(double x) { return (long long)simulator::to_bits(x); }

// ---- integers
static inline int __mulhi(int a, int b) { return (int)(((int64_t)a * b) >> 32); }
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((uint64_t)a * b) >> 32); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline unsigned __brev(unsigned x) {
  unsigned result = 0;
  for (int i = 0; i < 32; ++i) result |= (x >> i & 1) << (31 - i);
  return result;
}

template <class T, class U> constexpr std::common_type_t<T, U> min(T a, U b) {
  using Common = std::common_type_t<T, U>;
  return (Common)b < (Common)a ? (Common)b : (Common)a;
}
template <class T, class U> constexpr std::common_type_t<T, U> max(T a, U b) {
  using Common = std::common_type_t<T, U>;
  return (Common)a < (Common)b ? (Common)b : (Common)a;
}

// ---- the few 16-bit functions that NVIDIA's headers have for a device only
static inline __half __hfma(__half a, __half b, __half c) {
  return __float2half(fmaf(__half2float(a), __half2float(b), __half2float(c)));
}
static inline __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
  return __float2bfloat16(fmaf(__bfloat162float(a), __bfloat162float(b), __bfloat162float(c)));
}
static inline __half hexp(__half a) { return __float2half(expf(__half2float(a))); }
static inline __half hrsqrt(__half a) { return __float2half(rsqrtf(__half2float(a))); }
