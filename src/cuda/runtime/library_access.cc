#include "cuda/runtime/library_access.h"

#include <fmt/format.h>

#include "cuda/runtime/device_memory.h"
#include "cuda/runtime/fault.h"
#include "vgpu/service.h"

namespace quern::cuda {
namespace {

uint64_t address(const Piece& p) { return reinterpret_cast<uint64_t>(p.at); }
uint64_t run_at(const Piece& p, int64_t i) {
  return address(p) + static_cast<uint64_t>(i) * static_cast<uint64_t>(p.stride) * static_cast<uint64_t>(p.element);
}

// From the first byte to behind the last; -1: more than there is.
int64_t span(const Piece& p) {
  int64_t elements = 0, bytes = 0;
  bool over = __builtin_mul_overflow(p.count - 1, p.stride, &elements) ||
              __builtin_add_overflow(elements, p.run, &elements) || __builtin_mul_overflow(elements, p.element, &bytes);
  return over ? -1 : bytes;
}

bool is_read_only(vgpu::Holds holds) { return holds == vgpu::Holds::kConstant || holds == vgpu::Holds::kParameter; }

std::string shape(const Piece& p) {
  if (p.count == 1) return fmt::format("{}: {} elements of {} bytes", p.what, p.run, p.element);
  if (p.run == 1) return fmt::format("{}: {} elements of {} bytes, {} apart", p.what, p.count, p.element, p.stride);
  return fmt::format("{}: {} columns of {} elements of {} bytes, {} apart", p.what, p.count, p.run, p.element,
                     p.stride);
}

}  // namespace

bool LibraryAccess::reads(const Piece& p) { return check(p, false); }

bool LibraryAccess::writes(const Piece& p) {
  if (!check(p, true)) return false;
  written_.push_back(p);
  return true;
}

bool LibraryAccess::check(const Piece& p, bool write) {
  if (error_ != Error::kSuccess) return false;
  if (p.run <= 0 || p.count <= 0) return true;
  const Process& process = Process::get();
  const vgpu::Memory& memory = *process.memory;
  if (address(p) % static_cast<uint64_t>(p.element)) {
    return fail(p, address(p), vgpu::FaultKind::kMisaligned, write, shape(p));
  }
  int64_t bytes = span(p), run_bytes = 0;
  bool fits = !__builtin_mul_overflow(p.run, p.element, &run_bytes);
  bool within = bytes >= 0 && memory.contains(address(p), bytes);
  for (int64_t i = 0; !within && i < p.count; ++i) {
    uint64_t a = run_at(p, i);
    if (fits && memory.contains(a, run_bytes)) {
      if (write && is_read_only(memory.find(a)->holds)) return fail(p, a, vgpu::FaultKind::kReadOnly, write, shape(p));
      continue;
    }
    // The first element of the run that isn't there.
    auto found = memory.find(a);
    bool living = found && !found->released;
    if (living) {
      auto room = static_cast<int64_t>(found->address + static_cast<uint64_t>(found->bytes) - a);
      a += static_cast<uint64_t>(room / p.element * p.element);
      found = memory.find(a);
    }
    bool freed = found && found->released;
    return fail(p, a, freed ? vgpu::FaultKind::kUseAfterFree : vgpu::FaultKind::kOutOfBounds, write, shape(p));
  }
  if (write) {
    if (!within || !is_read_only(memory.find(address(p))->holds)) return true;
    return fail(p, address(p), vgpu::FaultKind::kReadOnly, write, shape(p));
  }
  if (!process.config.checks.memory || !process.config.checks.init) return true;
  if (within && memory.first_unwritten(address(p), bytes) == address(p) + static_cast<uint64_t>(bytes)) return true;
  for (int64_t i = 0; i < p.count; ++i) {
    uint64_t a = run_at(p, i), first = memory.first_unwritten(a, run_bytes);
    if (first == a + static_cast<uint64_t>(run_bytes)) continue;
    first -= (first - a) % static_cast<uint64_t>(p.element);
    return fail(p, first, vgpu::FaultKind::kUninitialised, write, shape(p));
  }
  return true;
}

bool LibraryAccess::is_on_host(const char* what, const void* at, int64_t bytes, bool write) {
  if (error_ != Error::kSuccess) return false;
  auto found = is_device_address(at) ? allocation_of(at) : nullptr;
  if (!is_device_address(at) || (found && found->holds == vgpu::Holds::kHost)) return true;
  return fail(
      {what, at, bytes, 1}, reinterpret_cast<uint64_t>(at), vgpu::FaultKind::kOutOfBounds, write,
      fmt::format("{} is read and written by the host as the handle's pointer mode says, and this is the device's",
                  what));
}

bool LibraryAccess::refuse(const Piece& p, const std::string& why) {
  if (error_ != Error::kSuccess) return false;
  return fail(p, address(p), vgpu::FaultKind::kOutOfBounds, false, why);
}

bool LibraryAccess::fail(const Piece& p, uint64_t at, vgpu::FaultKind kind, bool write, std::string detail) {
  vgpu::Fault f;
  f.kind = kind;
  f.access = write ? vgpu::Access::kStore : vgpu::Access::kLoad;
  f.kernel = f.function = function_;
  f.address = at;
  f.bytes = p.element;
  f.memory = vgpu::neighbourhood(*Process::get().memory, at);
  f.detail = std::move(detail);
  error_ = report(f);
  return false;
}

Error LibraryAccess::finish() {
  if (error_ != Error::kSuccess) return error_;
  vgpu::Memory& memory = *Process::get().memory;
  for (const Piece& p : written_) {
    if (p.run <= 0) continue;
    for (int64_t i = 0; i < p.count; ++i) memory.mark_written(run_at(p, i), p.run * p.element);
  }
  return Error::kSuccess;
}

}  // namespace quern::cuda
