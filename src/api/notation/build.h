// From what was recorded to the kernel as the text would have it: which definitions belong to it, in which order, and
// what each index is called.
#pragma once

#include "api/notation/recording.h"

namespace quern::internal {

struct Built {
  expr::Kernel kernel;
  Diagnostics faults;  // names that are none (E101, E103, E104, E112), expressions that are too deep or too large
  std::vector<Symbol> reads;  // tensors and locals that definitions read
};

Built build(const EmbeddedKernel& embedded);

// Gives the indices of one definition their names. An inner index that would hide another of its name which is used
// inside it gets a number: n, n2. So does one that gives way (Index::fresh) if a tensor or local has its name.
expr::Definition name_indices(const expr::Definition& definition, const std::vector<Symbol>& taken);

}  // namespace quern::internal
