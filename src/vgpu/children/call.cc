#include "vgpu/children/call.h"

#include <cstring>
#include <thread>

#include "vgpu/children/children.h"
#include "vgpu/children/family.h"
#include "vgpu/children/queries.h"
#include "vgpu/service.h"

namespace quern::vgpu {
namespace {

constexpr uint64_t kNonBlocking = 1, kDisableTiming = 2;   // flags of streams and events
constexpr uint64_t kDeviceToDevice = 3, kDefaultKind = 4;  // cudaMemcpyKind
constexpr int kSyncDepthLimit = 3, kPendingLimit = 4;      // cudaLimit

// cudaMemcpy3DParms, as the toolkit's driver_types.h has it.
struct Copy3DWords {
  struct Side {
    uint64_t array, x, y, z, pointer, pitch, width, height;
  };
  Side from, to;
  uint64_t width, height, depth, kind;
};

bool of_thread_or_block(const Memory& memory, uint64_t address) {
  auto a = memory.find(address);
  return a && !a->released && (a->holds == Holds::kLocal || a->holds == Holds::kShared);
}

}  // namespace

// What one lane asks for. Functions give CUDA's error; where the call itself can't be, they keep a fault in the grid.
class DeviceCall {
 public:
  DeviceCall(WarpRun& run, int32_t site, uint32_t lane, const CallFrame& frame)
      : run_(run),
        grid_(*run.block->grid),
        children_(grid_.children_),
        family_(children_.family()),
        memory_(grid_.program_.memory()),
        site_(site),
        lane_(lane),
        frame_(frame) {
    named_ = NamedFunction::of(frame.function);
    const Warp& w = run.warp;
    for (size_t i = 0; i < 3; ++i) place_.block[i] = w.ctaid[i];
    place_.warp = w.index, place_.lane = lane, place_.site = site;
    caller_.block = (uint64_t{w.ctaid[2]} * w.nctaid[1] + w.ctaid[1]) * w.nctaid[0] + w.ctaid[0];
    caller_.thread = caller_.block * grid_.threads_per_block_ + w.index * 32 + lane;
    caller_.per_thread = named_.per_thread;
  }

  // The result; `ended`: there was a fault.
  uint64_t operator()(bool& ended) {
    uint64_t out = 0;
    if (gives_pointer()) {
      out = pointer();
    } else {
      DeviceError e = act();
      bool asks =
          named_.function == DeviceFunction::kGetLastError || named_.function == DeviceFunction::kPeekAtLastError;
      if (e != DeviceError::kSuccess && !asks) children_.set_error(caller_.thread, e);
      out = static_cast<uint64_t>(e);
    }
    ended = ended_;
    return out;
  }

 private:
  bool gives_pointer() const {
    switch (named_.function) {
      case DeviceFunction::kGetParameterBuffer:
      case DeviceFunction::kGetParameterBufferV2:
      case DeviceFunction::kGetErrorName:
      case DeviceFunction::kGetErrorString: return true;
      default: return false;
    }
  }

  uint64_t pointer() {
    switch (named_.function) {
      case DeviceFunction::kGetErrorName: return error_text(true);
      case DeviceFunction::kGetErrorString: return error_text(false);
      case DeviceFunction::kGetParameterBuffer: return buffer({nullptr, {}, static_cast<int64_t>(word(1))});
      default: break;
    }
    Launch launch;
    launch.grid = extent(1), launch.block = extent(3), launch.shared_bytes = number(5);
    const ptx::Function* kernel = kernel_at(word(0));
    if (DeviceError e = check(kernel, launch); e != DeviceError::kSuccess) return refuse(e);
    return buffer({kernel, launch, parameter_layout(*kernel).bytes});
  }

  DeviceError act() {
    const Queries* queries = family_.settings().queries;
    auto one_of = [&](auto value) {
      if (!value) return DeviceError::kInvalidValue;
      return put(word(0), *value);
    };
    switch (named_.function) {
      case DeviceFunction::kGetLastError: return children_.last_error(caller_.thread, true);
      case DeviceFunction::kPeekAtLastError: return children_.last_error(caller_.thread, false);
      case DeviceFunction::kLaunchDevice: return launch_old();
      case DeviceFunction::kLaunchDeviceV2: return launch(word(0), nullptr, word(1));
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
      default: break;
    }
    if (!queries) return DeviceError::kNotSupported;
    switch (named_.function) {
      case DeviceFunction::kGetDevice: return put(word(0), static_cast<uint32_t>(queries->device()));
      case DeviceFunction::kGetDeviceCount: return put(word(0), static_cast<uint32_t>(queries->devices()));
      case DeviceFunction::kRuntimeGetVersion: return put(word(0), static_cast<uint32_t>(queries->runtime_version()));
      case DeviceFunction::kDeviceGetAttribute: {
        auto device = static_cast<int>(word32(2));
        if (device < 0 || device >= queries->devices()) return DeviceError::kInvalidDevice;
        return one_of(queries->attribute(device, static_cast<int>(word32(1))));
      }
      default: return ask_of_kernel(*queries);
    }
  }

  DeviceError ask_of_kernel(const Queries& queries) {
    const ptx::Function* kernel = kernel_at(word(1));
    if (!kernel) return DeviceError::kInvalidDeviceFunction;
    if (named_.function == DeviceFunction::kFuncGetAttributes) {
      auto bytes = queries.attributes(grid_.program_, *kernel);
      return put_bytes(word(0), bytes.data(), static_cast<int64_t>(bytes.size()));
    }
    auto threads = static_cast<int32_t>(word32(2));
    if (threads <= 0) return DeviceError::kInvalidValue;
    return put(word(0),
               static_cast<uint32_t>(queries.blocks_per_multiprocessor(grid_.program_, *kernel, threads, number64(3))));
  }

  DeviceError limit() {
    auto which = static_cast<int>(word32(1));
    const Limits& limits = family_.settings().limits;
    if (which == kSyncDepthLimit) return put(word(0), static_cast<uint64_t>(limits.sync_depth));
    if (which == kPendingLimit) return put(word(0), static_cast<uint64_t>(limits.pending_launches));
    const Queries* queries = family_.settings().queries;
    auto value = queries ? queries->limit(which) : std::nullopt;
    return value ? put(word(0), *value) : DeviceError::kUnsupportedLimit;
  }

  // --- launches ---

  const ptx::Function* kernel_at(uint64_t value) const {
    const auto& all = grid_.program_.module().functions;
    if (value == 0 || value > all.size()) return nullptr;
    const ptx::Function& f = all[value - 1];
    return f.entry && f.defined ? &f : nullptr;
  }

  DeviceError check(const ptx::Function* kernel, const Launch& launch) const {
    if (!kernel) return DeviceError::kInvalidDeviceFunction;
    if (children_.depth() >= kDeepestChild) return DeviceError::kLaunchMaxDepthExceeded;
    int64_t fixed = static_shared_bytes(grid_.program_.module(), *kernel);
    if (beyond_limits(*kernel, launch, family_.settings().limits, fixed)) return DeviceError::kInvalidConfiguration;
    return DeviceError::kSuccess;
  }

  uint64_t refuse(DeviceError e) {
    children_.set_error(caller_.thread, e);
    return 0;
  }

  uint64_t buffer(Family::Buffer wanted) {
    constexpr int64_t kMostArguments = 32764;  // bytes of a kernel's parameters
    if (wanted.bytes < 0 || wanted.bytes > kMostArguments) return refuse(DeviceError::kInvalidValue);
    if (!family_.reserve()) return refuse(DeviceError::kLaunchPendingCountExceeded);
    auto made = family_.make_buffer(std::move(wanted));
    if (made) return *made;
    family_.release();
    return refuse(DeviceError::kMemoryAllocation);
  }

  // Before CUDA 9: all of it is told with the launch.
  DeviceError launch_old() {
    Launch launch;
    launch.grid = extent(2), launch.block = extent(4), launch.shared_bytes = number(6);
    const ptx::Function* kernel = kernel_at(word(0));
    if (DeviceError e = check(kernel, launch); e != DeviceError::kSuccess) return e;
    // A kernel without parameters needs no memory for them.
    if (!word(1) && !parameter_layout(*kernel).bytes) {
      if (!family_.reserve()) return DeviceError::kLaunchPendingCountExceeded;
      return queue(kernel, launch, word(7));
    }
    return this->launch(word(1), kernel, word(7), &launch);
  }

  DeviceError launch(uint64_t address, const ptx::Function* kernel, uint64_t stream, const Launch* as = nullptr) {
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

  DeviceError queue(const ptx::Function* kernel, Launch launch, uint64_t stream) {
    if (!may_be_given(*kernel, launch.arguments)) return DeviceError::kInvalidValue;
    Child child;
    child.kernel = kernel;
    child.launch = std::move(launch);
    return add(std::move(child), stream);
  }

  DeviceError add(Child child, uint64_t stream) {
    child.place = place_;
    DeviceError e = children_.add(std::move(child), caller_, stream);
    if (e != DeviceError::kSuccess) family_.release();
    return e;
  }

  // Memory of a thread or a block is nobody else's.
  bool may_be_given(const ptx::Function& kernel, const std::vector<std::byte>& arguments) {
    if (!family_.settings().checks.memory) return true;
    ParameterLayout layout = parameter_layout(kernel);
    for (size_t i = 0; i < layout.offsets.size(); ++i) {
      int64_t end = layout.offsets[i] + layout.sizes[i];
      for (int64_t at = (layout.offsets[i] + 7) / 8 * 8; at + 8 <= end; at += 8) {
        uint64_t value;
        std::memcpy(&value, arguments.data() + at, sizeof value);
        if (!of_thread_or_block(memory_, value)) continue;
        fault(fmt::format("argument {} of {} points there; a child can't use its parent's local or shared memory",
                          i + 1, kernel.name),
              value);
        return false;
      }
    }
    return true;
  }

  // What the block has launched is run here and now, on a stack of its own: this one may be a warp's.
  DeviceError synchronize() {
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

  // --- memory ---

  DeviceError transfer() {
    Child child;
    Transfer& t = child.transfer;
    t.what = named_.function;
    t.to = word(0);
    uint64_t stream = 0, kind = kDeviceToDevice;
    switch (named_.function) {
      case DeviceFunction::kMemcpyAsync:
        t.from = word(1), t.width = number64(2), kind = word32(3), stream = word(4);
        t.to_pitch = t.from_pitch = t.width;
        break;
      case DeviceFunction::kMemcpy2DAsync:
        t.to_pitch = number64(1), t.from = word(2), t.from_pitch = number64(3);
        t.width = number64(4), t.height = number64(5), kind = word32(6), stream = word(7);
        break;
      case DeviceFunction::kMemcpy3DAsync:
        stream = word(1);
        if (!read_boxes(t, kind)) return DeviceError::kInvalidValue;
        break;
      case DeviceFunction::kMemsetAsync: t.width = t.to_pitch = number64(2), stream = word(3); break;
      case DeviceFunction::kMemset2DAsync:
        t.to_pitch = number64(1), t.width = number64(3), t.height = number64(4), stream = word(5);
        break;
      default:  // a cudaPitchedPtr, a value, a cudaExtent
        t.to_pitch = number64(1), t.to_rows = number64(3);
        t.width = number64(5), t.height = number64(6), t.depth = number64(7), stream = word(8);
        break;
    }
    size_t value = named_.function == DeviceFunction::kMemsetAsync     ? 1
                   : named_.function == DeviceFunction::kMemset2DAsync ? 2
                                                                       : 4;
    t.fill = !t.from;
    bool fills = named_.function == DeviceFunction::kMemsetAsync || named_.function == DeviceFunction::kMemset2DAsync ||
                 named_.function == DeviceFunction::kMemset3DAsync;
    if (fills) t.value = static_cast<uint8_t>(word(value));
    if (fills != t.fill || !t.to) return DeviceError::kInvalidValue;
    if (kind != kDeviceToDevice && kind != kDefaultKind) return DeviceError::kInvalidMemcpyDirection;
    if (t.width < 0 || t.height < 0 || t.depth < 0) return DeviceError::kInvalidValue;
    bool rows = t.height > 1 || t.depth > 1, narrow = t.to_pitch < t.width || (!t.fill && t.from_pitch < t.width);
    bool low = t.to_rows < t.height || (!t.fill && t.from_rows < t.height);
    if ((rows && narrow) || (t.depth > 1 && low)) return DeviceError::kInvalidValue;
    if (!t.width || !t.height || !t.depth) return DeviceError::kSuccess;
    for (uint64_t address : {t.to, t.from}) {
      if (!address || !of_thread_or_block(memory_, address)) continue;
      fault(fmt::format("{} in a kernel can't use local or shared memory", name(t.what)), address);
      return DeviceError::kInvalidValue;
    }
    if (!family_.reserve()) return DeviceError::kLaunchPendingCountExceeded;
    return add(std::move(child), stream);
  }

  bool read_boxes(Transfer& t, uint64_t& kind) {
    Copy3DWords p;
    if (!memory_.contains(word(0), sizeof p)) {
      access_fault(word(0), sizeof p, false);
      return false;
    }
    std::memcpy(&p, reinterpret_cast<const void*>(word(0)), sizeof p);
    if (p.from.array || p.to.array || !p.from.pointer) return false;
    auto base = [](const Copy3DWords::Side& s) { return s.pointer + (s.z * s.height + s.y) * s.pitch + s.x; };
    t.from = base(p.from), t.to = base(p.to);
    t.from_pitch = static_cast<int64_t>(p.from.pitch), t.from_rows = static_cast<int64_t>(p.from.height);
    t.to_pitch = static_cast<int64_t>(p.to.pitch), t.to_rows = static_cast<int64_t>(p.to.height);
    t.width = static_cast<int64_t>(p.width), t.height = static_cast<int64_t>(p.height);
    t.depth = static_cast<int64_t>(p.depth);
    kind = static_cast<uint32_t>(p.kind);
    return true;
  }

  DeviceError allocate() {
    uint64_t bytes = word(1);
    if (!bytes) return put(word(0), uint64_t{0});
    if (bytes > static_cast<uint64_t>(family_.settings().limits.heap_bytes)) return DeviceError::kMemoryAllocation;
    auto at = memory_.allocate(static_cast<int64_t>(bytes), 256, Holds::kHeap, "cudaMalloc in a kernel");
    return at ? put(word(0), *at) : DeviceError::kMemoryAllocation;
  }

  uint64_t error_text(bool name) {
    const Queries* queries = family_.settings().queries;
    auto error = static_cast<int>(word32(0));
    auto made = family_.text(queries ? queries->error_text(error, name) : fmt::format("error {}", error));
    return made ? *made : 0;
  }

  template <class T>
  DeviceError put(uint64_t address, T value) {
    return put_bytes(address, &value, sizeof value);
  }

  DeviceError put_bytes(uint64_t address, const void* from, int64_t bytes) {
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

  // --- faults ---

  void access_fault(uint64_t address, int64_t bytes, bool write) {
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

  void fault(std::string detail, uint64_t address) {
    Fault f = grid_.located(FaultKind::kLaunch, place_);
    f.address = address;
    f.memory = neighbourhood(memory_, address);
    f.detail = std::move(detail);
    end(std::move(f));
  }

  void end(Fault f) {
    ended_ = true;
    grid_.keep(std::move(f));
  }

  uint64_t word(size_t i) const { return frame_.arguments[i][lane_]; }
  uint32_t word32(size_t i) const { return static_cast<uint32_t>(word(i)); }
  int64_t number(size_t i) const { return word32(i); }
  int64_t number64(size_t i) const { return static_cast<int64_t>(word(i)); }
  // A dim3 takes two words.
  Extent extent(size_t i) const { return {word32(i), static_cast<uint32_t>(word(i) >> 32), word32(i + 1)}; }

  WarpRun& run_;
  Grid& grid_;
  Children& children_;
  Family& family_;
  Memory& memory_;
  int32_t site_;
  uint32_t lane_;
  const CallFrame& frame_;
  NamedFunction named_;
  Place place_;
  Caller caller_;
  bool ended_ = false;
};

int32_t DeviceCalls::enter(WarpRun& run, int32_t site, uint32_t lanes, CallFrame& frame) {
  if (NamedFunction::of(frame.function).function == DeviceFunction::kFree) {
    if (Services::release(run, site, lanes, frame)) return 1;
  }
  for (uint32_t l = 0; l < 32; ++l) {
    if (!(lanes >> l & 1)) continue;
    bool ended = false;
    frame.result[l] = DeviceCall(run, site, l, frame)(ended);
    if (ended) return 1;
  }
  return 0;
}

}  // namespace quern::vgpu
