// Reductions and dots, left to right in the order of their axes. Over nothing: the identity.
#include <fmt/format.h>

#include "tile/interpret/element.h"
#include "tile/interpret/evaluator.h"
#include "tile/interpret/fault.h"

namespace quern::tile {
namespace {

bool is_real(ScalarType t) { return kind(t) == Kind::kReal; }

// Terms one after another in the type.
struct Sequential {
  double total = 0;
  void take(double x, ScalarType type) { total = round_to(type, total + x); }
};

struct Product {
  Real total{1, 0};
  double up = 1, down = 1, count = 0;
};

struct WholeExtreme {
  Int best;
};

struct Quantifier {
  bool value = false, decided = false, doubtful = false;
};

}  // namespace

// The axes, apart from single ones, on which the declared ranges of `over` depend.
AxisSet Evaluator::dependences(AxisSet over) {
  AxisSet out, seen;
  for (AxisSet rest = over; !rest.empty();) {
    AxisId a = rest.list()[0];
    rest = rest - AxisSet::of(a);
    seen |= AxisSet::of(a);
    if (ranges_[static_cast<size_t>(a)]) continue;
    const Axis& declared = kernel_->axes[static_cast<size_t>(a)];
    AxisSet on = declared.hi->axes | (declared.lo ? declared.lo->axes : AxisSet());
    for (AxisId d : on.list()) {
      if (d >= a) fault(fmt::format("the range of {} depends on itself", declared.name.str()));
      auto& set = ranges_[static_cast<size_t>(d)];
      if (!set || !set->single()) out |= AxisSet::of(d);
    }
    rest |= on - seen;
  }
  return out;
}

template <class F>
void Evaluator::each_piece(AxisSet over, F&& f) {
  AxisSet on = dependences(over);
  if (on.empty()) {
    f();
    return;
  }
  AxisId d = on.list()[0];
  std::optional<Range> before = ranges_[static_cast<size_t>(d)];
  Range r = range(d);
  for (int64_t i = r.lo; i < r.hi; ++i) {
    set_range(d, Range{i, i + 1, i + 1});
    each_piece(over, f);
  }
  set_range(d, before);
}

// One state for each element of the result; `take(state, element)` for each term of it, `value(state)` in the end.
template <class State, class Take, class Value>
ArrayPtr Evaluator::accumulate(const Expr& e, State first, Take take, Value value) {
  std::shared_ptr<Array> out = array(e.type, e.axes);
  std::vector<State> states(out->data.size(), first);
  each_piece(e.over, [&] {
    ArrayPtr body = evaluate(e.args[0]);
    // An axis that is reduced and that the body lacks: the same term at each of its indices.
    AxisSet has;
    for (AxisId a : body->axes) has |= AxisSet::of(a);
    std::vector<AxisId> axes = (has | (e.axes | e.over)).list();
    std::vector<Range> ranges;
    for (AxisId a : axes) ranges.push_back(range(a));
    Points points(axes, ranges);
    points.add(*out);
    points.add(*body);
    points.each([&] { take(states[points.at(0)], body->data[points.at(1)]); });
  });
  for (size_t i = 0; i < states.size(); ++i) out->data[i] = value(states[i]);
  return out;
}

ArrayPtr Evaluator::real_sum(const Expr& e) {
  double u = unit(e.type);
  if (mode_ == Mode::kRounded) {
    return accumulate(
        e, Sequential{}, [&](Sequential& s, Element x) { s.take(x.v, e.type); },
        [](const Sequential& s) {
          return Element::of(Real{s.total, 0});
        });
  }
  return accumulate(
      e, Total{}, [](Total& t, Element x) { t.take(x.real()); },
      [&](const Total& t) { return finished(t.value(u), e.type, mode_); });
}

// In any order: partial products may be as large as all factors above 1 together, as small as all below 1.
ArrayPtr Evaluator::real_product(const Expr& e) {
  double u = unit(e.type);
  auto take = [&](Product& p, Element x) {
    p.total = p.count++ == 0 ? x.real() : finished(multiply(p.total, x.real(), u), e.type, mode_).real();
    if (std::isfinite(x.v)) p.up *= std::max(1.0, std::fabs(x.v) + x.e);
    double least = std::fabs(x.v) - x.e;
    if (least > 0) p.down *= std::min(1.0, least);
  };
  auto value = [&](Product p) {
    if (mode_ == Mode::kBound && u == kSingle && p.count > 1 && !std::isnan(p.total.v)) {
      if (!(p.up <= kLargestSingle) || (std::isinf(p.total.v) && p.down < kLeastNormal)) {
        p.total.e = kInfinity;
      } else if (p.down < kLeastNormal) {
        p.total.e += p.count * kHalfLeast * p.up;
      }
    }
    return finished(p.total, e.type, mode_);
  };
  return accumulate(e, Product{}, take, value);
}

ArrayPtr Evaluator::reduce(const Expr& e) {
  bool real_type = is_real(e.type), max = e.op == Op::kMax;
  switch (e.op) {
    case Op::kSum:
      if (real_type) return real_sum(e);
      return accumulate(
          e, Int{},
          [](Int& t, Element x) {
            t.v = static_cast<int64_t>(static_cast<uint64_t>(t.v) + static_cast<uint64_t>(x.i));
            t.e += x.e;
          },
          [](const Int& t) { return Element::of(t); });
    case Op::kProd:
      if (real_type) return real_product(e);
      return accumulate(
          e, Int{1, 0},
          [](Int& t, Element x) {
            t.v = static_cast<int64_t>(static_cast<uint64_t>(t.v) * static_cast<uint64_t>(x.i));
            if (x.e > 0) t.e = kInfinity;
          },
          [](const Int& t) { return Element::of(t); });
    case Op::kMax:
    case Op::kMin:
      if (real_type) {
        return accumulate(
            e, Extreme(max), [](Extreme& t, Element x) { t.take(x.real()); },
            [](const Extreme& t) { return Element::of(t.value()); });
      }
      return accumulate(
          e, WholeExtreme{{identity(e.op, e.type)->integer, 0}},
          [&](WholeExtreme& t, Element x) {
            bool better = max ? x.i > t.best.v : x.i < t.best.v;
            t.best = {better ? x.i : t.best.v, std::max(t.best.e, x.e)};
          },
          [](const WholeExtreme& t) { return Element::of(t.best); });
    default: {
      bool all = e.op == Op::kAll;
      return accumulate(
          e, Quantifier{all, false, false},
          [&](Quantifier& q, Element x) {
            Bool b = x.boolean();
            if (b.v != all) q.value = !all;
            q.decided |= b.v != all && b.sure;
            q.doubtful |= !b.sure;
          },
          [](const Quantifier& q) {
            return Element::of(Bool{q.value, q.decided || !q.doubtful});
          });
    }
  }
}

// acc + sum of a * b: the accumulator is one term more, an element of weight -0 none.
ArrayPtr Evaluator::dot(const Expr& e) {
  double u = unit(e.type);
  std::shared_ptr<Array> out = array(e.type, e.axes);
  ArrayPtr before = e.args.size() == 3 ? evaluate(e.args[2]) : nullptr;
  bool real_type = is_real(e.type);
  std::vector<Total> totals(real_type && mode_ != Mode::kRounded ? out->data.size() : 0);
  std::vector<Sequential> sequential(real_type && mode_ == Mode::kRounded ? out->data.size() : 0);
  std::vector<Int> whole(real_type ? 0 : out->data.size());
  auto add_to = [&](size_t i, Real x) {
    if (mode_ == Mode::kRounded) {
      sequential[i].take(x.v, e.type);
    } else {
      totals[i].take(x);
    }
  };
  if (before) {
    Points points(*out);
    points.add(*before);
    size_t i = 0;
    points.each([&] {
      const Element& x = before->data[points.at(0)];
      if (real_type) {
        add_to(i, x.real());
      } else {
        whole[i] = x.integer();
      }
      ++i;
    });
  }
  each_piece(e.over, [&] {
    ArrayPtr a = evaluate(e.args[0]), b = evaluate(e.args[1]);
    std::vector<AxisId> axes = (e.axes | e.over).list();
    std::vector<Range> ranges;
    for (AxisId x : axes) ranges.push_back(range(x));
    Points points(axes, ranges);
    points.add(*out);
    points.add(*a);
    points.add(*b);
    points.each([&] {
      const Element &x = a->data[points.at(1)], &y = b->data[points.at(2)];
      size_t i = points.at(0);
      if (e.op == Op::kWeigh && x.v == 0 && std::signbit(x.v)) return;
      if (real_type) {
        add_to(i, finished(multiply(x.real(), y.real(), u), e.type, mode_).real());
      } else {
        uint64_t product = static_cast<uint64_t>(x.i) * static_cast<uint64_t>(y.i);
        whole[i].v = static_cast<int64_t>(static_cast<uint64_t>(whole[i].v) + product);
        if (x.e + y.e > 0) whole[i].e = kInfinity;
      }
    });
  });
  for (size_t i = 0; i < out->data.size(); ++i) {
    if (!real_type) {
      out->data[i] = Element::of(whole[i]);
    } else if (mode_ == Mode::kRounded) {
      out->data[i] = Element::of(Real{sequential[i].total, 0});
    } else {
      out->data[i] = finished(totals[i].value(u), e.type, mode_);
    }
  }
  return out;
}

}  // namespace quern::tile
