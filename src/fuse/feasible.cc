// Whether a schedule fits a program: names exist, only parallel axes are in the grid, steps nest, shared bytes stay
// with one grid point. Everything that tile() would otherwise have to refuse.
#include <fmt/format.h>

#include <set>

#include "fuse/schedule_rule.h"
#include "fuse/split.h"
#include "fuse/tile.h"
#include "fuse/walk_reductions.h"
#include "tile/rebuild.h"
#include "tile/reductions.h"

namespace quern::fuse {

using namespace tile;

namespace {

// Axes in the last subscript of a store whose elements are smaller than a byte.
AxisSet sharing_bytes(const Program& program, const Block& block) {
  AxisSet out;
  for (const Statement& s : block) {
    if (const auto* store = std::get_if<Store>(&s.is)) {
      bool small = row(program.parameters[store->parameter].type).bits < 8;
      if (small && !store->subscripts.empty()) out |= store->subscripts.back()->axes;
    }
    if (const auto* loop = std::get_if<Loop>(&s.is)) out |= sharing_bytes(program, loop->body);
    if (const auto* branch = std::get_if<If>(&s.is)) out |= sharing_bytes(program, branch->body);
  }
  return out;
}

AxisSet reduced_in(const ExprPtr& e) {
  AxisSet out;
  each_part(e, [&](const ExprPtr& part) {
    if (is_reduction(*part)) out |= part->over;
  });
  return out;
}

class Checker {
 public:
  Checker(const Program& program, const Kernel& kernel, const KernelPlan& plan)
      : program_(program), kernel_(kernel), plan_(plan) {
    name_reductions(kernel_);
    parallel_ = parallel_axes(kernel_);
    streamed_ = streamed_axes(kernel_);
    bytes_ = sharing_bytes(program, kernel_.body);
    for (const Statement& s : kernel_.body) {
      const auto* loop = std::get_if<Loop>(&s.is);
      if (loop && loop->walks[0].size == 1) in_order_ |= AxisSet::of(loop->walks[0].axis);
    }
  }

  // Empty if nothing is wrong.
  std::string wrong() {
    std::string first;
    see([&](const AxisPlan&, const std::string& problem) {
      if (first.empty()) first = problem;
    });
    if (!first.empty()) return first;
    if (first = unlimited(); !first.empty() || plan_.parts == 1) return first;
    auto parts = split(program_, kernel_, plan_);
    return parts ? "" : parts.error();
  }

  // A range that has an end for each index of other axes is one range only if these are scalars, or it is walked.
  std::string unlimited() const {
    AxisSet walked, scalar;
    for (const AxisPlan& p : plan_.axes) {
      AxisId a = find(p.axis);
      if (p.walk == WalkKind::kLoop) walked |= AxisSet::of(a);
      if (p.walk != WalkKind::kWhole && p.tile == 1) scalar |= AxisSet::of(a);
    }
    for (size_t i = 0; i < kernel_.axes.size(); ++i) {
      const Axis& axis = kernel_.axes[i];
      if ((walked | streamed_).has(static_cast<AxisId>(i))) continue;
      for (const ExprPtr& end : {axis.lo, axis.hi}) {
        AxisSet on = end ? reduced_in(end) - scalar : AxisSet();
        if (on.empty()) continue;
        const std::string& other = kernel_.axes[static_cast<size_t>(on.list().front())].name.str();
        return fmt::format("{} has a range for each {}: one of them is to be walked, {} in steps of 1", axis.name.str(),
                           other, other);
      }
    }
    return "";
  }

  // The walks with which nothing is wrong.
  KernelPlan fitting() {
    KernelPlan out = plan_;
    out.axes.clear();
    see([&](const AxisPlan& p, const std::string& problem) {
      if (problem.empty()) out.axes.push_back(p);
    });
    return out;
  }

 private:
  // Every walk and what is wrong with it, given the ones before that are right.
  template <class F>
  void see(const F& f) {
    std::vector<int64_t> step(kernel_.axes.size(), 0);
    AxisSet in_grid;
    for (const AxisPlan& p : plan_.axes) {
      AxisId a = find(p.axis);
      std::string problem;
      if (a < 0) {
        problem = fmt::format("{} has no axis {}", kernel_.name.str(), p.axis.str());
      } else if (p.walk != WalkKind::kWhole) {
        problem = plan_problem(p, a, step[a], in_grid);
      }
      f(p, problem);
      if (problem.empty() && p.tile > 0) step[a] = p.tile;
    }
  }

  AxisId find(Symbol name) const {
    for (size_t i = 0; i < kernel_.axes.size(); ++i) {
      if (kernel_.axes[i].name == name) return static_cast<AxisId>(i);
    }
    return -1;
  }

  std::string plan_problem(const AxisPlan& p, AxisId a, int64_t outer, AxisSet& in_grid) {
    const std::string& name = p.axis.str();
    if (p.tile < 0 || p.tile > (int64_t{1} << 40)) return fmt::format("{} has step {}", name, p.tile);
    if (outer != 0 && p.tile > outer)
      return fmt::format("{} is walked in steps of {}, then of {}", name, outer, p.tile);
    if (outer > 1 && p.tile == 1) return fmt::format("{} is walked one at a time inside of longer steps", name);
    if (p.walk == WalkKind::kGrid) {
      if (!parallel_.has(a)) return fmt::format("{} can't be in the grid: a result needs all of it", name);
      const Axis& axis = kernel_.axes[static_cast<size_t>(a)];
      bool known = !has_reduction(axis.hi) && (!axis.lo || !has_reduction(axis.lo));
      if (!known) return fmt::format("{} can't be in the grid: data end its range", name);
      if (in_grid.has(a) || outer != 0) return fmt::format("{} is in the grid twice, or after its loop", name);
      if (bytes_.has(a) && p.tile % 2 != 0)
        return fmt::format("{} has an odd step, and two elements share a byte", name);
      in_grid |= AxisSet::of(a);
      return "";
    }
    if (parallel_.has(a)) return p.tile == 0 ? fmt::format("{} is walked without a step", name) : "";
    if (p.tile == 1) return fmt::format("{} is walked one at a time, and state is carried by tiles", name);
    if (outer != 0) return fmt::format("{} is streamed twice", name);
    if (in_order_.has(a)) return fmt::format("{} is walked one at a time, in order", name);
    if (streamed_.has(a)) return "";
    Kernel trial = kernel_;
    if (p.tile == 0 || !walk_reductions(trial, a, p.tile)) {
      return fmt::format("{} can't be walked in pieces: a result of it is needed for another", name);
    }
    return "";
  }

  const Program& program_;
  Kernel kernel_;
  const KernelPlan& plan_;
  AxisSet parallel_, streamed_, bytes_, in_order_;
};

}  // namespace

std::optional<Diagnostic> feasible(const Program& lowered, const Schedule& schedule, const Machine& machine) {
  std::set<std::string> planned;
  for (const KernelPlan& plan : schedule.kernels) {
    const Kernel* kernel = nullptr;
    for (const Kernel& k : lowered.kernels) {
      if (k.name == plan.kernel) kernel = &k;
    }
    std::string wrong;
    if (!kernel) {
      wrong = fmt::format("there is no kernel {}", plan.kernel.str());
    } else if (!planned.insert(plan.kernel.str()).second) {
      wrong = fmt::format("{} has two plans", plan.kernel.str());
    } else {
      KernelPlan whole = fitting(lowered, *kernel, plan).axes.size() < plan.axes.size()
                             ? plan
                             : completed(lowered, *kernel, plan, machine);
      wrong = Checker(lowered, *kernel, whole).wrong();
    }
    if (!wrong.empty()) return diagnose(Code::R4, {}, {{"why", wrong}});
  }
  return std::nullopt;
}

KernelPlan fitting(const Program& program, const Kernel& kernel, const KernelPlan& plan) {
  return Checker(program, kernel, plan).fitting();
}

}  // namespace quern::fuse
