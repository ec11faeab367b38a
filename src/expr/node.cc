#include "expr/node.h"

#include <algorithm>
#include <limits>

namespace quern::expr {

const std::vector<OpRow>& op_rows() {
  static const std::vector<OpRow> rows = {
#define QUERN_OP(id, text, family, precedence, takes, gives, error) \
  {Op::id, text, Family::family, precedence, Takes::takes, Gives::gives, error},
#include "expr/ops.def"
#undef QUERN_OP
  };
  return rows;
}

const OpRow& row(Op op) {
  static const OpRow* rows = op_rows().data();
  return rows[static_cast<size_t>(op)];
}

Kind kind(const ElementType& type) { return type.variable ? Kind::kReal : quern::kind(type.scalar); }

std::string_view name(const ElementType& type) {
  return type.variable ? std::string_view(type.variable.str()) : quern::name(type.scalar);
}

NodePtr make(Node node) {
  uint64_t size = 1;
  int depth = 0;
  uint64_t free = node.op == Op::kIndex ? uint64_t{1} << (node.id & 63) : 0;
  auto add = [&](const NodePtr& part) {
    if (!part) return;
    size += part->size;
    depth = std::max<int>(depth, part->depth);
  };
  for (const NodePtr& arg : node.args) {
    add(arg);
    free |= arg->free;
  }
  // A hash set can't forget an index whose hash another free one may share, so binders only add.
  for (const Binder& b : node.binders) {
    add(b.lo);
    add(b.hi);
    if (b.lo) free |= b.lo->free;
    if (b.hi) free |= b.hi->free;
  }
  node.size = static_cast<uint32_t>(std::min<uint64_t>(size, std::numeric_limits<uint32_t>::max()));
  node.depth = static_cast<uint16_t>(std::min(depth + 1, 65535));
  node.free = free;
  return std::make_shared<const Node>(std::move(node));
}

NodePtr make_integer(int64_t value, Span span) {
  Node n{.op = Op::kInteger, .kind = Kind::kInt};
  n.integer = value;
  n.span = span;
  return make(std::move(n));
}

NodePtr make_real(double value, Span span) {
  Node n{.op = Op::kReal, .kind = Kind::kReal};
  n.real = value;
  n.span = span;
  return make(std::move(n));
}

NodePtr make_op(Op op, std::vector<NodePtr> args, Span span, Kind kind) {
  Node n{.op = op, .kind = kind};
  n.args = std::move(args);
  n.span = span;
  return make(std::move(n));
}

NodePtr make_index(IndexId id, Symbol name, Span span) {
  Node n{.op = Op::kIndex, .kind = Kind::kInt};
  n.id = id;
  n.name = name;
  n.span = span;
  return make(std::move(n));
}

bool equal(const NodePtr& a, const NodePtr& b) {
  if (a == b) return true;
  if (!a || !b || a->op != b->op || a->size != b->size || a->id != b->id || a->chain != b->chain) return false;
  if (a->op == Op::kInteger && a->integer != b->integer) return false;
  if (a->op == Op::kReal && !(a->real == b->real)) return false;
  bool literal = row(*a).family == Family::literal;  // how a number was spelt doesn't matter
  if (!literal && a->name != b->name && a->op != Op::kIndex) return false;
  if (a->op == Op::kCast && !(a->type == b->type)) return false;
  if (a->args.size() != b->args.size() || a->binders.size() != b->binders.size()) return false;
  for (size_t i = 0; i < a->args.size(); ++i) {
    if (!equal(a->args[i], b->args[i])) return false;
  }
  for (size_t i = 0; i < a->binders.size(); ++i) {
    const Binder &x = a->binders[i], &y = b->binders[i];
    if (x.name != y.name || x.id != y.id || x.lo_strict != y.lo_strict || x.hi_inclusive != y.hi_inclusive)
      return false;
    if (!equal(x.lo, y.lo) || !equal(x.hi, y.hi)) return false;
  }
  return true;
}

}  // namespace quern::expr
