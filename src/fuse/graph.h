// A checked kernel as tile expressions, before anything is fused or tiled: what fuse/inline makes, and grouping, the
// streaming derivation and the lowering read.
//
// Locals and functions are expanded where they are read, and every index is an *axis*: binders with the same range are
// the same axis wherever no expression needs both at once, so that the max over n and the sum over n of a softmax run
// over one n, and equal subexpressions are one object (they are interned: compare pointers).
#pragma once

#include <map>
#include <vector>

#include "tile/program.h"

namespace quern::fuse {

// One update of the notation.
struct Definition {
  std::vector<tile::AxisId> axes;     // of its instances, as written
  tile::Store store;                  // parameter, subscripts, value (of the parameter's type), when, add, checks
  std::vector<tile::ExprPtr> checks;  // of ranges by data, evaluated for what they report
  bool total = false;                 // writes every element, each once, at plain axes
  // Definitions that read a result come after those that write it: a later step. Within a step all reads come before
  // all writes.
  int step = 0;
};

// What is multiplied with a parameter's elements, and summed, may be rounded to their type (docs/notation.md,
// rounding).
struct Rounding {
  ScalarType type;
  Diagnostic remark;  // R2
};

struct Graph {
  tile::Program program;         // dims, parameters, sites; no kernels yet
  std::vector<tile::Axis> axes;  // of all definitions
  std::vector<Definition> definitions;
  std::map<int32_t, Rounding> roundings;  // by parameter; only where every sum of products with it allows it
  std::vector<SourcePtr> sources;         // keep the spans alive
};

}  // namespace quern::fuse
