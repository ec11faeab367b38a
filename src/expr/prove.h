// Are subscripts in range? For each subscript e into [lo, hi): e - lo >= 0 and hi - 1 - e >= 0, by linear arithmetic
// over the ranges of the indices and the guards in scope (docs/notation.md, subscripts; expr/prove/).
#pragma once

#include "expr/bind.h"
#include "expr/program.h"

namespace quern::expr {

enum class Proof : uint8_t {
  kProved,   // never outside: nothing happens at run time
  kChecked,  // through data, or beyond the prover: one compare at run time
  kRefused,  // outside for these sizes: E306
};

struct SubscriptProof {
  Span span;      // the subscript
  Symbol tensor;  // the tensor or local that is subscripted
  int axis = 0;
  std::string text;  // the subscript as printed
  Proof proof = Proof::kProved;
  bool data = false;   // its value goes through data
  bool write = false;  // on the left of an update
  bool local = false;  // of a local: E802 instead of E801
};

struct Proofs {
  std::vector<SubscriptProof> subscripts;  // each place once, in the order of the text
  Diagnostics errors;                      // E306
  Diagnostics remarks;                     // R1: kept a check although no data is involved
};

// A dimension that `binding` has no size for is a symbol from 0 to 2^40, as for `dyn`; nothing is refused because of
// it.
Proofs prove(const Program& program, const Binding& binding);

}  // namespace quern::expr
