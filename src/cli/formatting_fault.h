// The last look before a file is overwritten: is the new text the same program, with every comment?
#pragma once

#include <optional>
#include <string>

#include "base/diagnostic.h"
#include "expr/module.h"

namespace quern::cli {

// B001 if `text` does not read as `module`, or lacks a comment of `before`.
std::optional<Diagnostic> formatting_fault(const expr::Module& module, const SourcePtr& before,
                                           const std::string& text);

}  // namespace quern::cli
