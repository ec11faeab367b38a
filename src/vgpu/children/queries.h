// What a kernel may ask of its device that only the runtime around the virtual GPU knows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vgpu/program.h"

namespace quern::vgpu {

class Queries {
 public:
  virtual ~Queries() = default;
  virtual int device() const = 0;
  virtual int devices() const = 0;
  virtual int runtime_version() const = 0;
  // Numbers are CUDA's: cudaDeviceAttr, cudaLimit, cudaError. Empty: there is no such.
  virtual std::optional<int> attribute(int device, int which) const = 0;
  virtual std::optional<uint64_t> limit(int which) const = 0;
  virtual std::string error_text(int error, bool name) const = 0;
  // The bytes of a cudaFuncAttributes.
  virtual std::vector<std::byte> attributes(const Program& program, const ptx::Function& kernel) const = 0;
  virtual int blocks_per_multiprocessor(const Program& program, const ptx::Function& kernel, int threads,
                                        int64_t shared_bytes) const = 0;
};

}  // namespace quern::vgpu
