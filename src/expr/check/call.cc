// Calls: built-in functions are nodes; functions of the notation are expanded in place (docs/notation.md, functions).
//
// A parameter x[i] is a function of the index parameter: its argument is elaborated once, over the call's index, and
// read elsewhere by substitution. The call's index is the outer index of the same name where there is one, so that a
// value which depends on it (softmax) needs no renaming and equal parts stay one shared node.
#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "expr/check/elaborator.h"
#include "expr/print.h"
#include "expr/substitute.h"

namespace quern::expr {
namespace {

bool is_builtin(Family f) {
  return f == Family::function || f == Family::function2 || f == Family::rounding || f == Family::random ||
         f == Family::within;
}

const std::unordered_map<std::string_view, const OpRow*>& builtins() {
  static const auto map = [] {
    std::unordered_map<std::string_view, const OpRow*> out;
    for (const OpRow& r : op_rows()) {
      if (is_builtin(r.family)) out[r.text] = &r;
    }
    return out;
  }();
  return map;
}

size_t argument_count(Family f) {
  return f == Family::within ? 4 : f == Family::function2 || f == Family::random ? 2 : 1;
}

std::string usage(const Function& f) {
  std::string out = f.name.str();
  for (size_t i = 0; i < f.indices.size(); ++i) out += (i ? ", " : "[") + f.indices[i].str();
  return out + (f.indices.empty() ? "(...)" : "](...)");
}

}  // namespace

NodePtr Elaborator::call(const NodePtr& node, const Context& context) {
  const std::string& name = node->name.str();
  if (name[0] >= 'A' && name[0] <= 'Z') {  // T(x): a cast to a type variable
    auto it = context.function ? uppers_.end() : uppers_.find(node->name);
    if (it != uppers_.end() && it->second && node->binders.empty() && node->args.size() == 1) {
      return cast(node, {.scalar = ScalarType::f32, .variable = node->name}, context);
    }
    bool dimension = it != uppers_.end() && !it->second;
    report(dimension ? diagnose(Code::E205, node->span, {{"N", name}}) : diagnose(Code::E106, node->span, {{"n", name}}));
    return nullptr;
  }
  if (const Callable* f = declarations_.function(node->name, context.function ? context.function->order : INT_MAX)) {
    return expand(node, *f, context);
  }
  return builtin(node, context);
}

NodePtr Elaborator::builtin(const NodePtr& node, const Context& context) {
  const std::string& name = node->name.str();
  auto found = builtins().find(name);
  if (found == builtins().end()) {
    if (declarations_.excused(node->name)) return nullptr;
    if (declarations_.function(node->name)) {  // there is one, but not above
      report(diagnose(Code::E607, node->span, {{"f", name}}));
      return nullptr;
    }
    std::vector<std::string> known;
    for (const auto& [text, r] : builtins()) known.emplace_back(text);
    for (const auto& [symbol, f] : declarations_.functions) known.push_back(symbol.str());
    std::ranges::sort(known);
    Diagnostic d = diagnose(Code::E202, node->span, {{"f", name}});
    auto near = nearest(name, known);
    d.remedy = near ? "did you mean " + *near + "?" : "declare it above with `fn`, or import the file that has it";
    if (std::string what = what_is(node->name, context); what == "scalar" || what == "index") {
      d.remedy = name + " is " + (what == "index" ? "an " : "a ") + what + " here: a product needs `*`";
    } else if (!what.empty()) {
      d.remedy = name + " is a " + what + " here: subscripts stand in brackets";
    }
    report(std::move(d));
    return nullptr;
  }
  const OpRow& r = *found->second;
  if (!node->binders.empty()) {
    report(diagnose(Code::E603, node->span, {{"f", name}, {"what", "no index"}, {"usage", name + "(...)"}}));
    return nullptr;
  }
  size_t want = argument_count(r.family);
  if (node->args.size() != want) {
    report(diagnose(Code::E604, node->span,
                    {{"f", name}, {"k", counted(want, "argument")}, {"m", std::to_string(node->args.size())}}));
    return nullptr;
  }
  std::vector<NodePtr> args;
  bool good = true;
  for (const NodePtr& arg : node->args) {
    args.push_back(expression(arg, context));
    good &= args.back() != nullptr;
  }
  return good ? typed(r.op, std::move(args), node) : nullptr;
}

NodePtr Elaborator::expand(const NodePtr& node, const Callable& callable, const Context& context) {
  const Function& f = *callable.function;
  auto wrong_use = [&](std::string what) -> NodePtr {
    report(diagnose(Code::E603, node->span, {{"f", f.name.str()}, {"what", std::move(what)}, {"usage", usage(f)}}));
    return nullptr;
  };
  if (f.indices.empty() && !node->binders.empty()) return wrong_use("no index");
  if (!f.indices.empty() && node->binders.empty()) return wrong_use("an index");
  if (f.indices.size() > 1 && node->binders.size() != f.indices.size()) {
    return wrong_use(counted(f.indices.size(), "index parameter"));
  }
  if (node->args.size() != f.formals.size()) {
    report(diagnose(Code::E604, node->span,
                    {{"f", f.name.str()},
                     {"k", counted(f.formals.size(), "argument")},
                     {"m", std::to_string(node->args.size())}}));
    return nullptr;
  }

  // The call's own indices, and for each index parameter the group that stands for it.
  Scope scope;
  scope.context = context;
  scope.opened = open_.size();
  std::vector<Group> groups(f.indices.size());
  std::vector<std::pair<size_t, size_t>> ranges;  // of scope.bounds, for each written binder
  for (size_t b = 0; b < node->binders.size(); ++b) {
    size_t first = scope.bounds.size();
    if (!add_binder(scope, node->binders[b], node->args, true)) scope.good = false;
    ranges.emplace_back(first, scope.bounds.size());
    Group& group = groups[f.indices.size() == 1 ? 0 : b];
    group.insert(group.end(), scope.bounds.begin() + static_cast<ptrdiff_t>(first), scope.bounds.end());
  }

  std::vector<NodePtr> args;
  bool good = scope.good;
  for (size_t k = 0; k < f.formals.size(); ++k) {
    const Function::Formal& formal = f.formals[k];
    Context inside = scope.context;
    for (size_t b = 0; b < node->binders.size(); ++b) {
      Symbol index = f.indices[f.indices.size() == 1 ? 0 : b];
      if (std::ranges::find(formal.indices, index) != formal.indices.end()) continue;
      Meaning forbidden;
      forbidden.what = Meaning::What::kForbidden;
      forbidden.forbidden_by = &f;
      forbidden.formal = k;
      inside.environment = bind(inside.environment, node->binders[b].name, std::move(forbidden));
    }
    args.push_back(expression(node->args[k], inside));
    good &= args.back() != nullptr;
  }
  leave(scope);
  if (!good || !resolve(scope.bounds) || callable.damaged || too_large_) return nullptr;

  // The body sees the function's own names only.
  Context inside;
  inside.function = &callable;
  size_t opened = open_.size();
  for (size_t p = 0; p < f.indices.size(); ++p) {
    Meaning meaning;
    meaning.what = Meaning::What::kIndex;
    for (Bound* b : groups[p]) {
      b->parameter = true;
      b->position = open_.size();
      open_.push_back(b->id);
      meaning.group.push_back(b);
    }
    inside.environment = bind(inside.environment, f.indices[p], std::move(meaning));
  }
  for (size_t k = 0; k < f.formals.size(); ++k) {
    Meaning meaning;
    meaning.value = args[k];
    meaning.what = f.formals[k].indices.empty() ? Meaning::What::kValue : Meaning::What::kFunction;
    for (Symbol index : f.formals[k].indices) {
      auto at = std::ranges::find(f.indices, index);
      if (at != f.indices.end()) meaning.over.push_back(groups[static_cast<size_t>(at - f.indices.begin())]);
    }
    inside.environment = bind(inside.environment, f.formals[k].name, std::move(meaning));
  }
  calls_.emplace_back(f.name.str(), node->span);
  Symbol before = std::exchange(defining_, {});
  NodePtr value = body(f, inside);
  defining_ = before;
  calls_.pop_back();
  open_.resize(opened);
  if (!value) return nullptr;

  // A value that depends on the index is one for each of the caller's index of that name.
  std::map<IndexId, NodePtr> renamed;
  for (size_t b = 0; b < node->binders.size(); ++b) {
    const Meaning* outer = find(node->binders[b].name, context);
    for (size_t k = ranges[b].first; k < ranges[b].second; ++k) {
      Bound* own = scope.bounds[k];
      if (!depends_on(value, own->id)) continue;
      size_t place = k - ranges[b].first;
      if (!outer || outer->what != Meaning::What::kIndex || place >= outer->group.size()) {
        report(diagnose(Code::E602, node->span, {{"f", f.name.str()}, {"n", own->name.str()}}));
        return nullptr;
      }
      Bound* there = outer->group[place];
      record(*there, *own->domain, f.name.str(), node->binders[b].span);
      if (there->id != own->id) renamed[own->id] = make_index(there->id, there->name, node->span);
    }
  }
  return substituted(value, std::move(renamed));
}

NodePtr Elaborator::body(const Function& f, Context inside) {
  bool good = true;
  for (const Definition& d : f.definitions) good &= function_local(d, inside);
  return f.value && good ? expression(f.value, inside) : nullptr;
}

bool Elaborator::function_local(const Definition& d, Context& inside) {
  Meaning meaning;
  auto define = [&](bool good) {
    if (!good) meaning = {};  // poison: what uses it stays silent
    inside.environment = bind(inside.environment, d.name, std::move(meaning));
    return good;
  };
  if (!d.value) return define(false);
  if (!d.loops.empty() || d.add) {
    report(diagnose(Code::E502, d.name_span));
    return define(false);
  }
  if (const Meaning* known = find(d.name, inside); known && known->what != Meaning::What::kPoison) {
    report(diagnose(Code::E501, d.name_span, {{"n", d.name.str()}}).with_remedy("use another name"));
    return define(false);
  }
  std::vector<Binder> binders;
  for (const Definition::Left& left : d.left) {
    if (!left.binder) {
      report(diagnose(Code::E503, left.value->span));
      return define(false);
    }
    binders.push_back(*left.binder);
  }
  Symbol before = std::exchange(defining_, d.name);
  Scope scope = enter(binders, inside, {d.value});
  NodePtr value = expression(d.value, scope.context);
  leave(scope);
  defining_ = before;
  if (!value || !scope.good || !resolve(scope.bounds)) return define(false);
  if (d.type) {
    if (d.type->variable || !kind_fits(d.name.str(), *d.type, value, d.name_span)) {
      if (d.type->variable) report(diagnose(Code::E106, d.type_span, {{"n", d.type->variable.str()}}));
      return define(false);
    }
    Node n{.op = Op::kCast, .kind = quern::expr::kind(*d.type)};
    n.type = *d.type;
    n.args = {value};
    n.span = d.span;
    value = make(std::move(n));
  }
  meaning.what = d.left.empty() ? Meaning::What::kValue : Meaning::What::kFunction;
  meaning.value = value;
  meaning.limited = !d.left.empty();
  for (Bound* b : scope.bounds) meaning.over.push_back({b});
  for (IndexId id : free_indices(value)) {
    bool own = std::ranges::any_of(scope.bounds, [&](const Bound* b) { return b->id == id; });
    inside.captures |= !own;
  }
  return define(true);
}

// A body whose parameters could be anything: opaque reads of unknown kind.
Diagnostics Elaborator::function(const Callable& callable) {
  const Function& f = *callable.function;
  Context inside;
  inside.function = &callable;
  auto opaque = [&](Symbol name, Op op, std::vector<NodePtr> args) {
    Node n{.op = op, .kind = op == Op::kDimension ? Kind::kInt : Kind::kUnknown};
    n.name = name;
    n.args = std::move(args);
    return make(std::move(n));
  };
  std::unordered_map<Symbol, Group> groups;
  for (size_t i = 0; i < f.indices.size(); ++i) {
    if (groups.contains(f.indices[i])) report(diagnose(Code::E510, f.index_spans[i], {{"n", f.indices[i].str()}}));
    Bound* b = new_bound(f.indices[i], kNoIndex, f.index_spans[i]);
    b->domain = Domain{nullptr, opaque(f.indices[i], Op::kDimension, {}), true};
    b->parameter = true;
    groups[f.indices[i]] = {b};
    Meaning meaning;
    meaning.what = Meaning::What::kIndex;
    meaning.group = {b};
    inside.environment = bind(inside.environment, f.indices[i], std::move(meaning));
  }
  for (const Function::Formal& formal : f.formals) {
    if (find(formal.name, inside)) report(diagnose(Code::E510, formal.span, {{"n", formal.name.str()}}));
    Meaning meaning;
    std::vector<NodePtr> at;
    for (Symbol index : formal.indices) {
      auto it = groups.find(index);
      if (it == groups.end()) {
        report(diagnose(Code::E201, formal.span, {{"n", index.str()}})
                   .with_remedy("list it behind the name: `fn " + f.name.str() + "[" + index.str() + "](...)`"));
        return std::move(errors_);
      }
      meaning.over.push_back(it->second);
      at.push_back(make_index(it->second.front()->id, index));
    }
    meaning.what = formal.indices.empty() ? Meaning::What::kValue : Meaning::What::kFunction;
    meaning.value = opaque(formal.name, Op::kRead, std::move(at));
    inside.environment = bind(inside.environment, formal.name, std::move(meaning));
  }
  body(f, inside);
  return std::move(errors_);
}

}  // namespace quern::expr
