// Integer expressions as linear forms: what is linear stays, everything else becomes an atom with an interval.
#include <algorithm>

#include "expr/prove/scope.h"

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

// Does any value in it come from a tensor or a scalar?
bool reads_data(const NodePtr& node) {
  if (row(*node).family == Family::read) return true;
  return std::ranges::any_of(node->args, reads_data);
}

}  // namespace

Atom ProofScope::opaque(const std::string& key, const Interval& interval, bool data) {
  auto [it, added] = by_key_.emplace(key, static_cast<Atom>(atoms_.size()));
  if (added) {
    AtomInfo info;
    info.interval = interval;
    info.data = data;
    atoms_.push_back(std::move(info));
  }
  return it->second;
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
      return Linear::atom(opaque("dim " + node->name.str(), {0, std::nullopt}, false));
    }
    case Op::kAdd: return add(linear(node->args[0]), linear(node->args[1]));
    case Op::kSub: return add(linear(node->args[0]), linear(node->args[1]), -1);
    case Op::kNeg: return scale(linear(node->args[0]), -1);
    case Op::kMul: {
      Linear a = linear(node->args[0]), b = linear(node->args[1]);
      if (a.is_number()) return scale(b, a.constant);
      if (b.is_number()) return scale(a, b.constant);
      std::string x = a.key(), y = b.key();
      if (y < x) std::swap(x, y);
      return Linear::atom(opaque("(" + x + ")*(" + y + ")", multiply(interval(a), interval(b)), is_data(a) || is_data(b)));
    }
    case Op::kDiv:  // exact, in bounds that are dimensions
    case Op::kFloorDiv:
    case Op::kMod: {
      Linear a = linear(node->args[0]), b = linear(node->args[1]);
      if (!b.is_number() || b.constant <= 0) return opaque_operation(node);
      return node->op == Op::kMod ? remainder(a, b.constant) : quotient(a, b.constant);
    }
    case Op::kShl:
    case Op::kShr: {
      Linear a = linear(node->args[0]), b = linear(node->args[1]);
      if (!b.is_number() || b.constant < 0 || b.constant > 62) return opaque_operation(node);
      int64_t power = int64_t{1} << b.constant;
      return node->op == Op::kShl ? scale(a, power) : quotient(a, power);
    }
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
        bool fits = (!range.lo && !range.hi) || (have.lo && have.hi && *have.lo >= *range.lo && *have.hi <= *range.hi);
        if (fits) return a;
      }
      return opaque_operation(node);
    }
    default: return opaque_operation(node);
  }
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
    info.facts.push_back(add(rest, cq, -1));                                // e - c q >= 0
    info.facts.push_back(add(add(cq, Linear::number(c - 1)), rest, -1));    // c q + c - 1 - e >= 0
  }
  info.interval = intersect(info.interval, range);
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
  return Linear::atom(opaque("(" + rest.key() + ")%" + std::to_string(c), {0, c - 1}, is_data(rest)));
}

Linear ProofScope::extremum(const NodePtr& node) {
  std::string key = node->op == Op::kMaxOf ? "max" : "min";
  std::vector<Linear> forms;
  Interval range;
  bool data = false;
  for (size_t i = 0; i < node->args.size(); ++i) {
    forms.push_back(linear(node->args[i]));
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
  if (info.facts.empty()) {
    int64_t sign = node->op == Op::kMaxOf ? 1 : -1;
    for (const Linear& f : forms) info.facts.push_back(add(scale(Linear::atom(a), sign), f, -sign));
  }
  return Linear::atom(a);
}

Linear ProofScope::read(const NodePtr& node) {
  std::string key = (node->op == Op::kRead ? "read" : "local") + std::to_string(node->id);
  bool data = node->op == Op::kRead;
  for (const NodePtr& arg : node->args) {
    Linear f = linear(arg);
    key += "[" + f.key() + "]";
    data |= is_data(f);
  }
  Interval range;
  if (node->op == Op::kRead) {
    range = type_interval(binding_.type(program_.tensors[node->id].type));
  } else {
    range = local_interval(node->id);
    data |= reads_data(program_.locals[node->id].value);
  }
  Atom a = opaque(key, range, data);
  if (node->op == Op::kRead) atoms_[a].tensor = node->id;
  return Linear::atom(a);
}

// What a local of integers may be, wherever it is read.
Interval ProofScope::local_interval(int32_t local) {
  auto known = local_intervals_.find(local);
  if (known != local_intervals_.end()) return known->second;
  const Local& l = program_.locals[local];
  ProofScope inside(program_, binding_);
  inside.local_intervals_ = local_intervals_;
  for (const Binder& b : l.binders) inside.enter(b);
  Interval range = inside.interval(inside.linear(l.value));
  if (l.type) {
    Interval type = type_interval(binding_.type(*l.type));
    bool fits = type.lo && range.lo && range.hi && *range.lo >= *type.lo && *range.hi <= *type.hi;
    if (type.lo && !fits) range = type;
  }
  local_intervals_[local] = range;
  return range;
}

Linear ProofScope::opaque_operation(const NodePtr& node) {
  // The same operation on the same forms is the same atom; anything with binders is one by itself.
  std::string key = "op" + std::to_string(static_cast<int>(node->op));
  bool data = reads_data(node);
  if (!node->binders.empty() || row(*node).family == Family::select || node->op == Op::kCast) {
    key += "@" + std::to_string(reinterpret_cast<uintptr_t>(node.get())) + "/" + std::to_string(indices_.size());
    for (const Index& i : indices_) key += "," + std::to_string(i.atom);
  } else {
    for (const NodePtr& arg : node->args) {
      if (arg->kind != Kind::kInt) continue;
      Linear f = linear(arg);
      key += "(" + f.key() + ")";
      data |= is_data(f);
    }
  }
  Interval range = interval_of(node);
  return Linear::atom(opaque(key, range, data));
}

// Intervals of what is not linear.
Interval ProofScope::interval_of(const NodePtr& node) {
  auto of = [&](size_t i) { return interval(linear(node->args[i])); };
  switch (node->op) {
    case Op::kSelect: {
      if (node->kind != Kind::kInt) return {};
      Mark outside = mark();
      assume(node->args[1], true);
      Interval a = of(0);
      restore(outside);
      assume(node->args[1], false);
      Interval b = of(2);
      restore(outside);
      return hull(a, b);
    }
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
      return hull(range, {-1, -1});  // -1 over nothing
    }
    case Op::kRandomBits: return {0, (int64_t{1} << 32) - 1};
    case Op::kWithin: return of(0);
    case Op::kFloor:
    case Op::kCeil:
    case Op::kRound: return node->kind == Kind::kInt ? of(0) : Interval{};
    case Op::kCast: return type_interval(binding_.type(node->type));
    default: return {};
  }
}

}  // namespace quern::expr
