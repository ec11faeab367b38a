#include "fuse/cut.h"

#include <algorithm>
#include <unordered_map>

#include "tile/absent.h"
#include "tile/extent.h"
#include "tile/linear.h"
#include "tile/rebuild.h"

namespace quern::fuse {

using namespace tile;

namespace {

// A comparison of the body. Upper: true for indices before `full` whatever the other axes, for none from `empty` on.
// Lower: for none before `empty`, for all from `full` on.
struct Edge {
  ExprPtr condition;
  bool upper = true;
  ExprPtr full, empty;
};

std::optional<Edge> edge(const Program& program, const ExprPtr& e, AxisId n) {
  if (row(*e).family != Family::compare || !e->axes.has(n) || e->op == Op::kEq || e->op == Op::kNe) return std::nullopt;
  auto left = linear(program, e->args[0]), right = linear(program, e->args[1]);
  if (!left || !right) return std::nullopt;
  // As 0 <= d, d = right - left (- 1 if strict), the other way round for > and >=.
  bool turned = e->op == Op::kGt || e->op == Op::kGe;
  Linear d = turned ? added(*left, scaled(-1, *right)) : added(*right, scaled(-1, *left));
  if (e->op == Op::kLt || e->op == Op::kGt) d = added(d, Linear{{}, {}, -1});
  int64_t f = d.factor(n);
  if (f != 1 && f != -1) return std::nullopt;
  d.factors.erase(n);
  // f = -1: n <= d. f = 1: n >= -d.
  if (f == -1) {
    d = added(d, Linear{{}, {}, 1});
    return Edge{e, true, least(d), greatest(d)};
  }
  Linear low = scaled(-1, d);
  return Edge{e, false, greatest(low), least(low)};
}

// Would nothing notice if the elements where `condition` is false were absent?
bool absorbed(const Block& body, AxisId n, const ExprPtr& condition) {
  std::unordered_map<int32_t, Held> names;
  auto known = [&](const Expr& e) -> std::optional<Held> {
    if (e.op == Op::kName) {
      auto it = names.find(e.id);
      return it == names.end() ? Held{} : it->second;
    }
    if (e.op == condition->op && e.type == ScalarType::boolean && equal(std::make_shared<const Expr>(e), condition)) {
      return constant_held(0);
    }
    return std::nullopt;
  };
  for (const Statement& s : body) {
    const auto* let = std::get_if<Let>(&s.is);
    if (!let) return false;
    const Expr& e = *let->value;
    bool reduces = (row(e).family == Family::reduce || row(e).family == Family::dot) && e.over.has(n);
    if (reduces) {
      std::vector<Held> operands;
      for (const ExprPtr& a : e.args) operands.push_back(held(a, known));
      if (!unnoticed(e, operands)) return false;
      names[let->name] = Held{};
    } else {
      names[let->name] = held(let->value, known);
    }
  }
  return true;
}

// What is left when conditions have become true; the axes stay, by a fill where need be.
ExprPtr folded(const ExprPtr& part) {
  auto is_true = [](const ExprPtr& e) {
    const ExprPtr& value = e->op == Op::kFill ? e->args[0] : e;
    return value->op == Op::kBoolean && value->integer != 0;
  };
  auto widened = [&](const ExprPtr& e) { return e->axes == part->axes ? e : fill(part->axes, e); };
  if (part->op == Op::kSelect && is_true(part->args[1])) return widened(part->args[0]);
  if (part->op == Op::kAnd) {
    for (int i = 0; i < 2; ++i) {
      if (is_true(part->args[i])) return widened(part->args[1 - i]);
    }
  }
  if (part->guard && is_true(part->guard)) return widened(with_args(*part, part->args, nullptr));
  return part;
}

// The body where the conditions hold.
void assume(Block& body, const std::vector<Edge>& edges) {
  change_expressions(body, [&](const ExprPtr& e) {
    return rebuild(e, [&](const ExprPtr& part) -> ExprPtr {
      for (const Edge& known : edges) {
        if (equal(part, known.condition)) return fill(part->axes, boolean(true));
      }
      return folded(part);
    });
  });
}

class Cutter {
 public:
  Cutter(const Program& program, Kernel& kernel, const Loop& loop) : program_(program), kernel_(kernel), loop_(loop) {
    n_ = loop.walks[0].axis;
  }

  void find() {
    for (const Statement& s : loop_.body) {
      if (!std::holds_alternative<Let>(s.is)) return;
    }
    each_expression(loop_.body, [&](const ExprPtr& e) {
      each_part(e, [&](const ExprPtr& part) {
        auto found = edge(program_, part, n_);
        bool seen = std::any_of(edges_.begin(), edges_.end(), [&](const Edge& k) { return equal(k.condition, part); });
        if (found && !seen && from_outside(part)) edges_.push_back(*found);
      });
    });
  }

  Block borders;  // names for where pieces meet, to stand in front of them

  std::vector<Loop> pieces(std::vector<std::pair<int32_t, int32_t>>& renamed) {
    if (edges_.empty()) return {loop_};
    const Walk& w = loop_.walks[0];
    const Axis& axis = kernel_.axes[n_];
    lo_ = w.lo ? w.lo : axis.lo ? axis.lo : integer(0);
    ExprPtr hi = w.hi ? w.hi : axis.hi;
    std::vector<Edge> upper, lower;
    ExprPtr first = lo_, last = hi, low_full = nullptr, high_full = nullptr;
    for (const Edge& e : edges_) {
      bool may_skip = absorbed(loop_.body, n_, e.condition);
      bool sharp = is_sharp(e, may_skip);
      if (e.upper) {
        upper.push_back(e);
        if (may_skip) last = smaller(last, e.empty);
        if (!sharp) high_full = high_full ? smaller(high_full, e.full) : e.full;
      } else {
        lower.push_back(e);
        if (may_skip) first = larger(first, aligned(e.empty, false));
        if (!sharp) low_full = low_full ? larger(low_full, e.full) : e.full;
      }
    }
    // A border that would split the only tile costs a trip.
    if (w.size == 0) {
      bool all = !high_full && !low_full;
      std::vector<Loop> out = {loop_};
      out[0].walks[0].lo = equal(first, lo_) ? w.lo : first;
      out[0].walks[0].hi = equal(last, hi) ? w.hi : border(last);
      if (all) assume(out[0].body, edges_);
      return out;
    }
    ExprPtr p0 = border(first), p3 = border(larger(last, p0));
    ExprPtr p1 = low_full ? border(smaller(larger(aligned(low_full, true), p0), p3)) : p0;
    ExprPtr p2 = high_full ? border(smaller(larger(aligned(high_full, false), p1), p3)) : p3;
    std::vector<Edge> sharp_ones;
    for (const Edge& e : edges_) {
      if (is_sharp(e, absorbed(loop_.body, n_, e.condition))) sharp_ones.push_back(e);
    }
    std::vector<Loop> out;
    if (low_full) add(out, p0, p1, sharp_ones, renamed);
    add(out, p1, p2, edges_, renamed);
    if (high_full) {
      lower.insert(lower.end(), sharp_ones.begin(), sharp_ones.end());
      add(out, p2, p3, lower, renamed);
    }
    return out;
  }

 private:
  // The same edge for all indices of the other axes, and nothing beyond it: ranges are exact, so there are no edge
  // tiles. A lower edge of tiles is rounded down and never sharp.
  bool is_sharp(const Edge& e, bool may_skip) const {
    return may_skip && equal(e.full, e.empty) && (e.upper || loop_.walks[0].size == 0);
  }

  bool from_outside(const ExprPtr& e) const {
    std::set<int32_t> own = names_defined(loop_.body);
    for (const Carry& c : loop_.carries) own.insert(c.name);
    std::set<int32_t> used = names_in(e);
    return std::none_of(used.begin(), used.end(), [&](int32_t name) { return own.contains(name); });
  }

  // A name for it, unless it is simple.
  ExprPtr border(const ExprPtr& at) {
    if (row(*at).arity == 0) return at;
    int32_t id = new_name(kernel_, Symbol(kernel_.axes[n_].name.str() + "_end"), ScalarType::i64, {});
    borders.push_back({Let{id, at}});
    return use(kernel_, id);
  }

  // To whole tiles from the first index, down or up.
  ExprPtr aligned(const ExprPtr& at, bool up) const {
    int64_t size = loop_.walks[0].size;
    if (size <= 1) return at;
    ExprPtr steps = minus(at, lo_);
    if (up) steps = plus(steps, integer(size - 1));
    ExprPtr whole = apply(Op::kFloorDiv, {steps, integer(size)});
    return plus(lo_, apply(Op::kMul, {whole, integer(size)}));
  }

  void add(std::vector<Loop>& out, const ExprPtr& lo, const ExprPtr& hi, const std::vector<Edge>& known,
           std::vector<std::pair<int32_t, int32_t>>& renamed) {
    Loop piece = loop_;
    if (!out.empty()) {
      // New names for all, and it starts from what the piece before carried.
      Block one = {{loop_}};
      std::vector<std::pair<int32_t, int32_t>> to;
      one = renamed_copy(kernel_, one, to);
      piece = std::get<Loop>(one[0].is);
      for (size_t i = 0; i < piece.carries.size(); ++i) {
        piece.carries[i].init = use(kernel_, out.back().carries[i].name);
      }
      renamed.clear();
      for (size_t i = 0; i < piece.carries.size(); ++i) {
        renamed.emplace_back(loop_.carries[i].name, piece.carries[i].name);
      }
    }
    piece.walks[0].lo = lo;
    piece.walks[0].hi = hi;
    assume(piece.body, known);
    out.push_back(std::move(piece));
  }

  const Program& program_;
  Kernel& kernel_;
  const Loop& loop_;
  AxisId n_ = -1;
  std::vector<Edge> edges_;
  ExprPtr lo_;
};

}  // namespace

Block cut(const Program& program, Kernel& kernel, const Loop& loop, std::vector<std::pair<int32_t, int32_t>>& renamed) {
  if (loop.walks.size() != 1) return {{loop}};
  Cutter cutter(program, kernel, loop);
  cutter.find();
  std::vector<Loop> pieces = cutter.pieces(renamed);
  Block out = std::move(cutter.borders);
  for (Loop& piece : pieces) out.push_back({std::move(piece)});
  return out;
}

}  // namespace quern::fuse
