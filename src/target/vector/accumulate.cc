// Reductions inside of strips: identities, what one position adds, and how chains and lanes are joined in the end.
#include <fmt/format.h>

#include <algorithm>

#include "target/vector/emitter.h"

namespace quern::target {

using tile::AxisSet;
using tile::ExprPtr;
using tile::NestAxis;
using tile::Op;

Value Emitter::identity(const Expr& e, Type type) {
  if (is_real(type)) {
    return real_constant(type, tile::identity(e.op, ScalarType::f64)->real);
  }
  if (e.op == Op::kMax || e.op == Op::kMin) {
    bool narrow = type.base == Base::i32;
    if (e.op == Op::kMax) return constant(type, narrow ? INT32_MIN : INT64_MIN);
    return constant(type, narrow ? INT32_MAX : INT64_MAX);
  }
  return constant(type, e.op == Op::kProd || e.op == Op::kAll);
}

Value Emitter::combine(Op op, bool nan_ignored, const Value& a, const Value& b) {
  bool real = is_real(a.type);
  switch (op) {
    case Op::kProd: return w_.binary(real ? "fmul" : "mul", a, b);
    case Op::kAll: return w_.binary("and", a, b);
    case Op::kAny: return w_.binary("or", a, b);
    case Op::kMax:
    case Op::kMaxOf:
    case Op::kMin:
    case Op::kMinOf: {
      bool max = op == Op::kMax || op == Op::kMaxOf;
      if (!real) return max ? w_.smax(a, b) : w_.smin(a, b);
      // As maxps: the second where one is a NaN.
      Value out = w_.select(w_.compare(max ? "ogt" : "olt", a, b), a, b);
      return nan_ignored ? out : w_.select(w_.compare("uno", a, a), a, out);
    }
    default: return w_.binary(real ? "fadd" : "add", a, b);
  }
}

// Absent elements, of weight -0, are rare company of infinities: products are taken plainly, and where a sum came out
// as a NaN, once more without them. Strips that store something run once, the careful way.
void Emitter::weighed_strips(size_t first) {
  bool stores = std::ranges::any_of(
      strip_statements_, [](const tile::Statement* s) { return std::holds_alternative<tile::Store>(s->is); });
  if (stores) {
    only_present_ = true;
    strips(first);
    only_present_ = false;
    return;
  }
  std::vector<std::vector<Value>> start;
  for (const Accumulator& a : accumulators_) start.push_back(a.values);
  strips(first);
  std::vector<Value> plain;
  std::map<int, Value> nan;  // by lanes
  for (const Accumulator& a : accumulators_) {
    plain.insert(plain.end(), a.values.begin(), a.values.end());
    if (a.reduction->op != Op::kWeigh) continue;
    for (const Value& v : a.values) {
      Value is = w_.compare("uno", v, v);
      auto [known, first_one] = nan.emplace(v.type.lanes, is);
      if (!first_one) known->second = w_.binary("or", known->second, is);
    }
  }
  Value some = constant({Base::i1, 0}, 0);
  for (const auto& [lanes, is] : nan) {
    Value any = w_.any(is);
    some = w_.binary("or", some, any);
  }
  Writer::Branch again = w_.open_if(some, true);
  for (size_t i = 0; i < start.size(); ++i) accumulators_[i].values = start[i];
  strip_statements_.clear();
  known_.emplace_back();
  only_present_ = true;
  strips(first);
  only_present_ = false;
  known_.pop_back();
  std::vector<Value> careful;
  for (const Accumulator& a : accumulators_) careful.insert(careful.end(), a.values.begin(), a.values.end());
  w_.open_else(again, careful);
  std::vector<Value> after = w_.close_if(again, plain);
  size_t i = 0;
  for (Accumulator& a : accumulators_) {
    for (Value& v : a.values) v = after[i++];
  }
}

void Emitter::strip_body() {
  AxisSet all(~uint64_t{0});
  known_.emplace_back();
  for (Accumulator& a : accumulators_) a.turn = 0;
  each_position(all, true, [&] {
    for (const tile::Statement* s : strip_statements_) run(*s);
    for (Accumulator& a : accumulators_) {
      if (size_t together = static_cast<size_t>(taken_together(a)); together > 1) {
        a.pending.push_back(at_);
        if (a.pending.size() == together) {
          std::vector<int> here = at_;
          take_pending(a);
          at_ = here;
        }
        continue;
      }
      std::vector<int> strip_at = at_;
      for (size_t p = 0; p < a.positions.size(); ++p) {
        for (const NestAxis& n : nest_axes_) {
          if (n.role != tile::AxisRole::kStrip)
            at_[static_cast<size_t>(n.axis)] = a.positions[p][static_cast<size_t>(n.axis)];
        }
        accumulate(a, p * static_cast<size_t>(a.parts) + static_cast<size_t>(a.turn % a.parts));
      }
      ++a.turn;
      at_ = strip_at;
    }
  });
  for (Accumulator& a : accumulators_) take_pending(a);
  std::fill(at_.begin(), at_.end(), 0);
  known_.pop_back();
}

void Emitter::accumulate(Accumulator& a, size_t index) {
  const Expr& e = *a.reduction;
  Value& into = a.values[index];
  const Expr& body = *e.args[0];
  Value out;
  bool product = e.op == Op::kSum && body.op == Op::kMul;
  if (row(e).family == tile::Family::dot || product) {
    auto operand = [&](const ExprPtr& x) {
      Value v = value(x);
      if (e.type != ScalarType::i64) v = convert(w_, has_, v, x->type, e.type);
      if (e.type == ScalarType::i64) {
        if (x->type != ScalarType::i64) v = convert(w_, has_, v, x->type, ScalarType::i64);
        v = as_integer(w_, v, into.type.base);
      }
      return w_.splat(v, into.type.lanes);
    };
    const std::vector<ExprPtr>& factors = product ? body.args : e.args;
    Value x = operand(factors[0]), y = operand(factors[1]);
    if (!is_real(into.type)) {
      out = w_.add(into, w_.mul(x, y));
    } else if (has_.fma) {
      out = w_.intrinsic("fma", into.type, {x, y, into});
    } else {
      out = w_.binary("fadd", into, w_.binary("fmul", x, y));
    }
    if (only_present_ && e.op == Op::kWeigh) {
      Type bits_of{integer_of(bits(x.type.base)), x.type.lanes};
      int64_t sign = bits_of.base == Base::i64 ? INT64_MIN : INT32_MIN;
      out = w_.select(w_.compare("eq", w_.bitcast(x, bits_of), constant(bits_of, sign)), into, out);
    }
  } else {
    Value x = value(e.args[0]);
    if (!is_real(into.type) && into.type.base != Base::i1) x = as_integer(w_, x, into.type.base);
    out = combine(e.op, e.nan_ignored, into, w_.splat(x, into.type.lanes));
  }
  if (lane_axis_ >= 0 && axes_[static_cast<size_t>(lane_axis_)].strip) {
    if (auto mask = lane_mask()) out = w_.select(*mask, out, into);
  }
  into = out;
}

void Emitter::finish(Accumulator& a) {
  const Expr& e = *a.reduction;
  Op op = row(e).family == tile::Family::dot ? Op::kSum : e.op;
  for (size_t p = 0; p < a.positions.size(); ++p) {
    auto part = a.values.begin() + static_cast<std::ptrdiff_t>(p * static_cast<size_t>(a.parts));
    Value v = part[0];
    for (int i = 1; i < a.parts; ++i) v = combine(op, e.nan_ignored, v, part[i]);
    if (v.type.lanes == kThreads && !in_lanes(e)) {
      v = joined_lanes(op, e.nan_ignored, v);
    } else if (v.type.lanes > 0 && !in_lanes(e)) {
      while (v.type.lanes > 1) {
        std::vector<int> low, high;
        for (int l = 0; l < v.type.lanes / 2; ++l) low.push_back(l), high.push_back(l + v.type.lanes / 2);
        v = combine(op, e.nan_ignored, w_.shuffle(v, v, low), w_.shuffle(v, v, high));
      }
      v = w_.extract(v, 0);
    }
    if (v.type.lanes == 0 && v.type.base == Base::i32 && e.type == ScalarType::i64) v = as_integer(w_, v, Base::i64);
    at_ = a.positions[p];
    reduced_[{&e, key(e.axes)}] = v;
  }
  std::fill(at_.begin(), at_.end(), 0);
}

}  // namespace quern::target
