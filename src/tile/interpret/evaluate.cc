// Expressions as arrays: each over the current ranges of its axes; names are narrowed to them by absolute index.
#include <fmt/format.h>

#include "tile/interpret/element.h"
#include "tile/interpret/evaluator.h"
#include "tile/interpret/fault.h"

namespace quern::tile {

const std::string& Evaluator::called(int32_t name) const {
  return kernel_->names[static_cast<size_t>(name)].name.str();
}

void Evaluator::set_range(AxisId axis, std::optional<Range> range) {
  ranges_[static_cast<size_t>(axis)] = range;
  known_.clear();
}

Range Evaluator::range(AxisId axis) {
  auto a = static_cast<size_t>(axis);
  if (ranges_[a]) return *ranges_[a];
  const Axis& declared = kernel_->axes[a];
  int64_t lo = declared.lo ? integer(declared.lo) : 0, hi = std::max(lo, integer(declared.hi));
  return {lo, hi, hi};
}

std::shared_ptr<Array> Evaluator::array(ScalarType type, AxisSet axes) {
  auto out = std::make_shared<Array>();
  out->type = type;
  out->axes = axes.list();
  int64_t n = 1;
  for (AxisId a : out->axes) {
    out->ranges.push_back(range(a));
    if (__builtin_mul_overflow(n, out->ranges.back().extent(), &n) || n > kMostElements) {
      too_large("a tile of " + kernel_->name.str());
    }
  }
  out->data.resize(static_cast<size_t>(n), zero_element(type));
  return out;
}

int64_t Evaluator::integer(const ExprPtr& e) {
  ArrayPtr a = evaluate(e);
  if (a->data.size() != 1) fault(fmt::format("{} values where one integer is needed", a->data.size()));
  return a->data[0].i;
}

ArrayPtr Evaluator::evaluate(const ExprPtr& e) {
  auto found = known_.find(e.get());
  if (found != known_.end()) return found->second;
  ArrayPtr out = compute(e);
  known_[e.get()] = out;
  return out;
}

ArrayPtr Evaluator::compute(const ExprPtr& e) {
  switch (row(*e).family) {
    case Family::literal:
    case Family::dim:
    case Family::axis: return constant(*e);
    case Family::name: return named(*e);
    case Family::fill: return filled(*e);
    case Family::load: return load(*e);
    case Family::check: return check(*e);
    case Family::reduce: return reduce(*e);
    case Family::dot: return dot(*e);
    default: return map(e);
  }
}

ArrayPtr Evaluator::constant(const Expr& e) {
  std::shared_ptr<Array> out = array(e.type, e.axes);
  auto is = [&](int64_t i) { out->data[0] = Element::of(Int{i}); };
  switch (e.op) {
    case Op::kInteger: is(e.integer); break;
    case Op::kBoolean: is(e.integer); break;
    case Op::kReal: {
      double error = std::fabs(round_to(e.type, e.real) - e.real);
      Real exact{e.real, std::isfinite(e.real) ? error : 0};
      out->data[0] = finished(exact, e.type, mode_);
      break;
    }
    case Op::kDim: is(launch_.dims[static_cast<size_t>(e.id)]); break;
    case Op::kLow: is(range(e.id).lo); break;
    case Op::kHigh: is(range(e.id).hi); break;
    default: {
      int64_t lo = range(e.id).lo;
      for (size_t i = 0; i < out->data.size(); ++i) out->data[i] = Element::of(Int{lo + static_cast<int64_t>(i)});
    }
  }
  return out;
}

// The part of the value that is in range now.
ArrayPtr Evaluator::named(const Expr& e) {
  ArrayPtr value = names_[static_cast<size_t>(e.id)];
  if (!value) fault(called(e.id) + " is used where it has no value");
  auto out = std::make_shared<Array>();
  out->type = value->type;
  bool same = true;
  int64_t n = 1;
  for (size_t k = 0; k < value->axes.size(); ++k) {
    out->axes.push_back(value->axes[k]);
    out->ranges.push_back(range(value->axes[k]));
    same &= out->ranges[k] == value->ranges[k];
    if (__builtin_mul_overflow(n, out->ranges[k].extent(), &n) || n > kMostElements) too_large(called(e.id));
  }
  if (same) return value;
  Points points(*out);
  points.add(*value);
  points.each([&] {
    bool there = true, live = true;
    for (size_t k = 0; k < out->axes.size(); ++k) {
      const Range& had = value->ranges[k];
      int64_t i = points.index(k);
      there &= i >= had.lo && i < (value->kept ? had.hi : had.end);
      live &= i < out->ranges[k].hi;
    }
    if (!there && live) fault(called(e.id) + " has no value at indices where it is used");
    out->data.push_back(there ? value->data[points.at(0)] : undefined_element(value->type));
  });
  return out;
}

ArrayPtr Evaluator::filled(const Expr& e) {
  ArrayPtr value = evaluate(e.args[0]);
  std::shared_ptr<Array> out = array(e.type, e.axes);
  Points points(*out);
  points.add(*value);
  size_t i = 0;
  points.each([&] { out->data[i++] = value->data[points.at(0)]; });
  return out;
}

Evaluator::Access Evaluator::access(const Tensor& tensor, int32_t parameter, uint32_t checked, int32_t site,
                                    const std::vector<ArrayPtr>& subscripts, const Points& points) {
  Access out;
  int64_t at = 0;
  bool inside = true;
  for (size_t d = 0; d < subscripts.size(); ++d) {
    const Element& x = subscripts[d]->data[points.at(d)];
    int64_t size = tensor.shape()[d];
    out.sure &= x.e == 0;
    if (x.i < 0 || x.i >= size) {
      const std::string& name = program_.parameters[static_cast<size_t>(parameter)].name.str();
      if (!(checked >> d & 1)) {
        fault(fmt::format("subscript {} of {} is {}, the dimension has {}", d, name, x.i, size));
      }
      report(site, x.i, {0, size, size}, points);
      inside = false;
      continue;
    }
    at = at * size + x.i;
  }
  if (inside) out.at = at;
  return out;
}

void Evaluator::report(int32_t site, int64_t value, Range allowed, const Points& points) {
  if (site < 0 || findings_.contains(site)) return;
  const Site& s = program_.sites[static_cast<size_t>(site)];
  std::string indices;
  for (size_t k = 0; k < points.axes().size(); ++k) {
    if (k) indices += ", ";
    indices += fmt::format("{} = {}", kernel_->axes[static_cast<size_t>(points.axes()[k])].name.str(), points.index(k));
  }
  if (indices.empty()) indices = "every instance";
  if (s.end) {
    // What is checked is the end of a range; what leaves the dimension is an index.
    indices = fmt::format("the {} of its range {} = {}", s.end->last ? "end" : "start", s.end->text, value);
    value -= s.end->last;
    allowed.hi = s.end->limit;
  }
  std::string at = s.code == Code::E801 ? s.subscript : fmt::format("{} = {}", s.subscript, value);
  if (s.end && s.code == Code::E803) at += ", " + indices;
  std::string v = s.code == Code::E803 ? at : std::to_string(value);
  findings_.emplace(site, diagnose(s.code, s.span,
                                   {{"x", s.tensor},
                                    {"t", s.tensor},
                                    {"y", s.tensor},
                                    {"e", at},
                                    {"v", v},
                                    {"indices", indices},
                                    {"lo", std::to_string(allowed.lo)},
                                    {"hi", std::to_string(allowed.hi - 1)},
                                    {"d", std::to_string(allowed.hi)}}));
}

// check(condition, value, when). The condition says what is allowed: `lo <= e and e < hi`, or one comparison of e.
ArrayPtr Evaluator::check(const Expr& e) {
  ArrayPtr condition = evaluate(e.args[0]), value = evaluate(e.args[1]), when = evaluate(e.args[2]);
  const Expr& c = *e.args[0];
  bool both =
      c.op == Op::kAnd && row(*c.args[0]).family == Family::compare && row(*c.args[1]).family == Family::compare;
  bool one = row(c).family == Family::compare;
  ArrayPtr lo = both ? evaluate(c.args[0]->args[0]) : nullptr;
  ArrayPtr hi = both ? evaluate(c.args[1]->args[1]) : one ? evaluate(c.args[1]) : nullptr;
  std::shared_ptr<Array> out = array(e.type, e.axes);
  Points points(*out);
  for (const ArrayPtr& a : {condition, value, when, lo ? lo : condition, hi ? hi : condition}) points.add(*a);
  size_t i = 0;
  points.each([&] {
    Bool holds = condition->data[points.at(0)].boolean(), looked = when->data[points.at(2)].boolean();
    out->data[i++] = Element::of(Bool{holds.v && looked.v, holds.sure && looked.sure});
    if (holds.v || !looked.v || !points.live()) return;
    int64_t first = lo ? lo->data[points.at(3)].i : 0, end = hi ? hi->data[points.at(4)].i : 0;
    report(e.site, value->data[points.at(1)].i, {first, end, end}, points);
  });
  return out;
}

ArrayPtr Evaluator::load(const Expr& e) {
  std::vector<ArrayPtr> subscripts;
  for (const ExprPtr& a : e.args) subscripts.push_back(evaluate(a));
  ArrayPtr guard = e.guard ? evaluate(e.guard) : nullptr;
  std::shared_ptr<Array> out = array(e.type, e.axes);
  Points points(*out);
  for (const ArrayPtr& s : subscripts) points.add(*s);
  if (guard) points.add(*guard);
  Tensor& tensor = tensors_[static_cast<size_t>(e.id)];
  size_t i = 0;
  points.each([&] {
    Element& x = out->data[i++];
    if (!points.live()) return;  // 0
    Bool holds = guard ? guard->data[points.at(subscripts.size())].boolean() : Bool{true};
    if (holds.v) {
      Access a = access(tensor, e.id, e.checked, e.site, subscripts, points);
      if (a.at) x = tensor.read(*a.at, point());
      if (!a.sure && mode_ == Mode::kBound) x.e = kInfinity;
    }
    if (!holds.sure && mode_ == Mode::kBound) x.e = kInfinity;
  });
  return out;
}

ArrayPtr Evaluator::map(const ExprPtr& p) {
  const Expr& e = *p;
  std::vector<ArrayPtr> args;
  for (const ExprPtr& a : e.args) args.push_back(evaluate(a));
  std::shared_ptr<Array> out = array(e.type, e.axes);
  Points points(*out);
  for (const ArrayPtr& a : args) points.add(*a);
  Family family = row(e).family;
  bool anchored = family == Family::cast && anchors_.before(kernel_number_, e.args[0]);
  std::vector<Element> at(args.size());
  size_t i = 0;
  points.each([&] {
    for (size_t k = 0; k < at.size(); ++k) at[k] = args[k]->data[points.at(k)];
    Element& x = out->data[i++];
    if (family == Family::select) {
      x = select_element(e.type, mode_, at[1].boolean(), at[0], at[2]);
    } else if (family == Family::cast) {
      x = cast_element(e.args[0]->type, e.type, mode_, at[0], anchored);
    } else {
      x = map_element(e, mode_, at);
    }
  });
  return out;
}

}  // namespace quern::tile
