#include "fuse/schedule_rule.h"

#include <algorithm>

#include "fuse/cost.h"
#include "fuse/tile.h"
#include "tile/extent.h"
#include "tile/linear.h"
#include "tile/rebuild.h"
#include "tile/reductions.h"

namespace quern::fuse {

using namespace tile;

namespace {

constexpr int64_t kUnknownExtent = 1024;  // of an axis whose size is known at launch only
constexpr int64_t kTasksPerUnit = 4;      // so that a shared machine stays balanced
constexpr int64_t kLeastElements = 4096;  // of a grid point: starting one costs about a microsecond
constexpr int64_t kMostElements = 65536;
constexpr int64_t kPiecesTried = 16;  // other cuts of columns, to find an even one
constexpr int64_t kStreamStep = 1024;
constexpr int64_t kWholeReduced = 2048;
constexpr int64_t kMostColumns = 768, kLeastColumns = 192;
constexpr int64_t kLeastRows = 128;    // of a grid point that packs a panel of its own
constexpr int64_t kPartsPerUnit = 2;   // of a split axis, so that a shared machine stays balanced
constexpr double kWorthParts = 20e-6;  // seconds of a kernel that may be split
constexpr double kGain = 0.9;          // of these that are left
constexpr int64_t kMostRows = 1024;    // whose sums are kept between steps of k

int64_t up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The axis along which a tensor's elements lie side by side; -1 if there is none.
AxisId unit_axis(const Program& program, const std::vector<ExprPtr>& subscripts) {
  if (subscripts.empty()) return -1;
  auto last = linear(program, subscripts.back());
  if (!last) return -1;
  for (const auto& [axis, factor] : last->factors) {
    if (factor == 1) return axis;
  }
  return -1;
}

constexpr int64_t kPieces = 64;  // of an axis that data end

class Rule {
 public:
  Rule(const Program& program, const Kernel& kernel, const Machine& machine)
      : program_(program), kernel_(kernel), machine_(machine) {
    name_reductions(kernel_);
    parallel_ = parallel_axes(kernel_);
    streamed_ = streamed_axes(kernel_);
    for (size_t a = 0; a < kernel_.axes.size(); ++a) {
      extents_.push_back(extent(program_, kernel_, static_cast<AxisId>(a)).value_or(kUnknownExtent));
    }
    see(kernel_.body, false);
    order_axes();
    look_at_ranges();
  }

  KernelClass kind() const {
    if (dot_.over.empty()) {
      AxisSet reduced = reduced_axes(kernel_) | streamed_;
      return reduced.empty() ? KernelClass::map : KernelClass::row;
    }
    if (dot_streams_) return KernelClass::stream;
    const DotRule* rule = dot_rule();
    int64_t rows = count(rows_);
    return rows < (rule ? rule->min_rows : 4) ? KernelClass::matvec : KernelClass::dot;
  }

  KernelPlan plan() {
    plan_.kernel = kernel_.name;
    for (AxisId a : ending_.list()) walk(a, 1, WalkKind::kGrid);
    switch (kind()) {
      case KernelClass::map: map(order_); break;
      case KernelClass::row: row_kernel(); break;
      case KernelClass::stream: stream(); break;
      case KernelClass::matvec: matvec(); break;
      case KernelClass::dot: dot(); break;
    }
    walk_what_data_end();
    return plan_;
  }

  KernelPlan completed(const KernelPlan& plan) {
    plan_ = plan;
    for (AxisId a : ending_.list()) {
      const Symbol& name = kernel_.axes[static_cast<size_t>(a)].name;
      bool planned = std::ranges::any_of(plan_.axes, [&](const AxisPlan& p) { return p.axis == name; });
      if (!planned) plan_.axes.insert(plan_.axes.begin(), {name, 1, WalkKind::kGrid});
    }
    walk_what_data_end();
    return plan_;
  }

 private:
  struct MainDot {
    AxisSet over, result, a, b;
    ScalarType operand = ScalarType::f32, type = ScalarType::f32;
  };

  // Finds the dot with the most multiplications, and what is stored.
  void see(const Block& block, bool in_loop) {
    for (const Statement& s : block) {
      if (const auto* loop = std::get_if<Loop>(&s.is)) see(loop->body, true);
      if (const auto* branch = std::get_if<If>(&s.is)) see(branch->body, in_loop);
      if (const auto* store = std::get_if<Store>(&s.is)) {
        stores_.push_back(store->subscripts);
        bool half = row(program_.parameters[static_cast<size_t>(store->parameter)].type).bits < 8;
        if (half && !store->subscripts.empty()) sharing_ |= store->subscripts.back()->axes;
      }
      const auto* let = std::get_if<Let>(&s.is);
      if (!let || row(*let->value).family != Family::dot) continue;
      const Expr& e = *let->value;
      dot_streams_ = dot_streams_ || in_loop;
      AxisSet all = e.axes | e.over;
      // Of a stream, the scores decide.
      bool scores = in_loop && !(e.axes & streamed_).empty();
      if ((scores_ && !scores) || (scores_ == scores && work(all) <= most_)) continue;
      scores_ = scores;
      most_ = work(all);
      dot_ = {e.over, e.axes, e.args[0]->axes, e.args[1]->axes, e.args[0]->type, e.type};
    }
  }

  double work(AxisSet axes) const {
    double out = 1;
    for (AxisId a : axes.list()) out *= static_cast<double>(extents_[a]);
    return out;
  }
  int64_t count(AxisSet axes) const { return static_cast<int64_t>(std::min(work(axes), 0x1p60)); }

  // Parallel axes, outermost first as the first store has them; and the sides of the dot.
  void order_axes() {
    for (const auto& subscripts : stores_) {
      for (const ExprPtr& e : subscripts) {
        for (AxisId a : (e->axes & parallel_).list()) {
          if (std::find(order_.begin(), order_.end(), a) == order_.end()) order_.push_back(a);
        }
      }
    }
    for (AxisId a : parallel_.list()) {
      if (std::find(order_.begin(), order_.end(), a) == order_.end()) order_.push_back(a);
    }
    if (dot_.over.empty()) return;
    AxisSet only_a = dot_.a - dot_.b - dot_.over, only_b = dot_.b - dot_.a - dot_.over;
    bool b_columns = true;
    if (!stores_.empty()) {
      AxisId unit = unit_axis(program_, stores_[0]);
      if (unit >= 0 && only_a.has(unit) && !only_b.has(unit)) b_columns = false;
    }
    // Of a stream, columns are the streamed axis.
    if ((only_a & streamed_).size() > 0) b_columns = false;
    rows_ = b_columns ? only_a : only_b;
    columns_ = b_columns ? only_b : only_a;
  }

  const DotRule* dot_rule() const { return machine_.dot(dot_.operand, dot_.type); }
  int64_t lanes() const { return std::max<int64_t>(1, machine_.lanes(ScalarType::f32)); }
  int64_t wanted_tasks() const { return kTasksPerUnit * std::max<int64_t>(1, machine_.units); }

  // A step that a store of half bytes allows.
  int64_t safe(AxisId a, int64_t step) const { return sharing_.has(a) ? up(step, 2) : step; }

  void walk(AxisId a, int64_t step, WalkKind kind) {
    if (kind == WalkKind::kGrid) {
      step = safe(a, step);
      if (step >= extents_[a] && extent(program_, kernel_, a) && step > 1) return;  // whole
    }
    plan_.axes.push_back({kernel_.axes[a].name, step, kind});
  }

  // Pieces of so many elements, from the innermost axis out.
  void map(const std::vector<AxisId>& axes) {
    double total = 1;
    for (AxisId a : axes) total *= static_cast<double>(extents_[a]);
    auto left = static_cast<int64_t>(
        std::clamp(total / static_cast<double>(wanted_tasks()), double{kLeastElements}, double{kMostElements}));
    std::vector<std::pair<AxisId, int64_t>> steps;
    for (auto it = axes.rbegin(); it != axes.rend(); ++it) {
      int64_t size = std::max<int64_t>(1, extents_[*it]);
      int64_t step = std::min(size, std::max<int64_t>(1, left));
      if (it == axes.rbegin() && step < size) step = std::min(size, up(step, 4 * lanes()));
      steps.emplace_back(*it, step);
      left /= size;
    }
    for (auto it = steps.rbegin(); it != steps.rend(); ++it) walk(it->first, it->second, WalkKind::kGrid);
  }

  // Rows are independent; what a row reduces over is whole.
  void row_kernel() {
    AxisSet inner = reduced_axes(kernel_) | streamed_;
    AxisSet columns = unit_axes_of_loads(inner) & parallel_;
    int64_t length = std::max<int64_t>(1, count(inner));
    std::vector<AxisId> rows;
    for (AxisId a : order_) {
      if (!columns.has(a)) rows.push_back(a);
    }
    // Rows at a time: as many short ones as the nearest memory takes. The device gives out several grid points at once.
    int64_t width = std::max<int64_t>(1, count(columns));
    int64_t budget = std::max<int64_t>(1, kLeastElements / length);
    int64_t left = columns.empty() ? budget : 1;
    std::vector<std::pair<AxisId, int64_t>> steps;
    for (auto it = rows.rbegin(); it != rows.rend(); ++it) {
      int64_t size = std::max<int64_t>(1, extents_[*it]);
      steps.emplace_back(*it, std::min(size, left));
      left = std::max<int64_t>(1, left / size);
    }
    for (auto it = steps.rbegin(); it != steps.rend(); ++it) walk(it->first, it->second, WalkKind::kGrid);
    // Columns side by side in lanes: a few vectors at least.
    if (!columns.empty()) {
      int64_t step = std::max(up(std::min(budget, ceil_div(width, wanted_tasks())), 4 * lanes()), 4 * lanes());
      for (AxisId a : order_) {
        if (columns.has(a)) walk(a, step, WalkKind::kGrid);
      }
    }
  }

  bool ended_by_data(const Axis& axis) const {
    return !constant(program_, axis.hi) || (axis.lo && !constant(program_, axis.lo));
  }

  // Axes whose data end the range of another come first, one index at a time: then that range is exact. It can't be in
  // the grid, whose size is known before.
  void look_at_ranges() {
    AxisSet ended;
    for (size_t i = 0; i < kernel_.axes.size(); ++i) {
      if (ended_by_data(kernel_.axes[i])) ended |= AxisSet::of(static_cast<AxisId>(i));
      for (const ExprPtr& end : {kernel_.axes[i].lo, kernel_.axes[i].hi}) {
        if (!end || !has_reduction(end)) continue;
        each_part(end, [&](const ExprPtr& part) {
          if (row(*part).family == Family::reduce) ending_ |= part->over & parallel_;
        });
      }
    }
    ending_ = ending_ - ended;
    parallel_ = parallel_ - ending_ - ended;
    std::erase_if(order_, [&](AxisId a) { return !parallel_.has(a); });
  }

  // The last walk, if it can't be.
  void drop_what_does_not_fit() {
    if (fitting(program_, kernel_, plan_).axes.size() < plan_.axes.size()) plan_.axes.pop_back();
  }

  // A range that data end is read again for the indices in range, and what is kept of it needs a size: it is walked.
  void walk_what_data_end() {
    for (size_t i = 0; i < kernel_.axes.size(); ++i) {
      const Axis& axis = kernel_.axes[i];
      bool data = ended_by_data(axis);
      bool planned = std::any_of(plan_.axes.begin(), plan_.axes.end(),
                                 [&](const AxisPlan& p) { return p.axis == axis.name && p.walk == WalkKind::kLoop; });
      if (!data || planned) continue;
      walk(static_cast<AxisId>(i), kPieces, WalkKind::kLoop);
      drop_what_does_not_fit();
    }
  }

  // Axes that lie side by side in loads with a reduced axis.
  AxisSet unit_axes_of_loads(AxisSet inner) const {
    AxisSet out, inner_units;
    each_expression(kernel_.body, [&](const ExprPtr& e) {
      each_part(e, [&](const ExprPtr& part) {
        if (part->op != Op::kLoad || (axes_mentioned(part) & inner).empty()) return;
        AxisId unit = unit_axis(program_, part->args);
        if (unit >= 0) (inner.has(unit) ? inner_units : out) |= AxisSet::of(unit);
      });
    });
    return inner_units.empty() ? out : AxisSet();
  }

  // Largest row axis; the rest of the rows, and what both operands have, one at a time.
  AxisId main_axis(AxisSet axes) const {
    AxisId best = -1;
    for (AxisId a : (axes & parallel_).list()) {
      if (best < 0 || extents_[a] >= extents_[best]) best = a;
    }
    return best;
  }

  int64_t grid_of_singles(AxisSet kept) {
    int64_t tasks = 1;
    for (AxisId a : order_) {
      if (kept.has(a)) continue;
      walk(a, 1, WalkKind::kGrid);
      tasks = std::min<int64_t>(tasks * std::max<int64_t>(1, extents_[a]), int64_t{1} << 30);
    }
    return tasks;
  }

  void stream() {
    AxisId m = main_axis(rows_);
    AxisSet kept = m < 0 ? AxisSet() : AxisSet::of(m);
    // Few rows in all: keep them together, so that what is streamed is read once for them.
    if (count(rows_ & parallel_) <= 64) kept |= rows_ & parallel_;
    // Columns of later dots: whole, each piece would repeat the scores.
    kept |= parallel_ - dot_.result - dot_.a - dot_.b;
    int64_t tasks = grid_of_singles(kept);
    int64_t step = 48;
    if (m >= 0 && extents_[m] > step) {
      int64_t blocks = ceil_div(wanted_tasks(), tasks);
      int64_t rows = up(ceil_div(extents_[m], blocks), step);
      if (rows < extents_[m]) walk(m, rows, WalkKind::kGrid);
      walk(m, step, WalkKind::kLoop);
    }
    for (AxisId n : streamed_.list()) {
      bool known = extent(program_, kernel_, n).has_value() && !has_reduction(kernel_.axes[n].hi);
      // Scores and what is made of them stay near, two values of a block of rows.
      int64_t most =
          machine_.near_bytes * 3 / 4 / (2 * 4 * std::min<int64_t>(step, std::max<int64_t>(1, count(kept & rows_))));
      most = std::clamp<int64_t>(most / 64 * 64, 64, kStreamStep);
      int64_t trips = ceil_div(extents_[n], most);
      if (!known || trips > 1) walk(n, known ? up(ceil_div(extents_[n], trips), 64) : most, WalkKind::kLoop);
    }
  }

  void matvec() {
    // Rows stay together, columns are spread.
    AxisId n = main_axis(columns_);
    AxisSet kept = (rows_ & parallel_) | (n < 0 ? AxisSet() : AxisSet::of(n));
    int64_t tasks = grid_of_singles(kept);
    if (n < 0) return;
    int64_t step = up(ceil_div(extents_[n], std::max<int64_t>(1, wanted_tasks() / tasks)), lanes());
    walk(n, std::max(step, 4 * lanes()), WalkKind::kGrid);
  }

  // The step of an axis that is cut into `least` to `more` pieces, whole panels each, for which all units end together;
  // of equal ones the smallest.
  int64_t even_step(int64_t extent, int64_t least, int64_t more, int64_t panel, int64_t tasks) const {
    int64_t units = std::max<int64_t>(1, machine_.units), best = 0;
    double best_time = 0;
    for (int64_t pieces = std::max(least, more); pieces >= std::max(least, more - kPiecesTried); --pieces) {
      int64_t step = up(ceil_div(extent, pieces), panel);
      int64_t points = tasks * ceil_div(extent, step);
      double time = static_cast<double>(ceil_div(points, units)) * static_cast<double>(step);
      if (best == 0 || time < best_time) best = step, best_time = time;
    }
    return best;
  }

  void dot() {
    AxisId m = main_axis(rows_), n = main_axis(columns_);
    AxisSet kept;
    if (m >= 0) kept |= AxisSet::of(m);
    if (n >= 0) kept |= AxisSet::of(n);
    int64_t tasks = grid_of_singles(kept);
    const DotRule* rule = dot_rule();
    int64_t panel = rule ? rule->n : 3 * lanes();
    int64_t reduced = std::max<int64_t>(1, count(dot_.over));
    int64_t k_step =
        reduced > kWholeReduced ? up(ceil_div(reduced, ceil_div(reduced, kWholeReduced)), lanes()) : reduced;
    int64_t row_step = m < 0 ? 1 : extents_[m];
    if (n >= 0) {
      if (extents_[n] % (4 * lanes()) == 0) panel = 4 * lanes();
      int64_t bytes = k_step * std::max<int64_t>(1, row(dot_.operand).bits / 8);
      int64_t most = std::clamp(4 * machine_.near_bytes / std::max<int64_t>(1, bytes), panel, kMostColumns);
      int64_t pieces = ceil_div(extents_[n], most);
      // Columns are split first, each task packs its own; but panels stay wide while rows can be split instead.
      int64_t narrow = row_step < 2 * kLeastRows ? panel : std::max(panel, kLeastColumns);
      int64_t more = std::min(ceil_div(wanted_tasks(), tasks), extents_[n] / narrow);
      int64_t step = even_step(extents_[n], std::max<int64_t>(1, pieces), more, panel, tasks);
      walk(n, step, WalkKind::kGrid);
      tasks *= ceil_div(extents_[n], step);
    }
    if (m >= 0) {
      int64_t pieces = std::max<int64_t>(1, std::min(ceil_div(2 * machine_.units, tasks), row_step / kLeastRows));
      // With several steps of k, what is accumulated has to stay near.
      if (k_step < reduced) pieces = std::max(pieces, ceil_div(row_step, kMostRows));
      if (pieces > 1) walk(m, up(ceil_div(row_step, pieces), 8), WalkKind::kGrid);
    }
    if (k_step < reduced) {
      // Of several reduced axes the longest is walked in pieces.
      AxisId k = -1;
      for (AxisId a : dot_.over.list()) {
        if (k < 0 || extents_[a] > extents_[k]) k = a;
      }
      int64_t others = std::max<int64_t>(1, reduced / std::max<int64_t>(1, extents_[k]));
      int64_t step = dot_.over.size() == 1 ? k_step : std::max<int64_t>(2, k_step / others);
      if (step >= extents_[k]) return;
      plan_.axes.push_back({kernel_.axes[k].name, step, WalkKind::kLoop});
      drop_what_does_not_fit();
    }
  }

  const Program& program_;
  Kernel kernel_;
  const Machine& machine_;
  AxisSet parallel_, streamed_, rows_, columns_;
  AxisSet ending_;   // axes that end ranges of others
  AxisSet sharing_;  // axes of the last subscript of stores of half bytes
  std::vector<int64_t> extents_;
  std::vector<AxisId> order_;
  std::vector<std::vector<ExprPtr>> stores_;
  MainDot dot_;
  double most_ = -1;
  bool dot_streams_ = false, scores_ = false;
  KernelPlan plan_;
};

// Too few grid points for the units: the streamed or reduced axis is split where that pays for the merge.
KernelPlan in_parts(const Program& program, const Kernel& kernel, const KernelPlan& plan, const Machine& machine) {
  double points = 1;
  for (const AxisPlan& p : plan.axes) {
    auto a = std::ranges::find(kernel.axes, p.axis, &Axis::name);
    if (p.walk != WalkKind::kGrid || p.tile < 1 || a == kernel.axes.end()) continue;
    auto id = static_cast<AxisId>(a - kernel.axes.begin());
    points *= static_cast<double>(ceil_div(extent(program, kernel, id).value_or(kUnknownExtent), p.tile));
  }
  if (points < 1 || points >= static_cast<double>(machine.units)) return plan;
  double whole = cost(program, kernel, plan, machine);
  if (whole < kWorthParts) return plan;
  KernelPlan out = plan;
  out.parts = ceil_div(kPartsPerUnit * machine.units, static_cast<int64_t>(points));
  AxisSet streamed = streamed_axes(kernel);
  for (AxisId a : streamed.list()) {
    const Symbol& name = kernel.axes[static_cast<size_t>(a)].name;
    bool walked = std::ranges::any_of(out.axes, [&](const AxisPlan& p) { return p.axis == name; });
    if (!walked) out.axes.push_back({name, kStreamStep, WalkKind::kLoop});
  }
  if (feasible(program, {{out}}, machine)) return plan;
  return cost(program, kernel, out, machine) < kGain * whole ? out : plan;
}

}  // namespace

KernelClass classify(const Program& program, const Kernel& kernel, const Machine& machine) {
  return Rule(program, kernel, machine).kind();
}

KernelPlan completed(const Program& program, const Kernel& kernel, const KernelPlan& plan, const Machine& machine) {
  return Rule(program, kernel, machine).completed(plan);
}

Schedule default_schedule(const Program& lowered, const Machine& machine) {
  Schedule out;
  for (const Kernel& kernel : lowered.kernels) {
    KernelPlan plan = Rule(lowered, kernel, machine).plan();
    // A rule that asks for what can't be done would be a bug; the whole kernel at once is always right.
    if (feasible(lowered, {{plan}}, machine)) plan.axes.clear();
    out.kernels.push_back(in_parts(lowered, kernel, plan, machine));
  }
  return out;
}

}  // namespace quern::fuse
