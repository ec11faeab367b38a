#include "fuse/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_set>

#include "base/text.h"
#include "expr/dimension_form.h"
#include "fuse/cost.h"
#include "fuse/lower.h"
#include "tile/rebuild.h"

namespace quern::fuse {

namespace {

constexpr double kLeastSaving = 0.1;    // of the time: the estimate isn't better than that
constexpr double kFreeBytes = 16 << 20;  // that temporary buffers may take in any case,
constexpr double kMostOfTensors = 4;     // and else as a multiple of the kernel's own tensors
constexpr size_t kMostTried = 24;        // locals, so that large programs still compile at once

// Locals whose elements take more than a few operations: something is reduced, or a function is evaluated.
class Dear {
 public:
  explicit Dear(const expr::Program& program) {
    for (const expr::Local& l : program.locals) {
      std::unordered_set<const expr::Node*> seen;
      of_local_.push_back(l.value && walk(l.value, seen));
    }
  }
  bool operator()(size_t local) const { return of_local_[local]; }

 private:
  bool walk(const expr::NodePtr& node, std::unordered_set<const expr::Node*>& seen) const {
    if (!seen.insert(node.get()).second) return false;
    expr::Family family = row(*node).family;
    if (family == expr::Family::reduction || family == expr::Family::function ||
        family == expr::Family::function2) {
      return true;
    }
    if (node->op == expr::Op::kLocal && of_local_[static_cast<size_t>(node->id)]) return true;
    return std::ranges::any_of(node->args, [&](const expr::NodePtr& a) { return walk(a, seen); });
  }

  std::vector<bool> of_local_;
};

// Locals of which every element is read in every run, so that it makes no difference to what data are reported where
// they are computed: read under no condition, at plain indices over whole ranges, by what is computed as a whole itself.
class AlwaysRead {
 public:
  AlwaysRead(const expr::Program& program, const expr::Binding& binding)
      : program_(program), binding_(binding), all_(program.locals.size()) {
    for (const auto& [name, size] : binding.sizes) {
      if (size == 0) return;  // nothing is read under an index without values
    }
    for (const expr::Update& u : program.updates) {
      if (!u.filter && enter(u.binders)) walk(u.value);
    }
  }
  bool operator()(size_t local) const { return all_[local]; }

 private:
  std::optional<int64_t> size(const expr::Binder& b) const {
    bool whole = (!b.lo || (b.lo->op == expr::Op::kInteger && b.lo->integer == 0)) && expr::dimension_form(b.hi);
    return whole ? expr::evaluate(b.hi, binding_.sizes) : std::nullopt;
  }
  // True if each of the ranges has an index.
  bool enter(const std::vector<expr::Binder>& binders) {
    bool some = true;
    for (const expr::Binder& b : binders) {
      auto own = size(b);
      auto [at, fresh] = sizes_.try_emplace(b.id, own);
      if (!fresh && at->second != own) at->second = std::nullopt;  // bound twice
      some = some && own.value_or(0) > 0;
    }
    return some;
  }

  void walk(const expr::NodePtr& node) {
    if (!seen_.insert(node.get()).second) return;
    expr::Family family = row(*node).family;
    if (family == expr::Family::select) return walk(node->args[1]);
    if (family == expr::Family::logic) return walk(node->args[0]);
    if (family == expr::Family::reduction && !enter(node->binders)) return;
    if (node->op == expr::Op::kLocal) read(*node);
    for (const expr::NodePtr& a : node->args) walk(a);
  }

  void read(const expr::Node& node) {
    auto local = static_cast<size_t>(node.id);
    const expr::Local& l = program_.locals[local];
    std::set<expr::IndexId> at;
    for (size_t i = 0; i < node.args.size(); ++i) {
      const expr::Node& arg = *node.args[i];
      auto wanted = size(l.binders[i]);
      if (arg.op != expr::Op::kIndex || !at.insert(arg.id).second || !wanted || sizes_[arg.id] != wanted) return;
    }
    if (all_[local]) return;
    all_[local] = true;
    enter(l.binders);
    walk(l.value);
  }

  const expr::Program& program_;
  const expr::Binding& binding_;
  std::vector<bool> all_;
  std::map<expr::IndexId, std::optional<int64_t>> sizes_;
  std::unordered_set<const expr::Node*> seen_;
};

class Grouper {
 public:
  Grouper(const expr::Program& program, const expr::Binding& binding, const tile::Machine& machine,
          const ExpandOptions& options)
      : program_(program),
        binding_(binding),
        machine_(machine),
        options_(options),
        always_read_(program, binding) {
    options_.stored.assign(program.locals.size(), false);
  }

  Result<Grouped> run(bool all) {
    auto plain = expand(program_, binding_, options_);
    if (!plain) return fail(std::move(plain.error()));
    out_.graph = *std::move(plain);
    std::vector<size_t> candidates;
    Dear dear(program_);
    for (size_t l = 0; l < program_.locals.size(); ++l) {
      if (program_.locals[l].value && (all || (dear(l) && candidates.size() < kMostTried))) {
        candidates.push_back(l);
      }
    }
    if (all) {
      store(candidates);
    } else if (!candidates.empty()) {
      choose(candidates);
    }
    out_.stored = options_.stored;
    return std::move(out_);
  }

 private:
  struct Trial {
    Graph graph;
    double seconds = 0;
    std::string too_large;  // why it must not be done
    std::string forbidden;  // … nor even asked for
  };

  void store(const std::vector<size_t>& locals) {
    for (size_t l : locals) {
      auto trial = tried(l);
      if (!trial || !trial->forbidden.empty()) continue;
      options_.stored[l] = true;
      out_.graph = std::move(trial->graph);
    }
  }

  void choose(std::vector<size_t>& candidates) {
    double now = seconds(out_.graph);
    while (!candidates.empty()) {
      std::optional<Trial> best;
      size_t which = 0;
      std::erase_if(candidates, [&](size_t l) {
        auto trial = tried(l);
        if (!trial || trial->seconds > now * (1 - kLeastSaving)) return !trial;
        for (const std::string& why : {trial->too_large, trial->forbidden}) {
          if (why.empty()) continue;
          remark(Code::R24, l, now / trial->seconds, "why", why);
          return true;
        }
        if (!best || trial->seconds < best->seconds) {
          best = std::move(trial);
          which = l;
        }
        return false;
      });
      if (!best) return;
      options_.stored[which] = true;
      remark(Code::R23, which, now / best->seconds, "size", human_bytes(static_cast<uint64_t>(bytes(best->graph, which))));
      now = best->seconds;
      out_.graph = std::move(best->graph);
      std::erase(candidates, which);
    }
  }

  // With one more local stored; nothing if that can't be.
  std::optional<Trial> tried(size_t local) {
    ExpandOptions options = options_;
    options.stored[local] = true;
    auto graph = expand(program_, binding_, options);
    if (!graph) return std::nullopt;
    const Definition* filled = filler(*graph, local);
    if (!filled || row(*filled->store.value).family == tile::Family::literal) return std::nullopt;
    Trial out;
    out.seconds = seconds(*graph);
    double all = 0, tensors = 0;
    for (const tile::Parameter& p : graph->program.parameters) {
      (p.role == tile::Role::kTmp ? all : tensors) += bytes_of(graph->program, p);
    }
    if (all > std::max(kFreeBytes, kMostOfTensors * tensors)) {
      out.too_large = fmt::format("it would take {}", human_bytes(static_cast<uint64_t>(bytes(*graph, local))));
    }
    if (!always_read_(local) && reports(*filled)) {
      out.forbidden = "data may be at fault in elements that nobody reads";
    }
    out.graph = *std::move(graph);
    return out;
  }

  double seconds(const Graph& graph) const { return cost(lower(graph, machine_).program, machine_); }

  // Temporary buffers of stored locals stand at the end, in the order of the locals.
  size_t memory_of(const Graph& graph, size_t local) const {
    size_t behind = 0;
    for (size_t l = local + 1; l < program_.locals.size(); ++l) behind += options_.stored[l];
    return graph.program.parameters.size() - 1 - behind;
  }
  double bytes(const Graph& graph, size_t local) const {
    return bytes_of(graph.program, graph.program.parameters[memory_of(graph, local)]);
  }

  // What fills the memory of the local; null where it has no elements: its range has no limit, or is empty.
  const Definition* filler(const Graph& graph, size_t local) const {
    auto memory = static_cast<int32_t>(memory_of(graph, local));
    auto at = std::ranges::find_if(graph.definitions, [&](const Definition& d) { return d.store.parameter == memory; });
    return at == graph.definitions.end() || bytes(graph, local) == 0 ? nullptr : &*at;
  }

  // Does it test anything on its way?
  static bool reports(const Definition& d) {
    bool found = !d.checks.empty();
    for (const tile::ExprPtr& root : {d.store.value, d.store.when}) {
      if (!root) continue;
      tile::each_part(root, [&](const tile::ExprPtr& e) {
        found = found || e->checked != 0 || row(*e).family == tile::Family::check;
      });
    }
    return found;
  }

  void remark(Code code, size_t local, double times, std::string_view key, std::string text) {
    const expr::Local& l = program_.locals[local];
    out_.remarks.push_back(
        diagnose(code, l.span, {{"t", l.name.str()}, {"times", fmt::format("{:.1f}", times)}, {key, std::move(text)}}));
  }

  const expr::Program& program_;
  const expr::Binding& binding_;
  const tile::Machine& machine_;
  ExpandOptions options_;
  AlwaysRead always_read_;
  Grouped out_;
};

}  // namespace

Result<Grouped> group(const expr::Program& program, const expr::Binding& binding, const tile::Machine& machine,
                      const ExpandOptions& options, bool all) {
  return Grouper(program, binding, machine, options).run(all);
}

}  // namespace quern::fuse
