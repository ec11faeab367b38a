#include "fuse/walk_reductions.h"

#include <algorithm>

#include "tile/rebuild.h"
#include "tile/reductions.h"

namespace quern::fuse {

using namespace tile;

bool walk_reductions(Kernel& kernel, AxisId axis, int64_t size) {
  Block before, after;
  Loop loop;
  loop.walks = {{axis, size, nullptr, nullptr}};
  std::vector<std::pair<int32_t, int32_t>> results;
  std::set<int32_t> inside, reduced;
  bool started = false;
  for (const Statement& s : kernel.body) {
    const auto* let = std::get_if<Let>(&s.is);
    AxisSet mentioned;
    std::set<int32_t> used;
    each_expression({s}, [&](const ExprPtr& e) { mentioned |= axes_mentioned(e), used.merge(names_in(e)); });
    auto uses = [&](const std::set<int32_t>& names) {
      return std::any_of(used.begin(), used.end(), [&](int32_t n) { return names.contains(n); });
    };
    if (!let) {
      if (mentioned.has(axis) || uses(inside)) return false;
      reduced.merge(names_defined({s}));
      after.push_back(s);
      continue;
    }
    const Expr& e = *let->value;
    if (mentioned.has(axis)) {
      if (uses(reduced)) return false;
      started = true;
    } else {
      if (uses(reduced)) {
        reduced.insert(let->name);
        after.push_back(s);
      } else {
        before.push_back(s);
      }
      continue;
    }
    bool reduces = is_reduction(e) && e.over.has(axis);
    if (!reduces) {
      if (!let->value->axes.has(axis)) return false;  // only its ends: k.hi
      inside.insert(let->name);
      loop.body.push_back(s);
      continue;
    }
    Name n = kernel.names[let->name];
    int32_t carried = new_name(kernel, n.name, n.type, n.axes);
    ExprPtr sum = use(kernel, carried);
    ExprPtr init, next;
    if (row(e).family == Family::dot) {
      init = e.args.size() == 3 ? e.args[2] : zero(e.type);
      next = dot(e.type, e.over, e.args[0], e.args[1], sum, e.op);
    } else {
      init = identity(e.op, e.type);
      next = apply(combining(e.op), {sum, let->value});
    }
    if (init->axes != n.axes) init = fill(n.axes - init->axes, init);
    loop.carries.push_back({carried, init, next});
    results.emplace_back(let->name, carried);
    reduced.insert(let->name);
  }
  if (!started || loop.carries.empty()) return false;
  rename(kernel, after, results);
  before.push_back({std::move(loop)});
  for (Statement& s : after) before.push_back(std::move(s));
  kernel.body = std::move(before);
  return true;
}

}  // namespace quern::fuse
