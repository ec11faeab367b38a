// What stopped a kernel: the first bad access of a run, with everything that is needed to find it in the source.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ptx/module.h"

namespace quern::vgpu {

struct Allocation;

enum class FaultKind : uint8_t {
  kOutOfBounds,
  kMisaligned,
  kUseAfterFree,
  kReadOnly,
  kUninitialised,
  kBarrier,   // not all living threads of the block reach it
  kDeadlock,  // nobody can go on
  kTrap,      // trap, or __trap()
  kAssert,    // __assertfail
  kFree,      // free of what wasn't allocated, or twice
  kStopped,   // from outside
  kTimeout,
  kStack,   // calls too deep
  kCall,    // an indirect call of what is no function
  kObject,  // a texture or surface object that doesn't exist
  kUnsupported,
};

enum class Access : uint8_t { kLoad, kStore, kAtomic, kAsyncCopy, kOther };

// Where one warp stands: for deadlocks and kernels that don't end.
struct Standing {
  std::array<uint32_t, 3> block = {};
  uint32_t warp = 0;
  uint32_t lanes = 0;        // a bit each
  int32_t instruction = -1;  // of the function
  std::string waits_for;     // "barrier 0, 31 of 256 threads are there"; empty: it runs
};

struct Fault {
  FaultKind kind = FaultKind::kOutOfBounds;
  Access access = Access::kOther;
  std::string kernel;    // as PTX names it
  std::string function;  // where it happened, if not there
  std::string module;    // the PTX's name
  int32_t ptx_line = 0;
  std::string instruction;          // its text
  std::vector<std::string> source;  // "file.cu:12:7", the innermost first, then where that was inlined
  std::array<uint32_t, 3> block = {}, thread = {};
  uint32_t lanes = 0;  // of the warp that were at fault, a bit each
  ptx::Space space = ptx::Space::kGeneric;
  uint64_t address = 0;  // for shared and local the offset there
  int64_t bytes = 0;     // that were accessed
  std::string memory;    // what is there, or near: "4 bytes after 4096 bytes at 0x… (cudaMalloc, allocation 3)"
  std::string detail;    // an assertion's text, who waits for whom
  std::vector<Standing> standing;
};

// Several lines in the look of base/diagnostic.h. A mangled C++ name is shown as it was written.
std::string render(const Fault& fault, bool color = false);
std::string_view name(FaultKind kind);  // "out-of-bounds", as JSON has it

}  // namespace quern::vgpu
