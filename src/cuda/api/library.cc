// Libraries of the runtime: what the driver has under almost the same names.
#include "cuda/api/entry.h"

namespace quern::cuda {

std::span<const Export> library_exports() {
  auto driver = [](const char* name) -> void* {
    for (const Export& e : module_exports()) {
      if (std::string_view(e.name) == name) return e.function;
    }
    return nullptr;
  };
  static const Export rows[] = {
      {"cudaLibraryLoadData", driver("cuLibraryLoadData")},
      {"cudaLibraryLoadFromFile", driver("cuLibraryLoadFromFile")},
      {"cudaLibraryUnload", driver("cuLibraryUnload")},
      {"cudaLibraryGetKernel", driver("cuLibraryGetKernel")},
      {"cudaLibraryGetGlobal", driver("cuLibraryGetGlobal")},
      {"cudaLibraryGetManaged", driver("cuLibraryGetManaged")},
  };
  return rows;
}

}  // namespace quern::cuda
