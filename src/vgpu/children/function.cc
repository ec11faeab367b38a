#include "vgpu/children/function.h"

namespace quern::vgpu {
namespace {

constexpr std::string_view kNames[] = {
#define QUERN_DEVICE_FUNCTION(name, words) "cuda" #name,
#include "vgpu/children/function.def"
#undef QUERN_DEVICE_FUNCTION
};

constexpr size_t kWords[] = {
#define QUERN_DEVICE_FUNCTION(name, words) words,
#include "vgpu/children/function.def"
#undef QUERN_DEVICE_FUNCTION
};

}  // namespace

size_t argument_words(DeviceFunction function) { return kWords[static_cast<size_t>(function)]; }

std::string_view name(DeviceFunction function) { return kNames[static_cast<size_t>(function)]; }

std::optional<NamedFunction> find_device_function(std::string_view name) {
  constexpr std::string_view kSince12 = "__cudaCDP2", kBefore = "cuda", kOwnStream = "_ptsz";
  // What the toolkit's header calls for a program that silences its warning.
  if (name == "__cudaDeviceSynchronizeDeprecationAvoidance") return NamedFunction{DeviceFunction::kDeviceSynchronize};
  std::string_view prefix = name.starts_with(kSince12) ? kSince12 : kBefore;
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  NamedFunction out;
  out.per_thread = name.ends_with(kOwnStream);
  if (out.per_thread) name.remove_suffix(kOwnStream.size());
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i].substr(kBefore.size()) != name) continue;
    out.function = static_cast<DeviceFunction>(i);
    return out;
  }
  return std::nullopt;
}

}  // namespace quern::vgpu
