// Reading tensors, locals and a function's parameters at subscripts; a bare index collects the range of its position.
#include "base/text.h"
#include "expr/check/elaborator.h"
#include "expr/print.h"

namespace quern::expr {

bool Elaborator::subscripts(const NodePtr& node, const Context& context, std::vector<Subscript>& out) {
  bool good = true;
  for (const NodePtr& arg : node->args) {
    Subscript s;
    s.span = arg->span;
    const Meaning* m = arg->op == Op::kName ? find(arg->name, context) : nullptr;
    if (m && m->what == Meaning::What::kIndex) {
      s.group = &m->group;
      if (m->group.size() == 1) s.value = make_index(m->group.front()->id, m->group.front()->name, arg->span);
    } else {
      s.value = expression(arg, context);
      if (s.value && !require_integer(s.value, arg, "subscript")) s.value = nullptr;
      good &= s.value != nullptr;
    }
    out.push_back(std::move(s));
  }
  return good;
}

bool Elaborator::count_matches(const NodePtr& node, size_t rank) {
  if (node->args.size() == rank) return true;
  report(diagnose(Code::E304, node->span,
                  {{"x", node->name.str()}, {"r", counted(rank, "dimension")}, {"k", counted(node->args.size(), "subscript")}}));
  return false;
}

NodePtr Elaborator::subscript(const NodePtr& node, const Context& context) {
  Symbol name = node->name;
  std::vector<Subscript> at;
  auto no_subscripts = [&](std::string what) -> NodePtr {
    report(diagnose(Code::E204, node->span, {{"n", name.str()}, {"what", std::move(what)}}));
    return nullptr;
  };
  if (const Meaning* m = find(name, context)) {
    switch (m->what) {
      case Meaning::What::kIndex:
      case Meaning::What::kForbidden: return no_subscripts("an index");
      case Meaning::What::kValue: return no_subscripts("a parameter without index, or a scalar");
      case Meaning::What::kPoison: return nullptr;
      case Meaning::What::kFunction:
        if (!count_matches(node, m->over.size()) || !subscripts(node, context, at) || !m->value) return nullptr;
        return read_function(*m, at, node);
    }
  }
  if (!context.function) {
    if (auto it = tensors_.find(name); it != tensors_.end()) {
      const Tensor& t = program_.tensors[it->second];
      if (t.rank() == 0) return no_subscripts("a scalar");
      if (!count_matches(node, t.shape.size()) || !subscripts(node, context, at)) return nullptr;
      return read_tensor(it->second, at, node);
    }
    if (auto it = locals_.find(name); it != locals_.end()) {
      const Local& l = program_.locals[it->second];
      if (!l.value) return nullptr;
      if (l.binders.empty()) return no_subscripts("a scalar");
      if (!count_matches(node, l.binders.size()) || !subscripts(node, context, at)) return nullptr;
      return read_local(it->second, at, node);
    }
  }
  unknown_name(node, context);
  return nullptr;
}

NodePtr Elaborator::read_tensor(int32_t tensor, const std::vector<Subscript>& at, const NodePtr& node) {
  const Tensor& t = program_.tensors[tensor];
  if (t.role == Role::kResult) {
    if (t.name == defining_) {
      report(diagnose(Code::N901, node->span, {{"h", t.name.str()}}));
      return nullptr;
    }
    if (writes_seen_[tensor] == 0) {
      unknown_name(node, {});
      return nullptr;
    }
    if (writes_left_[tensor] > 0) {
      Diagnostic d = diagnose(Code::E506, node->span, {{"x", t.name.str()}});
      d.remedy = "a result is read after its last definition: move this below it";
      report(std::move(d));
      return nullptr;
    }
  }
  Node n{.op = Op::kRead, .kind = quern::expr::kind(t.type)};
  n.id = tensor;
  n.name = t.name;
  n.span = node->span;
  for (size_t i = 0; i < at.size(); ++i) {
    if (!at[i].value) {
      report(diagnose(Code::E606, at[i].span, {{"i", print(node->args[i])}}));
      return nullptr;
    }
    if (at[i].group) record(*at[i].group->front(), {nullptr, t.shape[i], true}, t.name.str(), at[i].span);
    n.args.push_back(at[i].value);
  }
  return make(std::move(n));
}

NodePtr Elaborator::read_local(int32_t local, const std::vector<Subscript>& at, const NodePtr& node) {
  const Local& l = program_.locals[local];
  Node n{.op = Op::kLocal, .kind = l.kind};
  n.id = local;
  n.name = l.name;
  n.span = node->span;
  std::map<IndexId, NodePtr> here;
  for (size_t i = 0; i < at.size(); ++i) {
    if (!at[i].value) {
      report(diagnose(Code::E606, at[i].span, {{"i", print(node->args[i])}}));
      return nullptr;
    }
    if (at[i].group) {
      // The domain of this position, its bound rewritten to the subscripts used here.
      const Binder& b = l.binders[i];
      record(*at[i].group->front(), {substituted(b.lo, here), substituted(b.hi, here), l.dimension[i]}, l.name.str(),
             at[i].span);
    }
    here[l.binders[i].id] = at[i].value;
    n.args.push_back(at[i].value);
  }
  return make(std::move(n));
}

// A parameter x[i] of a function, or a local of its body, read at other subscripts: its value with those put in.
NodePtr Elaborator::read_function(const Meaning& meaning, const std::vector<Subscript>& at, const NodePtr& node) {
  std::map<IndexId, NodePtr> replacements;
  std::vector<NodePtr> within;
  for (size_t i = 0; i < at.size(); ++i) {
    const Group& over = meaning.over[i];
    if (at[i].group) {
      const Group& group = *at[i].group;
      if (group.size() != over.size()) {
        report(diagnose(Code::E606, at[i].span, {{"i", print(node->args[i])}}));
        return nullptr;
      }
      for (size_t k = 0; k < group.size(); ++k) {
        if (over[k]->domain) record(*group[k], *over[k]->domain, node->name.str(), at[i].span);
        if (group[k]->id != over[k]->id) replacements[over[k]->id] = make_index(group[k]->id, group[k]->name, at[i].span);
      }
    } else if (over.size() != 1) {
      report(diagnose(Code::E606, at[i].span, {{"i", over.front()->name.str()}}));
      return nullptr;
    } else {
      replacements[over.front()->id] = at[i].value;
    }
    if (meaning.limited && over.front()->domain) {
      const Domain& d = *over.front()->domain;
      within.push_back(at[i].group ? make_index(at[i].group->front()->id, at[i].group->front()->name) : at[i].value);
      within.push_back(d.lo ? substituted(d.lo, replacements) : make_integer(0));
      within.push_back(substituted(d.hi, replacements));
    }
  }
  NodePtr value = substituted(meaning.value, replacements);
  for (size_t i = 0; i < within.size(); i += 3) {
    Node n{.op = Op::kWithin, .kind = value->kind};
    n.args = {value, within[i], within[i + 1], within[i + 2]};
    n.span = node->span;
    value = make(std::move(n));
  }
  return value;
}

}  // namespace quern::expr
