// Names, operators, branches and reads; reductions stand in reduce.cc.
#include "expr/interpret/evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/philox.h"
#include "expr/interpret/elementary.h"
#include "expr/print.h"
#include "expr/substitute.h"

namespace quern::expr {
namespace {

constexpr size_t kFirstCache = 1u << 8;
constexpr size_t kLargestCache = 1u << 21;

// Nothing is read in it: its value is one of indices and sizes.
bool from_sizes(const Node& node) {
  auto plain = [](const NodePtr& n) { return !n || from_sizes(*n); };
  return row(node.op).family != Family::read && std::ranges::all_of(node.args, plain) &&
         std::ranges::all_of(node.binders, [&](const Binder& b) { return plain(b.lo) && plain(b.hi); });
}

// 8-bit and 16-bit formats by table: decoding bit by bit is slow.
double decoded(ScalarType type, uint64_t bits) {
  auto table = [](ScalarType t) {
    std::vector<double> out(size_t{1} << quern::row(t).bits);
    for (size_t i = 0; i < out.size(); ++i) out[i] = decode_real(t, i);
    return out;
  };
  switch (type) {
    case ScalarType::f16: {
      static const std::vector<double> values = table(ScalarType::f16);
      return values[bits];
    }
    case ScalarType::bf16: {
      static const std::vector<double> values = table(ScalarType::bf16);
      return values[bits];
    }
    case ScalarType::f8e4m3: {
      static const std::vector<double> values = table(ScalarType::f8e4m3);
      return values[bits];
    }
    default: return decode_real(type, bits);
  }
}

}  // namespace

Evaluator::Evaluator(const Plan& plan, const Memory& memory)
    : plan_(plan),
      memory_(memory),
      slots_(plan.program->indices.size()),
      memos_(static_cast<size_t>(plan.memos)),
      caches_(plan.locals.size()) {
  for (size_t l = 0; l < caches_.size(); ++l) caches_[l].rank = plan.locals[l].ranges.size();
}

// The kinds by which most steps are reached; what is hot is answered here without going through a Slot.
Real Evaluator::real(const Step& s) {
  if (s.family == Family::arithmetic) return real_arithmetic(s);
  if (s.op == Op::kRead) return read(s).real;
  return evaluate(s).real;
}
Int Evaluator::other_integer(const Step& s) {
  if (s.op == Op::kInteger) return {s.integer, 0};
  if (s.family == Family::arithmetic) return whole_arithmetic(s);
  return evaluate(s).integer;
}
Bool Evaluator::boolean(const Step& s) { return s.family == Family::compare ? compare(s) : evaluate(s).boolean; }

Real Evaluator::number(const Step& s) {
  if (s.kind == Kind::kReal) return real(s);
  Int i = integer(s);
  auto v = static_cast<double>(i.v);
  return s.unit == kDouble ? Real{v, i.e} : rounded(v, i.e, s.unit, false);
}

Evaluator::Slot Evaluator::evaluate(const Step& s) {
  if (!s.remembered) {
    Slot out;
    fill(s, out);
    return out;
  }
  return remembered(s);
}

// The last value, if the indices it depends on are the same.
const Evaluator::Slot& Evaluator::remembered(const Step& s) {
  Remembered& m = memos_[static_cast<size_t>(s.memo)];
  if (m.valid) {
    bool same = true;
    for (size_t i = 0; i < s.free.size(); ++i) same &= m.key[i] == slots_[s.free[i]];
    if (same) return m.value;
  }
  std::vector<int64_t> key(s.free.size());
  for (size_t i = 0; i < key.size(); ++i) key[i] = slots_[s.free[i]];
  bool failed_before = std::exchange(failed_, false);
  Slot value;
  fill(s, value);
  m.value = value;
  m.key = std::move(key);
  m.valid = !failed_;
  failed_ |= failed_before;
  return m.value;
}

void Evaluator::fill(const Step& s, Slot& into) {
  switch (s.family) {
    case Family::literal:
      switch (s.op) {
        case Op::kInteger: into.integer = {s.integer, 0}; return;
        case Op::kReal: {
          into.real = {s.real,
                       s.unit == kDouble ? 0 : std::fabs(static_cast<double>(static_cast<float>(s.real)) - s.real)};
          return;
        }
        case Op::kInf: into.real = {kInfinity, 0}; return;
        case Op::kNan: into.real = {std::numeric_limits<double>::quiet_NaN(), 0}; return;
        default: into.boolean = {s.op == Op::kTrue, true}; return;
      }
    case Family::resolved: into.integer = {slots_[s.target], 0}; return;
    case Family::read: into = s.op == Op::kRead ? read(s) : local(s); return;
    case Family::within: into = within(s); return;
    case Family::cast: into = cast(s); return;
    case Family::arithmetic:
    case Family::bits:
      if (s.kind == Kind::kReal) {
        into.real = real_arithmetic(s);
      } else {
        into.integer = whole_arithmetic(s);
      }
      return;
    case Family::negate:
      if (s.kind == Kind::kInt) {
        Int a = integer(*s.args[0]);
        into.integer = {static_cast<int64_t>(-static_cast<uint64_t>(a.v)), a.e};
      } else {
        Real a = number(*s.args[0]);
        into.real = {-a.v, a.e};
      }
      return;
    case Family::compare: into.boolean = compare(s); return;
    case Family::negation: {
      Bool a = boolean(*s.args[0]);
      into.boolean = {!a.v, a.sure};
      return;
    }
    case Family::logic: {
      Bool a = boolean(*s.args[0]);
      bool decides = a.v == (s.op == Op::kOr);
      if (decides) {
        into.boolean = a;
        return;
      }
      Bool b = boolean(*s.args[1]);
      // Where a could be otherwise, the result is what a alone would decide.
      into.boolean = {b.v, b.sure && (a.sure || b.v == (s.op == Op::kOr))};
      return;
    }
    case Family::select: into = select(s); return;
    case Family::function: into.real = elementary(s.op, number(*s.args[0]), s.unit, s.args[0]->nonnegative); return;
    case Family::function2:
      into.real = power(number(*s.args[0]), number(*s.args[1]), s.unit, s.args[0]->nonnegative);
      return;
    case Family::rounding:
      if (s.kind == Kind::kInt) {
        Int a = integer(*s.args[0]);
        if (s.op == Op::kAbs && a.v < 0) a.v = static_cast<int64_t>(-static_cast<uint64_t>(a.v));
        into.integer = a;
      } else {
        into.real = rounded_whole(s.op, number(*s.args[0]));
      }
      return;
    case Family::extremum: into = extremum(s); return;
    case Family::random: {
      Int seed = integer(*s.args[0]), i = integer(*s.args[1]);
      into.integer = {random_bits(seed.v, i.v), seed.e + i.e > 0 ? kInfinity : 0};
      return;
    }
    case Family::reduction: into = reduce(s); return;
    case Family::name:
    case Family::subscript:
    case Family::call: return;  // not in checked programs
  }
}

Bool Evaluator::compare(const Step& s) {
  const Step &l = *s.args[0], &r = *s.args[1];
  auto decide = [&](auto a, auto b) {
    switch (s.op) {
      case Op::kLt: return a < b;
      case Op::kLe: return a <= b;
      case Op::kGt: return a > b;
      case Op::kGe: return a >= b;
      case Op::kEq: return a == b;
      default: return a != b;
    }
  };
  if (l.kind == Kind::kInt && r.kind == Kind::kInt) {
    Int a = integer(l), b = integer(r);
    bool sure = a.e + b.e == 0 || std::fabs(static_cast<double>(a.v) - static_cast<double>(b.v)) > a.e + b.e;
    return {decide(a.v, b.v), sure};
  }
  Real a = number(l), b = number(r);
  return {decide(a.v, b.v), separated(a, b)};
}

int64_t Evaluator::whole_divide(const Step& s, int64_t a, int64_t b) {
  bool remainder = s.op == Op::kMod;
  if (b == 0) {
    report(Code::E806, *s.node, 0,
           {{"what", remainder ? "remainder by zero" : "division by zero"}, {"indices", where(*s.node)}});
    return 0;
  }
  if (b == -1) return remainder ? 0 : static_cast<int64_t>(-static_cast<uint64_t>(a));
  int64_t q = a / b, r = a % b;
  bool down = r != 0 && (r < 0) != (b < 0);
  return remainder ? r + (down ? b : 0) : q - down;
}

Real Evaluator::real_arithmetic(const Step& s) {
  Real a = number(*s.args[0]), b = number(*s.args[1]), out;
  switch (s.op) {
    case Op::kAdd: return add(a, b, s.unit);
    case Op::kSub: return subtract(a, b, s.unit);
    case Op::kMul: out = multiply(a, b, s.unit); break;
    default: out = divide(a, b, s.unit);
  }
  // Weight 0 times an infinity or a NaN: an implementation may have left the element out.
  bool absent = (a.v == 0 && s.args[0]->masks) || (b.v == 0 && s.op == Op::kMul && s.args[1]->masks);
  if (std::isnan(out.v) && absent) out.e = kInfinity;
  return out;
}

Int Evaluator::whole_arithmetic(const Step& s) {
  Int a = integer(*s.args[0]), b = integer(*s.args[1]);
  auto x = static_cast<uint64_t>(a.v), y = static_cast<uint64_t>(b.v);
  double e = a.e + b.e;
  int64_t v = 0;
  switch (s.op) {
    case Op::kAdd: v = static_cast<int64_t>(x + y); break;
    case Op::kSub: v = static_cast<int64_t>(x - y); break;
    case Op::kMul:
      v = static_cast<int64_t>(x * y);
      if (e > 0) e = std::fabs(static_cast<double>(a.v)) * b.e + std::fabs(static_cast<double>(b.v)) * a.e + a.e * b.e;
      break;
    case Op::kFloorDiv:
    case Op::kMod:
      v = whole_divide(s, a.v, b.v);
      if (e > 0) e = kInfinity;
      break;
    case Op::kBitAnd: v = a.v & b.v; break;
    case Op::kBitOr: v = a.v | b.v; break;
    case Op::kBitXor: v = a.v ^ b.v; break;
    case Op::kShl:
    case Op::kShr:
      if (b.v < 0 || b.v > 63) {
        report(Code::E806, *s.node, 0, {{"what", fmt::format("shift by {}", b.v)}, {"indices", where(*s.node)}});
      } else {
        v = s.op == Op::kShl ? static_cast<int64_t>(x << b.v) : a.v >> b.v;
      }
      break;
    default: break;
  }
  if (e > 0 && s.family == Family::bits) e = kInfinity;
  return {v, e};
}

Evaluator::Slot Evaluator::extremum(const Step& s) {
  Slot out;
  bool max = s.op == Op::kMaxOf;
  if (s.kind == Kind::kReal) {
    Extreme extreme(max);
    for (const Step* arg : s.args) extreme.take(number(*arg));
    out.real = extreme.value();
    return out;
  }
  out.integer = integer(*s.args[0]);
  for (size_t i = 1; i < s.args.size(); ++i) {
    Int a = integer(*s.args[i]);
    bool better = max ? a.v > out.integer.v : a.v < out.integer.v;
    out.integer = {better ? a.v : out.integer.v, std::max(a.e, out.integer.e)};
  }
  return out;
}

// Only the branch taken is evaluated, but where rounding may decide otherwise the other one bounds the result too.
Evaluator::Slot Evaluator::select(const Step& s) {
  Bool c = boolean(*s.args[1]);
  const Step& taken = *s.args[c.v ? 0 : 2];
  const Step& other = *s.args[c.v ? 2 : 0];
  auto value = [&](const Step& branch) {
    Slot v;
    if (s.kind == Kind::kReal) {
      v.real = number(branch);
    } else if (s.kind == Kind::kInt) {
      v.integer = integer(branch);
    } else {
      v.boolean = boolean(branch);
    }
    return v;
  };
  Slot out = value(taken);
  if (c.sure || !memory_.bounds) return out;
  ++quiet_;
  bool failed_before = std::exchange(failed_, false);
  Slot instead = value(other);
  bool outside = std::exchange(failed_, failed_before);
  --quiet_;
  if (s.kind == Kind::kReal) {
    out.real = outside ? Real{out.real.v, kInfinity} : either(out.real, instead.real);
  } else if (s.kind == Kind::kInt) {
    double apart = std::fabs(static_cast<double>(instead.integer.v) - static_cast<double>(out.integer.v));
    out.integer.e = outside ? kInfinity : std::max(out.integer.e, apart + instead.integer.e);
  } else {
    out.boolean.sure = !outside && out.boolean.sure && instead.boolean.sure && instead.boolean.v == out.boolean.v;
  }
  return out;
}

Evaluator::Slot Evaluator::cast(const Step& s) {
  Slot out;
  const Step& arg = *s.args[0];
  if (s.kind == Kind::kReal) {
    Real a = arg.kind == Kind::kInt ? whole_value(integer(arg), s.type) : number(arg);
    out.real = monotone(a, [&](double v) { return round_to(s.type, v); });
  } else if (s.kind == Kind::kBool) {
    if (arg.kind == Kind::kBool) {
      out.boolean = boolean(arg);
    } else if (arg.kind == Kind::kInt) {
      Int a = integer(arg);
      out.boolean = {a.v != 0, a.e == 0};
    } else {
      Real a = real(arg);
      out.boolean = {a.v != 0, a.e == 0 || std::fabs(a.v) > a.e};
    }
  } else if (arg.kind == Kind::kReal) {
    Real a = real(arg);
    Real t = monotone(a, [&](double v) { return static_cast<double>(truncate_to(s.type, v)); });
    out.integer = {truncate_to(s.type, a.v), t.e};
  } else if (arg.kind == Kind::kBool) {
    Bool a = boolean(arg);
    out.integer = {a.v ? wrap_to(s.type, 1) : 0, a.sure ? 0.0 : 1.0};
  } else {
    out.integer = wrapped(s.type, integer(arg));
  }
  return out;
}

Evaluator::Slot Evaluator::within(const Step& s) {
  Int at = integer(*s.args[1]), lo = integer(*s.args[2]), hi = integer(*s.args[3]);
  if (at.v >= lo.v && at.v < hi.v) {
    Slot out;
    fill(*s.args[0], out);
    return out;
  }
  outside_range(*s.node, within_name(*s.node), 1, at.v, lo.v, hi.v);
  return {};
}

// --- reads ---

Evaluator::Slot Evaluator::element(const Step& s, int64_t linear) {
  Slot out;
  if (s.result) {
    const Store& store = memory_.stores[static_cast<size_t>(s.target)];
    auto at = static_cast<size_t>(linear);
    if (s.kind == Kind::kReal) {
      out.real = {store.real[at], store.bound.empty() ? 0 : store.bound[at]};
    } else if (s.kind == Kind::kInt) {
      out.integer = {store.integer[at], store.bound.empty() ? 0 : store.bound[at]};
    } else {
      out.boolean = {store.integer[at] != 0, store.bound.empty() || store.bound[at] == 0};
    }
    return out;
  }
  const void* data = memory_.arguments[static_cast<size_t>(s.target)];
  if (s.type == ScalarType::f32) {
    float v;
    std::memcpy(&v, static_cast<const char*>(data) + linear * 4, 4);
    out.real = {v, 0};
  } else if (s.kind == Kind::kReal) {
    out.real = {decoded(s.type, load_bits(s.type, data, linear)), 0};
  } else {
    int64_t v = decode_int(s.type, load_bits(s.type, data, linear));
    if (s.kind == Kind::kInt) {
      out.integer = {v, 0};
    } else {
      out.boolean = {v != 0, true};
    }
  }
  return out;
}

Evaluator::Slot Evaluator::read(const Step& s) {
  uint64_t linear = 0;  // of no meaning, and free to wrap, when some subscript is outside
  bool inside = true, sure = true;
  size_t rank = s.args.size();
  for (size_t i = 0; i < rank; ++i) {
    Int at = integer(*s.args[i]);
    sure &= at.e == 0;
    inside &= static_cast<uint64_t>(at.v) < static_cast<uint64_t>(s.shape[i]);
    linear = linear * static_cast<uint64_t>(s.shape[i]) + static_cast<uint64_t>(at.v);
  }
  if (!inside) return outside_read(s);
  Slot out = element(s, static_cast<int64_t>(linear));
  if (!sure) doubt(s, out);
  return out;
}

// A read that would leave its tensor doesn't happen: it gives 0 and is reported.
Evaluator::Slot Evaluator::outside_read(const Step& s) {
  for (size_t i = 0; i < s.args.size(); ++i) {
    int64_t at = integer(*s.args[i]).v;
    if (at >= 0 && at < s.shape[i]) continue;
    report(Code::E801, *s.node, static_cast<int>(i),
           {{"x", s.node->name.str()},
            {"e", print(s.node->args[i])},
            {"v", std::to_string(at)},
            {"indices", where(*s.node)},
            {"d", std::to_string(s.shape[i])}});
  }
  return {};
}

void Evaluator::doubt(const Step& s, Slot& value) {
  if (s.kind == Kind::kReal) {
    value.real.e = kInfinity;
  } else if (s.kind == Kind::kInt) {
    value.integer.e = kInfinity;
  } else {
    value.boolean.sure = false;
  }
}

size_t Evaluator::place(const Cache& cache, const int64_t* key) const {
  uint64_t h = 0;
  for (size_t i = 0; i + 1 < cache.rank; ++i) h = (h + static_cast<uint64_t>(key[i])) * 0x9E3779B97F4A7C15u;
  if (cache.rank) h = (h >> 20) + static_cast<uint64_t>(key[cache.rank - 1]);
  return h & (cache.capacity - 1);
}

void Evaluator::grow(Cache& c) {
  Cache bigger;
  bigger.rank = c.rank;
  bigger.capacity = c.capacity == 0 ? (c.rank == 0 ? 1 : kFirstCache) : c.capacity * 4;
  bigger.keys.resize(bigger.capacity * std::max<size_t>(c.rank, 1));
  bigger.valid.resize(bigger.capacity);
  bigger.values.resize(bigger.capacity);
  for (size_t i = 0; i < c.capacity; ++i) {
    if (!c.valid[i]) continue;
    const int64_t* key = c.keys.data() + i * c.rank;
    size_t p = place(bigger, key);
    bigger.valid[p] = 1;
    std::copy_n(key, c.rank, bigger.keys.data() + p * c.rank);
    bigger.values[p] = c.values[i];
  }
  c = std::move(bigger);
}

Evaluator::Slot Evaluator::local(const Step& s) {
  constexpr size_t kInline = 8;
  const LocalPlan& l = plan_.locals[static_cast<size_t>(s.target)];
  size_t rank = l.ranges.size();
  std::array<int64_t, kInline> small;
  std::vector<int64_t> large(rank > kInline ? rank : 0);
  int64_t* key = rank > kInline ? large.data() : small.data();
  bool sure = true;
  for (size_t i = 0; i < rank; ++i) {
    Int at = integer(*s.args[i]);
    key[i] = at.v;
    sure &= at.e == 0;
  }
  Cache& cache = caches_[static_cast<size_t>(s.target)];
  if (cache.capacity == 0) grow(cache);
  size_t p = place(cache, key);
  Slot out;
  const int64_t* known = cache.keys.data() + p * rank;
  bool hit = cache.valid[p];
  for (size_t i = 0; i < rank && hit; ++i) hit = key[i] == known[i];
  if (hit) {
    out = cache.values[p];
  } else {
    // Inside its range? Bounds may use the indices to the left.
    for (size_t i = 0; i < rank; ++i) {
      const Range& r = l.ranges[i];
      int64_t lo = r.lo ? integer(*r.lo).v : 0, hi = integer(*r.hi).v;
      if (key[i] < lo || key[i] >= hi) {
        outside_range(*s.node, s.node->name.str(), i, key[i], lo, hi);
        return {};
      }
      slots_[r.slot] = key[i];
    }
    bool failed_before = std::exchange(failed_, false);
    if (l.kind == Kind::kReal) {
      out.real = number(*l.value);
      if (l.type) out.real = monotone(out.real, [&](double v) { return round_to(*l.type, v); });
    } else if (l.kind == Kind::kInt) {
      out.integer = integer(*l.value);
      if (l.type) out.integer = wrapped(*l.type, out.integer);
    } else {
      out.boolean = boolean(*l.value);
    }
    if (!failed_) {
      p = place(cache, key);
      if (cache.valid[p] && ++cache.pushed_out > cache.capacity && cache.capacity < kLargestCache && rank > 0) {
        grow(cache);
        p = place(cache, key);
      }
      cache.valid[p] = 1;
      std::copy_n(key, rank, cache.keys.data() + p * rank);
      cache.values[p] = out;
    }
    failed_ |= failed_before;
  }
  if (!sure) doubt(s, out);
  return out;
}

// --- findings ---

std::string Evaluator::where(const Node& node) const {
  std::string out;
  Node copy = node;
  for (IndexId id : free_indices(std::make_shared<const Node>(std::move(copy)))) {
    if (!out.empty()) out += ", ";
    out += fmt::format("{} = {}", plan_.program->indices[static_cast<size_t>(id)].str(), slots_[id]);
  }
  return out.empty() ? "every instance" : out;
}

// Apart from what calls it, whose frames stand on the stack many times.
void Evaluator::outside_range(const Node& node, std::string name, size_t axis, int64_t at, int64_t lo, int64_t hi) {
  report(Code::E802, node, static_cast<int>(axis),
         {{"t", std::move(name)},
          {"e", fmt::format("{} = {}", print(node.args[axis]), at)},
          {"lo", std::to_string(lo)},
          {"hi", std::to_string(hi - 1)}});
}

void Evaluator::report(Code code, const Node& node, int axis, std::initializer_list<Argument> arguments) {
  if (quiet_ > 0) {
    failed_ = true;
    return;
  }
  auto key = std::pair(&node, axis);
  auto known = findings_.find(key);
  if (known != findings_.end() && known->second.order <= order_) return;
  Span span =
      code == Code::E801 || code == Code::E802
          ? (static_cast<size_t>(axis) < node.args.size() ? node.args[static_cast<size_t>(axis)]->span : node.span)
          : node.span;
  Diagnostic finding = diagnose(code, span, arguments);
  if (code == Code::E801 && axis >= 0 && from_sizes(*node.args[static_cast<size_t>(axis)])) {
    finding.remedy = "guard it with `if`, or give sizes at which it stays inside";
  }
  findings_[key] = {order_, std::move(finding)};
}

}  // namespace quern::expr
