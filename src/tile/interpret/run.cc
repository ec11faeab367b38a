// Statements, kernels, the run.
#include <fmt/format.h>

#include "tile/interpret.h"
#include "tile/interpret/element.h"
#include "tile/interpret/evaluator.h"
#include "tile/interpret/fault.h"

namespace quern::tile {

Evaluator::Evaluator(const Program& program, const Launch& launch)
    : program_(program), launch_(launch), mode_(launch.mode), anchors_(program) {
  if (launch.dims.size() != program.dims.size()) fault("another number of dims is given");
  for (size_t d = 0; d < program.dims.size(); ++d) {
    if (program.dims[d].value && *program.dims[d].value != launch.dims[d]) {
      fault(fmt::format("{} is another than the program's", program.dims[d].name.str()));
    }
  }
  if (launch.arguments.size() != program.parameters.size()) fault("another number of arguments is given");
  static const Kernel kNone;
  kernel_ = &kNone;  // shapes have no axes and no names
  for (size_t p = 0; p < program.parameters.size(); ++p) {
    std::vector<int64_t> shape;
    for (const ExprPtr& s : program.parameters[p].shape) shape.push_back(integer(s));
    tensors_.emplace_back(program.parameters[p], std::move(shape), launch.arguments[p]);
  }
}

Interpreted Evaluator::run() {
  for (kernel_number_ = 0; kernel_number_ < program_.kernels.size(); ++kernel_number_) run_kernel();
  Interpreted out;
  for (size_t p = 0; p < program_.parameters.size(); ++p) {
    Role role = program_.parameters[p].role;
    if (role != Role::kOut && role != Role::kInout) continue;
    out.outputs.push_back(tensors_[p].output(static_cast<int32_t>(p), mode_));
  }
  for (auto& [site, finding] : findings_) out.findings.push_back(std::move(finding));
  return out;
}

namespace {

void find_kept(const Block& body, std::vector<bool>& kept) {
  for (const Statement& s : body) {
    if (auto* keep = std::get_if<Keep>(&s.is)) kept[static_cast<size_t>(keep->name)] = true;
    if (auto* loop = std::get_if<Loop>(&s.is)) find_kept(loop->body, kept);
    if (auto* branch = std::get_if<If>(&s.is)) find_kept(branch->body, kept);
    if (auto* nest = std::get_if<Nest>(&s.is)) find_kept(nest->body, kept);
  }
}

}  // namespace

void Evaluator::run_kernel() {
  kernel_ = &program_.kernels[kernel_number_];
  ranges_.assign(kernel_->axes.size(), std::nullopt);
  names_.assign(kernel_->names.size(), nullptr);
  kept_.assign(kernel_->names.size(), false);
  kept_arrays_.assign(kernel_->names.size(), nullptr);
  find_kept(kernel_->body, kept_);
  known_.clear();
  first_point_ = point_;
  grid(0);
}

// Points of the grid are independent: each begins without names.
void Evaluator::grid(size_t depth) {
  if (depth == kernel_->grid.size()) {
    block(kernel_->body);
    names_.assign(kernel_->names.size(), nullptr);
    known_.clear();
    ++point_;
    return;
  }
  walk(kernel_->grid[depth], [&] { grid(depth + 1); });
}

template <class F>
void Evaluator::walk(const Walk& w, F&& trip) {
  std::optional<Range> before = ranges_[static_cast<size_t>(w.axis)];
  Range now = range(w.axis);
  int64_t lo = w.lo ? integer(w.lo) : now.lo, hi = w.hi ? integer(w.hi) : now.hi;
  if (lo < hi && (lo < now.lo || hi > now.hi)) {
    fault(fmt::format("{} is walked in {} .. {}, its range is {} .. {}",
                      kernel_->axes[static_cast<size_t>(w.axis)].name.str(), lo, hi, now.lo, now.hi));
  }
  int64_t size = w.size == 0 ? std::max<int64_t>(hi - lo, 1) : w.size;
  bool full = mode_ == Mode::kPadded && program_.stage < Stage::kPlaced;
  for (int64_t at = lo; at < hi; at += size) {
    int64_t end = std::min(at + size, hi);
    set_range(w.axis, Range{at, end, full ? at + size : end});
    trip();
  }
  set_range(w.axis, before);
}

// Scalar axes, which the name's type lacks, go: the value belongs to no index of theirs any more.
ArrayPtr Evaluator::without_scalars(int32_t name, ArrayPtr value) {
  AxisSet wanted = kernel_->names[static_cast<size_t>(name)].axes;
  bool same = true;
  for (AxisId a : value->axes) same &= wanted.has(a);
  if (same) return value;
  auto out = std::make_shared<Array>(*value);
  out->axes.clear();
  out->ranges.clear();
  for (size_t k = 0; k < value->axes.size(); ++k) {
    if (wanted.has(value->axes[k])) {
      out->axes.push_back(value->axes[k]);
      out->ranges.push_back(value->ranges[k]);
    } else if (value->ranges[k].extent() != 1) {
      fault(called(name) + " has an axis that its type lacks");
    }
  }
  return out;
}

void Evaluator::bind(int32_t name, ArrayPtr value) {
  if (value) value = without_scalars(name, std::move(value));
  names_[static_cast<size_t>(name)] = std::move(value);
  known_.clear();
}

void Evaluator::forget_defined_in(const Block& body) {
  for (const Statement& s : body) {
    if (auto* let = std::get_if<Let>(&s.is)) bind(let->name, nullptr);
    if (auto* loop = std::get_if<Loop>(&s.is)) {
      for (const Carry& c : loop->carries) bind(c.name, nullptr);
    }
    if (auto* nest = std::get_if<Nest>(&s.is)) forget_defined_in(nest->body);
  }
}

void Evaluator::block(const Block& body) {
  for (const Statement& s : body) {
    std::visit([&](const auto& is) { statement(is); }, s.is);
  }
}

// In a nest, what is kept is also stored: the part that exists.
void Evaluator::statement(const Let& s) {
  ArrayPtr value = evaluate(s.value);
  bind(s.name, value);
  if (!in_nest_ || !kept_[static_cast<size_t>(s.name)]) return;
  Array& kept = *kept_arrays_[static_cast<size_t>(s.name)];
  Points points(*value);
  points.add(kept);
  size_t i = 0;
  points.each([&] {
    if (points.live()) kept.data[points.at(0)] = value->data[i];
    ++i;
  });
}

void Evaluator::statement(const Store& s) {
  AxisSet axes = s.value->axes;
  for (const ExprPtr& e : s.subscripts) axes |= e->axes;
  if (s.when) axes |= s.when->axes;
  // An axis with a range that depends on others: one after another.
  std::vector<AxisId> open;
  AxisSet on = dependences(axes);
  if (on.empty()) return store_piece(s);
  AxisId d = on.list()[0];
  std::optional<Range> before = ranges_[static_cast<size_t>(d)];
  Range r = range(d);
  for (int64_t i = r.lo; i < r.hi; ++i) {
    set_range(d, Range{i, i + 1, i + 1});
    statement(s);
  }
  set_range(d, before);
}

void Evaluator::store_piece(const Store& s) {
  std::vector<ArrayPtr> operands;
  AxisSet axes = s.value->axes;
  for (const ExprPtr& e : s.subscripts) {
    operands.push_back(evaluate(e));
    axes |= e->axes;
  }
  std::vector<ArrayPtr> subscripts = operands;
  ArrayPtr value = evaluate(s.value), when = s.when ? evaluate(s.when) : nullptr;
  operands.push_back(value);
  if (when) {
    operands.push_back(when);
    axes |= s.when->axes;
  }
  std::vector<AxisId> list = axes.list();
  std::vector<Range> ranges;
  for (AxisId a : list) ranges.push_back(range(a));
  Points points(list, ranges);
  for (const ArrayPtr& a : operands) points.add(*a);
  Tensor& tensor = tensors_[static_cast<size_t>(s.parameter)];
  points.each([&] {
    if (!points.live()) return;
    Bool holds = when ? when->data[points.at(subscripts.size() + 1)].boolean() : Bool{true};
    if (!holds.v) return;
    Access a = access(tensor, s.parameter, s.checked, s.site, subscripts, points);
    if (!a.at) return;
    Element x = value->data[points.at(subscripts.size())];
    if (mode_ == Mode::kBound && !(a.sure && holds.sure)) x.e = kInfinity;
    if (s.add) {
      tensor.add(*a.at, x, mode_, point(), s.atomic);
    } else {
      tensor.write(*a.at, x, mode_, point());
    }
  });
  known_.clear();  // what was loaded may have changed
}

void Evaluator::statement(const Loop& s) {
  std::vector<ArrayPtr> first;
  for (const Carry& c : s.carries) first.push_back(evaluate(c.init));
  for (size_t i = 0; i < first.size(); ++i) bind(s.carries[i].name, first[i]);
  trips(s, 0);
}

void Evaluator::trips(const Loop& s, size_t depth) {
  if (depth < s.walks.size()) {
    walk(s.walks[depth], [&] { trips(s, depth + 1); });
    return;
  }
  block(s.body);
  std::vector<ArrayPtr> next;
  for (const Carry& c : s.carries) next.push_back(evaluate(c.next));
  forget_defined_in(s.body);
  for (size_t i = 0; i < next.size(); ++i) bind(s.carries[i].name, next[i]);
}

void Evaluator::statement(const If& s) {
  ArrayPtr condition = evaluate(s.condition);
  if (condition->data.size() != 1) fault("the condition of an if is not one value");
  if (condition->data[0].i == 0) return;
  block(s.body);
  forget_defined_in(s.body);
}

void Evaluator::statement(const Nest& s) {
  for (const Statement& inner : s.body) {
    auto* let = std::get_if<Let>(&inner.is);
    if (!let || !kept_[static_cast<size_t>(let->name)]) continue;
    const Name& n = kernel_->names[static_cast<size_t>(let->name)];
    std::shared_ptr<Array> kept = array(n.type, n.axes);
    std::fill(kept->data.begin(), kept->data.end(), undefined_element(n.type));
    kept->kept = true;
    kept_arrays_[static_cast<size_t>(let->name)] = kept;
  }
  in_nest_ = true;
  nest_axes(s, 0);
  in_nest_ = false;
  forget_defined_in(s.body);
  for (const Statement& inner : s.body) {
    auto* let = std::get_if<Let>(&inner.is);
    if (let && kept_[static_cast<size_t>(let->name)]) {
      bind(let->name, std::move(kept_arrays_[static_cast<size_t>(let->name)]));
    }
  }
}

// Block axes in steps; strips whole, in lanes full to a multiple of their size.
void Evaluator::nest_axes(const Nest& s, size_t depth) {
  if (depth == s.axes.size()) {
    block(s.body);
    return;
  }
  const NestAxis& a = s.axes[depth];
  std::optional<Range> before = ranges_[static_cast<size_t>(a.axis)];
  Range r = range(a.axis);
  bool full = mode_ == Mode::kPadded && a.lanes;
  int64_t size = std::max<int64_t>(a.size, 1);
  if (a.role == AxisRole::kBlock) {
    for (int64_t at = r.lo; at < r.hi; at += size) {
      int64_t end = std::min(at + size, r.hi);
      set_range(a.axis, Range{at, end, full ? at + size : end});
      nest_axes(s, depth + 1);
    }
  } else {
    int64_t whole = (r.hi - r.lo + size - 1) / size * size;
    set_range(a.axis, Range{r.lo, r.hi, full ? r.lo + whole : r.hi});
    nest_axes(s, depth + 1);
  }
  set_range(a.axis, before);
}

Result<Interpreted> interpret(const Program& program, const Launch& launch) {
  try {
    return Evaluator(program, launch).run();
  } catch (Fault& f) {
    return fail(std::move(f.diagnostic));
  }
}

}  // namespace quern::tile
