// Launches by the functions that programs may call themselves.
#include "cuda/runtime/launch.h"

#include "cuda/api/entry.h"

namespace quern::cuda {
namespace {

LaunchRequest request(const void* function, Dim3 grid, Dim3 block, void** arguments, size_t shared_bytes) {
  LaunchRequest r;
  r.function = function;
  r.grid = grid;
  r.block = block;
  r.shared_bytes = shared_bytes;
  r.arguments = arguments;
  return r;
}

Error cudaLaunchKernel(const void* function, Dim3 grid, Dim3 block, void** arguments, size_t shared_bytes,
                       Stream* stream) {
  return open_entry([&] { return launch(request(function, grid, block, arguments, shared_bytes), stream); });
}

Error cudaLaunchCooperativeKernel(const void* function, Dim3 grid, Dim3 block, void** arguments, size_t shared_bytes,
                                  Stream* stream) {
  return open_entry([&] {
    LaunchRequest r = request(function, grid, block, arguments, shared_bytes);
    r.cooperative = true;
    return launch(r, stream);
  });
}

Error cudaLaunchKernelExC(const LaunchConfig* config, const void* function, void** arguments) {
  return open_entry([&] {
    if (!config || (config->attribute_count && !config->attributes)) return Error::kInvalidValue;
    LaunchRequest r = request(function, config->grid, config->block, arguments, config->shared_bytes);
    for (uint32_t i = 0; i < config->attribute_count; ++i) {
      const LaunchAttribute& a = config->attributes[i];
      if (a.id == LaunchAttributeId::kCooperative) r.cooperative = a.value.cooperative != 0;
      if (a.id == LaunchAttributeId::kClusterDimension) {
        r.cluster = {a.value.cluster.x, a.value.cluster.y, a.value.cluster.z};
      }
    }
    return launch(r, config->stream);
  });
}

// Its stream is in a struct.
Error cudaLaunchKernelExC_ptsz(const LaunchConfig* config, const void* function, void** arguments) {
  if (!config || config->stream) return cudaLaunchKernelExC(config, function, arguments);
  LaunchConfig of_thread = *config;
  of_thread.stream = kPerThreadStream;
  return cudaLaunchKernelExC(&of_thread, function, arguments);
}

}  // namespace

std::span<const Export> launch_exports() {
  static const Export rows[] = {QUERN_EXPORT_STREAM(cudaLaunchKernel), QUERN_EXPORT_STREAM(cudaLaunchCooperativeKernel),
                                QUERN_EXPORT(cudaLaunchKernelExC), QUERN_EXPORT(cudaLaunchKernelExC_ptsz)};
  return rows;
}

}  // namespace quern::cuda
