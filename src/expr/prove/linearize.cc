// Integer expressions as linear forms: what is linear stays, everything else becomes an atom with an interval.
#include <algorithm>
#include <climits>
#include <utility>

#include "expr/prove/scope.h"
#include "expr/substitute.h"

namespace quern::expr {
namespace {

Interval type_interval(ScalarType type) {
  if (quern::kind(type) != Kind::kInt || quern::row(type).bits == 64) return {};
  return {least_int(type), greatest_int(type)};
}

// The least power of two above x >= 0.
std::optional<int64_t> power_above(int64_t x) {
  int64_t p = 1;
  while (p <= x) {
    if (p > INT64_MAX / 2) return std::nullopt;
    p *= 2;
  }
  return p;
}

int64_t clamp_product(int64_t a, int64_t b) {
  int64_t out;
  if (!__builtin_mul_overflow(a, b, &out)) return out;
  return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

}  // namespace

Atom ProofScope::opaque(const std::string& key, const Interval& interval, bool data) {
  auto [it, added] = by_key_.emplace(key, static_cast<Atom>(atoms_.size()));
  if (added) {
    AtomInfo info;
    info.interval = interval;
    info.data = data;
    info.least = interval.lo.value_or(INT64_MIN);
    info.most = interval.hi.value_or(INT64_MAX);
    atoms_.push_back(std::move(info));
  }
  return it->second;
}

void ProofScope::narrow(Atom atom, const std::optional<std::pair<int64_t, int64_t>>& reach) {
  if (!reach) return;
  AtomInfo& info = atoms_[static_cast<size_t>(atom)];
  info.least = std::max(info.least, reach->first);
  info.most = std::min(info.most, reach->second);
}

// Does any value in it come from a tensor or a scalar?
bool ProofScope::reads_data(const NodePtr& node) {
  auto [it, added] = reads_data_.try_emplace(node.get(), node->op == Op::kRead);
  if (!added || it->second) return it->second;
  bool data = std::ranges::any_of(node->args, [&](const NodePtr& a) { return reads_data(a); });
  for (const Binder& b : node->binders) data = data || (b.lo && reads_data(b.lo)) || reads_data(b.hi);
  if (node->op == Op::kLocal && !data) data = local_facts(node->id).data;
  return reads_data_[node.get()] = data;
}

Linear ProofScope::linear(const NodePtr& node) {
  switch (node->op) {
    case Op::kInteger: return Linear::number(node->integer);
    case Op::kIndex: {
      auto it = current_.find(node->id);
      if (it != current_.end()) return Linear::atom(it->second);
      return Linear::atom(opaque("free" + std::to_string(node->id), {}, true));
    }
    case Op::kDimension: {
      auto it = binding_.sizes.find(node->name);
      if (it != binding_.sizes.end()) return Linear::number(it->second);
      Atom size = opaque("dim " + node->name.str(), {0, std::nullopt}, false);
      narrow(size, std::pair(int64_t{0}, kLargestSymbol));
      return Linear::atom(size);
    }
    case Op::kAdd: return add(linear(node->args[0]), linear(node->args[1]));
    case Op::kSub: return add(linear(node->args[0]), linear(node->args[1]), -1);
    case Op::kNeg: return scale(linear(node->args[0]), -1);
    case Op::kMul: return product(linear(node->args[0]), linear(node->args[1]));
    case Op::kDiv:  // exact, in bounds that are dimensions
    case Op::kFloorDiv:
    case Op::kMod:
    case Op::kShl:
    case Op::kShr: return division(node);
    case Op::kMaxOf:
    case Op::kMinOf: return extremum(node);
    case Op::kRead:
    case Op::kLocal: return read(node);
    case Op::kCast: {
      // Integer casts keep what fits; the rest wraps into the type.
      Interval range = type_interval(binding_.type(node->type));
      if (node->args[0]->kind == Kind::kInt) {
        Linear a = linear(node->args[0]);
        Interval have = interval(a);
        bool kept = (!range.lo && !range.hi) || (have.lo && have.hi && *have.lo >= *range.lo && *have.hi <= *range.hi);
        if (kept) return a;
      }
      return opaque_operation(node, {});
    }
    default: return opaque_operation(node);
  }
}

Linear ProofScope::product(const Linear& a, const Linear& b) {
  if (a.is_number()) return scale(b, a.constant);
  if (b.is_number()) return scale(a, b.constant);
  std::string x = a.key(), y = b.key();
  if (y < x) std::swap(x, y);
  auto p = reach(a), q = reach(b);
  // The interval is that of the exact product, which has to have 64 bits.
  bool exact = p && q;
  int64_t least = INT64_MAX, most = INT64_MIN, corner;
  if (exact) {
    for (int64_t u : {p->first, p->second}) {
      for (int64_t v : {q->first, q->second}) {
        exact &= !__builtin_mul_overflow(u, v, &corner);
        least = std::min(least, clamp_product(u, v));
        most = std::max(most, clamp_product(u, v));
      }
    }
  }
  Interval range = exact ? multiply(interval(a), interval(b)) : Interval{};
  Atom atom = opaque("(" + x + ")*(" + y + ")", range, is_data(a) || is_data(b));
  if (exact) narrow(atom, std::pair(least, most));
  return Linear::atom(atom);
}

// `//`, `%` and shifts by a number are linear with facts; of a form that may wrap, or by anything else, they are not.
Linear ProofScope::division(const NodePtr& node) {
  Linear a = linear(node->args[0]), b = linear(node->args[1]);
  bool shift = node->op == Op::kShl || node->op == Op::kShr;
  if (!b.is_number() || (shift ? b.constant < 0 || b.constant > 62 : b.constant <= 0))
    return opaque_operation(node, {a, b});
  int64_t by = shift ? int64_t{1} << b.constant : b.constant;
  if (node->op == Op::kShl) return scale(a, by);
  if (!fits(a)) return opaque_operation(node, {a, b});
  return node->op == Op::kMod ? remainder(a, by) : quotient(a, by);
}

Linear ProofScope::linear_with(const NodePtr& node, const std::vector<std::pair<IndexId, Linear>>& values) {
  // Each value gets an atom of its own that is replaced afterwards, so that no index is caught by another meaning.
  std::vector<std::pair<Atom, const Linear*>> placed;
  std::vector<std::pair<IndexId, std::optional<Atom>>> before;
  for (const auto& [id, form] : values) {
    auto it = current_.find(id);
    before.emplace_back(id, it == current_.end() ? std::nullopt : std::optional(it->second));
    bool lone = form.valid && form.constant == 0 && form.terms.size() == 1 && form.terms.begin()->second == 1;
    Atom atom = lone ? form.terms.begin()->first : opaque("value " + form.key(), interval(form), is_data(form));
    if (!lone) placed.emplace_back(atom, &form);
    current_[id] = atom;
  }
  Linear out = linear(node);
  for (const auto& [atom, form] : placed) {
    auto it = out.terms.find(atom);
    if (it == out.terms.end()) continue;
    int64_t c = it->second;
    out.terms.erase(it);
    out = add(out, *form, c);
  }
  for (const auto& [id, atom] : before) {
    if (atom) {
      current_[id] = *atom;
    } else {
      current_.erase(id);
    }
  }
  return out;
}

Linear ProofScope::quotient(const Linear& a, int64_t c) {
  if (c == 1) return a;
  if (a.is_number()) return Linear::number(floor_divide(a.constant, c));
  // Whole multiples come out: (c x + r) // c = x + r // c.
  Linear whole, rest;
  for (const auto& [atom, k] : a.terms) (k % c == 0 ? whole : rest).terms[atom] = k;
  whole.constant = floor_divide(a.constant, c) * c;
  rest.constant = a.constant - whole.constant;
  rest.valid = whole.valid = a.valid;
  Linear out;
  out.valid = a.valid;
  for (const auto& [atom, k] : whole.terms) out.terms[atom] = k / c;
  out.constant = whole.constant / c;
  Interval range = floor_divide(interval(rest), c);
  if (range.lo && range.hi && *range.lo == *range.hi) return add(out, Linear::number(*range.lo));
  Atom q = opaque("(" + rest.key() + ")//" + std::to_string(c), range, is_data(rest));
  AtomInfo& info = atoms_[q];
  if (!info.numerator) {
    info.numerator = rest;
    info.divisor = c;
    Linear cq = scale(Linear::atom(q), c);
    info.facts.push_back(add(rest, cq, -1));                              // e - c q >= 0
    info.facts.push_back(add(add(cq, Linear::number(c - 1)), rest, -1));  // c q + c - 1 - e >= 0
  }
  info.interval = intersect(info.interval, range);
  if (auto r = reach(rest)) narrow(q, std::pair(floor_divide(r->first, c), floor_divide(r->second, c)));
  return add(out, Linear::atom(q));
}

Linear ProofScope::remainder(const Linear& a, int64_t c) {
  Linear rest;
  rest.valid = a.valid;
  for (const auto& [atom, k] : a.terms) {
    if (k % c != 0) rest.terms[atom] = k;
  }
  rest.constant = a.constant - floor_divide(a.constant, c) * c;
  Interval range = interval(rest);
  if (range.lo && range.hi && floor_divide(*range.lo, c) == floor_divide(*range.hi, c)) {
    return add(rest, Linear::number(-floor_divide(*range.lo, c) * c));
  }
  Atom r = opaque("(" + rest.key() + ")%" + std::to_string(c), {0, c - 1}, is_data(rest));
  AtomInfo& info = atoms_[static_cast<size_t>(r)];
  info.dividend = rest;
  info.divisor = c;
  return Linear::atom(r);
}

Linear ProofScope::extremum(const NodePtr& node) {
  std::string key = node->op == Op::kMaxOf ? "max" : "min";
  std::vector<Linear> forms;
  Interval range;
  bool data = false, exact = true;
  for (size_t i = 0; i < node->args.size(); ++i) {
    forms.push_back(linear(node->args[i]));
    exact &= fits(forms.back());
    key += "(" + forms.back().key() + ")";
    data |= is_data(forms.back());
    Interval one = interval(forms.back());
    if (i == 0) {
      range = one;
    } else if (node->op == Op::kMaxOf) {
      // As large as any one, and no larger than the largest.
      range = {one.lo && range.lo ? std::max(one.lo, range.lo) : one.lo ? one.lo : range.lo, hull(range, one).hi};
    } else {
      range = {hull(range, one).lo, one.hi && range.hi ? std::min(one.hi, range.hi) : one.hi ? one.hi : range.hi};
    }
  }
  Atom a = opaque(key, range, data);
  AtomInfo& info = atoms_[a];
  if (exact && info.facts.empty()) {
    int64_t sign = node->op == Op::kMaxOf ? 1 : -1;
    for (const Linear& f : forms) {
      info.facts.push_back(add(scale(Linear::atom(a), sign), f, -sign));
      info.alternatives.push_back({f, {}});
    }
  }
  return Linear::atom(a);
}

Linear ProofScope::read(const NodePtr& node) {
  std::string key = (node->op == Op::kRead ? "read" : "local") + std::to_string(node->id);
  bool data = reads_data(node);
  std::vector<Linear> at;
  for (const NodePtr& arg : node->args) {
    at.push_back(linear(arg));
    key += "[" + at.back().key() + "]";
    data |= is_data(at.back());
  }
  if (auto known = by_key_.find(key); known != by_key_.end()) return Linear::atom(known->second);
  if (node->op == Op::kRead) {
    Atom a = opaque(key, type_interval(binding_.type(program_.tensors[static_cast<size_t>(node->id)].type)), data);
    atoms_[static_cast<size_t>(a)].tensor = node->id;
    return Linear::atom(a);
  }
  // Outside its range a local reads as 0. What holds here may not hold where the same read occurs again.
  Interval range = local_facts(node->id).interval;
  bool zero = (!range.lo || *range.lo <= 0) && (!range.hi || *range.hi >= 0);
  if (!zero) {
    bool inside = inside_domain(node, at);
    key += inside ? " inside" : " anywhere";
    if (!inside) range = hull(range, {0, 0});
  }
  return Linear::atom(opaque(key, range, data));
}

// Are the subscripts of a local within its range here?
bool ProofScope::inside_domain(const NodePtr& node, const std::vector<Linear>& at) {
  constexpr int kNested = 4;  // ranges of locals that depend on locals that …
  if (domains_ >= kNested) return false;
  ++domains_;
  const Local& l = program_.locals[static_cast<size_t>(node->id)];
  std::vector<std::pair<IndexId, Linear>> here;
  bool inside = true;
  for (size_t i = 0; i < at.size() && inside; ++i) {
    const Binder& b = l.binders[i];
    Linear lo = b.lo ? linear_with(b.lo, here) : Linear::number(0), hi = linear_with(b.hi, here);
    inside = fits(lo) && fits(hi) && prove(add(at[i], lo, -1)) && prove(add(add(hi, Linear::number(1), -1), at[i], -1));
    here.emplace_back(b.id, at[i]);
  }
  --domains_;
  return inside;
}

// Of what a local of integers may be, wherever it is read inside its range, and whether data is in it. Earlier locals
// first: each reads only earlier ones.
const ProofScope::LocalFacts& ProofScope::local_facts(int32_t local) {
  Locals& known = *locals_;
  for (size_t i = known.size(); i <= static_cast<size_t>(local); ++i) {
    const Local& l = program_.locals[i];
    LocalFacts facts;
    facts.data = reads_data(l.value);
    if (l.kind == Kind::kInt) {
      ProofScope inside(program_, binding_);
      inside.locals_ = locals_;
      for (const Binder& b : l.binders) inside.enter(b);
      facts.interval = inside.interval(inside.linear(l.value));
      if (l.type) {
        Interval type = type_interval(binding_.type(*l.type));
        const Interval& have = facts.interval;
        bool kept = type.lo && have.lo && have.hi && *have.lo >= *type.lo && *have.hi <= *type.hi;
        if (type.lo && !kept) facts.interval = type;
      }
    }
    known.push_back(facts);
  }
  return known[static_cast<size_t>(local)];
}

Linear ProofScope::opaque_operation(const NodePtr& node) {
  std::vector<Linear> forms;
  if (node->binders.empty()) {
    for (const NodePtr& arg : node->args) forms.push_back(arg->kind == Kind::kInt ? linear(arg) : Linear{});
  }
  return opaque_operation(node, forms);
}

// The same operation on the same forms is the same atom; what has binders, conditions or reals in it is one by itself,
// the same for the same values of its indices.
Linear ProofScope::opaque_operation(const NodePtr& node, const std::vector<Linear>& forms) {
  std::string key = "op" + std::to_string(static_cast<int>(node->op));
  bool data = reads_data(node);
  bool same_forms = node->binders.empty() && row(*node).family != Family::select && node->op != Op::kCast;
  for (const NodePtr& arg : node->args) same_forms &= arg->kind == Kind::kInt;
  for (const Linear& f : forms) data |= is_data(f);
  if (same_forms) {
    for (const Linear& f : forms) key += "(" + f.key() + ")";
  } else {
    auto [ids, added] = free_.try_emplace(node.get());
    if (added) ids->second = free_indices(node);
    key += "@" + std::to_string(reinterpret_cast<uintptr_t>(node.get()));
    for (IndexId id : ids->second) {
      auto atom = current_.find(id);
      key += "," + std::to_string(atom == current_.end() ? -1 : atom->second);
      data |= atom != current_.end() && atoms_[static_cast<size_t>(atom->second)].data;
    }
  }
  Atom a = opaque(key, interval_of(node, forms), data);
  if (node->op == Op::kSelect && node->kind == Kind::kInt && atoms_[static_cast<size_t>(a)].alternatives.empty()) {
    atoms_[static_cast<size_t>(a)].alternatives = branches(node, forms);
  }
  return Linear::atom(a);
}

// Both branches, each with what its condition says.
std::vector<AtomInfo::Alternative> ProofScope::branches(const NodePtr& select, const std::vector<Linear>& forms) {
  std::vector<AtomInfo::Alternative> out;
  if (!fits(forms[0]) || !fits(forms[2])) return out;
  Mark outside = mark();
  int domains = std::exchange(domains_, INT_MAX);  // the same `if` may occur where a local is read outside its range
  for (size_t branch : {0, 2}) {
    assume(select->args[1], branch == 0);
    out.push_back({forms[branch], {facts_.begin() + static_cast<ptrdiff_t>(outside.facts), facts_.end()}});
    restore(outside);
  }
  domains_ = domains;
  return out;
}

// Intervals of what is not linear.
Interval ProofScope::interval_of(const NodePtr& node, const std::vector<Linear>& forms) {
  auto of = [&](size_t i) { return i < forms.size() ? interval(forms[i]) : Interval{}; };
  switch (node->op) {
    case Op::kSelect: return node->kind == Kind::kInt ? hull(of(0), of(2)) : Interval{};
    case Op::kDiv:
    case Op::kFloorDiv: {
      Interval a = of(0), b = of(1);
      // Something not negative by something not negative: no larger than itself (and x // 0 is 0).
      if (a.lo && *a.lo >= 0 && b.lo && *b.lo >= 0) return {0, a.hi};
      return {};
    }
    case Op::kMod: {
      Interval b = of(1);
      if (b.lo && *b.lo >= 0) return {0, b.hi ? std::optional(std::max<int64_t>(*b.hi - 1, 0)) : std::nullopt};
      return {};
    }
    case Op::kBitAnd: {
      for (size_t i : {1, 0}) {
        Interval m = of(i);
        if (m.lo && *m.lo >= 0) return {0, m.hi};  // no bit that the other does not have
      }
      return {};
    }
    case Op::kBitOr:
    case Op::kBitXor: {
      Interval a = of(0), b = of(1);
      if (!a.lo || *a.lo < 0 || !b.lo || *b.lo < 0 || !a.hi || !b.hi) return {};
      // Within blocks of the power of two above the smaller operand, only the low bits change.
      auto block = power_above(std::min(*a.hi, *b.hi));
      int64_t large = std::max(*a.hi, *b.hi);
      if (!block || large > INT64_MAX - *block) return {};
      return {0, floor_divide(large, *block) * *block + *block - 1};
    }
    case Op::kAbs: {
      Interval a = of(0);
      if (!a.lo || !a.hi || *a.lo == INT64_MIN) return {};
      int64_t far = std::max(*a.hi, -*a.lo);
      return {*a.lo >= 0 ? *a.lo : 0, far};
    }
    case Op::kArgmax:
    case Op::kArgmin: {
      const Binder& b = node->binders[0];
      Interval lo = b.lo ? interval(linear(b.lo)) : Interval{0, 0}, hi = interval(linear(b.hi));
      Interval range{lo.lo, hi.hi ? std::optional(*hi.hi - 1) : std::nullopt};
      bool some = lo.hi && hi.lo && *lo.hi < *hi.lo;
      return some ? range : hull(range, {-1, -1});  // -1 over nothing
    }
    case Op::kRandomBits: return {0, (int64_t{1} << 32) - 1};
    case Op::kWithin: return hull(of(0), {0, 0});  // outside it is 0
    case Op::kFloor:
    case Op::kCeil:
    case Op::kRound: return node->kind == Kind::kInt ? of(0) : Interval{};
    case Op::kCast: return type_interval(binding_.type(node->type));
    default: return {};
  }
}

}  // namespace quern::expr
