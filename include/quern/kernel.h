// A kernel: written in C++ over tensors, or read from text (quern/module.h). Both are checked by the same rules, print
// as the same text and run in the same way.
//   Kernel matmul("matmul", {a, b}, {c});
//   c(m, n) = sum(k, a(m, k) * b(k, n));
//   auto program = matmul.compile(Device::interpreter());
#pragma once

#include <expected>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "quern/error.h"
#include "quern/run.h"
#include "quern/tensor.h"

namespace quern {

namespace internal {
struct KernelState;
}

// A solved dimension of which one compiled code serves every size; without it each size gets its own. It never changes
// a result.
struct Dynamic {
  Dim dim;
};
inline Dynamic dyn(const Dim& dim) { return {dim}; }

// What a kernel takes: tensors and scalars, and the dimensions and types that the caller chooses, which the text lists
// in brackets after the kernel's name. Each kind keeps its order.
class Parameter {
 public:
  Parameter(const Tensor& tensor) : what_(tensor) {}
  Parameter(const Dim& dim) : what_(dim) {}
  Parameter(const Dynamic& dim) : what_(dim) {}
  Parameter(const Type& type) : what_(type) {}

 private:
  friend struct internal::Access;
  std::variant<Tensor, Dim, Dynamic, Type> what_;
};

using Parameters = std::vector<Parameter>;
using Results = std::vector<Tensor>;

// A tensor of a kernel's first line, as text.
struct TensorInfo {
  std::string name;
  std::string type;                // "bf16", "T"
  std::vector<std::string> shape;  // "N", "K / 2"
  bool inout = false;
  std::optional<std::string> value;  // a scalar's default, a result's first value
};

class Kernel {
 public:
  // Results may be missing where parameters are inout. Nothing is checked here.
  Kernel(std::string_view name, const Parameters& parameters, const Results& results = {});

  // The comment above the kernel; lines are kept.
  Kernel& document(std::string_view text);

  const std::string& name() const;
  std::string documentation() const;  // on one line; empty if there is none
  std::string signature() const;      // "kernel matmul(a: T[M, K], b: T[K, N]) -> c: T[M, N]"
  std::vector<TensorInfo> parameters() const;
  std::vector<TensorInfo> results() const;

  // Errors E1 to E6 and N901, all of them. No sizes are needed.
  std::expected<void, Errors> check() const;

  // Checks, and makes it ready to run. For a device that runs machine code, that is made when sizes are known, at the
  // first run with them, and kept on disk for later processes. Also N905: a device that is not there yet; N908: the
  // compiler can't be loaded.
  std::expected<Program, Errors> compile(const Device& device = Device::interpreter(),
                                         const Options& options = {}) const;

 private:
  friend struct internal::Access;
  explicit Kernel(std::shared_ptr<internal::KernelState> state) : state_(std::move(state)) {}
  std::shared_ptr<internal::KernelState> state_;
};

// The kernel in canonical form, with its documentation and a line break at the end.
std::string print(const Kernel& kernel);

}  // namespace quern
