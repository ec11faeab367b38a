#include "cuda/runtime/fault.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <nlohmann/json.hpp>

#include "cuda/runtime/process.h"

namespace quern::cuda {
namespace {

std::string_view name(vgpu::Access access) {
  switch (access) {
    case vgpu::Access::kLoad: return "load";
    case vgpu::Access::kStore: return "store";
    case vgpu::Access::kAtomic: return "atomic";
    case vgpu::Access::kAsyncCopy: return "async copy";
    case vgpu::Access::kOther: break;
  }
  return "other";
}

}  // namespace

Error error_of(vgpu::FaultKind kind) {
  switch (kind) {
    case vgpu::FaultKind::kMisaligned: return Error::kMisalignedAddress;
    case vgpu::FaultKind::kAssert: return Error::kAssert;
    case vgpu::FaultKind::kTrap: return Error::kIllegalInstruction;
    case vgpu::FaultKind::kDeadlock:
    case vgpu::FaultKind::kBarrier:
    case vgpu::FaultKind::kStopped:
    case vgpu::FaultKind::kTimeout: return Error::kLaunchTimeout;
    case vgpu::FaultKind::kStack: return Error::kHardwareStackError;
    case vgpu::FaultKind::kCall: return Error::kInvalidPc;
    default: return Error::kIllegalAddress;
  }
}

std::string json_of(const vgpu::Fault& f) {
  nlohmann::ordered_json out;
  out["version"] = 1;
  out["command"] = "exec";
  out["fault"] = vgpu::name(f.kind);
  out["access"] = name(f.access);
  out["kernel"] = f.kernel;
  out["function"] = f.function;
  out["module"] = f.module;
  out["ptx_line"] = f.ptx_line;
  out["instruction"] = f.instruction;
  out["source"] = f.source;
  out["block"] = f.block;
  out["thread"] = f.thread;
  out["lanes"] = f.lanes;
  out["space"] = ptx::name(f.space);
  out["address"] = f.address;
  out["bytes"] = f.bytes;
  out["memory"] = f.memory;
  out["detail"] = f.detail;
  out["launched_by"] = nlohmann::ordered_json::array();
  for (const vgpu::Launcher& l : f.launched_by) {
    out["launched_by"].push_back({{"kernel", l.kernel}, {"place", l.place}, {"block", l.block}, {"thread", l.thread}});
  }
  out["standing"] = nlohmann::ordered_json::array();
  for (const vgpu::Standing& s : f.standing) {
    nlohmann::ordered_json one;
    one["block"] = s.block;
    one["warp"] = s.warp;
    one["lanes"] = s.lanes;
    one["instruction"] = s.instruction;
    one["waits_for"] = s.waits_for;
    out["standing"].push_back(std::move(one));
  }
  return out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Error report(const vgpu::Fault& fault) {
  Process& p = Process::get();
  // Where several kernels run, the first one's is told.
  static std::mutex first;
  std::lock_guard lock(first);
  std::fflush(stdout);
  std::string text = p.config.json ? json_of(fault) : vgpu::render(fault, ::isatty(STDERR_FILENO));
  std::fputs(text.c_str(), stderr);
  // An assertion is the program's own check, and CUDA lets the program go on to say so.
  if (!p.config.go_on && fault.kind != vgpu::FaultKind::kAssert) end_process(1);
  p.sticky = error_of(fault.kind);
  return p.sticky;
}

}  // namespace quern::cuda
