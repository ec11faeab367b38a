// How many blocks fit.
#include "cuda/runtime/occupancy.h"

#include <algorithm>

#include "cuda/api/entry.h"
#include "cuda/runtime/launch.h"
#include "cuda/runtime/registry.h"

namespace quern::cuda {
namespace {

Error cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* out, const void* function, int threads,
                                                             size_t dynamic_shared, unsigned flags) {
  return entry([&] {
    Kernel* kernel = Registry::get().kernel(function);
    std::shared_ptr<vgpu::Program> program;
    if (!out || threads <= 0 || flags > 1) return Error::kInvalidValue;
    if (!kernel) return Error::kInvalidDeviceFunction;
    if (Error e = load(*kernel, thread_state().device, false, program); e != Error::kSuccess) return e;
    *out = threads > current_device().limits.threads_per_block
               ? 0
               : blocks_per_multiprocessor(*program, *program->kernel(kernel->name), threads, dynamic_shared);
    return Error::kSuccess;
  });
}

Error cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* out, const void* function, int threads,
                                                    size_t dynamic_shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(out, function, threads, dynamic_shared, 0);
}

Error cudaOccupancyAvailableDynamicSMemPerBlock(size_t* out, const void* function, int blocks, int threads) {
  return entry([&] {
    Kernel* kernel = Registry::get().kernel(function);
    std::shared_ptr<vgpu::Program> program;
    if (!out || blocks <= 0 || threads <= 0) return Error::kInvalidValue;
    if (!kernel) return Error::kInvalidDeviceFunction;
    if (Error e = load(*kernel, thread_state().device, false, program); e != Error::kSuccess) return e;
    *out = shared_for_blocks(*program, *program->kernel(kernel->name), blocks);
    return Error::kSuccess;
  });
}

constexpr int kPortableCluster = 8, kLargestCluster = 16;

Error cudaOccupancyMaxPotentialClusterSize(int* out, const void* function, const LaunchConfig* config) {
  return entry([&] {
    Kernel* kernel = Registry::get().kernel(function);
    if (!out || !config) return Error::kInvalidValue;
    if (!kernel) return Error::kInvalidDeviceFunction;
    bool clusters = current_device().limits.compute_capability >= 90;
    *out = !clusters ? 1 : kernel->non_portable_cluster ? kLargestCluster : kPortableCluster;
    return Error::kSuccess;
  });
}

Error cudaOccupancyMaxActiveClusters(int* out, const void* function, const LaunchConfig* config) {
  if (!out || !config) return remember(Error::kInvalidValue);
  int64_t cluster = 1;
  for (uint32_t i = 0; i < config->attribute_count; ++i) {
    const LaunchAttribute& a = config->attributes[i];
    if (a.id == LaunchAttributeId::kClusterDimension) {
      cluster = int64_t{a.value.cluster.x} * a.value.cluster.y * a.value.cluster.z;
    }
  }
  int threads = static_cast<int>(config->block.x * config->block.y * config->block.z);
  int blocks = 0;
  Error e = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, threads, config->shared_bytes);
  if (e != Error::kSuccess) return e;
  *out = static_cast<int>(blocks * int64_t{current_device().limits.multiprocessors} / std::max<int64_t>(1, cluster));
  return Error::kSuccess;
}

}  // namespace

std::span<const Export> occupancy_exports() {
  static const Export rows[] = {
      QUERN_EXPORT(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags),
      QUERN_EXPORT(cudaOccupancyMaxActiveBlocksPerMultiprocessor),
      QUERN_EXPORT(cudaOccupancyAvailableDynamicSMemPerBlock),
      QUERN_EXPORT(cudaOccupancyMaxPotentialClusterSize),
      QUERN_EXPORT(cudaOccupancyMaxActiveClusters),
  };
  return rows;
}

}  // namespace quern::cuda
