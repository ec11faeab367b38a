// The expression of tile programs: immutable, shared, one shape for all operations (tile/ops.def says which there are).
//
// An expression has an element type and a *set* of axes. Order of axes has no meaning before the stage `laid`. Where
// two expressions meet, the result has the union of their axes; equal axes have the same indices in range. There is no
// broadcast, transpose or reshape. A subscript is absolute: it names axes and dimensions, and reads the same before and
// after tiling, because an axis always denotes the indices that are now in range. Elements whose index is not in range
// do not exist (docs/tile.md).
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/scalar_type.h"
#include "base/source.h"

namespace quern::tile {

enum class Op : uint8_t {
#define QUERN_TILE_OP(id, text, family, arity, precedence, takes, gives, pad, error) id,
#include "tile/ops.def"
#undef QUERN_TILE_OP
};

enum class Family : uint8_t {
  literal,
  dim,
  axis,
  name,
  fill,
  load,
  arithmetic,
  negate,
  fma,
  bits,
  compare,
  negation,
  logic,
  select,
  function,
  function2,
  rounding,
  extremum,
  anchor,
  check,
  random,
  cast,
  reduce,
  dot,
};
enum class Takes : uint8_t { any, number, integer, real, boolean };
enum class Gives : uint8_t { same, boolean, integer, stated };
enum class Pad : uint8_t { apply, any, given, zero, none };

struct OpRow {
  Op op;
  std::string_view text;
  Family family;
  int arity;
  int precedence;
  Takes takes;
  Gives gives;
  Pad pad;
  int error;
};
const OpRow& row(Op op);
const std::vector<OpRow>& op_rows();

// Axes of a kernel are numbered from 0; a kernel has at most 64.
using AxisId = int32_t;
class AxisSet {
 public:
  AxisSet() = default;
  explicit AxisSet(uint64_t bits) : bits_(bits) {}
  static AxisSet of(AxisId axis) { return AxisSet(uint64_t{1} << axis); }
  bool has(AxisId axis) const { return axis >= 0 && (bits_ >> axis & 1) != 0; }  // -1, no axis, is in none
  bool empty() const { return bits_ == 0; }
  int size() const { return std::popcount(bits_); }
  uint64_t bits() const { return bits_; }
  AxisSet operator|(AxisSet o) const { return AxisSet(bits_ | o.bits_); }
  AxisSet operator&(AxisSet o) const { return AxisSet(bits_ & o.bits_); }
  AxisSet operator-(AxisSet o) const { return AxisSet(bits_ & ~o.bits_); }
  AxisSet& operator|=(AxisSet o) { return *this = *this | o; }
  bool contains(AxisSet o) const { return (o - *this).empty(); }
  bool operator==(const AxisSet&) const = default;
  std::vector<AxisId> list() const;  // ascending

 private:
  uint64_t bits_ = 0;
};

struct Expr;
using ExprPtr = std::shared_ptr<const Expr>;

struct Expr {
  Op op = Op::kInteger;
  ScalarType type = ScalarType::i64;  // of the elements
  AxisSet axes;
  // kName: a name of the kernel (Kernel::names); kDim: a dimension of the program; kAxis, kLow, kHigh: an axis;
  // kLoad: a parameter of the program
  int32_t id = -1;
  AxisSet over;  // reduce, dot: the axes that vanish; fill: the axes of the result
  union {
    int64_t integer = 0;  // kInteger, kBoolean
    double real;          // kReal
  };
  std::vector<ExprPtr> args;  // kLoad: one subscript a dimension of the parameter
  // kLoad: read only where it holds, else the element is 0; null: everywhere.
  ExprPtr guard;
  // kLoad: bit d: subscript d is tested against its dimension; where it is outside, the element is 0 and the place
  // `site` of the program is reported.
  uint32_t checked = 0;
  int32_t site = -1;  // kLoad with checks, kCheck
  // kMax, kMin over reals: NaN reaches the result another way, so it need not be handed on here.
  bool nan_ignored = false;
  Span span;  // in the notation, for remarks; may be empty
};

inline const OpRow& row(const Expr& e) { return row(e.op); }

// Construction: type and axes follow from the parts, by the rows. Programs must be well formed (tile/verify.h tells).
ExprPtr integer(int64_t value);
ExprPtr real(double value, ScalarType type = ScalarType::f32);
ExprPtr boolean(bool value);
ExprPtr dim(int32_t id);
ExprPtr axis(AxisId id);      // has itself as its axis
ExprPtr axis_low(AxisId id);  // rank 0
ExprPtr axis_high(AxisId id);
ExprPtr name(int32_t id, ScalarType type, AxisSet axes);
ExprPtr fill(AxisSet axes, ExprPtr value);
ExprPtr load(int32_t parameter, ScalarType type, std::vector<ExprPtr> subscripts, ExprPtr guard = nullptr);
ExprPtr cast(ScalarType type, ExprPtr value);  // the value itself if it has that type
ExprPtr apply(Op op, std::vector<ExprPtr> args);
ExprPtr reduce(Op op, AxisSet over, ExprPtr body);
ExprPtr dot(ScalarType type, AxisSet over, ExprPtr a, ExprPtr b, ExprPtr acc = nullptr, Op op = Op::kDot);
ExprPtr select(ExprPtr condition, ExprPtr then, ExprPtr otherwise);
ExprPtr check(ExprPtr condition, ExprPtr value, ExprPtr when, int32_t site);
// A copy with other arguments (and guard); type and axes are computed anew.
ExprPtr with_args(const Expr& e, std::vector<ExprPtr> args, ExprPtr guard);

// Same tree. Spans are not compared. Expressions of a graph share much: only interned ones (fuse/intern.h) may be
// compared often, by pointer.
bool equal(const ExprPtr& a, const ExprPtr& b);

// The element 0, or the identity of a reduction, of a type.
ExprPtr zero(ScalarType type);
ExprPtr identity(Op reduction, ScalarType type);
Op combining(Op reduction);  // what joins two results: kAdd of kSum

}  // namespace quern::tile
