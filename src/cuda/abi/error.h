// What CUDA's functions return.
#pragma once

#include <optional>
#include <string_view>

namespace quern::cuda {

enum class Error : int {
#define QUERN_CUDA_ERROR(name, number, text) k##name = number,
#include "cuda/abi/error.def"
#undef QUERN_CUDA_ERROR
};

struct ErrorRow {
  Error error;
  const char* name;         // "cudaErrorInvalidValue"
  const char* driver_name;  // "CUDA_ERROR_INVALID_VALUE"
  const char* text;
};

const ErrorRow* find_row(Error error);  // null: no such number

}  // namespace quern::cuda
