// Near memory: what nests hand to each other and what loops carry, in an arena that each thread has. An element's place
// follows from the digits of its layout. A block of a nest begins at a multiple of its size, so that most digits of
// most positions are constants, and a division is left only where a layout and a block do not fit each other.
#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "target/vector/emitter.h"

namespace quern::target {

using tile::Digit;
using tile::ExprPtr;
using tile::Family;

namespace {

constexpr int64_t kVector = 128;  // the longest vector: 16 lanes of 64 bits

// Can it be evaluated before anything is loaded or walked?
bool at_entry(const ExprPtr& e) {
  if (!e) return true;
  Family f = row(*e).family;
  if (f == Family::axis || f == Family::load || f == Family::name) return false;
  return std::ranges::all_of(e->args, at_entry);
}

}  // namespace

std::vector<Value> Emitter::whole_extents() {
  std::vector<Value> out;
  for (const tile::Axis& a : kernel_.axes) {
    Value extent;
    tile::Bounds high = ranges_(a.hi), low = a.lo ? ranges_(a.lo) : tile::Bounds{0, 0};
    if (at_entry(a.lo) && at_entry(a.hi)) {
      extent = w_.smax(w_.sub(scalar(a.hi), a.lo ? scalar(a.lo) : i64(0)), i64(0));
    } else if (high.high && low.low) {
      extent = i64(std::max<int64_t>(0, *high.high - *low.low));
    }
    out.push_back(extent);  // without a name: not bounded
  }
  return out;
}

Value Emitter::widest(const tile::Walk& walk, const std::vector<Value>& extents) {
  Value whole = extents[static_cast<size_t>(walk.axis)];
  if (walk.size == 0) return whole;
  return whole.name.empty() ? i64(walk.size) : w_.smin(i64(walk.size), whole);
}

Value Emitter::plan_near() {
  Value used = i64(0);
  std::vector<Value> extents = whole_extents();
  for (const tile::Walk& walk : kernel_.grid) extents[static_cast<size_t>(walk.axis)] = widest(walk, extents);
  reserve(kernel_.body, extents, used);
  return used;
}

void Emitter::reserve(const tile::Block& block, std::vector<Value> extents, Value& used) {
  auto one = [&](int32_t id, const tile::Name& name, const std::vector<Digit>& layout) {
    Near near;
    near.type = name.type, near.digits = layout;
    if (near.digits.empty()) {
      std::vector<AxisId> axes = (name.axes - kernel_.scalar).list();
      for (auto a = axes.rbegin(); a != axes.rend(); ++a) near.digits.push_back({.axis = *a});
    }
    Value stride = i64(1);
    for (const Digit& d : near.digits) {
      near.strides.push_back(stride);
      Value extent = extents[static_cast<size_t>(d.axis)];
      if (extent.name.empty()) throw NotLaid{"near memory over a range without a bound"};
      Value digits = w_.binary("sdiv", w_.add(extent, i64(d.divide - 1)), i64(d.divide));
      if (d.modulo > 0) digits = i64(d.modulo);
      stride = w_.mul(stride, digits);
    }
    near.pointer = w_.offset({arena_, {Base::ptr}}, used);
    Value bytes = w_.mul(stride, i64(bits(memory_base(name.type)) / 8));
    int64_t behind = has_.threads() ? 0 : kVector;
    used = w_.add(used, w_.binary("and", w_.add(bytes, i64(63 + behind)), i64(-64)));
    near_[id] = near;
  };
  auto layout_of = [&](int32_t name) -> std::optional<std::vector<Digit>> {
    std::optional<std::vector<Digit>> found;
    auto look = [&](auto& self, const tile::Block& b) -> void {
      for (const tile::Statement& s : b) {
        if (auto keep = std::get_if<tile::Keep>(&s.is); keep && keep->name == name) found = keep->layout;
        if (auto loop = std::get_if<tile::Loop>(&s.is)) self(self, loop->body);
        if (auto branch = std::get_if<tile::If>(&s.is)) self(self, branch->body);
        if (auto nest = std::get_if<tile::Nest>(&s.is)) self(self, nest->body);
      }
    };
    look(look, kernel_.body);
    return found;
  };
  for (const tile::Statement& s : block) {
    if (auto nest = std::get_if<tile::Nest>(&s.is)) {
      for (const tile::Statement& inner : nest->body) {
        auto let = std::get_if<tile::Let>(&inner.is);
        if (!let || near_.contains(let->name)) continue;
        if (auto layout = layout_of(let->name)) one(let->name, kernel_.names[static_cast<size_t>(let->name)], *layout);
      }
    }
    if (auto branch = std::get_if<tile::If>(&s.is)) reserve(branch->body, extents, used);
    if (auto loop = std::get_if<tile::Loop>(&s.is)) {
      for (const tile::Carry& c : loop->carries) {
        const tile::Name& name = kernel_.names[static_cast<size_t>(c.name)];
        std::vector<Digit> layout = layout_of(c.name).value_or(std::vector<Digit>());
        one(c.name, name, layout);
        if (in_place(*loop, c)) {
          near_[c.next->id] = near_[c.name];
        } else {
          one(-2 - c.name, name, layout);  // where the next value waits
        }
      }
      std::vector<Value> inside = extents;
      for (const tile::Walk& walk : loop->walks) inside[static_cast<size_t>(walk.axis)] = widest(walk, inside);
      reserve(loop->body, inside, used);
    }
  }
}

// From here on the axes of `name` count from where they begin now.
void Emitter::define(int32_t name) {
  Near& near = near_.at(name);
  for (const Digit& d : near.digits) near.low[d.axis] = axes_[static_cast<size_t>(d.axis)].low;
  near.defined = true;
}

// Of what is the axis's position a multiple, counted from `low`, where an outer range began?
int64_t Emitter::alignment(const AxisNow& now, const Value& low) const {
  int64_t out = now.align;
  std::string from = now.low.name;
  while (from != low.name) {
    auto step = steps_.find(from);
    if (step == steps_.end()) return 1;
    out = std::gcd(out, step->second.second);
    from = step->second.first;
  }
  return out;
}

// A number that surely divides `e` where e < below (a range that is not empty begins below its end); 0 divides 0 only.
int64_t Emitter::multiple_of(const ExprPtr& e, const ExprPtr& below) {
  auto arg = [&](size_t i) { return multiple_of(e->args[i], below); };
  switch (row(*e).family) {
    case Family::literal: return std::abs(e->integer);
    case Family::dim: {
      const auto& size = program_.dims[static_cast<size_t>(e->id)].value;
      return size ? *size : 1;
    }
    case Family::name: {
      auto value = scalar_values_.find(e->id);
      return value == scalar_values_.end() ? 1 : multiple_of(value->second, below);
    }
    case Family::extremum:
      // min(a, below) is a wherever it matters.
      for (size_t i : {size_t{0}, size_t{1}}) {
        if (e->op == tile::Op::kMinOf && below && tile::equal(e->args[i], below)) return arg(1 - i);
      }
      return std::gcd(arg(0), arg(1));
    case Family::arithmetic:
      if (e->op == tile::Op::kMul) {
        int64_t out;
        return __builtin_mul_overflow(arg(0), arg(1), &out) ? 1 : out;
      }
      return e->op == tile::Op::kAdd || e->op == tile::Op::kSub ? std::gcd(arg(0), arg(1)) : 1;
    default: return 1;
  }
}

Linear Emitter::near_address(const Near& near) {
  if (!near.defined) throw NotLaid{"a value is read before it is defined"};
  Linear out;
  auto constant_part = [&](int64_t digit, const Value& stride) {
    if (stride.known) {
      out.constant += digit * *stride.known;
    } else if (digit != 0) {
      out.terms.emplace_back(stride, i64(digit));
    }
  };
  for (size_t i = 0; i < near.digits.size(); ++i) {
    const Digit& d = near.digits[i];
    const Value& stride = near.strides[i];
    const AxisNow& now = axes_[static_cast<size_t>(d.axis)];
    if (!now.in_nest) throw NotLaid{"an axis of a kept value is not walked where it is used"};
    const Value& low = near.low.at(d.axis);
    bool same = low.name == now.low.name;
    Value rel = same ? now.rel : w_.sub(now.base, low);
    int64_t align = alignment(now, low), span = d.divide * d.modulo;
    int64_t width = now.lanes ? lanes_ : 1, c = at_[static_cast<size_t>(d.axis)] * width;
    // digit = (rel + c + lane) / divide % modulo
    auto of_base = [&] {
      Value q = w_.binary("udiv", rel, i64(d.divide));
      if (d.divide == 1) q = rel;
      if (d.modulo > 0) q = w_.binary("urem", q, i64(d.modulo));
      out.terms.emplace_back(q, stride);
    };
    int64_t in_digit = c % d.divide;
    bool whole_in_digit = d.divide > 1 && in_digit + width <= d.divide;
    if (d.divide % align == 0 && d.divide > 1) {
      of_base();
    } else if (align % d.divide == 0 && (d.modulo == 0 || span % align == 0) &&
               (width == 1 || d.divide == 1 || whole_in_digit)) {
      of_base();
      constant_part(c / d.divide, stride);
      if (width > 1 && d.divide == 1) out.lane = w_.add(out.lane, stride);
    } else if (span > 0 && align % span == 0 &&
               (width == 1 || whole_in_digit || (d.divide == 1 && c % span + width <= span))) {
      constant_part(c / d.divide % d.modulo, stride);
      if (width > 1 && d.divide == 1) out.lane = w_.add(out.lane, stride);
    } else {
      Value v = w_.add(rel, i64(c));
      if (width > 1) v = w_.add(w_.splat(v, width_), w_.iota(Base::i64, width_));
      if (d.divide > 1) v = w_.binary("udiv", v, constant(v.type, d.divide));
      if (d.modulo > 0) v = w_.binary("urem", v, constant(v.type, d.modulo));
      if (width == 1) {
        out.terms.emplace_back(v, stride);
      } else {
        v = w_.mul(v, w_.splat(stride, width_));
        out.vector = out.vector ? w_.add(*out.vector, v) : v;
      }
    }
  }
  return out;
}

}  // namespace quern::target
