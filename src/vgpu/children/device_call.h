// What one thread asks of the device runtime. Its functions give CUDA's errors; where a call itself can't be, they keep
// a fault in the grid.
#pragma once

#include "vgpu/children/children.h"
#include "vgpu/children/family.h"
#include "vgpu/grid.h"

namespace quern::vgpu {

class DeviceCall {
 public:
  DeviceCall(WarpRun& run, int32_t site, uint32_t lane, const CallFrame& frame);
  uint64_t result();
  bool ended() const { return ended_; }  // there was a fault

 private:
  // --- call.cc ---
  uint64_t pointer();
  DeviceError act();
  DeviceError ask();
  DeviceError ask_of_kernel();
  DeviceError limit();
  DeviceError allocate();
  uint64_t error_text(bool name);
  template <class T>
  DeviceError put(uint64_t address, T value) {
    return put_bytes(address, &value, sizeof value);
  }
  DeviceError put_bytes(uint64_t address, const void* from, int64_t bytes);
  void access_fault(uint64_t address, int64_t bytes, bool write);
  void fault(std::string detail, uint64_t address);
  void end(Fault f);
  bool of_thread_or_block(uint64_t address) const;

  // --- call_launch.cc ---
  const ptx::Function* kernel_at(uint64_t value) const;
  DeviceError check(const ptx::Function* kernel, const Launch& launch) const;
  uint64_t refuse(DeviceError error);
  uint64_t parameter_buffer();
  uint64_t buffer(Family::Buffer wanted);
  DeviceError launch_with_shape();
  DeviceError launch(uint64_t address, const ptx::Function* kernel, uint64_t stream, const Launch* as);
  DeviceError queue(const ptx::Function* kernel, Launch launch, uint64_t stream);
  DeviceError add(Child child, uint64_t stream);
  bool may_be_given(const ptx::Function& kernel, const std::vector<std::byte>& arguments);
  DeviceError synchronize();

  // --- call_transfer.cc ---
  DeviceError transfer();
  bool read_boxes(Transfer& transfer, uint64_t& kind);

  uint64_t word(size_t i) const { return frame_.arguments[i][place_.lane]; }
  uint32_t word32(size_t i) const { return static_cast<uint32_t>(word(i)); }
  int64_t number(size_t i) const { return static_cast<int64_t>(word(i)); }
  // A dim3 takes two words.
  Extent extent(size_t i) const { return {word32(i), static_cast<uint32_t>(word(i) >> 32), word32(i + 1)}; }

  Grid& grid_;
  Children& children_;
  Family& family_;
  Memory& memory_;
  const CallFrame& frame_;
  NamedFunction named_;
  Place place_;
  Caller caller_;
  bool ended_ = false;
};

}  // namespace quern::vgpu
