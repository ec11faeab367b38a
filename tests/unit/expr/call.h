// One call of one kernel, for tests: text in, numbers in, numbers out. Whatever a test does not say is filled in: sizes
// from nothing else than `dims`, types from `types`, scalars from their defaults, other arguments with zeros.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "expr/bind.h"
#include "expr/draw.h"
#include "expr/interpret.h"
#include "expr/program.h"
#include "expr/prove.h"
#include "lang/load.h"

namespace quern::expr::test {

using Random = std::mt19937_64;
using Dims = std::map<std::string, int64_t>;
using Types = std::map<std::string, ScalarType>;

int64_t between(Random& random, int64_t lo, int64_t hi);  // both ends included
bool chance(Random& random, double p);

// A file of kernels; errors fail the test.
class Text {
 public:
  explicit Text(const std::string& text, const std::string& name = "test.qn");
  const Program& program(const std::string& kernel = "") const;  // the last one, or the one of that name
  const lang::Unit& unit() const { return unit_; }

 private:
  lang::Unit unit_;
};

// All kernels of kernels/*.qn, each file loaded once.
struct LibraryKernel {
  std::string name;
  const Program* program;
};
const std::vector<LibraryKernel>& library();
const Program& library_kernel(const std::string& name);

Request request(const Dims& dims, const Types& types = {});
std::string codes(const Diagnostics& diagnostics);  // "E701 E705"

// Bytes of every tensor of a program.
class Arguments {
 public:
  Arguments(const Program& program, const Binding& binding);

  void set(const std::string& name, const std::vector<double>& values);  // converted as stored; integers exactly
  void set_whole(const std::string& name, const std::vector<int64_t>& values);
  void put(size_t tensor, int64_t element, double value);
  void put_whole(size_t tensor, int64_t element, int64_t value);
  int64_t elements(size_t tensor) const;
  ScalarType type(size_t tensor) const { return binding_->type(program_->tensors[tensor].type); }
  const void* data(size_t tensor) const { return data_[tensor].data(); }
  std::vector<View> views() const;

 private:
  size_t index(const std::string& name) const;

  const Program* program_;
  const Binding* binding_;
  std::vector<std::vector<std::byte>> data_;
};

// Integers by `draws`, reals by `real`; distinct slots and sorted starts as the pattern asks, extremes often.
void fill(Arguments& arguments, const Program& program, const Binding& binding, Random& random,
          const std::function<double(Random&)>& real);
double normal(Random& random);

// Text, sizes and arguments together.
class Call {
 public:
  explicit Call(const std::string& text, const Dims& dims = {}, const Types& types = {});
  Call& set(const std::string& name, const std::vector<double>& values);
  Call& set_whole(const std::string& name, const std::vector<int64_t>& values);
  Interpreted run(InterpretOptions options = {.threads = 1});

  // The result or inout tensor of that name after run(); the first one without a name.
  std::vector<double> reals(const std::string& name = "") const;
  std::vector<int64_t> wholes(const std::string& name = "") const;
  std::vector<double> bounds(const std::string& name = "") const;
  std::string findings() const;  // messages, a line each

  const Program& program() const { return text_.program(); }
  const Binding& binding() const { return binding_; }
  Arguments& arguments() { return *arguments_; }

 private:
  const Output& output(const std::string& name) const;

  Text text_;
  Binding binding_;
  std::unique_ptr<Arguments> arguments_;
  Interpreted out_;
};

}  // namespace quern::expr::test
