// Kernels from the outside in: header, axes, grid, statements with their scopes.
#include <fmt/format.h>

#include <algorithm>

#include "tile/print.h"
#include "tile/verify.h"
#include "tile/verify/verifier.h"

namespace quern::tile {
namespace {

constexpr size_t kMostFindings = 20;

template <class T>
bool has(const std::vector<T>& list, int32_t id) {
  return id >= 0 && static_cast<size_t>(id) < list.size();
}

}  // namespace

Diagnostics verify(const Program& program) { return Verifier(program).run(); }

void Verifier::wrong(std::string what) {
  if (found_.size() >= kMostFindings) return;
  std::string where = kernel_->name ? kernel_->name.str() : std::string("program");
  found_.push_back(diagnose(Code::B002, {}, {{"what", fmt::format("{} ({}): {}", where, name(program_.stage), what)}}));
}

Diagnostics Verifier::run() {
  header();
  for (const Kernel& k : program_.kernels) {
    kernel_ = &k;
    kernel();
  }
  return std::move(found_);
}

// Sizes of parameters are integers over dims.
void Verifier::header() {
  static const Kernel kNone;
  kernel_ = &kNone;
  in_range_ = true;
  for (const Dim& d : program_.dims) {
    if (d.value && *d.value < 0) wrong(fmt::format("{} is negative", d.name.str()));
  }
  for (const Parameter& p : program_.parameters) {
    for (const ExprPtr& s : p.shape) whole(s, "a size of " + p.name.str());
    if (p.zeroed && p.role != Role::kTmp) wrong(fmt::format("{} is zeroed and no tmp", p.name.str()));
  }
  in_range_ = false;
}

void Verifier::kernel() {
  size_t names = kernel_->names.size(), axes = kernel_->axes.size();
  seen_.clear();
  defined_.assign(names, false);
  visible_.assign(names, false);
  nest_of_.assign(names, -1);
  kept_.assign(names, false);
  crosses_.assign(names, false);
  walked_.assign(axes, -1);
  nest_ = nullptr;
  nest_number_ = 0;
  if (axes > 64 || !known_axes(kernel_->scalar)) return wrong("an axis is not declared");
  for (const Name& n : kernel_->names) {
    if (!known_axes(n.axes)) return wrong("an axis is not declared");
    AxisSet scalar = n.axes & kernel_->scalar;
    if (!scalar.empty()) {
      wrong(fmt::format("{} has the scalar axis {} in its type", n.name.str(), axis_name(scalar.list()[0])));
    }
  }
  find_keeps(kernel_->body);
  declared_axes();
  if (program_.stage == Stage::kLowered && !kernel_->grid.empty()) wrong("there is a grid");
  in_range_ = true;
  bool sound = true;
  for (const Walk& w : kernel_->grid) sound &= walk(w, true);
  in_range_ = false;
  if (!sound) return;
  block(kernel_->body);
  for (size_t n = 0; n < names; ++n) {
    if (kept_[n] && !defined_[n]) wrong(fmt::format("{} is kept and not defined", shown(static_cast<int32_t>(n))));
  }
  crossing();
}

// Ranges are integers over dims, loads and earlier axes: each index of those gives a range.
void Verifier::declared_axes() {
  in_range_ = true;
  for (size_t a = 0; a < kernel_->axes.size(); ++a) walked_[a] = 0;  // any axis may stand in a range
  for (size_t a = 0; a < kernel_->axes.size(); ++a) {
    const Axis& axis = kernel_->axes[a];
    std::vector<ExprPtr> ends = {axis.hi};
    if (axis.lo) ends.push_back(axis.lo);
    for (const ExprPtr& end : ends) {
      if (!expression(end)) continue;
      if (end->type != ScalarType::i64)
        wrong(fmt::format("an end of the range of {} is not an integer", axis.name.str()));
      AxisSet later(~uint64_t{0} << a);
      if (!(end->axes & later).empty()) wrong(fmt::format("the range of {} uses a later axis", axis.name.str()));
    }
  }
  for (size_t a = 0; a < kernel_->axes.size(); ++a) walked_[a] = -1;
  seen_.clear();
  in_range_ = false;
}

bool Verifier::walk(const Walk& w, bool grid) {
  if (!has(kernel_->axes, w.axis)) {
    wrong("an axis is not declared");
    return false;
  }
  auto a = static_cast<size_t>(w.axis);
  std::string named = axis_name(w.axis);
  for (const ExprPtr& end : {w.lo, w.hi}) {
    if (!end) continue;
    whole(end, "an end of the walk of " + named);
    if (!grid) continue;
    std::vector<ExprPtr> rest = {end};
    while (!rest.empty()) {
      ExprPtr e = rest.back();
      rest.pop_back();
      bool uses = e && row(*e).family == Family::axis && has(kernel_->axes, e->id);
      if (uses && walked_[static_cast<size_t>(e->id)] < 0) {
        wrong(fmt::format("the grid's range of {} uses {}, which is not walked before", named, axis_name(e->id)));
      }
      if (e) rest.insert(rest.end(), e->args.begin(), e->args.end());
    }
  }
  seen_.clear();
  // The range it has by declaration may depend on scalar axes that are walked by now.
  if (walked_[a] < 0) {
    const Axis& axis = kernel_->axes[a];
    AxisSet on = axis.hi ? axis.hi->axes : AxisSet();
    if (axis.lo) on |= axis.lo->axes;
    bool given = w.lo && w.hi;
    if (!given && !type_axes(on).empty()) wrong(fmt::format("the range of {} is not one when it is walked", named));
  }
  if (w.size < 0) wrong(fmt::format("{} is walked in steps of {}", named, w.size));
  if (program_.stage == Stage::kLowered && w.size > 1) wrong(fmt::format("{} has a tile", named));
  if ((w.size == 1) != kernel_->scalar.has(w.axis)) {
    wrong(fmt::format("{} is {} and walked in steps of {}", named,
                      kernel_->scalar.has(w.axis) ? "a scalar" : "no scalar", w.size));
  }
  if (walked_[a] > 0 && w.size > walked_[a]) wrong(fmt::format("the inner tile of {} is larger", named));
  walked_[a] = w.size;
  return true;
}

void Verifier::block(const Block& body) {
  for (const Statement& s : body) {
    seen_.clear();
    std::visit([&](const auto& is) { statement(is); }, s.is);
  }
}

void Verifier::body_in_scope(const Block& body) {
  std::vector<bool> before = visible_;
  block(body);
  visible_ = before;
}

void Verifier::define(int32_t name, const ExprPtr& value) {
  if (!has(kernel_->names, name)) return wrong("a name is not declared");
  auto id = static_cast<size_t>(name);
  if (defined_[id]) wrong(fmt::format("{} is defined twice", shown(name)));
  defined_[id] = visible_[id] = true;
  const Name& n = kernel_->names[id];
  if (!value) return;
  if (n.type != value->type || type_axes(n.axes) != type_axes(value->axes)) {
    wrong(fmt::format("{} is given a value of another type", shown(name)));
  }
}

// A name is an array: its axes have one range each.
void Verifier::ragged(AxisSet axes) {
  for (AxisId a : axes.list()) {
    if (walked_[static_cast<size_t>(a)] >= 0) continue;
    const Axis& axis = kernel_->axes[static_cast<size_t>(a)];
    AxisSet on = axis.hi ? axis.hi->axes : AxisSet();
    if (axis.lo) on |= axis.lo->axes;
    if (!type_axes(on).empty())
      wrong(fmt::format("the range of {} is not one, and it is in a name's type", axis.name.str()));
  }
}

void Verifier::statement(const Let& s) {
  if (!expression(s.value)) return;
  AxisSet axes = type_axes(s.value->axes);
  ragged(axes);
  if (placed() && !nest_) {
    bool integer = s.value->type == ScalarType::i64 || s.value->type == ScalarType::boolean;
    if (!axes.empty() || !integer) wrong(fmt::format("{} is computed outside a nest", shown(s.name)));
  }
  define(s.name, s.value);
  if (has(kernel_->names, s.name) && nest_) nest_of_[static_cast<size_t>(s.name)] = nest_number_;
}

void Verifier::statement(const Store& s) {
  bool sound = expression(s.value);
  AxisSet in_subscripts;
  for (const ExprPtr& e : s.subscripts) {
    sound &= expression(e);
    if (e) in_subscripts |= e->axes;
  }
  if (s.when) sound &= expression(s.when);
  if (!sound || !references(s.parameter, s.subscripts, s.checked, s.site)) return;
  const Parameter& p = program_.parameters[static_cast<size_t>(s.parameter)];
  const std::string& named = p.name.str();
  if (p.role == Role::kIn || p.role == Role::kConst) wrong(fmt::format("{} is stored to", named));
  if (s.value->type != p.type) wrong(fmt::format("a value of another type is stored to {}", named));
  if (s.when && s.when->type != ScalarType::boolean)
    wrong(fmt::format("the condition of a store to {} is not a bool", named));
  if (s.atomic && !s.add) wrong(fmt::format("a store to {} is atomic and adds nothing", named));
  AxisSet axes = s.value->axes | (s.when ? s.when->axes : AxisSet());
  AxisSet missing = type_axes(axes - in_subscripts);
  // Of what isn't an out, an update says itself that it writes each element at most once.
  if (!s.add && p.role == Role::kOut && !missing.empty()) {
    wrong(fmt::format("{} is stored once for each {}, which is in no subscript", named, axis_name(missing.list()[0])));
  }
  if (placed() && !nest_) wrong(fmt::format("{} is stored to outside a nest", named));
}

void Verifier::carried(const Carry& c, const ExprPtr& value, std::string_view which) {
  if (!expression(value)) return;
  if (!has(kernel_->names, c.name)) return;
  const Name& n = kernel_->names[static_cast<size_t>(c.name)];
  if (n.type != value->type || type_axes(n.axes) != type_axes(value->axes)) {
    wrong(fmt::format("the {} value of {} is of another type", which, shown(c.name)));
  }
}

void Verifier::statement(const Loop& s) {
  if (nest_) return wrong("a nest holds a loop");
  for (const Carry& c : s.carries) carried(c, c.init, "first");
  std::vector<int64_t> before = walked_;
  AxisSet axes;
  bool sound = true;
  for (const Walk& w : s.walks) {
    sound &= walk(w, false);
    if (sound) axes |= AxisSet::of(w.axis);
  }
  if (s.walks.empty()) wrong("a loop walks no axis");
  if (!sound) return;
  std::vector<bool> outside = visible_;
  for (const Carry& c : s.carries) {
    define(c.name, nullptr);
    if (!has(kernel_->names, c.name)) continue;
    auto id = static_cast<size_t>(c.name);
    outside[id] = true;
    nest_of_[id] = -2;
    if (!(kernel_->names[id].axes & axes).empty())
      wrong(fmt::format("{} is carried along its own axis", shown(c.name)));
  }
  block(s.body);
  for (const Carry& c : s.carries) {
    seen_.clear();
    carried(c, c.next, "next");
    bool has_axes = c.next && !type_axes(c.next->axes).empty();
    if (placed() && has_axes && c.next->op != Op::kName) {
      wrong(fmt::format("the next value of {} is computed outside a nest", shown(c.name)));
    }
  }
  visible_ = outside;
  walked_ = before;
}

void Verifier::statement(const If& s) {
  if (nest_) return wrong("a nest holds a condition");
  if (expression(s.condition)) {
    if (s.condition->type != ScalarType::boolean) wrong("the condition of an if is not a bool");
    if (!type_axes(s.condition->axes).empty()) wrong("the condition of an if is not one value");
  }
  body_in_scope(s.body);
}

}  // namespace quern::tile
