#include "place/nest.h"

#include <algorithm>
#include <map>
#include <optional>

#include "tile/extent.h"
#include "tile/rebuild.h"
#include "tile/reductions.h"
#include "tile/scalar_axes.h"

namespace quern::place {

using namespace tile;

namespace {

constexpr int kCheap = 6;  // operations of a value that is computed again rather than kept

bool is_let(const Statement& s) { return std::holds_alternative<Let>(s.is); }

bool is_dot(const Statement& s) {
  const auto* let = std::get_if<Let>(&s.is);
  return let && row(*let->value).family == Family::dot;
}

// What a Let or a Store is to the rule.
struct Facts {
  AxisSet axes;  // of its instances: of the value, the subscripts, the condition
  AxisSet over;  // what it reduces
  bool store = false;
  std::set<int32_t> uses;
  std::map<int32_t, std::vector<ExprPtr>> loads;  // by parameter
  int32_t stored = -1;
};

Facts facts(const Statement& s) {
  Facts out;
  each_expression({s}, [&](const ExprPtr& e) {
    out.axes |= e->axes;
    out.uses.merge(names_in(e));
    each_part(e, [&](const ExprPtr& part) {
      if (part->op == Op::kLoad) out.loads[part->id].push_back(part);
    });
  });
  if (const auto* store = std::get_if<Store>(&s.is)) {
    out.store = true;
    out.stored = store->parameter;
  } else if (const auto& let = std::get<Let>(s.is); is_reduction(*let.value)) {
    out.over = let.value->over;
  }
  return out;
}

bool same_place(const Store& store, const Expr& load) {
  if (store.subscripts.size() != load.args.size()) return false;
  for (size_t d = 0; d < load.args.size(); ++d) {
    if (!equal(store.subscripts[d], load.args[d])) return false;
  }
  return true;
}

// A nest that is being filled.
struct Open {
  AxisSet block, strip;
  bool dot = false;
  Block body;
  std::set<int32_t> defined;
  std::set<int32_t> late;             // names of the last phase: results of reductions, and what needs them
  std::map<int32_t, int32_t> floats;  // floating name -> the name it has here
  std::map<int32_t, std::vector<ExprPtr>> loads;
  std::vector<Store> stores;
};

bool meets(const std::set<int32_t>& a, const std::set<int32_t>& b) {
  return std::any_of(a.begin(), a.end(), [&](int32_t x) { return b.contains(x); });
}

// The phase of a statement in a nest with these strips; `late` are the names of the last phase so far.
int phase(const Facts& f, AxisSet strip, const std::set<int32_t>& late) {
  if (!f.over.empty()) return 1;
  if (!(f.axes & strip).empty()) return 1;
  return meets(f.uses, late) ? 2 : 0;
}

class Nester {
 public:
  Nester(const Program& program, Kernel& kernel, bool apart) : kernel_(kernel), apart_(apart) {
    for (size_t a = 0; a < kernel.axes.size(); ++a) {
      const Axis& axis = kernel.axes[a];
      auto lo = axis.lo ? constant(program, axis.lo) : std::optional<int64_t>(0);
      auto hi = constant(program, axis.hi);
      if (lo && hi && *lo < *hi) filled_ |= AxisSet::of(static_cast<AxisId>(a));
    }
    enter(kernel.grid);
  }

  void run() {
    make_scalar(kernel_, {});
    pin(kernel_.body);
    kernel_.body = nested(kernel_.body);
  }

 private:
  // Inside of walks their steps have indices.
  void enter(const std::vector<Walk>& walks) {
    for (const Walk& w : walks) {
      AxisSet axis = AxisSet::of(w.axis);
      if (w.size > 0) filled_ |= axis;
      if (w.size == 0 && (w.lo || w.hi)) filled_ = filled_ - axis;
    }
  }

  // Names that stand outside nests, and operands of dots, do not float; nor do loads of what is also stored.
  void pin(const Block& block) {
    for (const Statement& s : block) {
      if (const auto* loop = std::get_if<Loop>(&s.is)) {
        for (const Walk& w : loop->walks) pin(w.lo), pin(w.hi);
        for (const Carry& c : loop->carries) {
          pin(c.init), pin(c.next);
          carried_.merge(names_in(c.next)), carried_.merge(names_in(c.init));
        }
        pin(loop->body);
      } else if (const auto* branch = std::get_if<If>(&s.is)) {
        pin(branch->condition);
        pin(branch->body);
      } else if (const auto* store = std::get_if<Store>(&s.is)) {
        stored_.insert(store->parameter);
      } else if (const auto* let = std::get_if<Let>(&s.is)) {
        if (row(*let->value).family == Family::dot) {
          for (int i = 0; i < 2; ++i) {
            if (let->value->args[i]->op == Op::kName) pin(let->value->args[i]);
          }
        } else if (is_scalar_integer(*let)) {
          pin(let->value);
        }
      }
    }
  }
  void pin(const ExprPtr& e) {
    if (e) pinned_.merge(names_in(e));
  }

  bool floats(const Let& let) const {
    if (apart_ || pinned_.contains(let.name)) return false;
    int cost = 0;
    bool able = true;
    each_part(let.value, [&](const ExprPtr& part) {
      switch (row(*part).family) {
        case Family::literal:
        case Family::dim:
        case Family::axis:
        case Family::fill: break;
        case Family::reduce:
        case Family::dot:
        case Family::function:
        case Family::function2:
        case Family::random:
        case Family::check: able = false; break;
        case Family::load: able = able && !stored_.contains(part->id) && part->checked == 0; break;
        case Family::name:
          // Of a whole tile it is better to keep what is made of it than to make it again.
          if (!floating_.contains(part->id) && part->axes == let.value->axes) able = able && part->axes.empty();
          break;
        default: ++cost;
      }
    });
    return able && cost <= kCheap;
  }

  bool is_scalar_integer(const Let& let) const {
    bool whole = let.value->type == ScalarType::i64 || row(*let.value).family == Family::check;
    return let.value->axes.empty() && whole && !has_reduction(let.value) && !carried_.contains(let.name);
  }

  Block nested(const Block& block) {
    Block out;
    std::optional<Open> open;
    auto close = [&] {
      if (open) out.push_back({closed(*open)});
      open.reset();
    };
    for (const Statement& s : block) {
      if (const auto* loop = std::get_if<Loop>(&s.is)) {
        close();
        Loop l = *loop;
        AxisSet outside = filled_;
        enter(loop->walks);
        l.body = nested(loop->body);
        filled_ = outside;
        out.push_back({std::move(l)});
      } else if (const auto* branch = std::get_if<If>(&s.is)) {
        close();
        If b{branch->condition, nested(branch->body)};
        out.push_back({std::move(b)});
      } else if (is_let(s) || std::holds_alternative<Store>(s.is)) {
        place(s, out, open);
      } else {
        close();
        out.push_back(s);
      }
    }
    close();
    return out;
  }

  void place(const Statement& s, Block& out, std::optional<Open>& open) {
    if (const auto* let = std::get_if<Let>(&s.is)) {
      if (is_scalar_integer(*let)) {
        if (open && (meets(names_in(let->value), open->defined) || reads_stored(*open, s))) {
          out.push_back({closed(*open)});
          open.reset();
        }
        out.push_back(s);
        return;
      }
      if (floats(*let)) {
        floating_[let->name] = *let;
        return;
      }
    }
    Facts f = with_floats(s);
    if (open && !apart_ && !packed_again(*open, f, s) && joins(*open, f, s)) {
      add(*open, s, f);
      return;
    }
    Open alone;
    if (f.over.empty()) {
      alone.block = f.axes;
    } else {
      alone.block = f.axes - f.over;
      alone.strip = f.over;
    }
    if (open && !apart_ && !f.store && !meets(f.uses, open->defined) && !reads_stored(*open, s)) {
      add(alone, s, f);
      out.push_back({closed(alone)});
      return;
    }
    if (open) out.push_back({closed(*open)});
    open = std::move(alone);
    add(*open, s, f);
  }

  // Facts with the floating names replaced by what they are made of.
  Facts with_floats(const Statement& s) const {
    Facts f = facts(s);
    std::vector<int32_t> todo(f.uses.begin(), f.uses.end());
    while (!todo.empty()) {
      int32_t name = todo.back();
      todo.pop_back();
      auto it = floating_.find(name);
      if (it == floating_.end()) continue;
      Facts inner = facts({it->second});
      for (int32_t used : inner.uses) {
        if (f.uses.insert(used).second) todo.push_back(used);
      }
      for (auto& [parameter, loads] : inner.loads) {
        auto& all = f.loads[parameter];
        all.insert(all.end(), loads.begin(), loads.end());
      }
    }
    // A reduction's axes are those of its result and those it reduces.
    if (!f.over.empty()) f.axes |= f.over;
    return f;
  }

  static bool reads_stored(const Open& open, const Statement& s) {
    Facts f = facts(s);
    return std::any_of(open.stores.begin(), open.stores.end(),
                       [&](const Store& store) { return f.loads.contains(store.parameter); });
  }

  // An operand that is only copied into its place is copied once, not for each index of an axis that it lacks.
  bool packed_again(const Open& open, const Facts& f, const Statement& s) const {
    const auto* let = std::get_if<Let>(&s.is);
    return let && let->value->op == Op::kLoad && pinned_.contains(let->name) &&
           !f.axes.contains(open.block | open.strip);
  }

  // May the statement join? Changes the roles of the nest's axes if it has to.
  bool joins(Open& open, const Facts& f, const Statement& s) const {
    bool needs_late = meets(f.uses, open.late);
    AxisSet block = open.block, strip = open.strip;
    if (!f.over.empty()) {
      AxisSet result = f.axes - f.over;
      if (needs_late || (open.dot && is_dot(s))) return false;
      if (!strip.empty()) {
        if (f.over != strip || result != block) return false;
      } else if (block.contains(f.over)) {
        if (result != block - f.over) return false;
        block = block - f.over;
        strip = f.over;
      } else if ((f.over & block).empty() && result == block) {
        strip = f.over;
      } else {
        return false;
      }
    } else if ((block | strip).contains(f.axes)) {
      if (!(f.axes & strip).empty()) {
        if (needs_late) return false;
        AxisSet lacks = (block | strip) - f.axes;
        if (f.store && !lacks.empty()) return false;
        // It is computed for each index of an axis that it lacks, so there must be one.
        if (!filled_.contains(lacks)) return false;
      } else if (f.axes != block) {
        if (!strip.empty()) return false;
        strip = block - f.axes;
        block = f.axes;
      }
    } else {
      if (!strip.empty() || !f.axes.contains(block)) return false;
      strip = f.axes - block;
    }
    if (!memory_allows(open, f, s, block, strip)) return false;
    // What was stored must still run once an element.
    for (const Store& store : open.stores) {
      Facts old = facts({store});
      AxisSet all = (old.axes & strip).empty() ? block : block | strip;
      if (old.axes != all) return false;
    }
    open.block = block;
    open.strip = strip;
    return true;
  }

  // Loads and stores of one parameter in one nest: the same element, the load first.
  static bool memory_allows(const Open& open, const Facts& f, const Statement& s, AxisSet, AxisSet strip) {
    for (const Store& store : open.stores) {
      if (f.loads.contains(store.parameter)) return false;
      if (f.stored == store.parameter && phase(facts({store}), strip, open.late) != phase(f, strip, open.late))
        return false;
    }
    if (!f.store) return true;
    auto it = open.loads.find(f.stored);
    if (it == open.loads.end()) return true;
    // The phases of the loads are not compared: a store that is in an earlier phase than such a load stays out.
    if (!strip.empty() && phase(f, strip, open.late) == 0) return false;
    return std::all_of(it->second.begin(), it->second.end(),
                       [&](const ExprPtr& load) { return same_place(std::get<Store>(s.is), *load); });
  }

  void add(Open& open, Statement s, const Facts& f) {
    std::vector<std::pair<int32_t, int32_t>> renamed;
    for (int32_t used : facts(s).uses) bring(open, used, renamed);
    Block one = {std::move(s)};
    if (!renamed.empty()) rename(kernel_, one, renamed);
    note(open, one[0], f);
  }

  // A floating name gets its Let in this nest; so do those it needs.
  void bring(Open& open, int32_t name, std::vector<std::pair<int32_t, int32_t>>& renamed) {
    auto it = floating_.find(name);
    if (it == floating_.end()) return;
    if (auto known = open.floats.find(name); known != open.floats.end()) {
      if (known->second != name) renamed.emplace_back(name, known->second);
      return;
    }
    Let let = it->second;
    std::vector<std::pair<int32_t, int32_t>> inner;
    for (int32_t used : names_in(let.value)) bring(open, used, inner);
    if (!inner.empty()) let.value = rename(kernel_, let.value, inner);
    if (!used_floats_.insert(name).second) {
      Name n = kernel_.names[name];
      let.name = new_name(kernel_, n.name, n.type, n.axes);
      renamed.emplace_back(name, let.name);
    }
    open.floats[name] = let.name;
    Statement s{let};
    note(open, s, facts(s));
  }

  static void note(Open& open, const Statement& s, const Facts& f) {
    if (const auto* let = std::get_if<Let>(&s.is)) {
      open.defined.insert(let->name);
      // By the strips there are now; closed() looks again.
      if (!f.over.empty() || ((f.axes & open.strip).empty() && meets(f.uses, open.late))) open.late.insert(let->name);
      open.dot = open.dot || is_dot(s);
    } else {
      open.stores.push_back(std::get<Store>(s.is));
    }
    for (const auto& [parameter, loads] : f.loads) {
      auto& all = open.loads[parameter];
      all.insert(all.end(), loads.begin(), loads.end());
    }
    open.body.push_back(s);
  }

  // The nest, its body by phases.
  static Nest closed(const Open& open) {
    Nest nest;
    for (AxisId a : open.block.list()) nest.axes.push_back({a, AxisRole::kBlock, 1, false});
    for (AxisId a : open.strip.list()) nest.axes.push_back({a, AxisRole::kStrip, 1, false});
    std::set<int32_t> late;
    Block phases[3];
    for (const Statement& s : open.body) {
      Facts f = facts(s);
      int p = phase(f, open.strip, late);
      if (const auto* let = std::get_if<Let>(&s.is); let && (p == 2 || !f.over.empty())) late.insert(let->name);
      phases[p].push_back(s);
    }
    for (Block& part : phases) {
      for (Statement& s : part) nest.body.push_back(std::move(s));
    }
    return nest;
  }

  Kernel& kernel_;
  bool apart_;
  AxisSet filled_;  // axes that surely have indices where the statement stands
  std::set<int32_t> pinned_, carried_, used_floats_, stored_;
  std::map<int32_t, Let> floating_;
};

}  // namespace

Result<Program> nest(const Program& tiled, const Machine&) {
  Program out = tiled;
  for (Kernel& kernel : out.kernels) Nester(tiled, kernel, false).run();
  out.stage = Stage::kPlaced;
  return out;
}

Result<Program> nest_apart(const Program& tiled) {
  Program out = tiled;
  for (Kernel& kernel : out.kernels) Nester(tiled, kernel, true).run();
  out.stage = Stage::kPlaced;
  return out;
}

}  // namespace quern::place
