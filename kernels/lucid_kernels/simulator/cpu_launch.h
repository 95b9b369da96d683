// The functions of a library of kernels that Python calls.
#pragma once

namespace simulator {

// ---- signatures: one code per argument, which module.py compares with what it is given
//
// Computed while they compile: functions of std::string were a quarter of the time to build a small kernel.
struct CodeWriter {
  char* end;
  constexpr void put(char c) { *end++ = c; }
  constexpr void put(char kind, size_t bytes) {
    put(kind);
    size_t unit = 1;
    while (bytes / unit >= 10) unit *= 10;
    for (; unit; unit /= 10) put((char)('0' + bytes / unit % 10));
  }
};

template <class T> constexpr void put_code(CodeWriter& codes) {
  if constexpr (std::is_pointer_v<T>) {
    using Pointed = std::remove_pointer_t<T>;
    codes.put('*');
    codes.put(std::is_const_v<Pointed> ? 'c' : 'm');
    put_code<std::remove_cv_t<Pointed>>(codes);
  } else if constexpr (std::is_void_v<T>) {
    codes.put('v', 0);
  } else if constexpr (std::is_same_v<T, __half>) {
    codes.put('h', 2);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    codes.put('B', 2);
  } else if constexpr (std::is_same_v<T, bool>) {
    codes.put('b', 1);
  } else if constexpr (std::is_floating_point_v<T>) {
    codes.put('f', sizeof(T));
  } else if constexpr (std::is_integral_v<T>) {
    codes.put(std::is_signed_v<T> ? 'i' : 'u', sizeof(T));
  } else {
    codes.put('x', sizeof(T));  // a struct, by value
  }
}

template <class... Arguments> struct Signature {
  char codes[32 * sizeof...(Arguments) + 1] = {};
  constexpr Signature() {
    CodeWriter writer{codes};
    ((put_code<Arguments>(writer), writer.put(',')), ...);
  }
};

template <class... Arguments> const char* signature_of(void (*)(Arguments...)) {
  static constexpr Signature<Arguments...> signature;
  return signature.codes;
}

// A kernel with its arguments, as one thread calls it: `values` points to each of them.
template <class... Arguments> struct Call {
  void (*kernel)(Arguments...);
  void** values;
  template <size_t... I> LUCID_UNCHECKED void run(std::index_sequence<I...>) const {
    kernel(*(std::remove_cv_t<Arguments>*)values[I]...);
  }
  LUCID_UNCHECKED static void run(void* call) { ((const Call*)call)->run(std::index_sequence_for<Arguments...>{}); }
};

template <class... Arguments>
int launch_packed(void (*kernel)(Arguments...), void** values, const LaunchParameters& parameters, const Library& library) {
  Call<Arguments...> call{kernel, values};
  return launch(parameters, library, Call<Arguments...>::run, &call);
}

}  // namespace simulator

#define LUCID_EXPORT_KERNEL(index, ...)                                                               \
  extern "C" const char* lucid_signature_##index() { return simulator::signature_of(__VA_ARGS__); }   \
  extern "C" int lucid_launch_##index(void** values, const simulator::LaunchParameters* parameters,   \
                                      const simulator::Library* library) {                            \
    return simulator::launch_packed(__VA_ARGS__, values, *parameters, *library);                      \
  }

// Where the library and its static shared memory lie. Once, in the unit.
#define LUCID_EXPORT_LIBRARY                                                                          \
  extern "C" {                                                                                        \
  extern char __start_lucid_shared[] __attribute__((weak, visibility("hidden")));                     \
  extern char __stop_lucid_shared[] __attribute__((weak, visibility("hidden")));                      \
  extern char __ehdr_start[] __attribute__((visibility("hidden")));                                   \
  extern char _end[] __attribute__((visibility("hidden")));                                           \
  LUCID_UNCHECKED void lucid_describe(simulator::Library* library) {                                  \
    library->begin = (uintptr_t)__ehdr_start;                                                         \
    library->end = (uintptr_t)_end;                                                                   \
    library->shared_begin = __start_lucid_shared;                                                     \
    library->shared_end = __stop_lucid_shared;                                                        \
  }                                                                                                   \
  }
