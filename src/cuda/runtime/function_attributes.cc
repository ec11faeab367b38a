#include "cuda/runtime/function_attributes.h"

#include <algorithm>
#include <cstdlib>

#include "cuda/runtime/occupancy.h"
#include "cuda/runtime/process.h"

namespace quern::cuda {
namespace {

int most_threads(const ptx::Function& f, const Device& device) {
  const int32_t* bounds = f.required_threads[0] ? f.required_threads : f.max_threads;
  if (!bounds[0]) return device.limits.threads_per_block;
  int threads = 1;
  for (int i = 0; i < 3; ++i) threads *= std::max(1, bounds[i]);
  return threads;
}

}  // namespace

FuncAttributes attributes_of(const vgpu::Program& program, const Kernel& kernel, int device) {
  const ptx::Function& f = *program.kernel(kernel.name);
  const Device& d = Process::get().device(device);
  FuncAttributes out = {};
  out.shared_bytes = static_cast<size_t>(vgpu::static_shared_bytes(program.module(), f));
  for (const ptx::Variable& v : program.module().variables) {
    if (v.space == ptx::Space::kConst) out.const_bytes += static_cast<size_t>(v.bytes());
  }
  for (const ptx::Variable& v : f.variables) {
    if (v.space == ptx::Space::kLocal) out.local_bytes += static_cast<size_t>(v.bytes());
  }
  out.max_threads = most_threads(f, d);
  out.registers = registers_of(f);
  out.ptx_version = d.limits.compute_capability;
  out.binary_version = d.limits.compute_capability;
  const std::string& target = program.module().target;
  if (target.starts_with("sm_")) out.ptx_version = std::atoi(target.c_str() + 3);
  out.max_dynamic_shared = static_cast<int>(kernel.max_dynamic_shared - static_cast<int64_t>(out.shared_bytes));
  if (kernel.max_dynamic_shared > kPlainShared) out.max_dynamic_shared = static_cast<int>(kernel.max_dynamic_shared);
  out.carveout = kernel.carveout;
  out.cluster_width = kernel.cluster[0];
  out.cluster_height = kernel.cluster[1];
  out.cluster_depth = kernel.cluster[2];
  out.non_portable_cluster = kernel.non_portable_cluster;
  return out;
}

}  // namespace quern::cuda
