#include "cli/vendor_libraries.h"

#include <algorithm>

namespace quern::cli {
namespace {

constexpr std::string_view kReplaced[] = {"libcudart.so.13", "libcudart.so.12", "libcuda.so.1",
                                          "libcublas.so.13", "libcublas.so.12", "libcurand.so.10"};

// What work on the GPU is called by, up to the version. NVRTC, nvJitLink and NVTX aren't: they do theirs on the host.
constexpr std::string_view kVendor[] = {
    "libcublas",   "libcublasLt",   "libcudnn",    "libcufft", "libcufftw", "libcurand", "libcusolver", "libcusolverMg",
    "libcusparse", "libcusparseLt", "libcutensor", "libnccl",  "libnpp",    "libnvblas", "libnvjpeg",   "libnvshmem"};

bool is_vendor(std::string_view library) {
  std::string_view name = library.substr(0, library.find(".so"));
  return std::ranges::any_of(kVendor, [&](std::string_view known) {
    // cuDNN, NPP and NVSHMEM are several libraries each.
    bool family = known == "libcudnn" || known == "libnpp" || known == "libnvshmem";
    return family ? name.starts_with(known) : name == known;
  });
}

}  // namespace

std::span<const std::string_view> replaced_libraries() { return kReplaced; }

Result<void> check_libraries(const std::string& path, const std::vector<std::string>& libraries) {
  for (const std::string& library : libraries) {
    if (!is_vendor(library) || std::ranges::find(kReplaced, library) != std::end(kReplaced)) continue;
    auto d = diagnose(Code::E974, {},
                      {{"path", path},
                       {"why", "it needs " + library +
                                   ", and of NVIDIA's libraries the virtual GPU has libcublas.so.13, "
                                   "libcublas.so.12 and libcurand.so.10"}});
    d.remedy = "leave out what uses it; if nothing does, link with -Xlinker --as-needed";
    return fail(std::move(d));
  }
  return {};
}

}  // namespace quern::cli
