// Which PTX of a program a chip runs: of each translation unit the newest that isn't newer than the chip.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fatbin/container.h"

namespace quern::fatbin {

struct ChipName {
  std::string_view name;       // as --chip takes it
  int compute_capability = 0;  // 90
};

// The best of these entries for the chip: compute_90a before compute_90 on a 9.0, never on another chip. E971 where
// there is only machine code, E972 where there is only code for link-time optimisation, E973 where all PTX is for other
// chips. Null where there are no entries, or only machine
// code without a kernel: nvcc writes such containers too.
Result<const Entry*> choose(std::span<const Entry> entries, const ChipName& chip, std::string_view what);

}  // namespace quern::fatbin
