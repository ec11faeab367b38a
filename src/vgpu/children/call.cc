#include "vgpu/children/call.h"

#include <cstring>

#include "vgpu/children/device_call.h"
#include "vgpu/children/queries.h"
#include "vgpu/service.h"

namespace quern::vgpu {
namespace {

constexpr uint64_t kNonBlocking = 1, kDisableTiming = 2;  // flags of streams and events
constexpr int kSyncDepthLimit = 3, kPendingLimit = 4;     // cudaLimit

}  // namespace

DeviceCall::DeviceCall(WarpRun& run, int32_t site, uint32_t lane, const CallFrame& frame)
    : grid_(*run.block->grid),
      children_(grid_.children_),
      family_(children_.family()),
      memory_(grid_.program_.memory()),
      frame_(frame),
      named_(NamedFunction::of(frame.function)) {
  const Warp& w = run.warp;
  for (size_t i = 0; i < 3; ++i) place_.block[i] = w.ctaid[i];
  place_.warp = w.index, place_.lane = lane, place_.site = site;
  caller_.block = (uint64_t{w.ctaid[2]} * w.nctaid[1] + w.ctaid[1]) * w.nctaid[0] + w.ctaid[0];
  caller_.thread = caller_.block * grid_.threads_per_block_ + w.index * 32 + lane;
  caller_.per_thread = named_.per_thread;
}

uint64_t DeviceCall::result() {
  switch (named_.function) {
    case DeviceFunction::kGetParameterBuffer:
    case DeviceFunction::kGetParameterBufferV2: return parameter_buffer();
    case DeviceFunction::kGetErrorName: return error_text(true);
    case DeviceFunction::kGetErrorString: return error_text(false);
    case DeviceFunction::kGetLastError: return static_cast<uint64_t>(children_.last_error(caller_.thread, true));
    case DeviceFunction::kPeekAtLastError: return static_cast<uint64_t>(children_.last_error(caller_.thread, false));
    default: break;
  }
  DeviceError e = act();
  if (e != DeviceError::kSuccess) children_.set_error(caller_.thread, e);
  return static_cast<uint64_t>(e);
}

DeviceError DeviceCall::act() {
  switch (named_.function) {
    case DeviceFunction::kLaunchDevice: return launch_with_shape();
    case DeviceFunction::kLaunchDeviceV2: return launch(word(0), nullptr, word(1), nullptr);
    case DeviceFunction::kDeviceSynchronize: return synchronize();
    case DeviceFunction::kMalloc: return allocate();
    case DeviceFunction::kFree: return DeviceError::kSuccess;  // done for all lanes at once
    case DeviceFunction::kStreamCreateWithFlags:
      return word32(1) != kNonBlocking ? DeviceError::kInvalidValue : put(word(0), children_.make_stream());
    case DeviceFunction::kStreamDestroy: return children_.destroy_stream(word(0));
    case DeviceFunction::kStreamWaitEvent: return children_.wait(caller_, word(0), word(1));
    case DeviceFunction::kEventCreateWithFlags:
      return word32(1) != kDisableTiming ? DeviceError::kInvalidValue : put(word(0), children_.make_event());
    case DeviceFunction::kEventDestroy: return children_.destroy_event(word(0));
    case DeviceFunction::kEventRecordWithFlags:
      if (word32(2)) return DeviceError::kInvalidValue;
      [[fallthrough]];
    case DeviceFunction::kEventRecord: return children_.record(word(0), caller_, word(1));
    case DeviceFunction::kMemcpyAsync:
    case DeviceFunction::kMemcpy2DAsync:
    case DeviceFunction::kMemcpy3DAsync:
    case DeviceFunction::kMemsetAsync:
    case DeviceFunction::kMemset2DAsync:
    case DeviceFunction::kMemset3DAsync: return transfer();
    case DeviceFunction::kDeviceGetCacheConfig: return put(word(0), uint32_t{0});      // no preference
    case DeviceFunction::kDeviceGetSharedMemConfig: return put(word(0), uint32_t{1});  // banks of four bytes
    case DeviceFunction::kDeviceGetLimit: return limit();
    default: return family_.settings().queries ? ask() : DeviceError::kNotSupported;
  }
}

DeviceError DeviceCall::ask() {
  const Queries& queries = *family_.settings().queries;
  switch (named_.function) {
    case DeviceFunction::kGetDevice: return put(word(0), static_cast<uint32_t>(queries.device()));
    case DeviceFunction::kGetDeviceCount: return put(word(0), static_cast<uint32_t>(queries.devices()));
    case DeviceFunction::kRuntimeGetVersion: return put(word(0), static_cast<uint32_t>(queries.runtime_version()));
    case DeviceFunction::kDeviceGetAttribute: {
      auto device = static_cast<int>(word32(2));
      if (device < 0 || device >= queries.devices()) return DeviceError::kInvalidDevice;
      auto value = queries.attribute(device, static_cast<int>(word32(1)));
      return value ? put(word(0), *value) : DeviceError::kInvalidValue;
    }
    default: return ask_of_kernel();
  }
}

DeviceError DeviceCall::ask_of_kernel() {
  const Queries& queries = *family_.settings().queries;
  const ptx::Function* kernel = kernel_at(word(1));
  if (!kernel) return DeviceError::kInvalidDeviceFunction;
  if (named_.function == DeviceFunction::kFuncGetAttributes) {
    auto bytes = queries.attributes(grid_.program_, *kernel);
    return put_bytes(word(0), bytes.data(), static_cast<int64_t>(bytes.size()));
  }
  auto threads = static_cast<int32_t>(word32(2));
  if (threads <= 0) return DeviceError::kInvalidValue;
  return put(word(0), queries.blocks_per_multiprocessor(grid_.program_, *kernel, threads, number(3)));
}

DeviceError DeviceCall::limit() {
  auto which = static_cast<int>(word32(1));
  const Settings& settings = family_.settings();
  if (which == kSyncDepthLimit) return put(word(0), static_cast<uint64_t>(settings.limits.sync_depth));
  if (which == kPendingLimit) return put(word(0), static_cast<uint64_t>(settings.limits.pending_launches));
  auto value = settings.queries ? settings.queries->limit(which) : std::nullopt;
  return value ? put(word(0), *value) : DeviceError::kUnsupportedLimit;
}

DeviceError DeviceCall::allocate() {
  uint64_t bytes = word(1);
  if (!bytes) return put(word(0), uint64_t{0});
  if (bytes > static_cast<uint64_t>(family_.settings().limits.heap_bytes)) return DeviceError::kMemoryAllocation;
  auto at = memory_.allocate(static_cast<int64_t>(bytes), 256, Holds::kHeap, "cudaMalloc in a kernel");
  return at ? put(word(0), *at) : DeviceError::kMemoryAllocation;
}

uint64_t DeviceCall::error_text(bool name) {
  const Queries* queries = family_.settings().queries;
  auto error = static_cast<int>(word32(0));
  auto made = family_.text(queries ? queries->error_text(error, name) : fmt::format("error {}", error));
  return made ? *made : 0;
}

DeviceError DeviceCall::put_bytes(uint64_t address, const void* from, int64_t bytes) {
  if (!address) return DeviceError::kInvalidValue;
  auto a = memory_.find(address);
  bool constant = a && (a->holds == Holds::kConstant || a->holds == Holds::kParameter);
  if (!memory_.contains(address, bytes) || constant) {
    access_fault(address, bytes, true);
    return DeviceError::kInvalidValue;
  }
  std::memcpy(reinterpret_cast<void*>(address), from, static_cast<size_t>(bytes));
  memory_.mark_written(address, bytes);
  return DeviceError::kSuccess;
}

void DeviceCall::access_fault(uint64_t address, int64_t bytes, bool write) {
  auto a = memory_.find(address);
  bool freed = a && a->released, there = memory_.contains(address, bytes);
  Fault f = grid_.located(freed   ? FaultKind::kUseAfterFree
                          : there ? FaultKind::kReadOnly
                                  : FaultKind::kOutOfBounds,
                          place_);
  f.access = write ? Access::kStore : Access::kLoad;
  f.bytes = bytes;
  f.address = address;
  f.memory = neighbourhood(memory_, address);
  f.detail = fmt::format("by {}", name(named_.function));
  end(std::move(f));
}

void DeviceCall::fault(std::string detail, uint64_t address) {
  Fault f = grid_.located(FaultKind::kLaunch, place_);
  f.address = address;
  f.memory = neighbourhood(memory_, address);
  f.detail = std::move(detail);
  end(std::move(f));
}

void DeviceCall::end(Fault f) {
  ended_ = true;
  grid_.keep(std::move(f));
}

bool DeviceCall::of_thread_or_block(uint64_t address) const {
  auto a = memory_.find(address);
  return a && !a->released && (a->holds == Holds::kLocal || a->holds == Holds::kShared);
}

int32_t DeviceCalls::enter(WarpRun& run, int32_t site, uint32_t lanes, CallFrame& frame) {
  if (NamedFunction::of(frame.function).function == DeviceFunction::kFree) {
    if (Services::release(run, site, lanes, frame)) return 1;
  }
  for (uint32_t l = 0; l < 32; ++l) {
    if (!(lanes >> l & 1)) continue;
    DeviceCall call(run, site, l, frame);
    frame.result[l] = call.result();
    if (call.ended()) return 1;
  }
  return 0;
}

}  // namespace quern::vgpu
