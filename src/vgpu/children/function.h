// The functions of CUDA's device runtime, by the names that PTX calls them by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace quern::vgpu {

enum class DeviceFunction : uint32_t {
#define QUERN_DEVICE_FUNCTION(name, words) k##name,
#include "vgpu/children/function.def"
#undef QUERN_DEVICE_FUNCTION
};

struct NamedFunction {
  DeviceFunction function{};
  bool per_thread = false;  // a stream that isn't named is the thread's own
  // As one number, for the code.
  uint64_t number() const { return static_cast<uint64_t>(function) << 1 | per_thread; }
  static NamedFunction of(uint64_t number) { return {static_cast<DeviceFunction>(number >> 1), (number & 1) != 0}; }
};

// Empty: no function of the device runtime.
std::optional<NamedFunction> find_device_function(std::string_view name);
// How many words of eight bytes its arguments take.
size_t argument_words(DeviceFunction function);
// As a program writes it: "cudaMemcpyAsync".
std::string_view name(DeviceFunction function);

}  // namespace quern::vgpu
