#include "ptx/locations.h"

#include <map>
#include <tuple>

namespace quern::ptx {

void number_locations(Module& module) {
  std::vector<Location>& all = module.locations;
  std::map<std::tuple<int32_t, int32_t, int32_t, int32_t, std::string>, int32_t> seen;
  std::vector<Location> kept;
  std::vector<int32_t> to(all.size(), kNone);
  std::vector<int32_t> chain;
  auto number = [&](int32_t location) {
    for (int32_t at = location; at != kNone && to[at] == kNone; at = all[at].inlined_at) chain.push_back(at);
    for (; !chain.empty(); chain.pop_back()) {
      Location l = all[chain.back()];
      if (l.inlined_at != kNone) l.inlined_at = to[l.inlined_at];
      auto [entry, fresh] =
          seen.try_emplace({l.file, l.line, l.column, l.inlined_at, l.function}, static_cast<int32_t>(kept.size()));
      to[chain.back()] = entry->second;
      if (fresh) kept.push_back(std::move(l));
    }
    return to[location];
  };
  for (Function& f : module.functions) {
    for (Instruction& i : f.instructions) {
      if (i.location != kNone) i.location = number(i.location);
    }
  }
  all = std::move(kept);
}

}  // namespace quern::ptx
