#include "fuse/cost.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_set>

#include "fuse/schedule_rule.h"
#include "fuse/split.h"
#include "model/roofline.h"
#include "tile/extent.h"

namespace quern::fuse {

using namespace tile;

namespace {

constexpr double kUnknownExtent = 1024;  // as the rule of schedules takes it
constexpr double kLaunch = 5e-6;         // seconds until all threads work, and until the last is waited for
constexpr double kAlone = 0.5;           // what one unit of several gets of far memory's rate: 13 of 22 GB/s on Zen 4
constexpr double kNoRule = 0.25;         // of the rate of f32: a dot of types that nothing multiplies at once

// Operations of a multiply-add's worth, on one element.
double weight(const Expr& e) {
  bool real = quern::kind(e.type) == Kind::kReal;
  switch (row(e).family) {
    case Family::literal:
    case Family::name:
    case Family::dim:
    case Family::axis:
    case Family::fill:
    case Family::negate: return 0;
    case Family::function:
    case Family::function2: return e.op == Op::kSqrt || e.op == Op::kRsqrt ? 4 : 12;
    case Family::load: return 1;
    case Family::arithmetic: return !real ? 0.25 : e.op == Op::kDiv ? 4 : 1;
    default: return 1;
  }
}

class KernelCost {
 public:
  KernelCost(const Program& program, const Kernel& kernel, const KernelPlan& plan, const Machine& machine)
      : program_(program), kernel_(kernel), machine_(machine) {
    for (size_t a = 0; a < kernel.axes.size(); ++a) {
      auto known = extent(program, kernel, static_cast<AxisId>(a));
      extents_.push_back(known ? static_cast<double>(*known) : kUnknownExtent);
    }
    steps_ = extents_;
    points_ = static_cast<double>(plan.parts);
    for (const AxisPlan& p : plan.axes) {
      if (p.tile == 0 || p.walk == WalkKind::kWhole) continue;
      for (size_t a = 0; a < kernel.axes.size(); ++a) {
        if (kernel.axes[a].name != p.axis) continue;
        steps_[a] = std::min(steps_[a], static_cast<double>(p.tile));
        if (p.walk == WalkKind::kGrid) points_ *= std::max(1.0, std::ceil(extents_[a] / static_cast<double>(p.tile)));
        walked_ |= AxisSet::of(static_cast<AxisId>(a));
      }
    }
  }

  double seconds() {
    block(kernel_.body);
    double units = std::min(points_, static_cast<double>(std::max<int64_t>(1, machine_.units)));
    model::Work work{flops_, 0};
    for (int32_t p : read_) work.bytes += bytes_of(program_, program_.parameters[static_cast<size_t>(p)]);
    for (int32_t p : written_) work.bytes += bytes_of(program_, program_.parameters[static_cast<size_t>(p)]);
    // One unit alone does not draw all that memory gives.
    double far = machine_.far_bytes_per_second;
    if (machine_.units > 1) far *= std::min(1.0, units * kAlone);
    double packing = packed_ / far;
    return model::roofline(work, {machine_.flops_per_second * units, far}).seconds + packing + kLaunch;
  }

 private:
  void block(const Block& statements) {
    for (const Statement& s : statements) {
      if (const auto* let = std::get_if<Let>(&s.is)) {
        expression(let->value);
      } else if (const auto* store = std::get_if<Store>(&s.is)) {
        written_.insert(store->parameter);
        AxisSet axes = store->value->axes;
        expression(store->value);
        expression(store->when);
        for (const ExprPtr& e : store->subscripts) {
          expression(e);
          axes |= e->axes;
        }
        add(1, axes);
      } else if (const auto* loop = std::get_if<Loop>(&s.is)) {
        for (const Carry& c : loop->carries) expression(c.init);
        block(loop->body);
        for (const Carry& c : loop->carries) expression(c.next);
      }
    }
  }

  // All points of the axes, and once more for every tile of what is walked around them.
  double times(AxisSet axes) const {
    double out = 1;
    for (size_t a = 0; a < extents_.size(); ++a) {
      auto id = static_cast<AxisId>(a);
      if (axes.has(id)) {
        out *= extents_[a];
      } else if (walked_.has(id)) {
        out *= std::max(1.0, std::ceil(extents_[a] / std::max(1.0, steps_[a])));
      }
    }
    return out;
  }

  // A lane does half a multiply-add's operations with anything else, and a core as many of these a cycle as of those.
  void add(double operations, AxisSet axes) { flops_ += 2 * operations * times(axes); }

  void expression(const ExprPtr& e) {
    if (!e || !seen_.insert(e.get()).second) return;
    for (const ExprPtr& a : e->args) expression(a);
    expression(e->guard);
    Family family = row(*e).family;
    if (family == Family::load) read_.insert(e->id);
    if (family == Family::dot) {
      dot(*e);
    } else if (double w = weight(*e); w > 0 && !(e->axes | e->over).empty()) {
      add(w, e->axes | e->over);
    }
  }

  void dot(const Expr& e) {
    AxisSet all = e.axes | e.over;
    const DotRule* best = machine_.dot(ScalarType::f32, ScalarType::f32);
    const DotRule* rule = machine_.dot(e.args[0]->type, e.type);
    double rate = best && rule ? rule->per_cycle / best->per_cycle : kNoRule;
    flops_ += 2 * times(all) / rate;
    // One operand is packed before it is multiplied, which a few rows of the other don't pay for.
    add(1, e.args[1]->axes);
    travel(*e.args[1]);
    if (const Expr& a = *e.args[0]; a.op != Op::kLoad) travel(a);
  }

  // What is put aside for a product and doesn't stay near is written and read back, before and not beside it.
  void travel(const Expr& operand) {
    double size = std::max(4.0, row(operand.type).bits / 8.0), near = size;
    for (AxisId a : operand.axes.list()) near *= steps_[a];
    if (near > static_cast<double>(machine_.near_bytes)) packed_ += 2 * size * times(operand.axes);
  }

  const Program& program_;
  const Kernel& kernel_;
  const Machine& machine_;
  std::vector<double> extents_, steps_;
  AxisSet walked_;
  double points_ = 1, flops_ = 0, packed_ = 0;
  std::set<int32_t> read_, written_;
  std::unordered_set<const Expr*> seen_;
};

}  // namespace

double bytes_of(const Program& program, const Parameter& parameter) {
  double elements = 1;
  for (const ExprPtr& e : parameter.shape) elements *= static_cast<double>(constant(program, e).value_or(1));
  return elements * row(parameter.type).bits / 8;
}

double cost(const Program& lowered, const Machine& machine) {
  Schedule schedule = default_schedule(lowered, machine);
  double out = 0;
  for (size_t k = 0; k < lowered.kernels.size(); ++k) {
    out += cost(lowered, lowered.kernels[k], schedule.kernels[k], machine);
  }
  return out;
}

double cost(const Program& lowered, const Kernel& kernel, const KernelPlan& plan, const Machine& machine) {
  double out = KernelCost(lowered, kernel, plan, machine).seconds();
  if (plan.parts == 1) return out;
  auto parts = split(lowered, kernel, plan);
  if (!parts) return out;
  for (const Parameter& state : parts->states) out += 2 * bytes_of(lowered, state) / machine.far_bytes_per_second;
  return out + kLaunch * static_cast<double>(parts->kernels.size() - 1);
}

}  // namespace quern::fuse
