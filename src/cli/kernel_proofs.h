// What `check` can say about the subscripts of one kernel, whatever sizes were given.
#pragma once

#include <string>
#include <vector>

#include "expr/bind.h"
#include "expr/prove.h"

namespace quern::cli {

enum class Status : uint8_t {
  kProved,   // for all sizes that weren't given
  kSized,    // at sample sizes
  kChecked,  // at run time
  kRefused,  // outside, at the given sizes or at every sample: E306
};

struct ProvedSubscript {
  expr::SubscriptProof proof;
  Status status = Status::kProved;
  size_t sample = 0;  // kSized: which
};

struct KernelProofs {
  bool complete = false;  // the sizes of all dimensions were given
  std::vector<ProvedSubscript> subscripts;
  std::vector<std::vector<std::pair<Symbol, int64_t>>> samples;
  Diagnostics errors;   // of binding, and E306
  Diagnostics remarks;  // R1 of what stayed checked; R2, R3
};

KernelProofs kernel_proofs(const expr::Program& program, const expr::Request& request);

// "H = 8, G = 2"
std::string sizes_text(const std::vector<std::pair<Symbol, int64_t>>& sizes);

}  // namespace quern::cli
