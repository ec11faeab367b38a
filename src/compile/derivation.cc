#include "compile/derivation.h"

#include <fmt/format.h>

#include <map>
#include <unordered_set>

#include "fuse/derive.h"
#include "fuse/expand.h"

namespace quern::compile {
namespace {

// The distinct reductions of an expression, by the axis that they run over.
class Reductions {
 public:
  std::map<tile::AxisId, int> count;

  void take(const tile::ExprPtr& e) {
    if (!e || !seen_.insert(e.get()).second) return;
    if (row(*e).family == tile::Family::reduce) {
      for (tile::AxisId a : e->over.list()) ++count[a];
    }
    for (const tile::ExprPtr& a : e->args) take(a);
    take(e->guard);
  }

 private:
  std::unordered_set<const tile::Expr*> seen_;
};

}  // namespace

Result<std::string> derivation(const backend::Request& request) {
  auto graph = fuse::expand(request.program, request.binding, {.trust = request.options.trust});
  if (!graph) return fail(std::move(graph.error()));
  fuse::Facts facts{&graph->program, &graph->axes};
  std::string out;
  for (const fuse::Definition& d : graph->definitions) {
    Reductions reductions;
    reductions.take(d.store.value);
    const std::string& tensor = graph->program.parameters[static_cast<size_t>(d.store.parameter)].name.str();
    for (const auto& [axis, count] : reductions.count) {
      if (count < 2) continue;
      out += fmt::format("{}{}: {} reductions over {}\n", out.empty() ? "" : "\n", tensor, count,
                         graph->axes[static_cast<size_t>(axis)].name.str());
      auto derived = fuse::derive({d.store.value}, tile::AxisSet::of(axis), facts);
      out += derived ? fuse::print(*derived, facts) : render(derived.error());
    }
  }
  if (out.empty()) out = "no index is reduced over twice: nothing to derive\n";
  return out;
}

}  // namespace quern::compile
