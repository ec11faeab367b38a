// Substitution of indices: only free occurrences, nothing is captured, sharing is kept.
#include "expr/substitute.h"

#include <gtest/gtest.h>

namespace quern::expr {
namespace {

// Indices are numbers here: i0, i1, …
NodePtr index(IndexId id) { return make_index(id, Symbol("i" + std::to_string(id))); }
NodePtr plus(NodePtr a, NodePtr b) { return make_op(Op::kAdd, {std::move(a), std::move(b)}, {}, Kind::kInt); }

NodePtr sum(IndexId id, NodePtr hi, NodePtr body) {
  Node n{.op = Op::kSum, .kind = Kind::kInt};
  Binder b;
  b.name = Symbol("i" + std::to_string(id));
  b.id = id;
  b.hi = std::move(hi);
  n.binders = {b};
  n.args = {std::move(body)};
  return make(std::move(n));
}

NodePtr replace(const NodePtr& node, Replacements replacements, IndexId next = 100) {
  return Substitution(std::move(replacements), [&](Symbol) { return next++; }).apply(node);
}

TEST(Substitute, ReplacesFreeOccurrencesAtOnce) {
  NodePtr node = plus(index(0), plus(index(1), index(0)));
  EXPECT_TRUE(equal(replace(node, {{0, make_integer(7)}}), plus(make_integer(7), plus(index(1), make_integer(7)))));
  // A swap: replacements are not applied to one another.
  EXPECT_TRUE(equal(replace(plus(index(0), index(1)), {{0, index(1)}, {1, index(0)}}), plus(index(1), index(0))));
}

TEST(Substitute, LeavesWhatHasNoneAsItIs) {
  NodePtr node = plus(index(0), make_integer(1));
  EXPECT_EQ(replace(node, {{1, make_integer(2)}}), node);
  EXPECT_EQ(replace(node, {{64, make_integer(2)}}), node);  // the same hash bit as 0
}

TEST(Substitute, BoundIndicesAreOthers) {
  NodePtr node = sum(0, make_integer(5), plus(index(0), index(1)));
  EXPECT_TRUE(equal(replace(node, {{0, make_integer(9)}}), node));
  EXPECT_TRUE(equal(replace(node, {{1, make_integer(9)}}), sum(0, make_integer(5), plus(index(0), make_integer(9)))));
  // The bound stands outside its binder.
  NodePtr shadow = sum(0, index(0), index(0));
  EXPECT_TRUE(equal(replace(shadow, {{0, make_integer(9)}}), sum(0, make_integer(9), index(0))));
}

TEST(Substitute, NothingIsCaptured) {
  // sum[i0 < 5] (i0 + i1) with i1 := i0 + 1: the sum's index gets another number.
  NodePtr node = sum(0, make_integer(5), plus(index(0), index(1)));
  NodePtr out = replace(node, {{1, plus(index(0), make_integer(1))}});
  ASSERT_EQ(out->binders[0].id, 100);
  NodePtr fresh = make_index(100, Symbol("i0"));
  EXPECT_TRUE(equal(out->args[0], plus(fresh, plus(index(0), make_integer(1)))));
  EXPECT_EQ(free_indices(out), std::vector<IndexId>{0});
}

TEST(Substitute, NothingIsCapturedInLaterBounds) {
  Node n{.op = Op::kSum, .kind = Kind::kInt};
  Binder a, b;
  a.name = Symbol("i0"), a.id = 0, a.hi = index(2);
  b.name = Symbol("i1"), b.id = 1, b.hi = plus(index(0), index(2));
  n.binders = {a, b};
  n.args = {plus(index(0), plus(index(1), index(2)))};
  NodePtr out = replace(make(std::move(n)), {{2, plus(index(0), index(1))}});
  EXPECT_EQ(free_indices(out), (std::vector<IndexId>{0, 1}));
  ASSERT_EQ(out->binders[0].id, 100);
  ASSERT_EQ(out->binders[1].id, 101);
  NodePtr moved = plus(index(0), index(1));
  EXPECT_TRUE(equal(out->binders[0].hi, moved));
  EXPECT_TRUE(equal(out->binders[1].hi, plus(make_index(100, Symbol("i0")), moved)));
}

TEST(Substitute, FreeIndicesSeeBinders) {
  NodePtr node = plus(index(3), sum(3, index(4), plus(index(3), index(5))));
  EXPECT_EQ(free_indices(node), (std::vector<IndexId>{3, 4, 5}));
  EXPECT_EQ(free_indices(sum(3, index(4), index(3))), std::vector<IndexId>{4});
  EXPECT_TRUE(depends_on(node, 3));
  EXPECT_FALSE(depends_on(sum(3, index(4), index(3)), 3));
  EXPECT_FALSE(depends_on(node, 67));  // the same hash bit as 3
  EXPECT_EQ(free_indices(make_integer(1)), std::vector<IndexId>{});
  // A shared node, once under a binder of its index and once outside.
  NodePtr shared = plus(index(7), make_integer(1));
  EXPECT_EQ(free_indices(plus(sum(7, make_integer(2), shared), shared)), std::vector<IndexId>{7});
  EXPECT_EQ(free_indices(plus(shared, sum(7, make_integer(2), shared))), std::vector<IndexId>{7});
}

TEST(Substitute, SharedNodesStayShared) {
  NodePtr node = index(0);
  for (int i = 0; i < 30; ++i) node = plus(node, node);  // a tree of 2^30 leaves
  NodePtr out = replace(node, {{0, make_integer(1)}});
  EXPECT_EQ(out->args[0], out->args[1]);
  EXPECT_EQ(out->free, 0u);
}

}  // namespace
}  // namespace quern::expr
