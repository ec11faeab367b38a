// Names, operators, casts and reductions: from what was written to typed nodes.
#include <algorithm>

#include "base/text.h"
#include "expr/check/elaborator.h"
#include "expr/print.h"
#include "expr/substitute.h"

namespace quern::expr {

const Environment* Elaborator::bind(const Environment* parent, Symbol name, Meaning meaning) {
  environments_.push_back({parent, name, std::move(meaning)});
  return &environments_.back();
}

const Meaning* Elaborator::find(Symbol name, const Context& context) const {
  for (const Environment* e = context.environment; e; e = e->parent) {
    if (e->name == name) return &e->meaning;
  }
  return nullptr;
}

IndexId Elaborator::fresh(Symbol name) {
  program_.indices.push_back(name);
  return static_cast<IndexId>(program_.indices.size() - 1);
}

NodePtr Elaborator::substituted(const NodePtr& node, std::map<IndexId, NodePtr> replacements) {
  if (!node || replacements.empty()) return node;
  return Substitution(std::move(replacements), [this](Symbol name) { return fresh(name); }).apply(node);
}

NodePtr Elaborator::expression(const NodePtr& node, const Context& context) {
  switch (row(*node).family) {
    case Family::literal: {
      Node copy = *node;
      copy.kind = row(*node).gives == Gives::integer   ? Kind::kInt
                  : row(*node).gives == Gives::boolean ? Kind::kBool
                                                       : Kind::kReal;
      return make(std::move(copy));
    }
    case Family::name: return node->op == Op::kName ? lower_name(node, context) : upper_name(node, context);
    case Family::subscript: return subscript(node, context);
    case Family::call: return call(node, context);
    case Family::cast: return cast(node, node->type, context);
    case Family::reduction: return reduction(node, context);
    case Family::resolved:
    case Family::read:
    case Family::within: return node;  // already checked: a value that was expanded into its place
    default: break;
  }
  std::vector<NodePtr> args;
  bool good = true;
  for (const NodePtr& arg : node->args) {
    args.push_back(expression(arg, context));
    good &= args.back() != nullptr;
  }
  return good ? typed(node->op, std::move(args), node) : nullptr;
}

NodePtr Elaborator::lower_name(const NodePtr& node, const Context& context) {
  Symbol name = node->name;
  auto wrong_count = [&](size_t rank) -> NodePtr {
    report(diagnose(Code::E304, node->span, {{"x", name.str()}, {"r", counted(rank, "dimension")}, {"k", "0 subscripts"}}));
    return nullptr;
  };
  if (const Meaning* m = find(name, context)) {
    switch (m->what) {
      case Meaning::What::kIndex:
        if (m->group.size() != 1) {
          report(diagnose(Code::E606, node->span, {{"i", name.str()}}));
          return nullptr;
        }
        return make_index(m->group.front()->id, m->group.front()->name, node->span);
      case Meaning::What::kForbidden: {
        const Function& f = *m->forbidden_by;
        report(diagnose(Code::E605, node->span,
                        {{"x", f.formals[m->formal].name.str()},
                         {"i", name.str()},
                         {"f", f.name.str()},
                         {"p", f.indices.front().str()}}));
        return nullptr;
      }
      case Meaning::What::kValue: return m->value;
      case Meaning::What::kFunction: return m->value ? wrong_count(m->over.size()) : nullptr;
      case Meaning::What::kPoison: return nullptr;
    }
  }
  if (!context.function) {
    if (auto it = tensors_.find(name); it != tensors_.end()) {
      const Tensor& t = program_.tensors[it->second];
      if (t.rank() != 0) return wrong_count(t.shape.size());
      return read_tensor(it->second, {}, node);
    }
    if (auto it = locals_.find(name); it != locals_.end()) {
      const Local& l = program_.locals[it->second];
      if (!l.value) return nullptr;
      if (!l.binders.empty()) return wrong_count(l.binders.size());
      return read_local(it->second, {}, node);
    }
  }
  unknown_name(node, context);
  return nullptr;
}

NodePtr Elaborator::upper_name(const NodePtr& node, const Context& context) {
  Symbol name = node->name;
  if (!context.function) {
    if (auto it = uppers_.find(name); it != uppers_.end()) {
      if (it->second) {
        report(diagnose(Code::E205, node->span, {{"N", name.str()}}));
        return nullptr;
      }
      Node n{.op = Op::kDimension, .kind = Kind::kInt};
      n.name = name;
      n.span = node->span;
      return make(std::move(n));
    }
  }
  if (const Known* known = declarations_.constant(name, context.function ? context.function->order : INT_MAX)) {
    Node n = *known->value;
    n.span = node->span;
    return make(std::move(n));
  }
  if (damaged_ || declarations_.excused(name)) return nullptr;
  Diagnostic d = diagnose(Code::E201, node->span, {{"n", name.str()}});
  d.remedy = declarations_.constant(name) ? name.str() + " is declared below: move it up"
             : context.function ? "functions see constants and their own parameters: pass it"
                              : "no parameter has this dimension: list it, `kernel " + kernel_->name.str() + "[" +
                                    name.str() + "](...)`, or declare `const " + name.str() + " = ...`";
  report(std::move(d));
  return nullptr;
}

NodePtr Elaborator::cast(const NodePtr& node, ElementType type, const Context& context) {
  NodePtr value = expression(node->args[0], context);
  if (!value) return nullptr;
  bool number = quern::expr::kind(type) != Kind::kBool;
  if (number && quern::expr::kind(type) == Kind::kReal && value->kind == Kind::kBool) {
    report(diagnose(Code::E401, node->span, {{"op", std::string(name(type))}}));
    return nullptr;
  }
  Node n{.op = Op::kCast, .kind = quern::expr::kind(type)};
  n.type = type;
  n.args = {value};
  n.span = node->span;
  return make(std::move(n));
}

NodePtr Elaborator::reduction(const NodePtr& node, const Context& context) {
  Scope scope = enter(node->binders, context, node->args);
  NodePtr body = expression(node->args[0], scope.context);
  leave(scope);
  for (const Binder& b : node->binders) closed_.push_back(b.name);
  bool position = node->op == Op::kArgmax || node->op == Op::kArgmin;
  if (position && scope.bounds.size() > 1) {
    report(diagnose(Code::E407, node->span, {{"f", std::string(row(*node).text)}}));
    return nullptr;
  }
  // An index whose body failed may have lost the very use that gives its range: don't complain about it.
  if (!body || !scope.good || !resolve(scope.bounds)) return nullptr;
  NodePtr checked = typed(node->op, {body}, node);
  if (!checked) return nullptr;
  Node out = *checked;
  for (const Bound* b : scope.bounds) out.binders.push_back(binder_of(*b));
  return make(std::move(out));
}

// Subscripts and bounds are integers. `written` is the text that gave `value`.
bool Elaborator::require_integer(const NodePtr& value, const NodePtr& written, std::string what) {
  if (value->kind == Kind::kInt || value->kind == Kind::kUnknown) return true;
  std::string cure = value->kind == Kind::kBool ? "write `(1 if c else 0)`" : "write `i32(floor(...))`";
  auto divides = [](auto& self, const NodePtr& n) -> bool {
    if (is(n, Op::kDiv)) return true;
    bool arithmetic = row(*n).family == Family::arithmetic;
    return arithmetic && std::ranges::any_of(n->args, [&](const NodePtr& a) { return self(self, a); });
  };
  if (value->kind == Kind::kReal && divides(divides, written)) cure = "`//` is floor division";
  report(diagnose(Code::E405, written->span,
                  {{"what", std::move(what)},
                   {"e", print(written)},
                   {"kind", std::string(name(value->kind))},
                   {"cure", std::move(cure)}}));
  return false;
}

// Checks operand kinds by the table and gives the node its own.
NodePtr Elaborator::typed(Op op, std::vector<NodePtr> args, const NodePtr& source) {
  const OpRow& r = row(op);
  auto printed = [&](size_t i) { return print(i < source->args.size() ? source->args[i] : args[i]); };
  bool good = true;
  auto require = [&](size_t i, Takes takes) {
    Kind k = args[i]->kind;
    Span span = i < source->args.size() ? source->args[i]->span : source->span;
    if (k == Kind::kUnknown || takes == Takes::any) return;
    if (takes == Takes::boolean) {
      if (k == Kind::kBool) return;
      report(diagnose(Code::E404, span, {{"kind", std::string(name(k))}, {"e", printed(i)}}));
    } else if (k == Kind::kBool) {
      report(diagnose(Code::E401, span, {{"op", std::string(r.text)}}));
    } else if (takes == Takes::integer && k == Kind::kReal) {
      report(diagnose(Code::E403, span, {{"op", std::string(r.text)}, {"e", printed(i)}}));
    } else {
      return;
    }
    good = false;
  };
  Kind joined = Kind::kInt;
  auto join = [&](Kind k) {
    if (k == Kind::kReal || joined == Kind::kReal) {
      joined = Kind::kReal;
    } else if (k == Kind::kUnknown) {
      joined = Kind::kUnknown;
    }
  };
  if (op == Op::kSelect) {
    require(1, Takes::boolean);
    Kind a = args[0]->kind, b = args[2]->kind;
    bool known = a != Kind::kUnknown && b != Kind::kUnknown;
    if (known && (a == Kind::kBool) != (b == Kind::kBool)) {
      report(diagnose(Code::E402, source->span, {{"a", std::string(name(a))}, {"b", std::string(name(b))}}));
      good = false;
    }
    join(a);
    join(b);
    if (a == Kind::kBool || b == Kind::kBool) joined = Kind::kBool;
  } else {
    for (size_t i = 0; i < args.size(); ++i) {
      require(i, r.takes);
      join(args[i]->kind);
    }
  }
  if (!good) return nullptr;
  Node n{.op = op};
  n.chain = source->op == op && source->chain;
  n.span = source->span;
  switch (r.gives) {
    case Gives::joined: n.kind = joined; break;
    case Gives::integer: n.kind = Kind::kInt; break;
    case Gives::real: n.kind = Kind::kReal; break;
    case Gives::boolean: n.kind = Kind::kBool; break;
    case Gives::same: n.kind = args[0]->kind; break;
    case Gives::none: n.kind = Kind::kUnknown; break;
  }
  n.args = std::move(args);
  NodePtr made = make(std::move(n));
  if (made->size > kMaxSize || made->depth > kMaxDepth) {
    std::string limit = std::to_string(made->size > kMaxSize ? kMaxSize : kMaxDepth);
    if (!std::exchange(too_large_, true)) {
      report(diagnose(made->size > kMaxSize ? Code::E118 : Code::E113, source->span,
                      {{"kernel", kernel_ ? kernel_->name.str() : "the function"}, {"limit", limit}}));
    }
    return nullptr;
  }
  return made;
}

}  // namespace quern::expr
