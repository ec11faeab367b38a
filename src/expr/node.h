// The node of index programs: immutable, shared, one shape for all operations (expr/ops.def says which there are).
//
// The same node serves two stages. A *source* program is what was written: names as text, calls unexpanded; the
// parser and the C++ embedding make it, the printer prints it. A *checked* program (expr/program.h) has every name
// resolved, functions expanded in place and kinds known; the interpreter and all later parts read only that. Column
// `family` tells which stage a node may stand in, and expr/verify checks it.
//
// Nodes form a DAG: an expanded function shares its arguments, so walks over big programs remember what they have seen.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/scalar_type.h"
#include "base/source.h"
#include "base/symbol.h"

namespace quern::expr {

enum class Op : uint8_t {
#define QUERN_OP(id, text, family, precedence, takes, gives, error) id,
#include "expr/ops.def"
#undef QUERN_OP
};

enum class Family : uint8_t {
  literal,
  name,
  subscript,
  call,
  resolved,
  read,
  within,
  cast,
  arithmetic,
  negate,
  bits,
  compare,
  negation,
  logic,
  select,
  function,
  function2,
  rounding,
  extremum,
  random,
  reduction,
};
enum class Takes : uint8_t { any, number, integer, boolean, real };
enum class Gives : uint8_t { none, joined, integer, real, boolean, same };

struct OpRow {
  Op op;
  std::string_view text;
  Family family;
  int precedence;
  Takes takes;
  Gives gives;
  int error;  // units of 2^-24 of the result
};

const OpRow& row(Op op);
const std::vector<OpRow>& op_rows();

struct Node;
using NodePtr = std::shared_ptr<const Node>;

// Which index, unique in a checked program; a name may be rebound, and so may an index (an inner binder of the same
// index hides the outer one).
using IndexId = int32_t;
inline constexpr IndexId kNoIndex = -1;

// An element type as written: one of the notation's types, or a type variable that stands for a real one.
struct ElementType {
  ScalarType scalar = ScalarType::f32;
  Symbol variable;  // set: the type is what this variable is bound to, and `scalar` has no meaning

  bool operator==(const ElementType&) const = default;
};
Kind kind(const ElementType& type);
std::string_view name(const ElementType& type);

// An index and its range. As written: `n`, `n < hi`, `n <= hi`, `lo <= n < hi`, `lo < n <= hi` …
// In a checked program lo and hi are set, lo is inclusive and hi exclusive: [lo, hi), empty when lo >= hi.
struct Binder {
  Symbol name;
  NodePtr lo;  // null: 0
  NodePtr hi;  // null in source: inferred
  bool lo_strict = false;
  bool hi_inclusive = false;
  IndexId id = kNoIndex;
  Span span;
};

struct Node {
  Op op;
  Kind kind = Kind::kUnknown;  // known in checked programs
  bool chain = false;          // kAnd that was written as a chain: a < b <= c
  uint16_t depth = 1;          // levels below, saturating
  uint32_t size = 1;           // nodes below if the DAG were a tree, saturating
  int32_t id = -1;             // kIndex: the index; kRead: the tensor; kLocal: the local
  Symbol name;                 // names; the spelling of a number; the name of an index
  union {
    int64_t integer = 0;  // kInteger
    double real;          // kReal
  };
  ElementType type;   // kCast
  uint64_t free = 0;  // free indices as a set of hashes (bit id % 64): zero bits prove absence
  std::vector<NodePtr> args;
  std::vector<Binder> binders;  // kCall, reductions
  Span span;
};

inline const OpRow& row(const Node& n) { return row(n.op); }
inline bool is(const NodePtr& n, Op op) { return n->op == op; }

// Construction. Each computes depth, size and free from the parts.
NodePtr make(Node node);
NodePtr make_integer(int64_t value, Span span = {});
NodePtr make_real(double value, Span span = {});
NodePtr make_op(Op op, std::vector<NodePtr> args, Span span = {}, Kind kind = Kind::kUnknown);
NodePtr make_index(IndexId id, Symbol name, Span span = {});

// The deepest expression that is accepted, and the largest expansion of one kernel.
inline constexpr int kMaxDepth = 1000;
inline constexpr uint32_t kMaxSize = 1u << 22;

// Same tree: operations, names, numbers, binders; spans and kinds are not compared.
bool equal(const NodePtr& a, const NodePtr& b);

}  // namespace quern::expr
