// Launches, in the two forms that compilers use: since CUDA 9 the memory for the arguments is asked for with the shape
// of the launch (…V2), before that the shape came with the launch.
#include <cstring>
#include <thread>

#include "vgpu/children/device_call.h"

namespace quern::vgpu {

const ptx::Function* DeviceCall::kernel_at(uint64_t value) const {
  const auto& all = grid_.program_.module().functions;
  if (value == 0 || value > all.size()) return nullptr;
  const ptx::Function& f = all[value - 1];
  return f.entry && f.defined ? &f : nullptr;
}

DeviceError DeviceCall::check(const ptx::Function* kernel, const Launch& launch) const {
  if (!kernel) return DeviceError::kInvalidDeviceFunction;
  if (children_.depth() >= kDeepestChild) return DeviceError::kLaunchMaxDepthExceeded;
  int64_t fixed = static_shared_bytes(grid_.program_.module(), *kernel);
  if (beyond_limits(*kernel, launch, family_.settings().limits, fixed)) return DeviceError::kInvalidConfiguration;
  return DeviceError::kSuccess;
}

uint64_t DeviceCall::refuse(DeviceError e) {
  children_.set_error(caller_.thread, e);
  return 0;
}

uint64_t DeviceCall::parameter_buffer() {
  if (named_.function == DeviceFunction::kGetParameterBuffer) return buffer({nullptr, {}, number(1)});
  Launch launch;
  launch.grid = extent(1), launch.block = extent(3), launch.shared_bytes = word32(5);
  const ptx::Function* kernel = kernel_at(word(0));
  if (DeviceError e = check(kernel, launch); e != DeviceError::kSuccess) return refuse(e);
  return buffer({kernel, launch, parameter_layout(*kernel).bytes});
}

uint64_t DeviceCall::buffer(Family::Buffer wanted) {
  constexpr int64_t kMostArguments = 32764;  // bytes of a kernel's parameters
  if (wanted.bytes < 0 || wanted.bytes > kMostArguments) return refuse(DeviceError::kInvalidValue);
  if (!family_.reserve()) return refuse(DeviceError::kLaunchPendingCountExceeded);
  auto made = family_.make_buffer(std::move(wanted));
  if (made) return *made;
  family_.release();
  return refuse(DeviceError::kMemoryAllocation);
}

// Before CUDA 9: all of it is told with the launch.
DeviceError DeviceCall::launch_with_shape() {
  Launch launch;
  launch.grid = extent(2), launch.block = extent(4), launch.shared_bytes = word32(6);
  const ptx::Function* kernel = kernel_at(word(0));
  if (DeviceError e = check(kernel, launch); e != DeviceError::kSuccess) return e;
  // A kernel without parameters needs no memory for them.
  if (!word(1) && !parameter_layout(*kernel).bytes) {
    if (!family_.reserve()) return DeviceError::kLaunchPendingCountExceeded;
    return queue(kernel, launch, word(7));
  }
  return this->launch(word(1), kernel, word(7), &launch);
}

DeviceError DeviceCall::launch(uint64_t address, const ptx::Function* kernel, uint64_t stream, const Launch* as) {
  auto buffer = family_.take_buffer(address, kernel);
  if (!buffer) {
    fault("it is no memory that cudaGetParameterBuffer gave, or was launched before", address);
    return DeviceError::kInvalidValue;
  }
  Launch launch = as ? *as : buffer->launch;
  launch.arguments = std::move(buffer->launch.arguments);
  auto size = static_cast<size_t>(parameter_layout(*buffer->kernel).bytes);
  if (launch.arguments.size() < size) {
    family_.release();
    return DeviceError::kInvalidValue;
  }
  launch.arguments.resize(size);
  return queue(buffer->kernel, std::move(launch), stream);
}

DeviceError DeviceCall::queue(const ptx::Function* kernel, Launch launch, uint64_t stream) {
  if (!may_be_given(*kernel, launch.arguments)) return DeviceError::kInvalidValue;
  Child child;
  child.kernel = kernel;
  child.launch = std::move(launch);
  return add(std::move(child), stream);
}

DeviceError DeviceCall::add(Child child, uint64_t stream) {
  child.place = place_;
  DeviceError e = children_.add(std::move(child), caller_, stream);
  if (e != DeviceError::kSuccess) family_.release();
  return e;
}

// Memory of a thread or a block is nobody else's.
bool DeviceCall::may_be_given(const ptx::Function& kernel, const std::vector<std::byte>& arguments) {
  if (!family_.settings().checks.memory) return true;
  ParameterLayout layout = parameter_layout(kernel);
  for (size_t i = 0; i < layout.offsets.size(); ++i) {
    int64_t end = layout.offsets[i] + layout.sizes[i];
    for (int64_t at = (layout.offsets[i] + 7) / 8 * 8; at + 8 <= end; at += 8) {
      uint64_t value;
      std::memcpy(&value, arguments.data() + at, sizeof value);
      if (!of_thread_or_block(value)) continue;
      fault(fmt::format("argument {} of {} points there; a child can't use its parent's local or shared memory", i + 1,
                        kernel.name),
            value);
      return false;
    }
  }
  return true;
}

// What the block has launched is run here and now, on a stack of its own: this one may be a warp's.
DeviceError DeviceCall::synchronize() {
  if (children_.depth() >= family_.settings().limits.sync_depth) return DeviceError::kSyncDepthExceeded;
  Result<std::optional<Fault>> outcome = std::nullopt;
  std::thread([&] { outcome = children_.run_block(grid_, caller_.block); }).join();
  if (outcome && !*outcome) return DeviceError::kSuccess;
  ended_ = true;
  if (!outcome) {
    grid_.problem(outcome.error());
  } else {
    grid_.keep(**outcome);
  }
  return DeviceError::kSuccess;
}

}  // namespace quern::vgpu
