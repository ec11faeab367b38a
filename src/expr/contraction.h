// Which sums are contractions, and which of their operands may be rounded to the 16-bit type beside them: rule (e) of
// docs/notation.md, rounding. The rule serves tensor cores: an operand that is computed on the fly has to be stored in
// some type before they take it.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "expr/bind.h"
#include "expr/program.h"

namespace quern::expr {

struct Contraction {
  // The body as a product: factors with the first index, with the second, and those that don't change over the sum or
  // over a block of it (they may be taken out first). A divisor is the factor 1 / x: `inverse` says so.
  struct Factor {
    NodePtr value;
    bool inverse = false;
    int operand = 0;       // 0 or 1
    bool hoisted = false;  // doesn't change over the sum, or over a block of it
    bool apart = false;    // doesn't change with one of several indices of the sum: may be taken out of that sum
    // Of an unannotated local that is a product itself: its factors, which may be grouped with the others. They are
    // written with the local's indices.
    std::vector<Factor> inside;
  };
  std::vector<Factor> factors;
  std::array<bool, 2> computed{};       // operand k is neither a plain read, guarded or not, nor a cast
  std::optional<ScalarType> rounds_to;  // computed operands may be rounded once to it
  bool flushes = false;                 // bf16 times bf16: what is below f32's least normal number may count as 0
};

// The factors of a product, quotient or negation as they stand, without its sign.
std::vector<Contraction::Factor> factors_of(const NodePtr& product);

// nullopt if `sum` (a kSum of a checked program) is none for these sizes.
std::optional<Contraction> contraction(const Program& program, const Binding& binding, const NodePtr& sum);

// Operand k as an expression, without what may be taken out and without its sign; null if nothing is left.
NodePtr operand(const Contraction& contraction, int k);

// R2 for every operand that may be rounded, R3 for updates whose order shows.
Diagnostics rounding_remarks(const Program& program, const Binding& binding);

}  // namespace quern::expr
