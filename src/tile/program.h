// Tile programs: what one core or one thread block does, over tiles with named axes (docs/tile.md). One language in
// four stages, each checked by tile/verify.h and run by tile/interpret.h:
//
//   lowered  loops only where state is carried, every range whole; no size is chosen
//   tiled    a grid, tile sizes, loops, ranges cut
//   placed   every statement stands in a nest; what crosses nests is kept
//   laid     nests say what lies in lanes and registers
//
// The kernels of a program run in order; each sees all writes of the ones before it.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/diagnostic.h"
#include "base/symbol.h"
#include "tile/expression.h"

namespace quern::tile {

enum class Stage : uint8_t { kLowered, kTiled, kPlaced, kLaid };

// A size: a number, or (dyn) known at launch only.
struct Dim {
  Symbol name;
  std::optional<int64_t> value;
};

enum class Role : uint8_t { kIn, kOut, kInout, kTmp, kConst };

// A tensor, row-major without gaps; 4-bit types two a byte. Scalars by value have rank 0.
struct Parameter {
  Symbol name;
  Role role = Role::kIn;
  ScalarType type = ScalarType::f32;
  std::vector<ExprPtr> shape;  // integers over dims
  bool zeroed = false;         // kTmp: starts as zeros
  Span span;
};

// A place where the data may be at fault: what a checked access reports.
struct Site {
  Code code = Code::E801;
  Span span;
  std::string tensor;     // its name in the notation
  std::string subscript;  // as written
  // Of a check of a range that data end: the end as written, which end it is, and the dimension that `subscript`, the
  // range's index, must not leave.
  struct End {
    std::string text;
    bool last = false;
    int64_t limit = 0;
    bool operator==(const End&) const = default;
  };
  std::optional<End> end = std::nullopt;
};

// A value of a kernel, defined once: by a Let, or carried by a loop.
struct Name {
  Symbol name;
  ScalarType type = ScalarType::f32;
  AxisSet axes;
};

// An axis and its full range [lo, hi): integers of rank 0 over dims, loads and, inside reductions, earlier axes.
struct Axis {
  Symbol name;
  ExprPtr lo;  // null: 0
  ExprPtr hi;
};

// A range that is walked in steps of `size` indices, the last one perhaps smaller. size 1: the axis is a scalar and in
// no type; 0: the whole range at once.
struct Walk {
  AxisId axis = -1;
  int64_t size = 0;
  ExprPtr lo, hi;  // null: that end of the axis's range now
};

struct Statement;
using Block = std::vector<Statement>;

// name = value
struct Let {
  int32_t name = -1;
  ExprPtr value;
};

// parameter[subscripts] = value, or += value, where `when` holds. As loads, subscripts may be checked: outside, nothing
// is stored and the site is reported.
struct Store {
  int32_t parameter = -1;
  std::vector<ExprPtr> subscripts;
  ExprPtr value;  // of the parameter's type
  ExprPtr when;   // null: everywhere
  bool add = false;
  bool atomic = false;  // grid points may meet here
  uint32_t checked = 0;
  int32_t site = -1;
  Span span;
};

// A value that is carried: `name` is `init` at first, `next` after every trip; after the loop, the last one.
struct Carry {
  int32_t name = -1;
  ExprPtr init;
  ExprPtr next;  // over names of the body; all take effect at once
};

struct Loop {
  std::vector<Walk> walks;  // the first is the outermost
  std::vector<Carry> carries;
  Block body;
};

struct If {
  ExprPtr condition;  // rank 0
  Block body;
};

enum class AxisRole : uint8_t {
  kBlock,  // walked outside, in register blocks
  kStrip,  // walked inside; reductions over it accumulate in registers
  kHeld,   // whole in registers
};
struct NestAxis {
  AxisId axis = -1;
  AxisRole role = AxisRole::kBlock;
  int64_t size = 1;    // indices at once
  bool lanes = false;  // in the lanes of a vector (at most one axis a nest); laid
};
// A perfect loop nest whose inner values stay in registers. Its axes in order, outermost first, block axes before
// strips. The body has Lets and Stores only: first what has no strip axis and depends on no strip, then what has one
// and the reductions over strips, then what depends on these.
struct Nest {
  std::vector<NestAxis> axes;
  Block body;
};

enum class Home : uint8_t { kNear, kFar };
// One digit of a layout, innermost first: index / divide % modulo of an axis (modulo 0: what is left).
struct Digit {
  AxisId axis = -1;
  int64_t divide = 1;
  int64_t modulo = 0;
};
// `name` is kept in memory from its definition on, because several nests use it.
struct Keep {
  int32_t name = -1;
  Home home = Home::kNear;
  std::vector<Digit> layout;  // empty: axes as numbered, the last one innermost
};

struct Statement {
  std::variant<Let, Store, Loop, If, Nest, Keep> is;
};

struct Kernel {
  Symbol name;
  std::vector<Axis> axes;
  std::vector<Name> names;
  std::vector<Walk> grid;  // independent; empty before `tiled`
  Block body;
  AxisSet scalar;  // axes that are walked one index at a time: in no type
};

struct Program {
  Symbol name;
  std::vector<Dim> dims;
  std::vector<Parameter> parameters;
  std::vector<Site> sites;
  std::vector<Kernel> kernels;
  Stage stage = Stage::kLowered;
};

}  // namespace quern::tile
