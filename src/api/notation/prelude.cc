// The prelude's functions: calls by name, which the checker expands by their text (lang/prelude.qn). A test compares
// the two lists.
#include "quern/prelude.h"

#include <algorithm>
#include <array>

#include "api/notation/recording.h"

namespace quern {
namespace {

using internal::Access;
using internal::Expression;

Expr call(std::string_view function, const std::vector<Expr>& arguments, const Ranges* over = nullptr) {
  expr::Node n{.op = expr::Op::kCall};
  n.name = Symbol(function);
  Expression bounds;
  std::vector<const Expression*> parts;
  if (over) {
    for (const Range& r : over->list()) n.binders.push_back(Access::binder(r, bounds));
    parts.push_back(&bounds);
  }
  for (const Expr& a : arguments) {
    n.args.push_back(Access::of(a).node);
    parts.push_back(&Access::of(a));
  }
  return Access::wrap(combine(std::move(n), parts));
}

}  // namespace

bool internal::one_for_each(Symbol function) {
  static constexpr std::array<std::string_view, 4> names = {"softmax", "rmsnorm", "layernorm", "rank"};
  return std::ranges::find(names, function.str()) != names.end();
}

Expr sq(const Expr& x) { return call("sq", {x}); }
Expr relu(const Expr& x) { return call("relu", {x}); }
Expr sigmoid(const Expr& x) { return call("sigmoid", {x}); }
Expr silu(const Expr& x) { return call("silu", {x}); }
Expr gelu(const Expr& x) { return call("gelu", {x}); }
Expr gelu_tanh(const Expr& x) { return call("gelu_tanh", {x}); }
Expr softplus(const Expr& x) { return call("softplus", {x}); }
Expr clamp(const Expr& x, const Expr& lo, const Expr& hi) { return call("clamp", {x, lo, hi}); }
Expr soft_cap(const Expr& x, const Expr& cap) { return call("soft_cap", {x, cap}); }
Expr logaddexp(const Expr& a, const Expr& b) { return call("logaddexp", {a, b}); }
Expr uniform(const Expr& seed, const Expr& i) { return call("uniform", {seed, i}); }
Expr gumbel(const Expr& seed, const Expr& i) { return call("gumbel", {seed, i}); }

Expr count(const Ranges& over, const Expr& c) { return call("count", {c}, &over); }
Expr mean(const Ranges& over, const Expr& x) { return call("mean", {x}, &over); }
Expr var(const Ranges& over, const Expr& x) { return call("var", {x}, &over); }
Expr logsumexp(const Ranges& over, const Expr& x) { return call("logsumexp", {x}, &over); }

Expr softmax(const Ranges& over, const Expr& x) { return call("softmax", {x}, &over); }
Expr rmsnorm(const Ranges& over, const Expr& x, const Expr& eps) { return call("rmsnorm", {x, eps}, &over); }
Expr layernorm(const Ranges& over, const Expr& x, const Expr& eps) { return call("layernorm", {x, eps}, &over); }
Expr rank(const Ranges& over, const Expr& x) { return call("rank", {x}, &over); }

}  // namespace quern
