// What a Kernel is behind its handle: recorded in C++, or one of a module's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/notation/recording.h"
#include "expr/program.h"
#include "lang/load.h"

namespace quern::internal {

struct KernelState {
  std::optional<EmbeddedKernel> embedded;
  // Else from text; the unit owns the kernel.
  std::shared_ptr<const lang::Unit> unit;
  const lang::CheckedKernel* text = nullptr;
};

struct ModuleState {
  std::shared_ptr<const lang::Unit> unit;
  std::vector<Kernel> kernels;
};

// The kernel as written.
expr::Kernel written(const KernelState& kernel);

// The checked program, or why there is none.
Result<std::shared_ptr<const expr::Program>> checked(const KernelState& kernel);

}  // namespace quern::internal
