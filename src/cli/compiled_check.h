// What `check` says of compiled code: every form of a kernel that this processor runs (each level of vectors, several
// sizes and element types), held against the interpreter on random and on hostile numbers.
//
// Sizes and types that aren't given are drawn: small ones, f32 first, then the other reals. Each case takes the kinds
// of numbers in turn: normal, whole, far from 0, huge, tiny, masked by -inf, mixed with what is special (zeros,
// infinities, NaN, extremes). The interpreter computes each once, for all levels.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "expr/bind.h"
#include "expr/program.h"

namespace quern::cli {

struct CompiledCheck {
  struct Result {
    Symbol name;
    bool exact = true;            // never off at all: integers, bools, and reals that are moved
    double error = 0, bound = 0;  // of the element that came closest to its bound
  };
  struct Case {
    std::vector<std::pair<Symbol, int64_t>> sizes;
    std::vector<std::pair<Symbol, ScalarType>> types;
    uint64_t seed = 0;
    int64_t draws = 0;   // sets of arguments that were computed
    int64_t faulty = 0;  // of these, where something is found in the data: then only the findings are compared
  };
  std::string not_compared;          // why; empty if it was
  std::vector<std::string> vectors;  // levels, the narrowest first
  std::vector<Case> cases;
  std::vector<Result> results;  // results and inout tensors
  Diagnostics errors;           // E807, one if some level differs
};

struct CompiledCheckOptions {
  std::vector<std::string> vectors;  // empty: all that this processor has
  int64_t cases = 3;
  uint64_t seed = 1;
};

// A kernel that is to be compared: what its subscripts are concerned, it has no errors.
struct CheckedCompiled {
  std::string file;  // as it was named, for messages
  const expr::Program* program;
  expr::Request request;  // sizes and types that are given
};

// One for each kernel, in order; computed on all cores.
std::vector<CompiledCheck> check_compiled(const std::vector<CheckedCompiled>& kernels,
                                          const CompiledCheckOptions& options);

}  // namespace quern::cli
