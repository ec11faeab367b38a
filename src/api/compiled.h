// The compiled forms of one kernel: one for each set of sizes and types that it was run with.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "backend/backend.h"
#include "base/result.h"
#include "expr/bind.h"
#include "expr/program.h"

namespace quern::internal {

class CompiledForms {
 public:
  explicit CompiledForms(backend::Options options) : options_(std::move(options)) {}

  // Compiles at the first call for these sizes; other threads that want the same ones wait for it, those that want
  // others don't. The kLimit forms that were made last are kept.
  Result<std::shared_ptr<const backend::Compiled>> get(const expr::Program& program, const expr::Binding& binding);

 private:
  static constexpr size_t kLimit = 64;
  struct Form {
    std::mutex mutex;
    std::shared_ptr<const backend::Compiled> code;
    uint64_t made = 0;
  };

  backend::Options options_;
  std::mutex mutex_;  // of what follows
  std::map<std::string, std::shared_ptr<Form>> forms_;
  uint64_t count_ = 0;
};

}  // namespace quern::internal
