// What kernels ask of their device, answered as the host's functions answer it.
#pragma once

#include "cuda/runtime/image.h"
#include "vgpu/children/queries.h"

namespace quern::cuda {

class DeviceQueries : public vgpu::Queries {
 public:
  // Of a launch of one of the image's kernels.
  DeviceQueries(Image& image, int device) : image_(image), device_(device) {}

  int device() const override { return device_; }
  int devices() const override;
  int runtime_version() const override;
  std::optional<int> attribute(int device, int which) const override;
  std::optional<uint64_t> limit(int which) const override;
  std::string error_text(int error, bool name) const override;
  std::vector<std::byte> attributes(const vgpu::Program& program, const ptx::Function& kernel) const override;
  int blocks_per_multiprocessor(const vgpu::Program& program, const ptx::Function& kernel, int threads,
                                int64_t shared_bytes) const override;

 private:
  Image& image_;
  int device_;
};

}  // namespace quern::cuda
