#include "api/notation/build.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "lang/token.h"

namespace quern::internal {
namespace {

// A name has to be one word of the right case and not reserved; the lexer knows.
class Names {
 public:
  explicit Names(Diagnostics& faults) : faults_(faults) {}

  void check(Symbol name, std::string_view what, bool upper) {
    if (!seen_.emplace(name, upper).second) return;
    auto report = [&](Diagnostic d) { faults_.push_back(std::move(d)); };
    SourcePtr source = Source::make("<name>", name.str());
    Diagnostics errors;
    lang::Tokens tokens = lang::tokenize(*source, errors);
    if (!errors.empty()) {
      Diagnostic d = std::move(errors.front());
      d.message = "the name of " + std::string(what) + " '" + name.str() + "': " + d.message;
      d.span = {};
      d.source = nullptr;
      return report(std::move(d));
    }
    std::string_view wanted = upper ? "upper" : "lower";
    if (tokens.tokens.size() != 2 || tokens.tokens[0].text.size() != name.str().size() || !tokens.comments.empty()) {
      return report(diagnose(Code::E102, {}, {{"t", "a name for " + std::string(what)}, {"u", "'" + name.str() + "'"}})
                        .with_remedy("a name has letters, digits and _"));
    }
    switch (tokens.tokens[0].kind) {
      case lang::TokenKind::kLower:
      case lang::TokenKind::kUpper:
        if ((tokens.tokens[0].kind == lang::TokenKind::kUpper) == upper) return;
        return report(
            diagnose(Code::E104, {}, {{"what", std::string(what)}, {"n", name.str()}, {"case", std::string(wanted)}}));
      case lang::TokenKind::kKeyword:
      case lang::TokenKind::kReduction:
      case lang::TokenKind::kType: return report(diagnose(Code::E112, {}, {{"n", name.str()}}));
      default:
        return report(diagnose(Code::E102, {}, {{"t", "a name for " + std::string(what)}, {"u", name.str()}})
                          .with_remedy("a name begins with a letter"));
    }
  }

  void check(const expr::NodePtr& node) {
    if (!node || !visited_.insert(node.get()).second) return;
    if (node->op == expr::Op::kIndex) check(node->name, "index", false);
    if (node->op == expr::Op::kUpper) check(node->name, "dimension", true);
    if (node->op == expr::Op::kSubscript || node->op == expr::Op::kName) check(node->name, "tensor", false);
    for (const expr::NodePtr& arg : node->args) check(arg);
    check(node->binders);
  }
  void check(const std::vector<expr::Binder>& binders) {
    for (const expr::Binder& b : binders) check(b);
  }
  void check(const expr::Binder& b) {
    check(b.name, "index", false);
    check(b.lo);
    check(b.hi);
  }
  void check(const expr::Definition& d) {
    check(d.name, "tensor", false);
    check(d.loops);
    check(d.filter);
    for (const expr::Definition::Left& l : d.left) {
      if (l.binder) check(*l.binder);
      check(l.value);
    }
    if (d.type && d.type->variable) check(d.type->variable, "type", true);
    check(d.value);
  }

 private:
  Diagnostics& faults_;
  std::set<std::pair<Symbol, bool>> seen_;
  std::unordered_set<const expr::Node*> visited_;
};

expr::Parameter parameter(const Tensor& tensor) {
  const TensorState& t = *Access::of(tensor);
  expr::Parameter out;
  out.name = t.name;
  out.shaped = t.shaped;
  out.inout = t.inout;
  out.value = t.value;
  return out;
}

expr::Given given(const Dim& dim, bool dynamic) {
  expr::Given out;
  out.name = Symbol(dim.name());
  out.dynamic = dynamic;
  if (dim.otherwise() && !dynamic) out.value = Access::of(Expr(*dim.otherwise())).node;
  return out;
}

expr::Given given(const Type& type) {
  expr::Given out;
  out.name = Symbol(type.name());
  if (!type.otherwise().empty()) {
    out.type = expr::ElementType{.variable = Symbol(type.otherwise())};
    if (auto fixed = parse_type(type.otherwise())) out.type = expr::ElementType{.scalar = *fixed, .variable = {}};
  }
  return out;
}

// The definitions of the kernel's tensors, of the locals that they lead to, and of locals that nothing reads although
// they read the kernel's tensors (E508 says so).
class Collection {
 public:
  void add(const TensorPtr& tensor) {
    if (!seen_.insert(tensor.get()).second) return;
    if (tensor->fault) faults_.push_back(*tensor->fault);
    for (const Recorded& r : tensor->definitions) {
      found_.push_back(&r);
      for (const TensorPtr& local : r.locals) add(local);
    }
  }
  void add_unread(const TensorPtr& tensor) {
    for (const TensorPtr& local : tensor->readers) {
      if (!local->read) add(local);
    }
  }

  // In the order in which they were made.
  std::vector<const Recorded*> ordered() && {
    std::ranges::sort(found_, {}, [](const Recorded* r) { return r->sequence; });
    return std::move(found_);
  }
  const Diagnostics& faults() const { return faults_; }

 private:
  std::vector<const Recorded*> found_;
  Diagnostics faults_;
  std::unordered_set<const TensorState*> seen_;
};

}  // namespace

Built build(const EmbeddedKernel& embedded) {
  Built out;
  expr::Kernel& kernel = out.kernel;
  kernel.name = embedded.name;
  if (!embedded.documentation.empty()) {
    kernel.comments.blocks = {embedded.documentation};
    kernel.comments.attached = true;
  }
  std::vector<TensorPtr> listed;
  for (const Parameter& p : embedded.parameters) {
    if (const auto* tensor = std::get_if<Tensor>(&Access::of(p))) {
      listed.push_back(Access::of(*tensor));
      kernel.parameters.push_back(parameter(*tensor));
    } else if (const auto* dim = std::get_if<Dim>(&Access::of(p))) {
      kernel.given.push_back(given(*dim, false));
    } else if (const auto* dynamic = std::get_if<Dynamic>(&Access::of(p))) {
      kernel.given.push_back(given(dynamic->dim, true));
    } else {
      kernel.given.push_back(given(std::get<Type>(Access::of(p))));
    }
  }
  for (const Tensor& t : embedded.results) {
    listed.push_back(Access::of(t));
    kernel.results.push_back(parameter(t));
  }

  Collection collection;
  for (const TensorPtr& t : listed) collection.add(t);
  for (const TensorPtr& t : listed) collection.add_unread(t);
  out.faults = collection.faults();
  std::vector<const Recorded*> recorded = std::move(collection).ordered();
  std::vector<Symbol> taken;
  for (const TensorPtr& t : listed) taken.push_back(t->name);
  for (const Recorded* r : recorded) taken.push_back(r->definition.name);

  Names names(out.faults);
  names.check(kernel.name, "kernel", false);
  for (const expr::Given& g : kernel.given) names.check(g.name, "dimension", true);
  for (const auto* list : {&kernel.parameters, &kernel.results}) {
    for (const expr::Parameter& p : *list) {
      names.check(p.name, "tensor", false);
      if (p.shaped.type.variable) names.check(p.shaped.type.variable, "type", true);
      for (const expr::NodePtr& size : p.shaped.shape) names.check(size);
    }
  }
  for (const Recorded* r : recorded) {
    names.check(r->definition);
    if (r->fault) out.faults.push_back(*r->fault);
    out.reads.insert(out.reads.end(), r->reads.begin(), r->reads.end());
    kernel.definitions.push_back(name_indices(r->definition, taken));
  }
  return out;
}

}  // namespace quern::internal
