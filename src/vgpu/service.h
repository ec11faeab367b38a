// What a warp's code asks the runtime for (abi.h: Service).
#pragma once

#include <cstdint>

#include "vgpu/abi.h"
#include "vgpu/grid.h"
#include "vgpu/texture/call.h"

namespace quern::vgpu {

struct Services {
  static int32_t enter(Warp* warp, Service what, int32_t site, uint32_t lanes, void* data);

 private:
  friend struct DeviceCalls;
  static int32_t access_fault(WarpRun& run, int32_t check, uint32_t lanes, uint64_t base);
  static int32_t trap(WarpRun& run, int32_t site, uint32_t lanes);
  static int32_t barrier(WarpRun& run, int32_t site, uint32_t lanes, BarrierCall& call);
  static int32_t print(WarpRun& run, uint32_t lanes, CallFrame& frame);
  static int32_t assertion(WarpRun& run, int32_t site, uint32_t lanes, const CallFrame& frame);
  static int32_t allocate(WarpRun& run, uint32_t lanes, CallFrame& frame);
  static int32_t texture(WarpRun& run, int32_t site, uint32_t lanes, TextureCall& call);
  static int32_t release(WarpRun& run, int32_t site, uint32_t lanes, const CallFrame& frame);
};

// What is at an address, or next to it, in words.
std::string neighbourhood(const Memory& memory, uint64_t address);
// The text that vprintf makes of a format and a buffer of arguments in device memory; empty where they are no such.
std::string device_printf(const Memory& memory, uint64_t format, uint64_t arguments, int64_t& values);
// A string in device memory, up to its zero, or as far as it is there.
std::string device_string(const Memory& memory, uint64_t address);

}  // namespace quern::vgpu
