#include "backend/open_gpu.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

namespace quern::backend {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "libquern_cuda.so";

std::unexpected<Diagnostics> refuse(std::string why) {
  return fail(diagnose(Code::N909, {}, {{"why", std::move(why)}}));
}

std::vector<fs::path> candidates() {
  std::vector<fs::path> out;
  if (const char* chosen = std::getenv("QUERN_CUDA"); chosen && *chosen) return {chosen};
  std::error_code error;
  fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  if (!error) {
    out.push_back(folder / QUERN_LIBRARY_FROM_PROGRAM / "quern");
    out.push_back(folder.parent_path() / "lib" / "quern");
  }
  out.emplace_back(QUERN_CUDA_BUILT);
  return out;
}

Result<const VirtualGpu*> opened() {
  auto folder = gpu_folder();
  if (!folder) return fail(std::move(folder.error()));
  void* library = ::dlopen((fs::path(*folder) / kName).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return refuse(::dlerror());
  auto entry = reinterpret_cast<GpuEntry>(::dlsym(library, "quern_virtual_gpu"));
  if (!entry) return refuse(std::string(kName) + " is another library of that name");
  const VirtualGpu* gpu = entry();
  if (std::string_view(gpu->version) != QUERN_VERSION) {
    return refuse(std::string(kName) + " is of version " + gpu->version + ", quern is " + QUERN_VERSION);
  }
  return gpu;
}

}  // namespace

Result<std::string> gpu_folder() {
  std::error_code error;
  for (const fs::path& folder : candidates()) {
    if (fs::exists(folder / kName, error)) return fs::absolute(folder, error).lexically_normal().string();
  }
  return refuse(std::string(kName) + " is not beside it");
}

Result<const VirtualGpu*> open_gpu() {
  static const Result<const VirtualGpu*> result = opened();
  return result;
}

}  // namespace quern::backend
