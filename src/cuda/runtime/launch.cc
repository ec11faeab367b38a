#include "cuda/runtime/launch.h"

#include <algorithm>
#include <cstring>

#include "cuda/runtime/occupancy.h"
#include "cuda/runtime/registry.h"
#include "cuda/runtime/stream.h"

namespace quern::cuda {
namespace {

constexpr uint32_t kPortableCluster = 8, kLargestCluster = 16;

Error error_of(const Diagnostics& diagnostics) {
  switch (diagnostics.front().code) {
    case Code::E971:
    case Code::E972:
    case Code::E973: return Error::kNoKernelImageForDevice;
    case Code::E970: return Error::kInvalidKernelImage;
    default: return Error::kInvalidPtx;
  }
}

uint64_t count(const Dim3& d) { return uint64_t{d.x} * d.y * d.z; }

bool within(const Dim3& d, const vgpu::Extent& most) {
  return d.x && d.y && d.z && d.x <= most[0] && d.y <= most[1] && d.z <= most[2];
}

// A function declares how large its blocks may be, or have to be.
Error check_bounds(const ptx::Function& f, const Dim3& block) {
  const uint32_t given[3] = {block.x, block.y, block.z};
  if (f.required_threads[0]) {
    for (int i = 0; i < 3; ++i) {
      if (given[i] != static_cast<uint32_t>(std::max(1, f.required_threads[i]))) return Error::kInvalidConfiguration;
    }
  }
  if (f.max_threads[0]) {
    uint64_t most = 1;
    for (int n : f.max_threads) most *= std::max(1, n);
    if (count(block) > most) return Error::kLaunchOutOfResources;
  }
  return Error::kSuccess;
}

Error check_cluster(const LaunchRequest& r, const Kernel& kernel) {
  uint64_t blocks = 1;
  const uint32_t grid[3] = {r.grid.x, r.grid.y, r.grid.z};
  for (int i = 0; i < 3; ++i) {
    blocks *= r.cluster[i];
    if (!r.cluster[i] || grid[i] % r.cluster[i]) return Error::kInvalidClusterSize;
  }
  if (blocks > (kernel.non_portable_cluster ? kLargestCluster : kPortableCluster)) return Error::kInvalidClusterSize;
  return Error::kSuccess;
}

Error check_shape(const LaunchRequest& r, const Kernel& kernel, const vgpu::Program& program, const Device& device) {
  const ptx::Function& f = *program.kernel(kernel.name);
  const vgpu::Limits& limits = device.limits;
  if (!within(r.grid, limits.grid) || !within(r.block, limits.block)) return Error::kInvalidConfiguration;
  if (count(r.block) > static_cast<uint64_t>(limits.threads_per_block)) return Error::kInvalidConfiguration;
  if (Error e = check_bounds(f, r.block); e != Error::kSuccess) return e;
  int64_t shared = vgpu::static_shared_bytes(program.module(), f);
  if (r.shared_bytes > static_cast<uint64_t>(limits.shared_bytes) ||
      static_cast<int64_t>(r.shared_bytes) > std::max<int64_t>(kernel.max_dynamic_shared, kPlainShared - shared) ||
      static_cast<int64_t>(r.shared_bytes) + shared > limits.shared_bytes) {
    return Error::kInvalidValue;
  }
  if (Error e = check_cluster(r, kernel); e != Error::kSuccess) return e;
  if (r.cooperative) {
    int64_t fit = blocks_per_multiprocessor(program, f, static_cast<int>(count(r.block)), r.shared_bytes) *
                  limits.multiprocessors;
    if (count(r.grid) > static_cast<uint64_t>(fit)) return Error::kCooperativeLaunchTooLarge;
  }
  return Error::kSuccess;
}

Error fill_arguments(const LaunchRequest& r, const ptx::Function& f, KernelCall& out) {
  vgpu::ParameterLayout layout = vgpu::parameter_layout(f);
  out.arguments.resize(layout.bytes);
  out.offsets = layout.offsets;
  if (r.packed) {
    if (r.packed_bytes < out.arguments.size()) return Error::kInvalidValue;
    std::memcpy(out.arguments.data(), r.packed, out.arguments.size());
    return Error::kSuccess;
  }
  if (!r.arguments && !layout.offsets.empty()) return Error::kInvalidValue;
  for (size_t i = 0; i < layout.offsets.size(); ++i) {
    if (!r.arguments[i]) return Error::kInvalidValue;
    std::memcpy(out.arguments.data() + layout.offsets[i], r.arguments[i], layout.sizes[i]);
  }
  return Error::kSuccess;
}

}  // namespace

Error read_extra(void** extra, LaunchRequest& out) {
  void* const kEnd = nullptr;
  void* const kPointer = reinterpret_cast<void*>(1);
  void* const kSize = reinterpret_cast<void*>(2);
  for (; *extra != kEnd; extra += 2) {
    if (*extra == kPointer) {
      out.packed = extra[1];
    } else if (*extra == kSize) {
      out.packed_bytes = *static_cast<size_t*>(extra[1]);
    } else {
      return Error::kInvalidValue;
    }
  }
  return out.packed ? Error::kSuccess : Error::kInvalidValue;
}

Error load(Kernel& kernel, int device, bool must, std::shared_ptr<vgpu::Program>& out) {
  auto program = kernel.image->program(device);
  if (!program) {
    if (must) end_with(program.error());
    return error_of(program.error());
  }
  if (!(*program)->kernel(kernel.name)) return Error::kInvalidDeviceFunction;
  out = *program;
  return Error::kSuccess;
}

Error prepare(const LaunchRequest& request, int device, KernelCall& out) {
  Process& p = Process::get();
  Lock lock(p.mutex);
  Kernel* kernel = Registry::get().kernel(request.function);
  if (!kernel) return Error::kInvalidDeviceFunction;
  std::shared_ptr<vgpu::Program> program;
  if (Error e = load(*kernel, device, true, program); e != Error::kSuccess) return e;
  if (Error e = check_shape(request, *kernel, *program, p.device(device)); e != Error::kSuccess) return e;
  out.kernel = kernel;
  out.function = request.function;
  out.grid = request.grid;
  out.block = request.block;
  out.cluster = request.cluster;
  out.shared_bytes = request.shared_bytes;
  out.cooperative = request.cooperative;
  return fill_arguments(request, *program->kernel(kernel->name), out);
}

Error launch(const LaunchRequest& request, Stream* handle) {
  int device = 0;
  {
    Lock lock(Process::get().mutex);
    auto stream = find_stream(handle);
    if (!stream) return Error::kInvalidResourceHandle;
    device = stream->device;
  }
  KernelCall call;
  if (Error e = prepare(request, device, call); e != Error::kSuccess) return e;
  if (Error e = make_ready(call, device); e != Error::kSuccess) return e;
  return submit(handle, std::move(call));
}

}  // namespace quern::cuda
