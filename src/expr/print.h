// The canonical text of programs, both stages: what `quern format` writes, what messages quote, what every dump shows.
//
// Two blanks a level, one item a block, an empty line between items; one definition a line; one blank around binary
// operators and `=`, after commas, none inside brackets; the fewest parentheses, but always between different bit
// operators, between them and arithmetic, around `and` inside `or`, and around a reduction that isn't the last factor.
// Over 120 columns a definition breaks after `=`, and if that isn't enough before its loosest operators; a signature
// breaks before `->`, else its parameters align behind the parenthesis.
// Laws (tests): parse(print(x)) is x, and print(parse(t)) is a fixed point.
#pragma once

#include <string>

#include "expr/module.h"

namespace quern::expr {

inline constexpr size_t kColumns = 120;

std::string print(const NodePtr& expression);
std::string print(const Binder& binder);
std::string print(const Shaped& shaped);
std::string print(const Definition& definition);
std::string print(const Kernel& kernel);
std::string print(const Module& module);

// The kernel's first line without the brace, unbroken: `kernel matmul(a: T[M, K], b: T[K, N]) -> c: T[M, N]`.
std::string signature(const Kernel& kernel);

}  // namespace quern::expr
