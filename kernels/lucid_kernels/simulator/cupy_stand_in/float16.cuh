// CuPy's type for half precision: a number that computes in float.
#pragma once

struct float16 {
  __half data_;

  float16() = default;
  float16(__half number) : data_(number) {}
  float16(float number) : data_(__float2half(number)) {}
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  float16(T number) : data_(__float2half((float)number)) {}
  operator float() const { return __half2float(data_); }

  float16& operator+=(float other) { return *this = float16(float(*this) + other); }
  float16& operator-=(float other) { return *this = float16(float(*this) - other); }
  float16& operator*=(float other) { return *this = float16(float(*this) * other); }
  float16& operator/=(float other) { return *this = float16(float(*this) / other); }
};
inline bool isnan(float16 number) { return isnan(float(number)); }
inline bool isinf(float16 number) { return isinf(float(number)); }
inline bool isfinite(float16 number) { return isfinite(float(number)); }
inline float16 min(float16 a, float16 b) { return float(a) < float(b) ? a : b; }
inline float16 max(float16 a, float16 b) { return float(a) > float(b) ? a : b; }
