#include "evaluate.h"

#include <algorithm>
#include <limits>

#include "base/philox.h"

namespace quern::fuse {

using tile::Expr;
using tile::ExprPtr;
using tile::Op;

template <class Real>
Evaluator<Real>::Evaluator(const World& world) : world_(world) {
  size_t n = world.axes.size();
  lo_.assign(n, 0), hi_.assign(n, 0), index_.assign(n, 0);
  for (size_t i = 0; i < n; ++i) {
    if (world.axes[i].lo) lo_[i] = static_cast<int64_t>(eval(world.axes[i].lo));
    hi_[i] = static_cast<int64_t>(eval(world.axes[i].hi));
  }
  memo_.clear();
}

template <class Real>
void Evaluator<Real>::range(tile::AxisId axis, int64_t lo, int64_t hi) {
  lo_[axis] = lo, hi_[axis] = hi;
  memo_.clear();
}

template <class Real>
typename Evaluator<Real>::Value Evaluator<Real>::all(const ExprPtr& e) {
  Value v;
  v.axes = e->axes.list();
  size_t total = 1;
  for (tile::AxisId a : v.axes) {
    v.lo.push_back(lo_[a]), v.extent.push_back(hi_[a] - lo_[a]);
    total *= static_cast<size_t>(std::max<int64_t>(0, hi_[a] - lo_[a]));
  }
  std::vector<int64_t> saved = index_;
  for (size_t i = 0; i < total; ++i) {
    size_t rest = i;
    for (size_t d = v.axes.size(); d-- > 0;) {
      index_[v.axes[d]] = v.lo[d] + static_cast<int64_t>(rest % v.extent[d]);
      rest /= v.extent[d];
    }
    v.data.push_back(eval(e));
  }
  index_ = saved;
  return v;
}

template <class Real>
Real Evaluator<Real>::at(const ExprPtr& e, const std::vector<int64_t>& index) {
  std::vector<int64_t> saved = index_;
  std::copy(index.begin(), index.end(), index_.begin());
  Real out = eval(e);
  index_ = saved;
  return out;
}

template <class Real>
void Evaluator<Real>::run(const tile::Block& block, int64_t tile) {
  for (const tile::Statement& s : block) {
    if (const auto* l = std::get_if<tile::Let>(&s.is)) {
      Value v = all(l->value);
      set(l->name, std::move(v));
      memo_.clear();
    } else if (const auto* f = std::get_if<tile::Loop>(&s.is)) {
      loop(*f, tile);
    }
  }
}

template <class Real>
void Evaluator<Real>::loop(const tile::Loop& l, int64_t tile, bool initial) {
  if (initial) {
    for (const tile::Carry& c : l.carries) set(c.name, all(c.init));
  }
  memo_.clear();
  tile::AxisId axis = l.walks[0].axis;
  auto [lo, hi] = range(axis);
  for (int64_t at = lo; at < hi; at += tile) {
    range(axis, at, std::min(hi, at + tile));
    run(l.body, tile);
    std::vector<Value> next;
    for (const tile::Carry& c : l.carries) next.push_back(all(c.next));
    for (size_t i = 0; i < next.size(); ++i) set(l.carries[i].name, std::move(next[i]));
    memo_.clear();
  }
  range(axis, lo, hi);
}

template <class Real>
Real Evaluator<Real>::eval(const ExprPtr& e) {
  if (e->args.empty() && e->op != Op::kName) return compute(e);
  std::vector<int64_t> key;
  for (tile::AxisId a : e->axes.list()) key.push_back(index_[a]);
  auto id = std::pair(e.get(), std::move(key));
  auto known = memo_.find(id);
  if (known != memo_.end()) return known->second;
  Real v = compute(e);
  memo_[std::move(id)] = v;
  return v;
}

template <class Real>
Real Evaluator<Real>::reduce(const Expr& e) {
  bool dot = row(e).family == tile::Family::dot;
  Op op = dot ? Op::kSum : e.op;
  constexpr Real kInf = std::numeric_limits<Real>::infinity();
  bool real = kind(e.type) == Kind::kReal;
  Real acc = 0;
  if (op == Op::kProd || op == Op::kAll) acc = 1;
  if (op == Op::kMax) acc = real ? -kInf : static_cast<Real>(std::numeric_limits<int64_t>::min());
  if (op == Op::kMin) acc = real ? kInf : static_cast<Real>(std::numeric_limits<int64_t>::max());
  std::vector<tile::AxisId> axes = e.over.list();
  std::function<void(size_t)> walk = [&](size_t d) {
    if (d < axes.size()) {
      int64_t saved = index_[axes[d]];
      for (int64_t i = lo_[axes[d]]; i < hi_[axes[d]]; ++i) index_[axes[d]] = i, walk(d + 1);
      index_[axes[d]] = saved;
      return;
    }
    Real v = eval(e.args[0]);
    if (e.op == Op::kWeigh && v == 0 && std::signbit(v)) return;
    if (dot) v *= eval(e.args[1]);
    switch (op) {
      case Op::kSum: acc += v; break;
      case Op::kProd: acc *= v; break;
      case Op::kMax: acc = std::isnan(acc) ? acc : v > acc || std::isnan(v) ? v : acc; break;
      case Op::kMin: acc = std::isnan(acc) ? acc : v < acc || std::isnan(v) ? v : acc; break;
      case Op::kAll: acc = acc != 0 && v != 0; break;
      default: acc = acc != 0 || v != 0; break;
    }
  };
  walk(0);
  if (dot && e.args.size() == 3) acc += eval(e.args[2]);
  return acc;
}

template <class Real>
Real Evaluator<Real>::compute(const ExprPtr& p) {
  const Expr& e = *p;
  auto x = [&](size_t i) { return eval(e.args[i]); };
  auto whole = [&](size_t i) { return static_cast<int64_t>(x(i)); };
  switch (e.op) {
    case Op::kInteger: return static_cast<Real>(e.integer);
    case Op::kBoolean: return static_cast<Real>(e.integer);
    case Op::kReal: return static_cast<Real>(e.real);
    case Op::kDim: return static_cast<Real>(world_.dims[e.id]);
    case Op::kAxis: return static_cast<Real>(index_[e.id]);
    case Op::kLow: return static_cast<Real>(lo_[e.id]);
    case Op::kHigh: return static_cast<Real>(hi_[e.id]);
    case Op::kName: {
      const Value& v = names_.at(e.id);
      size_t at = 0;
      for (size_t d = 0; d < v.axes.size(); ++d) {
        at = at * static_cast<size_t>(v.extent[d]) + static_cast<size_t>(index_[v.axes[d]] - v.lo[d]);
      }
      return v.data.at(at);
    }
    case Op::kFill: return x(0);
    case Op::kLoad: {
      if (e.guard && eval(e.guard) == 0) return 0;
      const Tensor& t = world_.tensors[e.id];
      int64_t at = 0;
      for (size_t d = 0; d < e.args.size(); ++d) {
        int64_t i = whole(d);
        if (i < 0 || i >= t.shape[d]) {
          if ((e.checked >> d & 1) != 0) return 0;
          return std::numeric_limits<Real>::quiet_NaN();
        }
        at = at * t.shape[d] + i;
      }
      return static_cast<Real>(t.data.at(static_cast<size_t>(at)));
    }
    case Op::kAdd: return x(0) + x(1);
    case Op::kSub: return x(0) - x(1);
    case Op::kMul: return x(0) * x(1);
    case Op::kDiv: return x(0) / x(1);
    case Op::kFloorDiv: return whole(1) == 0 ? 0 : std::floor(x(0) / x(1));
    case Op::kMod: return whole(1) == 0 ? 0 : x(0) - std::floor(x(0) / x(1)) * x(1);
    case Op::kNeg: return -x(0);
    case Op::kFma: return std::fma(x(0), x(1), x(2));
    case Op::kBitAnd: return static_cast<Real>(whole(0) & whole(1));
    case Op::kShl: return static_cast<Real>(whole(0) << whole(1));
    case Op::kShr: return static_cast<Real>(whole(0) >> whole(1));
    case Op::kLt: return x(0) < x(1);
    case Op::kLe: return x(0) <= x(1);
    case Op::kGt: return x(0) > x(1);
    case Op::kGe: return x(0) >= x(1);
    case Op::kEq: return x(0) == x(1);
    case Op::kNe: return x(0) != x(1);
    case Op::kNot: return x(0) == 0;
    case Op::kAnd: return x(0) != 0 && x(1) != 0;
    case Op::kOr: return x(0) != 0 || x(1) != 0;
    case Op::kSelect: return x(1) != 0 ? x(0) : x(2);
    case Op::kExp: return std::exp(x(0));
    case Op::kExp2: return std::exp2(x(0));
    case Op::kLog: return std::log(x(0));
    case Op::kLog2: return std::log2(x(0));
    case Op::kSqrt: return std::sqrt(x(0));
    case Op::kRsqrt: return 1 / std::sqrt(x(0));
    case Op::kSin: return std::sin(x(0));
    case Op::kCos: return std::cos(x(0));
    case Op::kTanh: return std::tanh(x(0));
    case Op::kErf: return std::erf(x(0));
    case Op::kPow: return std::pow(x(0), x(1));
    case Op::kExpAt: return std::isinf(x(1)) && x(1) > 0 ? 0 : std::exp(x(0) - x(1) * std::numbers::ln2_v<Real>);
    case Op::kAbs: return std::abs(x(0));
    case Op::kFloor: return std::floor(x(0));
    case Op::kCeil: return std::ceil(x(0));
    case Op::kRound: return std::nearbyint(x(0));
    case Op::kMaxOf: {
      Real a = x(0), b = x(1);
      return std::isnan(a) ? a : std::isnan(b) ? b : std::max(a, b);
    }
    case Op::kMinOf: {
      Real a = x(0), b = x(1);
      return std::isnan(a) ? a : std::isnan(b) ? b : std::min(a, b);
    }
    case Op::kFinite: {
      Real a = x(0);
      return std::abs(a) < std::numeric_limits<Real>::infinity() ? a : 0;
    }
    case Op::kAnchor: return x(0);
    case Op::kCast: {
      Real a = x(0);
      if (e.type == ScalarType::boolean) return a != 0;
      if (kind(e.type) == Kind::kInt && kind(e.args[0]->type) == Kind::kReal) return std::trunc(a);
      if (kind(e.type) == Kind::kReal && row(e.type).bits < 32)
        return static_cast<Real>(round_to(e.type, static_cast<double>(a)));
      return a;
    }
    default: return reduce(e);
  }
}

template class Evaluator<double>;
template class Evaluator<long double>;

}  // namespace quern::fuse
