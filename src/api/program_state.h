// A kernel that is ready to run, and the arguments of a run.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "api/compiled.h"
#include "expr/program.h"
#include "quern/run.h"

namespace quern::internal {

struct ProgramState {
  ProgramState(std::shared_ptr<const expr::Program> p, Options o) : program(std::move(p)), options(std::move(o)) {}

  std::shared_ptr<const expr::Program> program;
  Options options;
  std::unique_ptr<CompiledForms> compiled;  // null: on the interpreter
};

struct ArgumentsState {
  using Number = std::variant<int64_t, double>;
  struct Sized {
    ConstView view;
    std::optional<int64_t> elements;  // how many there are, where it is known
  };
  struct SizedOutput {
    View view;
    std::optional<int64_t> elements;
  };
  std::map<std::string, Sized> tensors;
  std::map<std::string, Number> scalars;
  std::map<std::string, SizedOutput> outputs;
  std::map<std::string, int64_t> dimensions;
  std::map<std::string, Type> types;
};

}  // namespace quern::internal
