// CUDA's functions as a program calls them, by name; and a process that is one program, set up before anything else.
#pragma once

#include <gtest/gtest.h>

#include "cuda/abi/graph_types.h"
#include "cuda/api/exports.h"

namespace quern::cuda {

template <class... A>
Error call(const char* name, A... arguments) {
  auto function = reinterpret_cast<Error (*)(A...)>(find_export(name, 13));
  EXPECT_NE(function, nullptr) << name;
  return function ? function(arguments...) : Error::kNotSupported;
}

inline void ok(Error e) { EXPECT_EQ(e, Error::kSuccess); }

inline Stream* const kNoStream = nullptr;

template <class T>
T* device_array(size_t count) {
  void* out = nullptr;
  ok(call("cudaMalloc", &out, count * sizeof(T)));
  return static_cast<T*>(out);
}

template <class T>
Error copy(T* to, const T* from, size_t count, CopyKind kind) {
  return call("cudaMemcpy", static_cast<void*>(to), static_cast<const void*>(from), count * sizeof(T), kind);
}

}  // namespace quern::cuda
