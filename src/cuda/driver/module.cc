// Modules and libraries: code that a program loads while it runs, and looks up by name.
#include <algorithm>
#include <fstream>
#include <sstream>

#include "cuda/api/entry.h"
#include "cuda/runtime/foreign_bytes.h"
#include "cuda/runtime/launch.h"
#include "cuda/runtime/registry.h"

namespace quern::cuda {
namespace {

// What the program is told when code can't be loaded; the reason goes to standard error.
Error refuse(const Diagnostics& why) {
  warn(why);
  Code code = why.front().code;
  bool none = code == Code::E971 || code == Code::E972 || code == Code::E973;
  return none ? Error::kNoKernelImageForDevice : code == Code::E970 ? Error::kInvalidKernelImage : Error::kInvalidPtx;
}

Error load(Image** out, std::string bytes, const std::string& what) {
  auto image = std::make_unique<Image>(std::move(bytes), what);
  auto program = image->program(thread_state().device);
  if (!program) return refuse(program.error());
  *out = Registry::get().add(std::move(image));
  return Error::kSuccess;
}

Error load_data(Image** out, const void* data) {
  return entry([&] {
    if (!out || !data) return Error::kInvalidValue;
    auto bytes = copy_code(data, "a module");
    return bytes ? load(out, *std::move(bytes), "a module") : refuse(bytes.error());
  });
}

Error load_file(Image** out, const char* path) {
  return entry([&] {
    if (!out || !path) return Error::kInvalidValue;
    std::ifstream file(path, std::ios::binary);
    if (!file) return Error::kFileNotFound;
    std::ostringstream text;
    text << file.rdbuf();
    return load(out, std::move(text).str(), path);
  });
}

Error cuModuleLoadData(Image** out, const void* data) { return load_data(out, data); }
Error cuModuleLoadDataEx(Image** out, const void* data, unsigned, int*, void**) { return load_data(out, data); }
Error cuModuleLoadFatBinary(Image** out, const void* data) { return load_data(out, data); }
Error cuModuleLoad(Image** out, const char* path) { return load_file(out, path); }
Error cuLibraryLoadData(Image** out, const void* data, int*, void**, unsigned, int*, void**, unsigned) {
  return load_data(out, data);
}
Error cuLibraryLoadFromFile(Image** out, const char* path, int*, void**, unsigned, int*, void**, unsigned) {
  return load_file(out, path);
}

Error cuModuleUnload(Image* handle) {
  return entry_when_done([&] {
    Image* image = Registry::get().image(handle);
    if (!image) return Error::kInvalidResourceHandle;
    Registry::get().remove(image);
    return Error::kSuccess;
  });
}

Error cuModuleGetFunction(Kernel** out, Image* handle, const char* name) {
  return entry([&] {
    Image* image = Registry::get().image(handle);
    if (!image) return Error::kInvalidResourceHandle;
    if (!out || !name) return Error::kInvalidValue;
    *out = image->kernel(name, thread_state().device);
    return *out ? Error::kSuccess : Error::kSymbolNotFound;
  });
}

Error cuKernelGetFunction(Kernel** out, Kernel* kernel) {
  return entry([&] {
    if (!out) return Error::kInvalidValue;
    *out = Registry::get().kernel(kernel);
    return *out ? Error::kSuccess : Error::kInvalidResourceHandle;
  });
}

Error cuLibraryGetModule(Image** out, Image* library) {
  return entry([&] {
    if (!out) return Error::kInvalidValue;
    *out = Registry::get().image(library);
    return *out ? Error::kSuccess : Error::kInvalidResourceHandle;
  });
}

Error cuModuleGetGlobal_v2(uint64_t* address, size_t* bytes, Image* handle, const char* name) {
  return entry([&] {
    Image* image = Registry::get().image(handle);
    if (!image) return Error::kInvalidResourceHandle;
    if (!name) return Error::kInvalidValue;
    auto program = image->program(thread_state().device);
    auto placed = program ? (*program)->variable(name) : std::nullopt;
    if (!placed) return Error::kSymbolNotFound;
    if (address) *address = placed->address;
    if (bytes) *bytes = static_cast<size_t>(placed->bytes);
    return Error::kSuccess;
  });
}

Error cuLibraryGetGlobal(uint64_t* address, size_t* bytes, Image* library, const char* name) {
  return cuModuleGetGlobal_v2(address, bytes, library, name);
}

Error cuModuleGetLoadingMode(int* out) {
  return entry([&] {
    constexpr int kLazy = 2;
    if (!out) return Error::kInvalidValue;
    *out = kLazy;
    return Error::kSuccess;
  });
}

Error cuLaunchKernel(Kernel* kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                     unsigned shared_bytes, Stream* stream, void** arguments, void** extra) {
  return open_entry([&] {
    LaunchRequest r;
    r.function = kernel;
    r.grid = {gx, gy, gz};
    r.block = {bx, by, bz};
    r.shared_bytes = shared_bytes;
    r.arguments = arguments;
    if (extra) {
      if (Error e = read_extra(extra, r); e != Error::kSuccess) return e;
    }
    return launch(r, stream);
  });
}

Error cuLaunchCooperativeKernel(Kernel* kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                unsigned bz, unsigned shared_bytes, Stream* stream, void** arguments) {
  return open_entry([&] {
    LaunchRequest r;
    r.function = kernel;
    r.grid = {gx, gy, gz};
    r.block = {bx, by, bz};
    r.shared_bytes = shared_bytes;
    r.arguments = arguments;
    r.cooperative = true;
    return launch(r, stream);
  });
}

struct DriverLaunchConfig {  // CUlaunchConfig
  Dim3 grid, block;
  uint32_t shared_bytes;
  Stream* stream;
  LaunchAttribute* attributes;
  uint32_t attribute_count;
};

Error cuLaunchKernelEx(const DriverLaunchConfig* config, Kernel* kernel, void** arguments, void** extra) {
  return open_entry([&] {
    if (!config || (config->attribute_count && !config->attributes)) return Error::kInvalidValue;
    LaunchRequest r;
    r.function = kernel;
    r.grid = config->grid;
    r.block = config->block;
    r.shared_bytes = config->shared_bytes;
    r.arguments = arguments;
    for (uint32_t i = 0; i < config->attribute_count; ++i) {
      const LaunchAttribute& a = config->attributes[i];
      if (a.id == LaunchAttributeId::kCooperative) r.cooperative = a.value.cooperative != 0;
      if (a.id == LaunchAttributeId::kClusterDimension) {
        r.cluster = {a.value.cluster.x, a.value.cluster.y, a.value.cluster.z};
      }
    }
    if (extra) {
      if (Error e = read_extra(extra, r); e != Error::kSuccess) return e;
    }
    return launch(r, config->stream);
  });
}

Error cuFuncGetAttribute(int* out, int attribute, Kernel* kernel) {
  FuncAttributes a{};
  auto get = reinterpret_cast<Error (*)(FuncAttributes*, const void*)>(find_export("cudaFuncGetAttributes", 13));
  Error e = out ? get(&a, kernel) : Error::kInvalidValue;
  if (e != Error::kSuccess) return e;
  const int64_t values[] = {a.max_threads,
                            static_cast<int64_t>(a.shared_bytes),
                            static_cast<int64_t>(a.const_bytes),
                            static_cast<int64_t>(a.local_bytes),
                            a.registers,
                            a.ptx_version,
                            a.binary_version,
                            a.cache_mode_ca,
                            a.max_dynamic_shared,
                            a.carveout,
                            a.cluster_must_be_set,
                            a.cluster_width,
                            a.cluster_height,
                            a.cluster_depth,
                            a.non_portable_cluster,
                            a.cluster_policy};
  if (attribute < 0 || attribute >= static_cast<int>(std::size(values))) return Error::kInvalidValue;
  *out = static_cast<int>(values[attribute]);
  return Error::kSuccess;
}

// In the order that the runtime has it.
Error cuFuncSetAttribute(Kernel* kernel, int attribute, int value) {
  auto set = reinterpret_cast<Error (*)(const void*, int, int)>(find_export("cudaFuncSetAttribute", 13));
  return set(kernel, attribute, value);
}

Error cuFuncGetModule(Image** out, Kernel* kernel) {
  return entry([&] {
    Kernel* found = Registry::get().kernel(kernel);
    if (!found) return Error::kInvalidResourceHandle;
    if (!out) return Error::kInvalidValue;
    *out = found->image;
    return Error::kSuccess;
  });
}

// The block of most threads on a multiprocessor; of those, the largest.
Error cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, Kernel* kernel, size_t (*shared_of)(int),
                                                size_t shared, int most, unsigned flags) {
  return open_entry([&] {
    if (!grid || !block) return Error::kInvalidValue;
    auto fits = reinterpret_cast<Error (*)(int*, const void*, int, size_t, unsigned)>(
        find_export("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", 13));
    const vgpu::Limits& limits = current_device().limits;
    int largest = most > 0 ? std::min(most, limits.threads_per_block) : limits.threads_per_block;
    int best = 0;
    for (int threads = largest; threads > 0; threads = (threads - 1) / 32 * 32) {
      int blocks = 0;
      Error e = fits(&blocks, kernel, threads, shared_of ? shared_of(threads) : shared, flags);
      if (e != Error::kSuccess) return e;
      if (blocks * threads <= best) continue;
      best = blocks * threads;
      *block = threads;
      *grid = blocks * limits.multiprocessors;
    }
    return best ? Error::kSuccess : Error::kInvalidValue;
  });
}

Error cuOccupancyMaxPotentialBlockSize(int* grid, int* block, Kernel* kernel, size_t (*shared_of)(int), size_t shared,
                                       int most) {
  return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, kernel, shared_of, shared, most, 0);
}

}  // namespace

std::span<const Export> module_exports() {
  static const Export rows[] = {
      QUERN_EXPORT(cuModuleLoadData),
      QUERN_EXPORT(cuOccupancyMaxPotentialBlockSize),
      QUERN_EXPORT(cuOccupancyMaxPotentialBlockSizeWithFlags),
      QUERN_EXPORT(cuModuleLoadDataEx),
      QUERN_EXPORT(cuModuleLoadFatBinary),
      QUERN_EXPORT(cuModuleLoad),
      QUERN_EXPORT(cuLibraryLoadData),
      QUERN_EXPORT(cuLibraryLoadFromFile),
      QUERN_EXPORT(cuModuleUnload),
      QUERN_EXPORT_AS(cuLibraryUnload, cuModuleUnload, 0),
      QUERN_EXPORT(cuModuleGetFunction),
      QUERN_EXPORT_AS(cuLibraryGetKernel, cuModuleGetFunction, 0),
      QUERN_EXPORT(cuKernelGetFunction),
      QUERN_EXPORT(cuLibraryGetModule),
      QUERN_EXPORT(cuModuleGetGlobal_v2),
      QUERN_EXPORT(cuLibraryGetGlobal),
      QUERN_EXPORT_AS(cuLibraryGetManaged, cuLibraryGetGlobal, 0),
      QUERN_EXPORT(cuModuleGetLoadingMode),
      QUERN_EXPORT_STREAM(cuLaunchKernel),
      QUERN_EXPORT_STREAM(cuLaunchCooperativeKernel),
      QUERN_EXPORT(cuLaunchKernelEx),
      QUERN_EXPORT(cuFuncGetAttribute),
      QUERN_EXPORT(cuFuncSetAttribute),
      QUERN_EXPORT(cuFuncGetModule),
  };
  return rows;
}

}  // namespace quern::cuda
