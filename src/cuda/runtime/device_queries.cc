#include "cuda/runtime/device_queries.h"

#include <algorithm>
#include <cstring>

#include "cuda/runtime/function_attributes.h"
#include "cuda/runtime/occupancy.h"
#include "cuda/runtime/process.h"
#include "cuda/runtime/properties.h"

namespace quern::cuda {

int DeviceQueries::devices() const { return static_cast<int>(Process::get().devices.size()); }

int DeviceQueries::runtime_version() const { return kRuntime13; }

std::optional<int> DeviceQueries::attribute(int device, int which) const {
  Lock lock(Process::get().mutex);
  return attribute_of(device, which);
}

std::optional<uint64_t> DeviceQueries::limit(int which) const {
  Lock lock(Process::get().mutex);
  return limit_of(device_, which);
}

std::string DeviceQueries::error_text(int error, bool name) const {
  const ErrorRow* row = find_row(static_cast<Error>(error));
  if (!row) return "unrecognized error code";
  return name ? row->name : row->text;
}

std::vector<std::byte> DeviceQueries::attributes(const vgpu::Program& program, const ptx::Function& f) const {
  Lock lock(Process::get().mutex);
  // What the host has set of a kernel; of one that it never named there is nothing.
  auto known = std::ranges::find(image_.kernels, f.name, &Kernel::name);
  Kernel plain;
  plain.name = f.name;
  FuncAttributes out = attributes_of(program, known == image_.kernels.end() ? plain : *known, device_);
  std::vector<std::byte> bytes(sizeof out);
  std::memcpy(bytes.data(), &out, sizeof out);
  return bytes;
}

int DeviceQueries::blocks_per_multiprocessor(const vgpu::Program& program, const ptx::Function& kernel, int threads,
                                             int64_t shared_bytes) const {
  Lock lock(Process::get().mutex);
  return cuda::blocks_per_multiprocessor(program, kernel, threads, static_cast<size_t>(shared_bytes));
}

}  // namespace quern::cuda
