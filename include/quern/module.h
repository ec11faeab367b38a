// Kernels from text: a file or string of the notation, parsed and checked as a whole.
//   auto module = quern::parse("kernel double(x: T[N]) -> y: T[N] { y[n] = 2 * x[n] }");
//   const quern::Kernel* kernel = module->find("double");
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quern/error.h"
#include "quern/kernel.h"

namespace quern {

namespace internal {
struct ModuleState;
}

struct ParseOptions {
  std::string name = "<text>";       // what messages call the text; imports are searched beside it
  std::vector<std::string> library;  // folders that `import` searches after that
};

class Module {
 public:
  const std::vector<Kernel>& kernels() const;       // in the order of the text, without those of imports
  const Kernel* find(std::string_view name) const;  // null if there is none; lives as long as a copy of the module

 private:
  friend struct internal::Access;
  explicit Module(std::shared_ptr<const internal::ModuleState> state) : state_(std::move(state)) {}
  std::shared_ptr<const internal::ModuleState> state_;
};

// Errors E1 to E6 and N901, all of them, those of imported files too. No sizes are needed.
std::expected<Module, Errors> parse(std::string_view text, const ParseOptions& options = {});

// The same for a file; also E114 and E117, if it can't be read. `options.name` is not used.
std::expected<Module, Errors> parse_file(const std::string& path, const ParseOptions& options = {});

// In canonical form, with comments: what `quern format` writes.
std::string print(const Module& module);

}  // namespace quern
