// Textual LLVM IR to machine code: the only layer that knows LLVM's libraries. Code is made in two steps so that the
// first can be kept on disk: text -> object file (ELF bytes), object file -> addresses in this process.
//
// LLVM's optimiser is not run: target/ emits what it wants (registers by name, loops rotated, invariants hoisted), and
// passes at O2 cost 4 to 6 ms a kernel and gained nothing where they were measured. Code generation runs at level
// "Default". Text that LLVM refuses is a bug of Quern's own (B001), never an abort.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "jit/cpu_target.h"
#include "jit/gpu_target.h"

namespace quern::jit {

// How much LLVM does with the text. Code that target/ emits needs no optimiser; what vgpu/ emits keeps registers in
// slots of the frame and counts on one.
struct Optimise {
  std::string passes;  // LLVM's textual pipeline; empty: none
  bool quick = false;  // code generation at level "Less" instead of "Default"
};

// The bytes of an object file. B001 if the text is not valid IR or the code needs a symbol that no machine has.
Result<std::string> compile(std::string_view text, const CpuTarget& target, const Optimise& how = {});
Result<std::string> assembly(std::string_view text, const CpuTarget& target, const Optimise& how = {});

// PTX for a GPU, as text. B001 if the text is not valid IR.
Result<std::string> ptx(std::string_view text, const GpuTarget& target);

// Machine code in this process; its memory is freed with the last owner.
class MachineCode {
 public:
  virtual ~MachineCode() = default;
  // The address of a function, or null if the object defines none of that name.
  virtual void* entry(std::string_view name) const = 0;
};

// Links an object file. All symbols that it may need are those of jit/symbols.def; no others are looked for. B001 where
// the bytes are no object file of this machine or need others.
Result<std::shared_ptr<const MachineCode>> load(std::string_view object);

// LLVM's version, for keys of caches.
std::string_view llvm_version();

}  // namespace quern::jit
