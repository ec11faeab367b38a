// Copies and fills: each function's arguments as a box of bytes.
#include <cstring>

#include "vgpu/children/device_call.h"

namespace quern::vgpu {
namespace {

constexpr uint64_t kDeviceToDevice = 3, kDefaultKind = 4;  // cudaMemcpyKind

// cudaMemcpy3DParms, as the toolkit's driver_types.h has it.
struct Copy3DWords {
  struct Side {
    uint64_t array, x, y, z, pointer, pitch, width, height;
  };
  Side from, to;
  uint64_t width, height, depth, kind;
};

}  // namespace

DeviceError DeviceCall::transfer() {
  Child child;
  Transfer& t = child.transfer;
  t.what = named_.function;
  t.to = word(0);
  uint64_t stream = 0, kind = kDefaultKind;
  auto fill_with = [&](size_t value) { t.fill = true, t.value = static_cast<uint8_t>(word(value)); };
  switch (named_.function) {
    case DeviceFunction::kMemcpyAsync: t.from = word(1), t.width = number(2), kind = word32(3), stream = word(4); break;
    case DeviceFunction::kMemcpy2DAsync:
      t.to_pitch = number(1), t.from = word(2), t.from_pitch = number(3);
      t.width = number(4), t.height = number(5), kind = word32(6), stream = word(7);
      break;
    case DeviceFunction::kMemcpy3DAsync:
      stream = word(1);
      if (!read_boxes(t, kind)) return DeviceError::kInvalidValue;
      break;
    case DeviceFunction::kMemsetAsync: fill_with(1), t.width = number(2), stream = word(3); break;
    case DeviceFunction::kMemset2DAsync:
      fill_with(2), t.to_pitch = number(1), t.width = number(3), t.height = number(4), stream = word(5);
      break;
    default:  // a cudaPitchedPtr, a value, a cudaExtent
      fill_with(4), t.to_pitch = number(1), t.to_rows = number(3);
      t.width = number(5), t.height = number(6), t.depth = number(7), stream = word(8);
      break;
  }
  if (!t.to || (!t.fill && !t.from)) return DeviceError::kInvalidValue;
  if (kind != kDeviceToDevice && kind != kDefaultKind) return DeviceError::kInvalidMemcpyDirection;
  if (t.width < 0 || t.height < 0 || t.depth < 0) return DeviceError::kInvalidValue;
  bool rows = t.height > 1 || t.depth > 1, narrow = t.to_pitch < t.width || (!t.fill && t.from_pitch < t.width);
  bool low = t.to_rows < t.height || (!t.fill && t.from_rows < t.height);
  if ((rows && narrow) || (t.depth > 1 && low)) return DeviceError::kInvalidValue;
  if (!t.width || !t.height || !t.depth) return DeviceError::kSuccess;
  for (uint64_t address : {t.to, t.from}) {
    if (!address || !of_thread_or_block(address)) continue;
    fault(fmt::format("{} in a kernel can't use local or shared memory", name(t.what)), address);
    return DeviceError::kInvalidValue;
  }
  if (!family_.reserve()) return DeviceError::kLaunchPendingCountExceeded;
  return add(std::move(child), stream);
}

bool DeviceCall::read_boxes(Transfer& t, uint64_t& kind) {
  Copy3DWords p;
  if (!memory_.contains(word(0), sizeof p)) {
    access_fault(word(0), sizeof p, false);
    return false;
  }
  std::memcpy(&p, reinterpret_cast<const void*>(word(0)), sizeof p);
  if (p.from.array || p.to.array) return false;
  auto base = [](const Copy3DWords::Side& s) { return s.pointer + (s.z * s.height + s.y) * s.pitch + s.x; };
  t.from = base(p.from), t.to = base(p.to);
  t.from_pitch = static_cast<int64_t>(p.from.pitch), t.from_rows = static_cast<int64_t>(p.from.height);
  t.to_pitch = static_cast<int64_t>(p.to.pitch), t.to_rows = static_cast<int64_t>(p.to.height);
  t.width = static_cast<int64_t>(p.width), t.height = static_cast<int64_t>(p.height);
  t.depth = static_cast<int64_t>(p.depth);
  kind = static_cast<uint32_t>(p.kind);
  return true;
}

}  // namespace quern::vgpu
