#include "expr/contraction.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "expr/print.h"
#include "expr/prove/scope.h"
#include "expr/substitute.h"

namespace quern::expr {
namespace {

constexpr int64_t kLeastTerms = 16;

// Indices of a factor. One inside a quotient or a data subscript counts as itself, or (`apart`) as another one, which
// is written as its complement.
void indices(const NodePtr& node, bool inside, bool apart, std::set<IndexId>& out) {
  if (node->op == Op::kIndex) {
    out.insert(inside && apart ? ~node->id : node->id);
    return;
  }
  if (!node->binders.empty()) {
    for (IndexId id : free_indices(node)) out.insert(inside && apart ? ~id : id);
    return;
  }
  bool data_subscript = row(*node).family == Family::read;
  for (const NodePtr& arg : node->args) {
    bool quotient = node->op == Op::kFloorDiv || node->op == Op::kMod;
    bool through_data = data_subscript && inside;
    indices(arg, inside || quotient || through_data || (data_subscript && arg->op == Op::kRead), apart, out);
  }
}

// Types of tensors and annotated locals whose elements are read as values, subscripts apart.
void value_types(const Program& program, const Binding& binding, const NodePtr& node, std::set<ScalarType>& out) {
  if (node->op == Op::kRead) {
    out.insert(binding.type(program.tensors[node->id].type));
    return;
  }
  if (node->op == Op::kLocal) {
    if (program.locals[node->id].type) out.insert(binding.type(*program.locals[node->id].type));
    return;
  }
  for (const NodePtr& arg : node->args) value_types(program, binding, arg, out);
}

void flatten(const NodePtr& node, bool inverse, std::vector<Contraction::Factor>& out) {
  if (node->op == Op::kMul || node->op == Op::kDiv) {
    flatten(node->args[0], inverse, out);
    flatten(node->args[1], inverse != (node->op == Op::kDiv), out);
  } else if (node->op == Op::kNeg) {
    flatten(node->args[0], inverse, out);
  } else {
    out.push_back({.value = node, .inverse = inverse});
  }
}

// Does the index occur bare, not only inside quotients by a block?
bool changes_within_block(const NodePtr& node, const std::set<IndexId>& bound) {
  if (node->op == Op::kIndex) return bound.contains(node->id);
  if (node->op == Op::kFloorDiv) return false;
  if (!node->binders.empty()) {
    return std::ranges::any_of(free_indices(node), [&](IndexId id) { return bound.contains(id); });
  }
  return std::ranges::any_of(node->args, [&](const NodePtr& a) { return changes_within_block(a, bound); });
}

// The indices of a sum with which an index changes.
using Meaning = std::map<IndexId, std::set<IndexId>>;

std::set<IndexId> changes_with(const NodePtr& node, const Meaning& meaning) {
  std::set<IndexId> out;
  for (const auto& [id, moves] : meaning) {
    if (changes_within_block(node, {id})) out.insert(moves.begin(), moves.end());
  }
  return out;
}

// The indices of the sum, or around it, that an index of a local is made of.
using Named = std::map<IndexId, std::set<IndexId>>;

std::set<IndexId> named(const NodePtr& node, const Named* names, bool apart) {
  std::set<IndexId> own, out;
  indices(node, false, apart, own);
  if (!names) return own;
  for (IndexId id : own) {
    auto at = names->find(id < 0 ? ~id : id);
    if (at == names->end()) continue;
    for (IndexId x : at->second) out.insert(id < 0 && x >= 0 ? ~x : x);
  }
  return out;
}

// What the factors have for indices, those inside of unannotated locals if `opened`, in order.
void indices_of(const Program& program, const Contraction::Factor& factor, bool opened, const Named* names, bool apart,
                std::vector<std::set<IndexId>>& out) {
  if (!opened || factor.inside.empty()) return out.push_back(named(factor.value, names, apart));
  const Local& local = program.locals[static_cast<size_t>(factor.value->id)];
  Named here;
  for (size_t i = 0; i < local.binders.size(); ++i) {
    here[local.binders[i].id] = named(factor.value->args[i], names, apart);
  }
  for (const Contraction::Factor& f : factor.inside) indices_of(program, f, true, &here, apart, out);
}

void leaves_of(Contraction::Factor& factor, std::vector<Contraction::Factor*>& out) {
  if (factor.inside.empty()) return out.push_back(&factor);
  for (Contraction::Factor& f : factor.inside) leaves_of(f, out);
}

// Gives the factors their operands; false: no two indices are apart. `has`: the indices of each.
bool split(const std::set<IndexId>& bound, const std::vector<std::set<IndexId>>& has,
           const std::vector<Contraction::Factor*>& factors) {
  // Two indices that no factor has both of.
  std::optional<std::pair<IndexId, IndexId>> pair;
  std::set<IndexId> all;
  for (const std::set<IndexId>& h : has) {
    for (IndexId id : h) {
      if (!bound.contains(id) && !bound.contains(~id)) all.insert(id);
    }
  }
  for (IndexId i : all) {
    for (IndexId j : all) {
      bool both = std::ranges::any_of(has, [&](const auto& h) { return h.contains(i) && h.contains(j); });
      if (i < j && !both && !pair) pair = {i, j};
    }
  }
  if (!pair) return false;
  std::array<std::set<IndexId>, 2> side;
  std::vector<size_t> rest;
  for (size_t f = 0; f < factors.size(); ++f) {
    int operand = has[f].contains(pair->first) ? 0 : has[f].contains(pair->second) ? 1 : -1;
    if (operand < 0) {
      rest.push_back(f);
    } else {
      factors[f]->operand = operand;
      side[operand].insert(has[f].begin(), has[f].end());
    }
  }
  for (size_t f : rest) {
    auto shared = [&](int k) { return std::ranges::count_if(has[f], [&](IndexId i) { return side[k].contains(i); }); };
    factors[f]->operand = shared(1) > shared(0) ? 1 : 0;
  }
  return true;
}

// What the factor of a sum over `bound` is a product of, if it is an unannotated local.
std::vector<Contraction::Factor> inside(const Program& program, const Contraction::Factor& factor,
                                        const Meaning& meaning, const std::set<IndexId>& bound) {
  if (factor.value->op != Op::kLocal) return {};
  const Local& local = program.locals[static_cast<size_t>(factor.value->id)];
  if (local.type || !local.value) return {};
  std::vector<Contraction::Factor> out;
  flatten(local.value, factor.inverse, out);
  if (out.size() < 2) return {};
  Meaning here;
  for (size_t i = 0; i < local.binders.size(); ++i) {
    here[local.binders[i].id] = changes_with(factor.value->args[i], meaning);
  }
  for (Contraction::Factor& f : out) {
    std::set<IndexId> moves = changes_with(f.value, here);
    f.hoisted = moves.empty();
    f.apart = moves.size() < bound.size();
    f.inside = inside(program, f, here, bound);
  }
  return out;
}

// A plain read, perhaps guarded: what is read stays as it is.
bool plain(const Program& program, const NodePtr& node) {
  if (node->op == Op::kSelect) return plain(program, node->args[0]) && plain(program, node->args[2]);
  if (node->op == Op::kLocal) return program.locals[node->id].type.has_value();
  return node->op == Op::kRead || node->op == Op::kCast || row(*node).family == Family::literal;
}

}  // namespace

std::vector<Contraction::Factor> factors_of(const NodePtr& product) {
  std::vector<Contraction::Factor> out;
  flatten(product, false, out);
  return out;
}

std::optional<Contraction> contraction(const Program& program, const Binding& binding, const NodePtr& sum) {
  if (sum->op != Op::kSum || sum->kind != Kind::kReal) return std::nullopt;
  Contraction out;
  out.factors = factors_of(sum->args[0]);
  if (out.factors.size() < 2 && out.factors[0].value->op != Op::kLocal) return std::nullopt;
  std::set<IndexId> bound;
  ProofScope scope(program, binding);
  int64_t terms = 1;
  for (const Binder& b : sum->binders) {
    bound.insert(b.id);
    // A range whose length isn't known counts as long.
    Interval lo = b.lo ? scope.interval(scope.linear(b.lo)) : Interval{0, 0}, hi = scope.interval(scope.linear(b.hi));
    bool known = lo.lo && hi.hi && *hi.hi - *lo.lo < kLeastTerms;
    terms *= known ? std::max<int64_t>(*hi.hi - *lo.lo, 0) : kLeastTerms;
    terms = std::min(terms, kLeastTerms);
  }
  if (terms < kLeastTerms) return std::nullopt;

  Meaning itself;
  for (IndexId i : bound) itself[i] = {i};
  for (Contraction::Factor& f : out.factors) {
    f.hoisted = !changes_within_block(f.value, bound);
    f.apart = std::ranges::any_of(bound, [&](IndexId i) { return !changes_within_block(f.value, {i}); });
    f.inside = inside(program, f, itself, bound);
  }
  std::vector<Contraction::Factor*> parts, leaves;
  for (Contraction::Factor& f : out.factors) parts.push_back(&f), leaves_of(f, leaves);
  auto splits = [&](bool opened) {
    for (bool apart : {false, true}) {
      std::vector<std::set<IndexId>> has;
      for (const Contraction::Factor& f : out.factors) indices_of(program, f, opened, nullptr, apart, has);
      if (split(bound, has, opened ? leaves : parts)) return true;
    }
    return false;
  };
  if (parts.size() < 2 || !splits(false)) {
    // As what unannotated locals stand for it may be one: of it nothing is rounded.
    if (leaves.size() == parts.size() || !splits(true)) return std::nullopt;
    std::array<int, 2> count{};
    out.flushes = true;
    for (const Contraction::Factor* f : leaves) {
      if (f->hoisted) continue;
      std::set<ScalarType> types;
      value_types(program, binding, f->value, types);
      out.flushes &= ++count[f->operand] == 1 && types == std::set<ScalarType>{ScalarType::bf16};
    }
    return out;
  }
  auto follow = [](auto& self, Contraction::Factor& f) -> void {
    for (Contraction::Factor& g : f.inside) g.operand = f.operand, self(self, g);
  };
  for (Contraction::Factor& f : out.factors) follow(follow, f);
  std::array<int, 2> count{};
  std::array<bool, 2> all_plain{true, true};
  for (const Contraction::Factor& f : out.factors) {
    if (f.hoisted) continue;
    ++count[f.operand];
    all_plain[f.operand] &= plain(program, f.value) && !f.inverse;
  }
  std::array<std::set<ScalarType>, 2> operand_types;
  for (const Contraction::Factor& f : out.factors) {
    if (f.hoisted) continue;
    if (f.value->op == Op::kCast) {
      operand_types[f.operand].insert(binding.type(f.value->type));
    } else {
      value_types(program, binding, f.value, operand_types[f.operand]);
    }
  }
  for (int k : {0, 1}) out.computed[k] = count[k] > 1 || (count[k] == 1 && !all_plain[k]);

  std::set<ScalarType> types;
  value_types(program, binding, sum->args[0], types);
  bool bf16 = types.contains(ScalarType::bf16), f16 = types.contains(ScalarType::f16);
  bool wide = types.contains(ScalarType::f64);  // what is done in f64 does not go through 16 bits
  if (!wide && bf16 != f16 && (out.computed[0] || out.computed[1]))
    out.rounds_to = bf16 ? ScalarType::bf16 : ScalarType::f16;
  out.flushes = bf16 && !f16 && !wide;
  for (int k : {0, 1}) {
    out.flushes &= out.computed[k] || operand_types[k] == std::set<ScalarType>{ScalarType::bf16};
  }
  return out;
}

NodePtr operand(const Contraction& contraction, int k) {
  NodePtr out;
  for (const Contraction::Factor& f : contraction.factors) {
    if (f.operand != k || f.hoisted) continue;
    if (!out && !f.inverse) {
      out = f.value;
    } else {
      out = make_op(f.inverse ? Op::kDiv : Op::kMul, {out ? out : make_integer(1), f.value}, {}, Kind::kReal);
    }
  }
  return out;
}

Diagnostics rounding_remarks(const Program& program, const Binding& binding) {
  Diagnostics out;
  std::unordered_set<const Node*> seen;
  auto walk = [&](auto& self, const NodePtr& node) -> void {
    if (!node || !seen.insert(node.get()).second) return;
    if (node->op == Op::kSum) {
      if (auto c = contraction(program, binding, node); c && c->rounds_to) {
        for (int k : {0, 1}) {
          if (!c->computed[k]) continue;
          out.push_back(diagnose(Code::R2, node->span,
                                 {{"e", print(operand(*c, k))}, {"t", std::string(quern::name(*c->rounds_to))}}));
        }
      }
    }
    for (const NodePtr& arg : node->args) self(self, arg);
  };
  for (const Local& l : program.locals) walk(walk, l.value);
  for (const Update& u : program.updates) {
    walk(walk, u.value);
    if (!u.add || u.value->kind != Kind::kReal) continue;
    // Each instance has an element of its own if every binder stands plain on the left.
    bool apart = std::ranges::all_of(u.binders, [&](const Binder& b) {
      return std::ranges::any_of(u.subscripts, [&](const NodePtr& s) { return s->op == Op::kIndex && s->id == b.id; });
    });
    if (!apart) out.push_back(diagnose(Code::R3, u.span, {{"y", program.tensors[u.tensor].name.str()}}));
  }
  return out;
}

}  // namespace quern::expr
