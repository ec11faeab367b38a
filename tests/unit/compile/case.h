// A kernel from text with sizes, computed by the interpreter and by compiled code.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backend/run.h"
#include "compile/compile.h"
#include "expr/interpret.h"
#include "lang/load.h"

namespace quern::compile {

struct Case {
  lang::Unit unit;
  const expr::Program* program = nullptr;
  expr::Binding binding;
  std::vector<std::vector<std::byte>> inputs;  // one a tensor of the program; random
};

// f32 for types that nothing decides. Integers are drawn from [lo, hi).
Case make_case(const std::string& text, const std::map<std::string, int64_t>& sizes, uint64_t seed = 1, int64_t lo = 0,
               int64_t hi = 3);

expr::Interpreted truth(const Case& c);

struct Computed {
  std::vector<std::vector<std::byte>> outputs;  // one a tensor; empty for parameters
  Diagnostics findings;
};
// `shift` bytes: every tensor begins so far behind an aligned address.
Result<Computed> computed(const Case& c, const backend::Compiled& code, int threads = 1, size_t shift = 0);

// What is wrong with the outputs, against the truth and its bounds; empty if nothing.
std::string difference(const Case& c, const expr::Interpreted& truth, const Computed& computed);

}  // namespace quern::compile
