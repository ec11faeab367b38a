// What a compiled kernel does, counted from its tile program: operations, and bytes between the processor and far
// memory.
#pragma once

#include "backend/backend.h"
#include "tile/program.h"

namespace quern::compile {

// Of a program at stage `lowered`, where ranges are whole. `flops`: multiplies, adds and other operations on reals, a
// multiply-add of a dot is two, and what a mask leaves out counts too; ranges that are known at run time only count as
// their limit. `moved`: each kernel reads what it reads once and writes what it writes once, which is what caches leave
// of a good schedule. `least`: the same of the tensors of the signature alone.
backend::Work count(const tile::Program& lowered);

}  // namespace quern::compile
