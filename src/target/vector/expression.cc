// Values of expressions at the present position, by family.
//
// Integers are 64 bits wide; in lanes they are computed in 32 bits wherever intervals prove that operands and result
// fit, because most of them are indices and masks, and AVX2 has neither 64-bit products nor enough of them a vector.
#include <algorithm>
#include <bit>
#include <limits>

#include "target/functions.h"
#include "target/vector/emitter.h"

namespace quern::target {

using tile::Expr;
using tile::ExprPtr;
using tile::Family;
using tile::Op;

Value Emitter::spread(const Value& v) { return lane_axis_ < 0 ? v : w_.splat(v, width_); }

Value Emitter::scalar(const ExprPtr& e) {
  Value v = value(e);
  if (v.type.lanes > 0) throw NotLaid{"a range or a size varies along the lanes"};
  return v;
}

bool Emitter::fits_i32(const ExprPtr& e) {
  if (kind(e->type) == Kind::kInt && least_int(e->type) >= INT32_MIN && greatest_int(e->type) <= INT32_MAX) return true;
  tile::Bounds b = ranges_(e);
  return b.low && b.high && *b.low >= INT32_MIN && *b.high <= INT32_MAX;
}

// Of the elements that an integer operation, or reduction, works on.
Base Emitter::integer_base(const Expr& e, bool vector) {
  if (!vector) return Base::i64;
  if (!std::ranges::all_of(e.args, [&](const ExprPtr& a) { return kind(a->type) != Kind::kInt || fits_i32(a); })) {
    return Base::i64;
  }
  // A view of the node as shared pointer, for as long as the question lasts.
  ExprPtr self(ExprPtr(), &e);
  if (row(e).family != Family::reduce && row(e).family != Family::dot) {
    if (kind(e.type) != Kind::kInt) return Base::i32;
    tile::Bounds b = ranges_(self);
    return b.low && b.high && *b.low >= INT32_MIN && *b.high <= INT32_MAX ? Base::i32 : Base::i64;
  }
  if (e.op == Op::kMax || e.op == Op::kMin) {
    // Of nothing it is the far end of i64.
    for (AxisId a : e.over.list()) {
      const std::vector<int64_t>& extents = axes_[static_cast<size_t>(a)].extents;
      if (extents.empty() || std::ranges::min(extents) == 0) return Base::i64;
    }
    return Base::i32;
  }
  if (e.op != Op::kSum && row(e).family != Family::dot) return Base::i64;
  double most = 1;
  for (AxisId a : e.over.list()) {
    const std::vector<int64_t>& extents = axes_[static_cast<size_t>(a)].extents;
    if (extents.empty()) return Base::i64;
    most *= static_cast<double>(std::ranges::max(extents));
    if (most > INT32_MAX) return Base::i64;
  }
  auto magnitude = [&](const ExprPtr& x) -> double {
    tile::Bounds b = ranges_(x);
    if (!b.low || !b.high) {
      if (x->type == ScalarType::i64 || kind(x->type) != Kind::kInt) return 0x1p63;
      b = {least_int(x->type), greatest_int(x->type)};
    }
    return std::max(-static_cast<double>(*b.low), static_cast<double>(*b.high));
  };
  for (size_t i = 0; i < e.args.size() && i < 2; ++i) {
    most *= magnitude(e.args[i]);
    if (most > INT32_MAX) return Base::i64;
  }
  if (e.args.size() == 3) most += magnitude(e.args[2]);
  return most <= INT32_MAX ? Base::i32 : Base::i64;
}

// Integers in the width that the operation is computed in; scalars before they are spread over lanes.
void Emitter::as_integers(const Expr& e, Value& a, Value& b) {
  if (is_real(a.type)) return;
  Base base = integer_base(e, a.type.lanes > 0 || b.type.lanes > 0);
  a = as_integer(w_, a, base), b = as_integer(w_, b, base);
}

void Emitter::both(Value& a, Value& b) {
  int lanes = std::max(a.type.lanes, b.type.lanes);
  a = w_.splat(a, lanes), b = w_.splat(b, lanes);
}

Value Emitter::value(const ExprPtr& e) {
  if (known_.empty()) return compute(e);
  std::pair<const Expr*, std::vector<int>> at(e.get(), key(e->axes));
  for (auto k = known_.rbegin(); k != known_.rend(); ++k) {
    if (auto found = k->find(at); found != k->end()) return found->second;
  }
  Value v = compute(e);
  known_.back().emplace(std::move(at), v);
  return v;
}

Value Emitter::axis_index(AxisId id) {
  const AxisNow& now = axes_[static_cast<size_t>(id)];
  if (now.index) return *now.index;
  if (!now.in_nest) throw NotLaid{"an axis is read where it is not walked"};
  int64_t unit = now.lanes ? lanes_ : 1;
  return w_.add(now.base, i64(at_[static_cast<size_t>(id)] * unit));
}

Value Emitter::named(const Expr& e) {
  if (auto let = lets_.find(e.id); let != lets_.end()) return value(let->second);
  if (auto s = scalars_.find(e.id); s != scalars_.end()) return s->second;
  auto near = near_.find(e.id);
  if (near == near_.end()) throw NotLaid{"a name is not kept, and not of this nest"};
  Linear at = near_address(near->second);
  // Behind every kept value there is room for a vector, so that side by side lanes need no mask.
  bool masked = !at.is_scalar() && (has_.threads() || !at.lane.is(1) || at.vector);
  return load_at(e.type, near->second.pointer, at, masked ? lane_mask() : std::nullopt, false);
}

Value Emitter::compute(const ExprPtr& p) {
  const Expr& e = *p;
  switch (row(e).family) {
    case Family::literal:
      return element_constant(e.type, e.op == Op::kReal ? e.real : 0, e.op == Op::kReal ? 0 : e.integer, 0);
    case Family::dim: return dim(e.id);
    case Family::axis: {
      if (e.op == Op::kAxis) {
        Value index = axis_index(e.id);
        if (!axes_[static_cast<size_t>(e.id)].lanes) return index;
        Base base = fits_i32(p) ? Base::i32 : Base::i64;
        return w_.add(w_.splat(as_integer(w_, index, base), width_), w_.iota(base, width_));
      }
      AxisNow& now = axes_[static_cast<size_t>(e.id)];
      auto [low, high] = now.low.name.empty() ? range_of({.axis = e.id}) : std::pair(now.low, now.high);
      return e.op == Op::kLow ? low : w_.smax(low, high);
    }
    case Family::name: return named(e);
    case Family::fill:
    case Family::anchor: return value(e.args[0]);
    case Family::load: return load(e);
    case Family::arithmetic: return arithmetic(e);
    case Family::negate: {
      Value a = value(e.args[0]);
      if (!is_real(a.type)) a = as_integer(w_, a, integer_base(e, a.type.lanes > 0));
      return w_.neg(a);
    }
    case Family::fma: {
      Value a = value(e.args[0]), b = value(e.args[1]), c = value(e.args[2]);
      both(a, b), both(b, c), both(a, b);
      return w_.intrinsic("fma", a.type, {a, b, c});
    }
    case Family::bits: return bit_operation(e);
    case Family::compare: {
      // An index that exists is in range: placement asks for lanes, which are masked here anyway.
      const Expr &x = *e.args[0], &y = *e.args[1];
      if (e.op == Op::kLt && x.op == Op::kAxis && y.op == Op::kHigh && x.id == y.id) return constant({Base::i1}, 1);
      Value a = value(e.args[0]), b = value(e.args[1]);
      static constexpr const char* kReal[] = {"olt", "ole", "ogt", "oge", "oeq", "une"};
      static constexpr const char* kInteger[] = {"slt", "sle", "sgt", "sge", "eq", "ne"};
      auto which = static_cast<size_t>(e.op) - static_cast<size_t>(Op::kLt);
      if (!is_real(a.type) && a.type.base != Base::i1) {
        bool vector = a.type.lanes > 0 || b.type.lanes > 0;
        Base base = vector && fits_i32(e.args[0]) && fits_i32(e.args[1]) ? Base::i32 : Base::i64;
        a = as_integer(w_, a, base), b = as_integer(w_, b, base);
      }
      both(a, b);
      if (is_real(a.type)) return w_.compare(kReal[which], a, b);
      return w_.compare(kInteger[which], a, b);
    }
    case Family::negation: {
      Value a = value(e.args[0]);
      return w_.binary("xor", a, constant(a.type, 1));
    }
    case Family::logic: {
      Value a = value(e.args[0]), b = value(e.args[1]);
      both(a, b);
      return w_.binary(e.op == Op::kAnd ? "and" : "or", a, b);
    }
    case Family::select: {
      Value a = value(e.args[0]), c = value(e.args[1]), b = value(e.args[2]);
      both(a, b);
      if (c.type.lanes > a.type.lanes) a = w_.splat(a, c.type.lanes), b = w_.splat(b, c.type.lanes);
      if (a.type.base != b.type.base) a = as_integer(w_, a, Base::i64), b = as_integer(w_, b, Base::i64);
      return w_.select(c, a, b);
    }
    case Family::function:
    case Family::function2: return function(p);
    case Family::rounding: return rounding(e);
    case Family::extremum: {
      Value a = value(e.args[0]), b = value(e.args[1]);
      as_integers(e, a, b);
      both(a, b);
      return combine(e.op, e.nan_ignored, a, b);
    }
    case Family::check: {
      Value condition = value(e.args[0]), when = value(e.args[2]);
      both(condition, when);
      Value fails = w_.binary("and", when, w_.binary("xor", condition, constant(condition.type, 1)));
      report(fails, as_integer(w_, value(e.args[1]), Base::i64), i64(0), e.site, -1);
      return w_.binary("and", when, condition);
    }
    case Family::random: {
      Value seed = as_integer(w_, value(e.args[0]), Base::i64), index = as_integer(w_, value(e.args[1]), Base::i64);
      both(seed, index);
      return random_bits(w_, seed, index);
    }
    case Family::cast:
      if (multiplied_.contains(&e)) {
        if (auto v = narrowed(e)) return *v;
      }
      return convert(w_, has_, value(e.args[0]), e.args[0]->type, e.type);
    case Family::reduce:
    case Family::dot: {
      auto found = reduced_.find({&e, key(e.axes)});
      if (auto kept = kept_.find(&e); found == reduced_.end() && kept != kept_.end()) {
        return load_at(e.type, near_.at(kept->second).pointer, near_address(near_.at(kept->second)), {}, false);
      }
      if (found == reduced_.end()) throw NotLaid{"a reduction stands outside the nest that computes it"};
      return found->second;
    }
  }
  throw NotLaid{"an unknown operation"};
}

Value Emitter::arithmetic(const Expr& e) {
  if (e.op == Op::kFloorDiv || e.op == Op::kMod) {
    Value a = value(e.args[0]), b = value(e.args[1]);
    int lanes = std::max(a.type.lanes, b.type.lanes);
    return divide(e.args[0], e.args[1], e.op == Op::kMod, integer_base(e, lanes > 0), lanes);
  }
  Value a = value(e.args[0]), b = value(e.args[1]);
  bool real = is_real(a.type);
  as_integers(e, a, b);
  both(a, b);
  switch (e.op) {
    case Op::kAdd: return w_.binary(real ? "fadd" : "add", a, b);
    case Op::kSub: return w_.binary(real ? "fsub" : "sub", a, b);
    case Op::kMul: return w_.binary(real ? "fmul" : "mul", a, b);
    default: return w_.binary("fdiv", a, b);
  }
}

// A function is a chain of a dozen dependent instructions, and a processor looks ahead only so far: two neighbouring
// vectors are computed as one of twice the length, which LLVM splits operation by operation, so that their chains run
// side by side.
Value Emitter::function(const ExprPtr& e) {
  auto arguments = [&] {
    std::vector<Value> out;
    for (const ExprPtr& a : e->args) out.push_back(value(a));
    return out;
  };
  auto of = [&](const std::vector<Value>& x) {
    return x.size() == 1 ? function_of(w_, has_, e->op, x[0]) : function_of(w_, has_, e->op, x[0], x[1]);
  };
  bool chain = e->op != Op::kSqrt && e->op != Op::kRsqrt && e->op != Op::kPow;
  if (!chain || !in_lanes(*e) || has_.threads()) return of(arguments());
  int& at = at_[static_cast<size_t>(lane_axis_)];
  int here = at, next = here ^ 1;
  if (next < here || next >= axes_[static_cast<size_t>(lane_axis_)].count) return of(arguments());
  std::vector<Value> first = arguments();
  bool same = std::ranges::all_of(first, [](const Value& v) { return v.type.lanes == 0; });
  if (same) return of(first);  // the same number in all lanes
  at = next;
  std::vector<Value> second = arguments();
  std::vector<int> lower, upper, all;
  for (int i = 0; i < lanes_; ++i) lower.push_back(i), upper.push_back(i + lanes_);
  all = lower;
  all.insert(all.end(), upper.begin(), upper.end());
  for (size_t i = 0; i < first.size(); ++i) {
    // A number for all lanes stays one.
    if (first[i].type.lanes > 0 || second[i].type.lanes > 0) {
      first[i] = w_.shuffle(w_.splat(first[i], lanes_), w_.splat(second[i], lanes_), all);
    }
  }
  Value out = of(first);
  known_.back().emplace(std::pair(e.get(), key(e->axes)), w_.shuffle(out, out, upper));
  at = here;
  return w_.shuffle(out, out, lower);
}

// Floor division and remainder; by 0 they are 0, and least // -1 wraps.
Value Emitter::divide(const ExprPtr& x, const ExprPtr& y, bool remainder, Base base, int lanes) {
  Value a = w_.splat(as_integer(w_, value(x), base), lanes), b = w_.splat(as_integer(w_, value(y), base), lanes);
  tile::Bounds range = ranges_(x);
  auto c = [&](int64_t v) { return constant(a.type, v); };
  if (b.known && *b.known > 0) {
    bool power = std::has_single_bit(static_cast<uint64_t>(*b.known));
    if (power && remainder) return w_.binary("and", a, c(*b.known - 1));
    if (power) return w_.binary("ashr", a, c(std::countr_zero(static_cast<uint64_t>(*b.known))));
    if (range.low && *range.low >= 0) return w_.binary(remainder ? "urem" : "udiv", a, b);
  }
  Value zero = w_.compare("eq", b, c(0)), minus = w_.compare("eq", b, c(-1));
  Value by = w_.select(w_.binary("or", zero, minus), c(1), b);
  Value q = w_.binary("sdiv", a, by), r = w_.binary("srem", a, by);
  Value fix = w_.binary("and", w_.compare("ne", r, c(0)), w_.compare("slt", w_.binary("xor", r, by), c(0)));
  if (remainder) {
    Value out = w_.add(r, w_.select(fix, by, c(0)));
    return w_.select(w_.binary("or", zero, minus), c(0), out);
  }
  Value out = w_.sub(q, w_.select(fix, c(1), c(0)));
  out = w_.select(minus, w_.sub(c(0), a), out);
  return w_.select(zero, c(0), out);
}

Value Emitter::bit_operation(const Expr& e) {
  Value a = value(e.args[0]), b = value(e.args[1]);
  bool shift = e.op == Op::kShl || e.op == Op::kShr;
  Base base = integer_base(e, a.type.lanes > 0 || b.type.lanes > 0);
  tile::Bounds by = ranges_(e.args[1]);
  bool inside = by.low && by.high && *by.low >= 0 && *by.high <= (base == Base::i32 ? 31 : 63);
  if (shift && !inside) base = Base::i64, inside = by.low && by.high && *by.low >= 0 && *by.high <= 63;
  a = as_integer(w_, a, base), b = as_integer(w_, b, base);
  both(a, b);
  switch (e.op) {
    case Op::kBitOr: return w_.binary("or", a, b);
    case Op::kBitXor: return w_.binary("xor", a, b);
    case Op::kBitAnd: return w_.binary("and", a, b);
    default: break;
  }
  std::string_view op = e.op == Op::kShl ? "shl" : "ashr";
  if (inside) return w_.binary(op, a, b);
  Value fine = w_.compare("ult", b, constant(b.type, 64));
  Value shifted = w_.binary(op, a, w_.select(fine, b, constant(b.type, 0)));
  return w_.select(fine, shifted, constant(a.type, 0));
}

Value Emitter::rounding(const Expr& e) {
  Value a = value(e.args[0]);
  if (e.op == Op::kAbs) {
    if (is_real(a.type)) return w_.intrinsic("fabs", a.type, {a});
    a = as_integer(w_, a, integer_base(e, a.type.lanes > 0));
    return w_.select(w_.compare("slt", a, constant(a.type, 0)), w_.neg(a), a);
  }
  if (e.op == Op::kFinite) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    Value below = w_.compare("olt", w_.intrinsic("fabs", a.type, {a}), real_constant(a.type, kInfinity));
    return w_.select(below, a, real_constant(a.type, 0));
  }
  return rounded(w_, has_, e.op, a);
}

}  // namespace quern::target
