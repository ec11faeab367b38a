#include "fuse/tile.h"

#include <algorithm>
#include <iterator>

#include "fuse/cut.h"
#include "fuse/schedule_rule.h"
#include "fuse/split.h"
#include "fuse/walk_reductions.h"
#include "tile/rebuild.h"
#include "tile/reductions.h"
#include "tile/scalar_axes.h"

namespace quern::fuse {

using namespace tile;

namespace {

void see_stores(const Block& block, AxisSet& common) {
  for (const Statement& s : block) {
    if (const auto* store = std::get_if<Store>(&s.is)) {
      AxisSet subscripts, all = store->value->axes;
      for (const ExprPtr& e : store->subscripts) subscripts |= e->axes;
      all |= subscripts;
      if (store->when) all |= store->when->axes;
      // An update that says which elements it writes, or computes where, writes each at most once.
      bool itself = store->atomic || store->when || store->checked != 0;
      common = common & (itself ? all : subscripts);
    }
    if (const auto* loop = std::get_if<Loop>(&s.is)) see_stores(loop->body, common);
    if (const auto* branch = std::get_if<If>(&s.is)) see_stores(branch->body, common);
  }
}

void see_loops(const Block& block, AxisSet& streamed) {
  for (const Statement& s : block) {
    if (const auto* loop = std::get_if<Loop>(&s.is)) {
      for (const Walk& w : loop->walks) streamed |= AxisSet::of(w.axis);
      see_loops(loop->body, streamed);
    }
    if (const auto* branch = std::get_if<If>(&s.is)) see_loops(branch->body, streamed);
  }
}

AxisSet reduced_in(const Block& block) {
  AxisSet out;
  each_expression(block, [&](const ExprPtr& e) {
    each_part(e, [&](const ExprPtr& part) {
      if (is_reduction(*part)) out |= part->over;
    });
  });
  return out;
}

class Tiler {
 public:
  Tiler(const Program& program, Kernel& kernel, const KernelPlan& plan)
      : program_(program), kernel_(kernel), plan_(plan) {}

  void run() {
    name_reductions(kernel_);
    parallel_ = parallel_axes(kernel_);
    streamed_ = streamed_axes(kernel_);
    walk_flat_reductions();
    choose_grid();
    size_streams(kernel_.body);
    wrap_loops();
    settle_ranges();
    // What ranges and conditions brought in, by the scalars or by a bound over several rows.
    name_reductions(kernel_);
  }

 private:
  AxisId axis(Symbol name) const {
    for (size_t i = 0; i < kernel_.axes.size(); ++i) {
      if (kernel_.axes[i].name == name) return static_cast<AxisId>(i);
    }
    return -1;
  }

  void walk_flat_reductions() {
    for (const AxisPlan& p : plan_.axes) {
      AxisId a = axis(p.axis);
      if (p.walk != WalkKind::kLoop || parallel_.has(a) || streamed_.has(a)) continue;
      if (walk_reductions(kernel_, a, p.tile)) {
        streamed_ |= AxisSet::of(a);
        name_reductions(kernel_);
      }
    }
  }

  void choose_grid() {
    AxisSet scalar;
    for (const AxisPlan& p : plan_.axes) {
      AxisId a = axis(p.axis);
      if (p.walk == WalkKind::kGrid && p.tile > 0) kernel_.grid.push_back({a, p.tile, nullptr, nullptr});
      if (p.walk != WalkKind::kWhole && p.tile == 1) scalar |= AxisSet::of(a);
    }
    make_scalar(kernel_, scalar);
  }

  // Steps and ends of the streams, then the cuts.
  void size_streams(Block& block) {
    Block out;
    std::vector<std::pair<int32_t, int32_t>> renamed;
    for (Statement& s : block) {
      Block one = {s};
      if (!renamed.empty()) rename(kernel_, one, renamed);
      auto* loop = std::get_if<Loop>(&one[0].is);
      if (!loop) {
        out.push_back(std::move(one[0]));
        continue;
      }
      size_streams(loop->body);
      for (Walk& w : loop->walks) step(w);
      std::vector<std::pair<int32_t, int32_t>> now;
      for (Statement& piece : cut(program_, kernel_, *loop, now)) out.push_back(std::move(piece));
      renamed.insert(renamed.end(), now.begin(), now.end());
    }
    block = std::move(out);
  }

  void step(Walk& w) {
    for (const AxisPlan& p : plan_.axes) {
      if (axis(p.axis) == w.axis && p.walk == WalkKind::kLoop) w.size = p.tile;
    }
    const Axis& a = kernel_.axes[w.axis];
    // A bound that depends on other axes is read again for those of their indices that are in range.
    if (!w.hi && has_reduction(a.hi)) w.hi = with_scalars(kernel_, a.hi);
    if (!w.lo && a.lo && has_reduction(a.lo)) w.lo = with_scalars(kernel_, a.lo);
  }

  static bool reports_anyway(const Statement& s, AxisId a) {
    const auto* let = std::get_if<Let>(&s.is);
    if (!let || row(*let->value).family != Family::check || let->value->axes.has(a)) return false;
    bool alone = true;
    each_part(let->value, [&](const ExprPtr& part) { alone = alone && part->op != Op::kName; });
    return alone;
  }

  void wrap_loops() {
    for (auto p = plan_.axes.rbegin(); p != plan_.axes.rend(); ++p) {
      AxisId a = axis(p->axis);
      if (p->walk != WalkKind::kLoop || !parallel_.has(a) || p->tile == 0) continue;
      Loop loop;
      loop.walks = {{a, p->tile, nullptr, nullptr}};
      step(loop.walks[0]);
      // What only reports, and is the same for all indices, must do so even where there are none.
      Block before;
      for (Statement& s : kernel_.body) {
        (reports_anyway(s, a) ? before : loop.body).push_back(std::move(s));
      }
      kernel_.body = std::move(before);
      kernel_.body.push_back({std::move(loop)});
    }
  }

  // Outside of the grid an axis has one range: that for the scalars' indices.
  void settle_ranges() {
    AxisSet gridded;
    for (const Walk& w : kernel_.grid) gridded |= AxisSet::of(w.axis);
    for (size_t i = 0; i < kernel_.axes.size(); ++i) {
      if (gridded.has(static_cast<AxisId>(i))) continue;
      for (ExprPtr* end : {&kernel_.axes[i].lo, &kernel_.axes[i].hi}) {
        if (!*end || !has_reduction(*end)) continue;
        ExprPtr now = with_scalars(kernel_, *end);
        if (!has_reduction(now)) *end = now;
      }
    }
  }

  const Program& program_;
  Kernel& kernel_;
  const KernelPlan& plan_;
  AxisSet parallel_, streamed_;
};

Kernel tiled(const Program& program, const Kernel& kernel, const KernelPlan& plan) {
  Kernel out = kernel;
  Tiler(program, out, plan).run();
  return out;
}

}  // namespace

AxisSet parallel_axes(const Kernel& kernel) {
  AxisSet all(kernel.axes.size() >= 64 ? ~uint64_t{0} : (uint64_t{1} << kernel.axes.size()) - 1);
  see_stores(kernel.body, all);
  return all - streamed_axes(kernel) - reduced_in(kernel.body);
}

AxisSet streamed_axes(const Kernel& kernel) {
  AxisSet out;
  see_loops(kernel.body, out);
  return out;
}

AxisSet reduced_axes(const Kernel& kernel) {
  Block flat;
  for (const Statement& s : kernel.body) {
    if (!std::holds_alternative<Loop>(s.is)) flat.push_back(s);
  }
  return reduced_in(flat);
}

Result<Program> tile(const Program& lowered, const Schedule& schedule, const Machine& machine) {
  if (auto wrong = feasible(lowered, schedule, machine)) {
    return fail(diagnose(Code::E745, wrong->span, {{"why", wrong->message}}));
  }
  Program out = lowered;
  out.kernels.clear();
  for (const Kernel& kernel : lowered.kernels) {
    auto given = std::ranges::find(schedule.kernels, kernel.name, &KernelPlan::kernel);
    KernelPlan plan = given == schedule.kernels.end() ? KernelPlan{kernel.name, {}, 1} : *given;
    plan = completed(lowered, kernel, plan, machine);
    if (plan.parts == 1) {
      out.kernels.push_back(tiled(lowered, kernel, plan));
      continue;
    }
    auto parts = split(out, kernel, plan);
    if (!parts) return fail(diagnose(Code::E745, {}, {{"why", parts.error()}}));
    std::ranges::move(parts->states, std::back_inserter(out.parameters));
    for (size_t i = 0; i < parts->kernels.size(); ++i) {
      const Kernel& part = parts->kernels[i];
      out.kernels.push_back(tiled(out, part, fitting(out, part, parts->plans[i])));
    }
  }
  out.stage = Stage::kTiled;
  return out;
}

}  // namespace quern::fuse
