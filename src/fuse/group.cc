#include "fuse/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_set>

#include "base/text.h"
#include "expr/dimension_form.h"
#include "expr/outline.h"
#include "fuse/cost.h"
#include "fuse/lower.h"
#include "tile/rebuild.h"

namespace quern::fuse {

namespace {

constexpr double kLeastSaving = 0.1;     // of the time: the estimate isn't better than that
constexpr double kFreeBytes = 16 << 20;  // that temporary buffers may take in any case,
constexpr double kMostOfTensors = 2;     // and else as a multiple of the kernel's own tensors
constexpr double kNoWorse = 1.01;        // as good without
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
    if (family == expr::Family::reduction || family == expr::Family::function || family == expr::Family::function2) {
      return true;
    }
    if (node->op == expr::Op::kLocal && of_local_[static_cast<size_t>(node->id)]) return true;
    return std::ranges::any_of(node->args, [&](const expr::NodePtr& a) { return walk(a, seen); });
  }

  std::vector<bool> of_local_;
};

// Locals of which every element is read in every run, so that it makes no difference to what data are reported where
// they are computed: read under no condition, at plain indices over whole ranges, by what is computed as a whole
// itself.
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
  Grouper(expr::Program program, const expr::Binding& binding, const tile::Machine& machine,
          const ExpandOptions& options)
      : program_(std::move(program)),
        binding_(binding),
        machine_(machine),
        options_(options),
        always_read_(program_, binding) {
    options_.stored.assign(program_.locals.size(), false);
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
    return std::move(out_);
  }

 private:
  struct Trial {
    Graph graph;
    double seconds = 0;
    int streams = 0;        // loops that carry a chain of reductions
    std::string too_large;  // why it must not be done
    std::string forbidden;  // … nor even asked for
  };

  void store(const std::vector<size_t>& locals) {
    for (size_t l : locals) {
      auto trial = tried(l);
      if (trial && trial->forbidden.empty()) take(l, *std::move(trial));
    }
  }

  // From the innermost on, so that what several others are made of is weighed before they are; then those are dropped
  // that what was stored later has made needless.
  void choose(const std::vector<size_t>& locals) {
    now_ = weighed(std::move(out_.graph));
    for (size_t l : locals) {
      auto trial = tried(l);
      if (!trial || trial->seconds > now_.seconds * (1 - kLeastSaving) || breaks_stream(l, *trial)) continue;
      const std::string& why = trial->too_large.empty() ? trial->forbidden : trial->too_large;
      if (why.empty()) {
        take(l, *std::move(trial));
      } else {
        remark(Code::R24, l, now_.seconds / trial->seconds, "why", why);
      }
    }
    for (size_t l : locals) {
      if (!options_.stored[l]) continue;
      auto without = plain(l);
      if (!without) continue;
      if (without->seconds <= now_.seconds * kNoWorse) {
        options_.stored[l] = false;
        now_ = *std::move(without);
      } else {
        std::string size = human_bytes(static_cast<uint64_t>(bytes(now_.graph, l)));
        remark(Code::R23, l, without->seconds / now_.seconds, "size", std::move(size));
      }
    }
    out_.graph = std::move(now_.graph);
  }

  void take(size_t local, Trial trial) {
    options_.stored[local] = true;
    now_ = std::move(trial);
    out_.graph = now_.graph;
  }

  Trial weighed(Graph graph) const {
    Trial out;
    tile::Program lowered = lower(graph, machine_).program;
    out.seconds = cost(lowered, machine_);
    for (const tile::Kernel& k : lowered.kernels) out.streams += streams(k);
    out.graph = std::move(graph);
    return out;
  }

  // With one local less in memory.
  std::optional<Trial> plain(size_t local) const {
    ExpandOptions options = options_;
    options.stored[local] = false;
    auto graph = expand(program_, binding_, options);
    return graph ? std::optional(weighed(*std::move(graph))) : std::nullopt;
  }

  // With one more; nothing if that can't be.
  std::optional<Trial> tried(size_t local) const {
    ExpandOptions options = options_;
    options.stored[local] = true;
    auto graph = expand(program_, binding_, options);
    if (!graph) return std::nullopt;
    const Definition* filled = filler(*graph, local);
    if (!filled || row(*filled->store.value).family == tile::Family::literal) return std::nullopt;
    bool tells = !always_read_(local) && reports(*filled);
    Trial out = weighed(*std::move(graph));
    double all = 0, tensors = 0;
    for (const tile::Parameter& p : out.graph.program.parameters) {
      (p.role == tile::Role::kTmp ? all : tensors) += bytes_of(out.graph.program, p);
    }
    if (all > std::max(kFreeBytes, kMostOfTensors * tensors)) {
      out.too_large = fmt::format("it would take {}", human_bytes(static_cast<uint64_t>(bytes(out.graph, local))));
    }
    if (tells) out.forbidden = "data may be at fault in elements that nobody reads";
    return out;
  }

  static int streams(const tile::Kernel& k) {
    return static_cast<int>(std::ranges::count_if(k.body, [](const tile::Statement& s) {
      const auto* loop = std::get_if<tile::Loop>(&s.is);
      return loop && !loop->carries.empty();
    }));
  }

  // A chain of reductions takes one pass over elements that lie nowhere, such as the scores of attention. The local is
  // one of them if a stream reads it element by element, or ends for it.
  bool breaks_stream(size_t local, const Trial& trial) const {
    auto memory = static_cast<int32_t>(memory_of(trial.graph, local));
    bool breaks = false, itself = false;
    for (const tile::Kernel& k : lower(trial.graph, machine_).program.kernels) {
      for (const tile::Statement& s : k.body) {
        const auto* store = std::get_if<tile::Store>(&s.is);
        itself = itself || (store && store->parameter == memory && streams(k) > 0);
        const auto* loop = std::get_if<tile::Loop>(&s.is);
        if (!loop || loop->carries.empty()) continue;
        tile::AxisSet element = tile::AxisSet::of(loop->walks[0].axis) | rows(k, *loop);
        tile::each_expression(loop->body, [&](const tile::ExprPtr& e) {
          tile::each_part(e, [&](const tile::ExprPtr& part) {
            bool reads = part->op == tile::Op::kLoad && part->id == memory;
            breaks = breaks || (reads && part->axes.contains(element));
          });
        });
      }
    }
    return breaks || (trial.streams < now_.streams && !itself);
  }

  // The axes that all of the loop's state has.
  static tile::AxisSet rows(const tile::Kernel& k, const tile::Loop& loop) {
    tile::AxisSet out = k.names[static_cast<size_t>(loop.carries[0].name)].axes;
    for (const tile::Carry& c : loop.carries) out = out & k.names[static_cast<size_t>(c.name)].axes;
    return out;
  }

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

  const expr::Program program_;
  const expr::Binding& binding_;
  const tile::Machine& machine_;
  ExpandOptions options_;
  AlwaysRead always_read_;
  Trial now_;
  Grouped out_;
};

}  // namespace

Result<Grouped> group(const expr::Program& program, const expr::Binding& binding, const tile::Machine& machine,
                      const ExpandOptions& options, bool all) {
  return Grouper(expr::outline(program), binding, machine, options).run(all);
}

}  // namespace quern::fuse
