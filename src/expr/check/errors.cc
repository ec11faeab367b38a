// Reporting: each place once, and the advice that fits a name nobody knows.
#include <algorithm>

#include "base/text.h"
#include "expr/check/elaborator.h"

namespace quern::expr {

// Within a function that is right by itself, the call is what is wrong: it is the place, and the function's is a note.
void Elaborator::report(Diagnostic d) {
  if (!calls_.empty()) {
    Diagnostic at_call = diagnose(d.code, calls_.front().second);
    at_call.message = std::move(d.message);
    at_call.remedy = std::move(d.remedy);
    d = std::move(at_call).note(d.span, "here, in " + calls_.back().first);
  }
  if (!reported_.emplace(d.code, d.span.source, d.span.begin, d.span.end).second) return;
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

bool Elaborator::defines(Symbol name, const Context& context) const {
  const auto& all = context.function ? context.function->function->definitions : kernel_->definitions;
  return std::ranges::find(all, name, &Definition::name) != all.end();
}

// E201, with the advice that fits: a reduction that has ended, a definition further down, a misspelt name.
void Elaborator::unknown_name(const NodePtr& node, const Context& context) {
  Symbol name = node->name;
  if (!context.function && (damaged_ || poisoned_.contains(name) || unclear_.contains(name))) return;
  if (std::ranges::find(later_, name) != later_.end()) {
    report(diagnose(Code::E308, node->span, {{"n", defining_.str()}, {"m", name.str()}}));
    return;
  }
  if (name == defining_) {
    report(diagnose(Code::N901, node->span, {{"h", name.str()}}));
    return;
  }
  Diagnostic d = diagnose(Code::E201, node->span, {{"n", name.str()}});
  if (is(node, Op::kSubscript)) d.remedy = "define it above, or make it a parameter";
  if (context.function) d.remedy = "a function sees its parameters and what it defines above";
  if (std::ranges::find(closed_, name) != closed_.end()) {
    d.remedy = "the reduction over " + name.str() + " has ended before it: put its body in parentheses";
  } else if (defines(name, context)) {
    d.remedy = name.str() + " is defined below: move it up";
  } else if (std::string near = near_name(name, context); !near.empty()) {
    d.remedy = "did you mean " + near + "?";
  }
  report(std::move(d));
}

}  // namespace quern::expr
