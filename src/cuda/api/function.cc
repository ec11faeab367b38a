// What can be asked of a kernel, and set.
#include "cuda/api/entry.h"
#include "cuda/runtime/function_attributes.h"
#include "cuda/runtime/launch.h"
#include "cuda/runtime/occupancy.h"
#include "cuda/runtime/registry.h"

namespace quern::cuda {
namespace {

enum FunctionAttribute : int {
  kMaxDynamicShared = 8,
  kCarveout = 9,
  kClusterMustBeSet = 10,
  kClusterWidth = 11,
  kClusterHeight = 12,
  kClusterDepth = 13,
  kNonPortableCluster = 14,
  kClusterPolicy = 15,
};

Error find(const void* function, Kernel*& kernel, std::shared_ptr<vgpu::Program>& program) {
  kernel = Registry::get().kernel(function);
  if (!kernel) return Error::kInvalidDeviceFunction;
  return load(*kernel, thread_state().device, false, program);
}

Error cudaFuncGetAttributes(FuncAttributes* out, const void* function) {
  return entry([&] {
    Kernel* kernel = nullptr;
    std::shared_ptr<vgpu::Program> program;
    if (!out) return Error::kInvalidValue;
    if (Error e = find(function, kernel, program); e != Error::kSuccess) return e;
    *out = attributes_of(*program, *kernel, thread_state().device);
    return Error::kSuccess;
  });
}

Error cudaFuncSetAttribute(const void* function, int attribute, int value) {
  return entry([&] {
    Kernel* kernel = nullptr;
    std::shared_ptr<vgpu::Program> program;
    if (Error e = find(function, kernel, program); e != Error::kSuccess) return e;
    switch (attribute) {
      case kMaxDynamicShared: {
        int64_t fixed = vgpu::static_shared_bytes(program->module(), *program->kernel(kernel->name));
        if (value < 0 || value + fixed > current_device().limits.shared_bytes) return Error::kInvalidValue;
        kernel->max_dynamic_shared = value;
        return Error::kSuccess;
      }
      case kCarveout:
        if (value < -1 || value > 100) return Error::kInvalidValue;
        kernel->carveout = value;
        return Error::kSuccess;
      case kClusterWidth:
      case kClusterHeight:
      case kClusterDepth: kernel->cluster[attribute - kClusterWidth] = value; return Error::kSuccess;
      case kNonPortableCluster: kernel->non_portable_cluster = value != 0; return Error::kSuccess;
      case kClusterMustBeSet:
      case kClusterPolicy: return Error::kSuccess;
      default: return Error::kInvalidValue;
    }
  });
}

// Where a cache is and how shared memory's banks are wide, the chip decides.
Error advise(const void* function) {
  return entry([&] { return Registry::get().kernel(function) ? Error::kSuccess : Error::kInvalidDeviceFunction; });
}
Error cudaFuncSetCacheConfig(const void* function, int) { return advise(function); }
Error cudaFuncSetSharedMemConfig(const void* function, int) { return advise(function); }

Error cudaFuncGetName(const char** out, const void* function) {
  return entry([&] {
    Kernel* kernel = Registry::get().kernel(function);
    if (!kernel) return Error::kInvalidDeviceFunction;
    if (!out) return Error::kInvalidValue;
    *out = kernel->name.c_str();
    return Error::kSuccess;
  });
}

Error cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset, size_t* size) {
  return entry([&] {
    Kernel* kernel = nullptr;
    std::shared_ptr<vgpu::Program> program;
    if (Error e = find(function, kernel, program); e != Error::kSuccess) return e;
    vgpu::ParameterLayout layout = vgpu::parameter_layout(*program->kernel(kernel->name));
    if (index >= layout.offsets.size()) return Error::kInvalidValue;
    if (offset) *offset = static_cast<size_t>(layout.offsets[index]);
    if (size) *size = static_cast<size_t>(layout.sizes[index]);
    return Error::kSuccess;
  });
}

Error cudaGetFuncBySymbol(const void** out, const void* symbol) {
  return entry([&] {
    if (!out) return Error::kInvalidValue;
    *out = Registry::get().kernel(symbol);
    return *out ? Error::kSuccess : Error::kInvalidDeviceFunction;
  });
}

Error cudaGetKernel(const void** out, const void* symbol) { return cudaGetFuncBySymbol(out, symbol); }

Error cudaKernelSetAttributeForDevice(const void* kernel, int attribute, int value, int device) {
  if (!Process::get().has_device(device)) return remember(Error::kInvalidDevice);
  return cudaFuncSetAttribute(kernel, attribute, value);
}

}  // namespace

std::span<const Export> function_exports() {
  static const Export rows[] = {
      QUERN_EXPORT(cudaFuncGetAttributes),
      QUERN_EXPORT(cudaFuncSetAttribute),
      QUERN_EXPORT(cudaFuncSetCacheConfig),
      QUERN_EXPORT(cudaFuncSetSharedMemConfig),
      QUERN_EXPORT(cudaFuncGetName),
      QUERN_EXPORT(cudaFuncGetParamInfo),
      QUERN_EXPORT(cudaGetFuncBySymbol),
      QUERN_EXPORT(cudaGetKernel),
      QUERN_EXPORT(cudaKernelSetAttributeForDevice),
  };
  return rows;
}

}  // namespace quern::cuda
