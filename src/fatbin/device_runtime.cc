#include "fatbin/device_runtime.h"

#include <algorithm>

namespace quern::fatbin {

bool is_device_runtime(std::span<const Entry> container) {
  // It comes without names of sources. Nobody else calls what the driver has for it alone.
  constexpr const char* kOwn = "cnpGetParameterBuffer";
  if (std::ranges::any_of(container, [](const Entry& e) { return !e.source.empty(); })) return false;
  for (const Entry& e : container) {
    if (e.kind != EntryKind::kPtx && e.kind != EntryKind::kMachineCode) continue;
    auto code = unpack(e, {});
    return code && code->find(kOwn) != std::string::npos;
  }
  return false;
}

}  // namespace quern::fatbin
