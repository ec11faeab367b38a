#include "cuda/runtime/properties.h"

#include <cstring>

#include "cuda/runtime/device_memory.h"
#include "cuda/runtime/occupancy.h"
#include "cuda/runtime/process.h"

namespace quern::cuda {
namespace {

// Sizes of textures and surfaces of all chips of compute capability 8.0 to 12.0 (CUDA C++ Programming Guide, technical
// specifications per compute capability).
void set_textures(Properties& p) {
  p.textureAlignment = p.surfaceAlignment = 512;
  p.texturePitchAlignment = 32;
  p.maxTexture1D = 131072;
  p.maxTexture1DMipmap = 32768;
  p.maxTexture1DLinear = 1 << 28;
  p.maxTexture2D[0] = 131072, p.maxTexture2D[1] = 65536;
  p.maxTexture2DMipmap[0] = p.maxTexture2DMipmap[1] = 32768;
  p.maxTexture2DLinear[0] = 131072, p.maxTexture2DLinear[1] = 65000, p.maxTexture2DLinear[2] = 2097120;
  p.maxTexture2DGather[0] = p.maxTexture2DGather[1] = 32768;
  for (int i = 0; i < 3; ++i) p.maxTexture3D[i] = 16384;
  p.maxTexture3DAlt[0] = p.maxTexture3DAlt[1] = 8192, p.maxTexture3DAlt[2] = 32768;
  p.maxTextureCubemap = 32768;
  p.maxTexture1DLayered[0] = 32768, p.maxTexture1DLayered[1] = 2048;
  p.maxTexture2DLayered[0] = p.maxTexture2DLayered[1] = 32768, p.maxTexture2DLayered[2] = 2048;
  p.maxTextureCubemapLayered[0] = 32768, p.maxTextureCubemapLayered[1] = 2046;
  p.maxSurface1D = 32768;
  p.maxSurface2D[0] = 131072, p.maxSurface2D[1] = 65536;
  for (int i = 0; i < 3; ++i) p.maxSurface3D[i] = 16384;
  p.maxSurface1DLayered[0] = 32768, p.maxSurface1DLayered[1] = 2048;
  p.maxSurface2DLayered[0] = p.maxSurface2DLayered[1] = 32768, p.maxSurface2DLayered[2] = 2048;
  p.maxSurfaceCubemap = 32768;
  p.maxSurfaceCubemapLayered[0] = 32768, p.maxSurfaceCubemapLayered[1] = 2046;
}

// What this runtime can do.
void set_features(Properties& p) {
  p.canMapHostMemory = p.concurrentKernels = p.unifiedAddressing = p.managedMemory = 1;
  p.concurrentManagedAccess = p.computePreemptionSupported = p.cooperativeLaunch = 1;
  p.streamPrioritiesSupported = p.globalL1CacheSupported = p.localL1CacheSupported = 1;
  p.hostRegisterSupported = p.memoryPoolsSupported = p.deviceOverlap = 1;
  p.ipcEventSupported = 1;
  p.memoryPoolSupportedHandleTypes = 1;  // file descriptors
  p.asyncEngineCount = 3;
}

}  // namespace

Properties properties_of(int device) {
  Process& process = Process::get();
  const chip::Chip& chip = *process.config.chip;
  const vgpu::Limits& limits = process.device(device).limits;
  Properties p{};
  std::string name = chip.model + " (virtual)";
  std::memcpy(p.name, name.c_str(), std::min(name.size() + 1, sizeof p.name - 1));
  std::memcpy(p.uuid.bytes, "quern virtual", 13);
  p.uuid.bytes[15] = static_cast<char>(device);
  p.totalGlobalMem = static_cast<size_t>(total_bytes(device));
  p.sharedMemPerBlock = kPlainShared;
  p.sharedMemPerBlockOptin = static_cast<size_t>(limits.shared_bytes);
  p.sharedMemPerMultiprocessor = static_cast<size_t>(chip.gpu.shared_bytes.value);
  p.reservedSharedMemPerBlock = kReservedShared;
  p.regsPerBlock = p.regsPerMultiprocessor = static_cast<int>(chip.gpu.registers.value);
  p.warpSize = 32;
  p.memPitch = INT32_MAX;
  p.maxThreadsPerBlock = limits.threads_per_block;
  for (int i = 0; i < 3; ++i) {
    p.maxThreadsDim[i] = static_cast<int>(limits.block[i]);
    p.maxGridSize[i] = static_cast<int>(limits.grid[i]);
  }
  p.totalConstMem = 64 << 10;
  p.major = limits.compute_capability / 10;
  p.minor = limits.compute_capability % 10;
  p.multiProcessorCount = limits.multiprocessors;
  p.maxThreadsPerMultiProcessor = static_cast<int>(chip.gpu.threads.value);
  p.maxBlocksPerMultiProcessor = static_cast<int>(chip.gpu.blocks.value);
  p.clockRate = static_cast<int>(chip.clock.value / 1e3);
  p.memoryClockRate = static_cast<int>(chip.gpu.memory_clock.value / 1e3);
  p.memoryBusWidth = static_cast<int>(chip.gpu.memory_bits.value);
  p.l2CacheSize = static_cast<int>(chip.l2_bytes.value);
  // Up to three quarters of the cache can be set aside (CUDA C++ Programming Guide, L2 cache set-aside).
  p.persistingL2CacheMaxSize = p.l2CacheSize / 4 * 3;
  p.accessPolicyMaxWindowSize = 128 << 20;
  p.singleToDoublePrecisionPerfRatio = p.minor == 0 && p.major < 12 ? 2 : 64;
  p.clusterLaunch = p.major >= 9;
  p.pciBusID = device + 1;
  p.hostNumaId = -1;
  p.deviceNumaId = -1;
  set_textures(p);
  set_features(p);
  return p;
}

#define QUERN_FIELD(type, name, count) std::memcpy(&to.name, &from.name, sizeof to.name);

void fill(const Properties& from, DeviceProp12& to) {
  to = {};
#define QUERN_FIELD_12 QUERN_FIELD
#define QUERN_FIELD_13(type, name, count)
#include "cuda/abi/device_prop.def"
#undef QUERN_FIELD_12
#undef QUERN_FIELD_13
}

void fill(const Properties& from, DeviceProp13& to) {
  to = {};
#define QUERN_FIELD_12(type, name, count)
#define QUERN_FIELD_13 QUERN_FIELD
#include "cuda/abi/device_prop.def"
#undef QUERN_FIELD_12
#undef QUERN_FIELD_13
}

std::optional<size_t> limit_of(int device, int limit) {
  const Device& d = Process::get().device(device);
  switch (limit) {
    case kStackSize: return d.stack_limit;
    case kPrintfFifoSize: return d.printf_limit;
    case kMallocHeapSize: return d.heap_limit;
    case kSyncDepth: return static_cast<size_t>(d.limits.sync_depth);
    case kPendingLaunches: return static_cast<size_t>(d.limits.pending_launches);
    case kL2Fetch: return 64;
    case kPersistingL2: return 0;
    default: return std::nullopt;
  }
}

std::optional<int> attribute_of(int device, int attribute) {
  Properties p = properties_of(device);
  switch (attribute) {
#define QUERN_ATTRIBUTE(name, number, value) \
  case number:                               \
    return static_cast<int>(value);
#include "cuda/runtime/attributes.def"
#undef QUERN_ATTRIBUTE
    default: return std::nullopt;
  }
}

}  // namespace quern::cuda
