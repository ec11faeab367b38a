// Reporting: each place once, with the call that led to it, and the advice that fits a name nobody knows.
#include <algorithm>

#include "base/text.h"
#include "expr/check/elaborator.h"

namespace quern::expr {

void Elaborator::report(Diagnostic d) {
  if (!reported_.emplace(d.code, d.span.source, d.span.begin, d.span.end).second) return;
  if (!calls_.empty()) d = std::move(d).note(calls_.front().second, "in this call of " + calls_.front().first);
  errors_.push_back(std::move(d));
}

std::string Elaborator::near_name(Symbol name, const Context& context) const {
  std::vector<std::string> known;
  for (const Environment* e = context.environment; e; e = e->parent) known.push_back(e->name.str());
  if (!context.function) {
    for (const Tensor& t : program_.tensors) known.push_back(t.name.str());
    for (const Local& l : program_.locals) known.push_back(l.name.str());
  }
  auto near = nearest(name.str(), known);
  return near && name.str().size() > 1 ? *near : std::string();
}

std::string Elaborator::what_is(Symbol name, const Context& context) const {
  if (const Meaning* m = find(name, context)) {
    if (m->what == Meaning::What::kIndex) return "index";
    return m->what == Meaning::What::kFunction ? "function of its index" : "scalar";
  }
  if (context.function) return {};
  if (auto it = tensors_.find(name); it != tensors_.end()) {
    return program_.tensors[it->second].scalar() ? "scalar" : "tensor";
  }
  return locals_.contains(name) ? "local" : std::string();
}

// E201, with the advice that fits: a reduction that has ended, a definition further down, a misspelt name.
void Elaborator::unknown_name(const NodePtr& node, const Context& context) {
  Symbol name = node->name;
  if (poisoned_.contains(name) || (damaged_ && !context.function)) return;
  if (std::ranges::find(later_, name) != later_.end()) {
    report(diagnose(Code::E308, node->span, {{"n", defining_.str()}, {"m", name.str()}}));
    return;
  }
  if (!context.function && name == defining_) {
    report(diagnose(Code::N901, node->span, {{"h", name.str()}}));
    return;
  }
  Diagnostic d = diagnose(Code::E201, node->span, {{"n", name.str()}});
  bool below = false;
  if (!context.function && kernel_) {
    for (const Definition& later : kernel_->definitions) {
      below |= later.name == name && later.name_span.begin > node->span.begin;
    }
  }
  if (std::ranges::find(closed_, name) != closed_.end()) {
    d.remedy = "the reduction over " + name.str() + " has ended before it: put its body in parentheses";
  } else if (below) {
    d.remedy = name.str() + " is defined below: move it up";
  } else if (std::string near = near_name(name, context); !near.empty()) {
    d.remedy = "did you mean " + near + "? else " + d.remedy;
  }
  report(std::move(d));
}

}  // namespace quern::expr
