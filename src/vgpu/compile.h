// A kernel as machine code, for a class of block shapes and a set of checks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jit/jit.h"
#include "vgpu/abi.h"
#include "vgpu/emit.h"
#include "vgpu/launch.h"
#include "vgpu/matrix/matrix.h"
#include "vgpu/program.h"

namespace quern::vgpu {

class Compiled {
 public:
  std::shared_ptr<const jit::MachineCode> code;
  WarpCode warp = nullptr;      // one warp
  BlocksCode blocks = nullptr;  // instead of it, where no warp waits for another and none has memory of its own
  ptx::Function body;           // the kernel with its calls in place
  const ptx::Function* function = nullptr;  // that
  int64_t shared_bytes = 0;                 // static
  int64_t local_bytes = 0;                  // a thread
  bool waits = false;                       // warps wait for others: each needs a stack
  const Multiply* multipliers = nullptr;    // of the processor that the code is made for
  std::vector<CheckRecord> checks;          // by the number that a failed one gives
  std::vector<int32_t> block_instructions;  // PTX instructions of each block, for counting
};

// Compiles or finds it: in the program, else in the cache on disk, else new.
Result<std::shared_ptr<const Compiled>> compiled(Program& program, const ptx::Function& kernel, const BlockClass& block,
                                                 const Settings& settings, double* seconds);

// The kernel's text of LLVM, for `quern emit` and tests.
Result<std::string> llvm_text(const ptx::Module& module, const ptx::Function& kernel, const AddressSpace& space,
                              const BlockClass& block, const Settings& settings);

}  // namespace quern::vgpu
