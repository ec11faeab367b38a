// The truth: a kernel evaluated in float64, with the roundings that the language states (casts, annotated locals,
// stored results), and beside each value the bound of running error analysis that an f32 implementation may take.
//
// Slow on purpose and right by construction: expressions are evaluated as the specification words them. A read happens
// only where its value is used; every subscript is tested, whatever the prover said.
#pragma once

#include <functional>
#include <vector>

#include "expr/bind.h"
#include "expr/program.h"

namespace quern::expr {

// An argument: contiguous, row-major, of the bound type and shape. Scalars by value have rank 0.
struct View {
  const void* data = nullptr;
};

struct InterpretOptions {
  int threads = 0;     // 0: all cores
  bool bounds = true;  // also compute error bounds
  // Called now and then, by one thread at a time, with the elements done and all; returning false stops the run.
  std::function<bool(int64_t done, int64_t total)> progress;
};

// A result or inout tensor after the kernel.
struct Output {
  int32_t tensor = -1;
  std::vector<std::byte> data;  // row-major, of the bound type; 4-bit types two a byte
  // How far an implementation may be off, absolute, one an element; infinite where it may have anything, an infinity or
  // a NaN too. 0 of an integer or a bool: exact (an argmax whose values tie within rounding is not). Empty without
  // `bounds`.
  std::vector<double> bound;
};

struct Interpreted {
  std::vector<Output> outputs;  // in the order of the program's tensors
  Diagnostics findings;         // E801 to E806: each place once, the first instance in index order
  bool stopped = false;         // by `progress`: the outputs are not complete
};

// `arguments` holds one view for each tensor of the program (those of results are ignored); what they point to must
// have the bound shape. E716 if the results can't fit in memory; E706, E113 as make_plan.
Result<Interpreted> interpret(const Program& program, const Binding& binding, const std::vector<View>& arguments,
                              const InterpretOptions& options = {});

}  // namespace quern::expr
