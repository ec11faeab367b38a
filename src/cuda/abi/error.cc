#include "cuda/abi/error.h"

#include <cctype>
#include <deque>
#include <map>
#include <string>

namespace quern::cuda {
namespace {

// InvalidValue -> CUDA_ERROR_INVALID_VALUE. The driver calls some of them otherwise.
std::string driver_name(std::string_view name) {
  static const std::map<std::string_view, const char*> other = {
      {"Success", "CUDA_SUCCESS"},
      {"MemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY"},
      {"InitializationError", "CUDA_ERROR_NOT_INITIALIZED"},
      {"CudartUnloading", "CUDA_ERROR_DEINITIALIZED"},
      {"InvalidKernelImage", "CUDA_ERROR_INVALID_IMAGE"},
      {"DeviceUninitialized", "CUDA_ERROR_INVALID_CONTEXT"},
      {"NoKernelImageForDevice", "CUDA_ERROR_NO_BINARY_FOR_GPU"},
      {"InvalidResourceHandle", "CUDA_ERROR_INVALID_HANDLE"},
      {"SymbolNotFound", "CUDA_ERROR_NOT_FOUND"},
      {"LaunchFailure", "CUDA_ERROR_LAUNCH_FAILED"},
  };
  if (auto found = other.find(name); found != other.end()) return found->second;
  std::string out = "CUDA_ERROR";
  for (size_t i = 0; i < name.size(); ++i) {
    bool upper = std::isupper(static_cast<unsigned char>(name[i]));
    bool before = i > 0 && std::isupper(static_cast<unsigned char>(name[i - 1]));
    if (upper && !before) out += '_';
    out += static_cast<char>(std::toupper(static_cast<unsigned char>(name[i])));
  }
  return out;
}

std::map<int, ErrorRow> make_rows() {
  static std::deque<std::string> names;  // what the rows point into
  std::map<int, ErrorRow> out;
  auto add = [&](std::string_view name, int number, const char* text) {
    names.push_back((number == 0 ? "cuda" : "cudaError") + std::string(name));
    const char* own = names.back().c_str();
    names.push_back(driver_name(name));
    out[number] = {static_cast<Error>(number), own, names.back().c_str(), text};
  };
#define QUERN_CUDA_ERROR(name, number, text) add(#name, number, text);
#include "cuda/abi/error.def"
#undef QUERN_CUDA_ERROR
  return out;
}

}  // namespace

const ErrorRow* find_row(Error error) {
  // Never destroyed: programs ask for names while they end.
  static const auto& rows = *new std::map<int, ErrorRow>(make_rows());
  auto found = rows.find(static_cast<int>(error));
  return found == rows.end() ? nullptr : &found->second;
}

}  // namespace quern::cuda
