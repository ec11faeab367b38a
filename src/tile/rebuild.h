// Walking and rewriting: what every pass does to expressions and blocks, so that a pass says only what it changes.
#pragma once

#include <functional>
#include <set>

#include "tile/program.h"

namespace quern::tile {

// `e` with every part replaced by what `change` makes of it, arguments and guards first; types and axes follow. Parts
// that do not change stay shared. `change` gets an expression whose own parts are already changed.
ExprPtr rebuild(const ExprPtr& e, const std::function<ExprPtr(const ExprPtr&)>& change);

// Calls `see` with every part of `e`, itself included, each object once; guards too.
void each_part(const ExprPtr& e, const std::function<void(const ExprPtr&)>& see);

// Calls `see` with every expression that stands in the statements, nested blocks included; null ones are left out.
void each_expression(const Block& block, const std::function<void(const ExprPtr&)>& see);
void change_expressions(Block& block, const std::function<ExprPtr(const ExprPtr&)>& change);

// Names that occur in it.
std::set<int32_t> names_in(const ExprPtr& e);
std::set<int32_t> names_in(const Block& block);  // used, not those that are only defined
// Names that the block defines: by Let, or carried; nested blocks included.
std::set<int32_t> names_defined(const Block& block);

// The axes that `e` mentions in any way: in its type, reduced, or by their ends.
AxisSet axes_mentioned(const ExprPtr& e);

// A copy of the block whose own names are new ones of the kernel. `renamed` gets old -> new.
Block renamed_copy(Kernel& kernel, const Block& block, std::vector<std::pair<int32_t, int32_t>>& renamed);
// Replaces names; each pair is old -> new, all at once.
ExprPtr rename(const Kernel& kernel, const ExprPtr& e, const std::vector<std::pair<int32_t, int32_t>>& renamed);
void rename(const Kernel& kernel, Block& block, const std::vector<std::pair<int32_t, int32_t>>& renamed);

// A new name of the kernel, `like` with a number behind it if that is taken.
int32_t new_name(Kernel& kernel, Symbol like, ScalarType type, AxisSet axes);

// A kName that refers to it.
ExprPtr use(const Kernel& kernel, int32_t name);

}  // namespace quern::tile
