// Definitions of locals, definitions and updates of results and inout tensors.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "expr/check/elaborator.h"
#include "expr/dimension_form.h"
#include "expr/print.h"

namespace quern::expr {

void Elaborator::definition(const Definition& d) {
  auto tensor = tensors_.find(d.name);
  if (!d.value) {  // damaged text, reported by the parser
    poisoned_.insert(d.name);
    if (tensor != tensors_.end()) ++writes_seen_[tensor->second], --writes_left_[tensor->second];
    return;
  }
  defining_ = d.name;
  closed_.clear();
  if (tensor != tensors_.end()) {
    update(d, tensor->second);
  } else {
    local(d);
  }
  defining_ = {};
}

Diagnostic Elaborator::defined_twice(const Definition& d) const {
  Diagnostic out = diagnose(Code::E501, d.name_span, {{"n", d.name.str()}});
  auto first = std::ranges::find(kernel_->definitions, d.name, &Definition::name);
  return std::move(out).note(first->name_span, "first defined here");
}

bool Elaborator::kind_fits(std::string name, const ElementType& type, const NodePtr& value, Span span) {
  Kind have = value->kind, want = quern::expr::kind(type);
  if (have == Kind::kUnknown || have == want || (want == Kind::kReal && have == Kind::kInt)) return true;
  if (want == Kind::kReal || (want == Kind::kBool)) {
    Diagnostic d = diagnose(Code::E402, span,
                            {{"a", std::string(quern::name(want))}, {"b", std::string(quern::name(have))}});
    d.message = name + " stores " + (want == Kind::kBool ? "bools" : "reals") + ", the value is " +
                std::string(quern::name(have));
    d.remedy = want == Kind::kBool ? "write `bool(...)`, or compare" : "write `(1 if c else 0)`";
    report(std::move(d));
    return false;
  }
  Diagnostic d = diagnose(Code::E406, span,
                          {{"x", std::move(name)},
                           {"kind", std::string(quern::name(have))},
                           {"t", std::string(quern::expr::name(type))}});
  if (have == Kind::kBool) d.remedy = "write `(1 if c else 0)`";
  report(std::move(d));
  return false;
}

void Elaborator::local(const Definition& d) {
  auto register_local = [&](Local l) {
    if (!l.value) poisoned_.insert(d.name);
    locals_[d.name] = static_cast<int32_t>(program_.locals.size());
    program_.locals.push_back(std::move(l));
  };
  Local out;
  out.name = d.name;
  out.span = d.span;
  if (auto known = locals_.find(d.name); known != locals_.end()) {
    report(defined_twice(d).with_remedy("use another name"));
    return;
  }
  if (d.add) {
    report(diagnose(Code::E505, d.name_span, {{"y", d.name.str()}}).with_remedy("only results with a first value and inout tensors are updated"));
    return register_local(std::move(out));
  }
  if (!d.loops.empty()) {
    report(diagnose(Code::E502, d.name_span));
    return register_local(std::move(out));
  }
  std::vector<Binder> binders;
  for (const Definition::Left& left : d.left) {
    if (!left.binder) {
      report(diagnose(Code::E503, left.value->span));
      return register_local(std::move(out));
    }
    binders.push_back(*left.binder);
  }
  Scope scope = enter(binders, {}, {d.value});
  NodePtr value = expression(d.value, scope.context);
  leave(scope);
  if (!value || !scope.good || !resolve(scope.bounds)) return register_local(std::move(out));
  if (d.type && !kind_fits(d.name.str(), *d.type, value, d.name_span)) return register_local(std::move(out));
  if (d.type && d.type->variable) {
    auto it = uppers_.find(d.type->variable);
    if (it == uppers_.end() || !it->second) {
      report(diagnose(Code::E106, d.type_span, {{"n", d.type->variable.str()}}));
      return register_local(std::move(out));
    }
  }
  for (const Bound* b : scope.bounds) {
    out.binders.push_back(binder_of(*b));
    out.dimension.push_back(b->domain->dimension);
  }
  out.type = d.type;
  out.kind = d.type ? quern::expr::kind(*d.type) : value->kind;
  out.value = std::move(value);
  register_local(std::move(out));
}

// The left side: own binders, loop indices that stand plain, computed subscripts.
bool Elaborator::update_left(const Definition& d, const Tensor& t, Scope& scope, std::vector<Binder>& left,
                             std::vector<NodePtr>& subscripts, std::vector<Bound*>& own) {
  bool good = true;
  auto bound_of = [&](Symbol name) -> Bound* {
    const Meaning* m = find(name, scope.context);
    return m && m->what == Meaning::What::kIndex ? m->group.front() : nullptr;
  };
  for (size_t i = 0; i < d.left.size(); ++i) {
    const Definition::Left& l = d.left[i];
    if (l.binder) {
      Bound* b = bound_of(l.binder->name);
      if (!b) {
        good = false;
        continue;
      }
      record(*b, {nullptr, t.shape[i], true}, t.name.str(), l.binder->span);
      bool is_own = std::ranges::any_of(left, [&](const Binder& x) { return x.name == l.binder->name; });
      own.push_back(is_own ? b : nullptr);
      subscripts.push_back(make_index(b->id, b->name, l.binder->span));
      continue;
    }
    NodePtr e = expression(l.value, scope.context);
    own.push_back(nullptr);
    if (e && !require_integer(e, l.value, "subscript")) e = nullptr;
    bool packed = !t.type.variable && quern::row(t.type.scalar).bits < 8;
    if (e && packed && i + 1 == d.left.size()) {
      report(diagnose(Code::E507, l.value->span, {{"x", t.name.str()}}));
      e = nullptr;
    }
    good &= e != nullptr;
    subscripts.push_back(std::move(e));
  }
  return good;
}

// Why an update does not define every element, or empty if it does.
std::string Elaborator::not_total(const Update& u, const std::vector<Bound*>& own) const {
  const Tensor& t = program_.tensors[u.tensor];
  if (u.filter) return "the filter skips some";
  for (size_t i = 0; i < own.size(); ++i) {
    if (!own[i]) return "'for' binds " + print(u.subscripts[i]);
    const Domain& range = *own[i]->domain;
    if (!range.dimension || !same_dimension(range.hi, t.shape[i])) {
      Binder b = binder_of(*own[i]);
      return print(b) + " is not all of " + print(t.shape[i]);
    }
  }
  std::set<const Bound*> different(own.begin(), own.end());
  if (different.size() != own.size()) return "an index stands twice";
  if (u.binders.size() != own.size()) return "'for' repeats the definition";
  return {};
}

void Elaborator::update(const Definition& d, int32_t tensor) {
  const Tensor t = program_.tensors[tensor];
  --writes_left_[tensor];
  bool first_write = writes_seen_[tensor]++ == 0;
  auto failed = [&] { poisoned_.insert(d.name); };
  if (unclear_.contains(d.name)) return failed();
  if (t.role == Role::kParameter) {
    report(diagnose(Code::E511, d.name_span, {{"n", t.name.str()}}));
    return;
  }
  bool changes = t.role == Role::kInout || t.value != nullptr;
  if (d.type) {
    report(diagnose(Code::E102, d.type_span, {{"t", "'='"}, {"u", "a type"}})
               .with_remedy("the type of a result stands in the kernel's first line"));
    return failed();
  }
  if (d.left.size() != t.shape.size()) {
    report(diagnose(Code::E304, d.name_span,
                    {{"x", t.name.str()},
                     {"r", counted(t.shape.size(), "dimension")},
                     {"k", counted(d.left.size(), "subscript")}}));
    return failed();
  }
  if (d.add && !changes) {
    report(diagnose(Code::E505, d.name_span, {{"y", t.name.str()}}));
    return failed();
  }
  auto not_everywhere = [&](std::string why) {
    report(diagnose(Code::E504, d.name_span, {{"y", t.name.str()}, {"why", std::move(why)}}));
    return failed();
  };
  if (!changes && !first_write) {
    report(defined_twice(d));
    return failed();
  }

  for (const Definition::Left& l : d.left) {
    if (changes || l.binder) continue;
    if (is(l.value, Op::kUpper)) {
      report(diagnose(Code::E104, l.value->span, {{"what", "index"}, {"n", l.value->name.str()}, {"case", "lower"}}));
      return failed();
    }
    return not_everywhere("subscript " + print(l.value) + " is computed");
  }

  // Binders: `for` first, then the left side's own. A plain left index that `for` binds is that index.
  std::vector<Binder> binders = d.loops, own_binders;
  for (const Definition::Left& l : d.left) {
    if (!l.binder) continue;
    bool looped = std::ranges::any_of(d.loops, [&](const Binder& b) { return b.name == l.binder->name; });
    if (looped && !l.binder->lo && !l.binder->hi) continue;
    bool twice = std::ranges::any_of(own_binders, [&](const Binder& b) { return b.name == l.binder->name; });
    if (twice && !l.binder->lo && !l.binder->hi) continue;  // y[i, i] = …: the diagonal
    own_binders.push_back(*l.binder);
  }
  binders.insert(binders.end(), own_binders.begin(), own_binders.end());
  Scope scope = enter(binders, {}, {d.value});
  Update u;
  u.tensor = tensor;
  u.add = d.add;
  u.span = d.span;
  std::vector<Bound*> own;
  bool good = update_left(d, t, scope, own_binders, u.subscripts, own) && scope.good;
  if (d.filter) {
    u.filter = expression(d.filter, scope.context);
    if (u.filter && u.filter->kind != Kind::kBool) {
      report(diagnose(Code::E404, d.filter->span,
                      {{"kind", std::string(quern::name(u.filter->kind))}, {"e", print(d.filter)}}));
      u.filter = nullptr;
    }
    good &= u.filter != nullptr;
  }
  u.value = expression(d.value, scope.context);
  leave(scope);
  if (!u.value || !good || !resolve(scope.bounds)) return failed();
  if (!kind_fits(t.name.str(), t.type, u.value, d.name_span)) return failed();
  for (const Bound* b : scope.bounds) u.binders.push_back(binder_of(*b));
  std::string why = u.add ? "it adds" : not_total(u, own);
  u.total = why.empty();
  if (!changes && !u.total) return not_everywhere(std::move(why));
  program_.updates.push_back(std::move(u));
}

}  // namespace quern::expr
