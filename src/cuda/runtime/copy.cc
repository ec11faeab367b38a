#include "cuda/runtime/copy.h"

#include <cstring>
#include <utility>

#include "cuda/runtime/array.h"
#include "cuda/runtime/device_memory.h"
#include "cuda/runtime/host_memory.h"
#include "cuda/runtime/live.h"
#include "cuda/runtime/stream.h"

namespace quern::cuda {
namespace {

// One side of a copy, resolved: rows of bytes.
struct Side {
  std::byte* first = nullptr;
  size_t pitch = 0, slice = 0;
  bool device = false;  // in the range of device addresses
};

struct Plan {
  Side to, from;
  size_t width = 0, height = 0, depth = 0;  // bytes, rows, slices
};

size_t times(size_t a, size_t b) {
  size_t out;
  return __builtin_mul_overflow(a, b, &out) ? SIZE_MAX : out;
}

size_t plus(size_t a, size_t b) { return a + b < a ? SIZE_MAX : a + b; }

// From the first byte that is touched to the last.
size_t span(const Side& side, const Plan& p) {
  return plus(plus(times(side.slice, p.depth - 1), times(side.pitch, p.height - 1)), p.width);
}

Error resolve_array(const Array* handle, const Pos& at, Plan& plan, Side& side) {
  auto array = Live<Array>::all().find(handle);
  if (!array) return Error::kInvalidResourceHandle;
  size_t x = times(at.x, array->element_bytes);
  if (plus(x, plan.width) > array->extent.width * array->element_bytes || plus(at.y, plan.height) > array->rows ||
      plus(at.z, plan.depth) > array->slices) {
    return Error::kInvalidValue;
  }
  side.pitch = array->pitch;
  side.slice = array->slice_bytes();
  side.first = reinterpret_cast<std::byte*>(array->address) + at.z * side.slice + at.y * side.pitch + x;
  side.device = true;
  return Error::kSuccess;
}

Error resolve_pointer(const PitchedPtr& p, const Pos& at, const Plan& plan, Side& side) {
  if (!p.ptr) return Error::kInvalidValue;
  bool rows = plan.height > 1 || plan.depth > 1;
  if (rows && (p.pitch < plan.width || plus(at.x, plan.width) > p.pitch)) return Error::kInvalidPitchValue;
  side.pitch = p.pitch;
  side.slice = times(p.pitch, p.ysize ? p.ysize : plan.height);
  if (plan.depth > 1 && plus(at.y, plan.height) > p.ysize && p.ysize) return Error::kInvalidValue;
  size_t offset = plus(plus(times(at.z, side.slice), times(at.y, side.pitch)), at.x);
  side.first = static_cast<std::byte*>(p.ptr) + offset;
  side.device = is_device_address(p.ptr);
  if (side.device) {
    size_t bytes = span(side, plan);
    if (bytes > INT64_MAX || !Process::get().memory->contains(reinterpret_cast<uint64_t>(side.first), bytes)) {
      return Error::kInvalidValue;
    }
  }
  return Error::kSuccess;
}

// Does what is said of a side fit what it is? Pinned and managed memory is the host's and the device's.
bool fits(const Side& side, bool device) {
  if (!side.device) return !device;
  auto allocation = allocation_of(side.first);
  return device || (allocation && allocation->holds == vgpu::Holds::kHost);
}

Error resolve(const Copy3D& c, Plan& plan) {
  size_t element = 1;
  for (const Array* handle : {c.src_array, c.dst_array}) {
    if (!handle) continue;
    auto array = Live<Array>::all().find(handle);
    if (!array) return Error::kInvalidResourceHandle;
    if (element != 1 && element != array->element_bytes) return Error::kInvalidValue;
    element = array->element_bytes;
  }
  plan.width = times(c.extent.width, element);
  plan.height = c.extent.height;
  plan.depth = c.extent.depth;
  if (!plan.width || !plan.height || !plan.depth) return Error::kSuccess;
  Error e = c.dst_array ? resolve_array(c.dst_array, c.dst_pos, plan, plan.to)
                        : resolve_pointer(c.dst_ptr, c.dst_pos, plan, plan.to);
  if (e != Error::kSuccess) return e;
  e = c.src_array ? resolve_array(c.src_array, c.src_pos, plan, plan.from)
                  : resolve_pointer(c.src_ptr, c.src_pos, plan, plan.from);
  if (e != Error::kSuccess) return e;
  bool good = true;
  switch (c.kind) {
    case CopyKind::kHostToHost: good = fits(plan.to, false) && fits(plan.from, false); break;
    case CopyKind::kHostToDevice: good = fits(plan.to, true) && fits(plan.from, false); break;
    case CopyKind::kDeviceToHost: good = fits(plan.to, false) && fits(plan.from, true); break;
    case CopyKind::kDeviceToDevice: good = fits(plan.to, true) && fits(plan.from, true); break;
    case CopyKind::kDefault: break;
    default: return Error::kInvalidMemcpyDirection;
  }
  return good ? Error::kSuccess : Error::kInvalidValue;
}

void copy_row(std::byte* to, const std::byte* from, size_t bytes, const Plan& p) {
  std::memmove(to, from, bytes);
  if (!p.to.device) return;
  auto at = reinterpret_cast<uint64_t>(to);
  auto size = static_cast<int64_t>(bytes);
  if (p.from.device) {
    Process::get().memory->copy_shadow(at, reinterpret_cast<uint64_t>(from), size);
  } else {
    Process::get().memory->mark_written(at, size);
  }
}

bool on_host(const std::shared_ptr<const vgpu::Allocation>& a) { return a && a->holds == vgpu::Holds::kHost; }

bool must_wait(const Copy3D& c, bool synchronous) {
  Lock lock(Process::get().mutex);
  bool wait = false;
  for (auto [array, pointer] : {std::pair(c.src_array, c.src_ptr.ptr), std::pair(c.dst_array, c.dst_ptr.ptr)}) {
    if (array) continue;
    auto allocation = allocation_of(pointer);
    bool pinned = allocation || device_view(pointer);
    wait = wait || (synchronous ? !allocation || on_host(allocation) : !pinned);
  }
  return wait;
}

bool must_wait(const MemsetParams& f, bool synchronous) { return synchronous && on_host(allocation_of(f.dst)); }

// What is freed or allocated by work that isn't done is looked at once it is.
template <class T>
Error submit_checked(Stream* stream, const T& what, bool synchronous, Error (*check)(const T&)) {
  Error e = check(what);
  if (e == Error::kInvalidValue) {
    finish_all();
    e = check(what);
  }
  if (e != Error::kSuccess) return e;
  return submit(stream, what, must_wait(what, synchronous) ? When::kNow : When::kLater);
}

}  // namespace

Error submit_copy(Stream* stream, const Copy3D& copy, bool synchronous) {
  return submit_checked(stream, copy, synchronous, &check_copy);
}

Error submit_fill(Stream* stream, const MemsetParams& fill, bool synchronous) {
  return submit_checked(stream, fill, synchronous, &check_fill);
}

Copy3D linear_copy(void* to, const void* from, size_t bytes, CopyKind kind) {
  return pitched_copy(to, bytes, from, bytes, bytes, 1, kind);
}

Copy3D pitched_copy(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                    CopyKind kind) {
  Copy3D c{};
  c.dst_ptr = {to, to_pitch, width, height};
  c.src_ptr = {const_cast<void*>(from), from_pitch, width, height};
  c.extent = {width, height, 1};
  c.kind = kind;
  return c;
}

Copy3D array_copy_in(Array* to, size_t x_bytes, size_t y, const void* from, size_t from_pitch, size_t width,
                     size_t height, CopyKind kind) {
  auto array = Live<Array>::all().find(to);
  size_t element = array ? array->element_bytes : 1;
  Copy3D c{};
  c.dst_array = to;
  c.dst_pos = {x_bytes / element, y, 0};
  c.src_ptr = {const_cast<void*>(from), from_pitch, width, height};
  c.extent = {width / element, height, 1};
  c.kind = kind;
  return c;
}

Copy3D array_copy_out(void* to, size_t to_pitch, const Array* from, size_t x_bytes, size_t y, size_t width,
                      size_t height, CopyKind kind) {
  auto array = Live<Array>::all().find(from);
  size_t element = array ? array->element_bytes : 1;
  Copy3D c{};
  c.src_array = const_cast<Array*>(from);
  c.src_pos = {x_bytes / element, y, 0};
  c.dst_ptr = {to, to_pitch, width, height};
  c.extent = {width / element, height, 1};
  c.kind = kind;
  return c;
}

Error check_copy(const Copy3D& copy) {
  Lock lock(Process::get().mutex);
  Plan plan;
  return resolve(copy, plan);
}

Error run_copy(const Copy3D& copy) {
  Plan p;
  {
    Lock lock(Process::get().mutex);
    if (Error e = resolve(copy, p); e != Error::kSuccess) return e;
  }
  if (!p.width || !p.height || !p.depth) return Error::kSuccess;
  // Rows without gaps between them are one row.
  if (p.height > 1 && p.to.pitch == p.width && p.from.pitch == p.width) {
    p.width *= p.height;
    p.height = 1;
  }
  for (size_t z = 0; z < p.depth; ++z) {
    for (size_t y = 0; y < p.height; ++y) {
      copy_row(p.to.first + z * p.to.slice + y * p.to.pitch, p.from.first + z * p.from.slice + y * p.from.pitch,
               p.width, p);
    }
  }
  return Error::kSuccess;
}

Error check_fill(const MemsetParams& f) {
  if (f.element_size != 1 && f.element_size != 2 && f.element_size != 4) return Error::kInvalidValue;
  size_t width = times(f.width, f.element_size);
  if (!width || !f.height) return Error::kSuccess;
  if (reinterpret_cast<uint64_t>(f.dst) % f.element_size) return Error::kInvalidValue;
  if (f.height > 1 && f.pitch < width) return Error::kInvalidPitchValue;
  size_t bytes = plus(times(f.pitch, f.height - 1), width);
  if (!is_device_address(f.dst) || bytes > INT64_MAX) return Error::kInvalidValue;
  return Process::get().memory->contains(reinterpret_cast<uint64_t>(f.dst), bytes) ? Error::kSuccess
                                                                                   : Error::kInvalidValue;
}

Error run_fill(const MemsetParams& f) {
  if (Error e = check_fill(f); e != Error::kSuccess) return e;
  size_t width = f.width * f.element_size;
  if (!width) return Error::kSuccess;
  for (size_t y = 0; y < f.height; ++y) {
    std::byte* row = static_cast<std::byte*>(f.dst) + y * f.pitch;
    if (f.element_size == 1) {
      std::memset(row, static_cast<int>(f.value), width);
    } else {
      for (size_t at = 0; at < width; at += f.element_size) std::memcpy(row + at, &f.value, f.element_size);
    }
    Process::get().memory->mark_written(reinterpret_cast<uint64_t>(row), static_cast<int64_t>(width));
  }
  return Error::kSuccess;
}

}  // namespace quern::cuda
