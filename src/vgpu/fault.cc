#include "vgpu/fault.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <bit>
#include <cstdlib>

namespace quern::vgpu {
namespace {

std::string demangled(const std::string& name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string out = status == 0 && text ? text : name;
  std::free(text);
  return out;
}

std::string_view verb(Access a) {
  switch (a) {
    case Access::kLoad: return "read";
    case Access::kStore: return "write";
    case Access::kAtomic: return "atomic";
    case Access::kAsyncCopy: return "asynchronous copy";
    default: return "access";
  }
}

std::string headline(const Fault& f) {
  std::string what(verb(f.access));
  if (f.bytes) what += fmt::format(" of {} bytes", f.bytes);
  switch (f.kind) {
    case FaultKind::kOutOfBounds: return "out-of-bounds " + what;
    case FaultKind::kMisaligned: return "misaligned " + what;
    case FaultKind::kUseAfterFree: return what + " after free";
    case FaultKind::kReadOnly: return what + " to read-only memory";
    case FaultKind::kUninitialised: return what + " that nothing wrote";
    case FaultKind::kBarrier: return "a barrier that not all threads reach";
    case FaultKind::kDeadlock: return "deadlock";
    case FaultKind::kTrap: return "trap";
    case FaultKind::kAssert: return "assertion";
    case FaultKind::kFree: return "free of memory that can't be freed";
    case FaultKind::kStopped: return "stopped";
    case FaultKind::kTimeout: return "the kernel did not end in time";
    case FaultKind::kStack: return "the stack is full";
    case FaultKind::kCall: return "an indirect call of what is no function";
    case FaultKind::kObject: return "use of a texture or surface object that does not exist";
    case FaultKind::kLaunch: return "a launch that can't be";
    case FaultKind::kUnsupported: return "not supported";
  }
  return {};
}

}  // namespace

std::string_view name(FaultKind kind) {
  switch (kind) {
    case FaultKind::kOutOfBounds: return "out-of-bounds";
    case FaultKind::kMisaligned: return "misaligned";
    case FaultKind::kUseAfterFree: return "use-after-free";
    case FaultKind::kReadOnly: return "read-only";
    case FaultKind::kUninitialised: return "uninitialised";
    case FaultKind::kBarrier: return "barrier";
    case FaultKind::kDeadlock: return "deadlock";
    case FaultKind::kTrap: return "trap";
    case FaultKind::kAssert: return "assert";
    case FaultKind::kFree: return "free";
    case FaultKind::kStopped: return "stopped";
    case FaultKind::kTimeout: return "timeout";
    case FaultKind::kStack: return "stack";
    case FaultKind::kCall: return "call";
    case FaultKind::kObject: return "object";
    case FaultKind::kLaunch: return "launch";
    case FaultKind::kUnsupported: return "unsupported";
  }
  return {};
}

std::string render(const Fault& f, bool color) {
  const char* red = color ? "\x1b[1;31m" : "";
  const char* off = color ? "\x1b[0m" : "";
  std::string out = fmt::format("{}error{}: {}\n", red, off, headline(f));
  for (size_t i = 0; i < f.source.size(); ++i) out += fmt::format("   {} {}\n", i ? "inlined at" : "-->", f.source[i]);
  if (f.ptx_line)
    out += fmt::format("   {} {}:{}: {}\n", f.source.empty() ? "-->" : "   ", f.module, f.ptx_line, f.instruction);
  out += fmt::format("   = kernel: {}\n", demangled(f.kernel));
  bool thread = f.kind != FaultKind::kStopped && f.kind != FaultKind::kTimeout && (f.lanes || f.ptx_line);
  if (thread) {
    out += fmt::format("   = thread ({}, {}, {}) of block ({}, {}, {})", f.thread[0], f.thread[1], f.thread[2],
                       f.block[0], f.block[1], f.block[2]);
    int others = std::popcount(f.lanes) - 1;
    if (others > 0) out += fmt::format(", and {} more of its warp", others);
    out += '\n';
  }
  if (f.bytes) {
    std::string_view space = f.space == ptx::Space::kGeneric ? "" : ptx::name(f.space);
    out += fmt::format("   = address 0x{:x}{}{}: {}\n", f.address, space.empty() ? "" : " of ", space, f.memory);
  } else if (!f.memory.empty()) {
    out += fmt::format("   = address 0x{:x}: {}\n", f.address, f.memory);
  }
  if (!f.detail.empty()) out += fmt::format("   = {}\n", f.detail);
  for (const Launcher& l : f.launched_by) {
    out += fmt::format("   = launched by {} at {}, thread ({}, {}, {}) of block ({}, {}, {})\n", demangled(l.kernel),
                       l.place, l.thread[0], l.thread[1], l.thread[2], l.block[0], l.block[1], l.block[2]);
  }
  constexpr size_t kShown = 16;
  for (size_t i = 0; i < f.standing.size() && i < kShown; ++i) {
    const Standing& s = f.standing[i];
    out += fmt::format("   = block ({}, {}, {}) warp {}: {}\n", s.block[0], s.block[1], s.block[2], s.warp,
                       s.waits_for.empty() ? fmt::format("at instruction {}", s.instruction) : s.waits_for);
  }
  if (f.standing.size() > kShown) out += fmt::format("   = and {} more warps\n", f.standing.size() - kShown);
  return out;
}

}  // namespace quern::vgpu
