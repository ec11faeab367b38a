#include "target/ranges.h"

#include <algorithm>

namespace quern::target {
namespace {

using tile::Expr;
using tile::ExprPtr;
using tile::Op;
using Wide = __int128;

Interval clamped(Wide lo, Wide hi) {
  if (lo < INT64_MIN || hi > INT64_MAX) return {};  // it may wrap
  return {static_cast<int64_t>(lo), static_cast<int64_t>(hi)};
}

Interval hull(Interval a, Interval b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

Interval of_type(ScalarType type) {
  if (kind(type) == Kind::kReal) return {};
  return {least_int(type), greatest_int(type)};
}

// All bits below the highest of a number that is not negative.
int64_t all_ones(int64_t v) {
  uint64_t u = static_cast<uint64_t>(v);
  for (int s = 1; s < 64; s *= 2) u |= u >> s;
  return static_cast<int64_t>(u);
}

Interval product(Interval a, Interval b) {
  Wide all[] = {Wide{a.lo} * b.lo, Wide{a.lo} * b.hi, Wide{a.hi} * b.lo, Wide{a.hi} * b.hi};
  return clamped(*std::min_element(all, all + 4), *std::max_element(all, all + 4));
}

Interval arithmetic(Op op, Interval a, Interval b) {
  switch (op) {
    case Op::kAdd: return clamped(Wide{a.lo} + b.lo, Wide{a.hi} + b.hi);
    case Op::kSub: return clamped(Wide{a.lo} - b.hi, Wide{a.hi} - b.lo);
    case Op::kMul: return product(a, b);
    case Op::kFloorDiv: {
      if (b.lo > 0) {
        auto div = [](int64_t x, int64_t y) { return x / y - (x % y != 0 && (x < 0) != (y < 0)); };
        return {std::min(div(a.lo, b.lo), div(a.lo, b.hi)), std::max(div(a.hi, b.lo), div(a.hi, b.hi))};
      }
      if (a.lo == INT64_MIN) return {};
      int64_t m = std::max(-a.lo, a.hi < 0 ? -a.hi : a.hi);
      return {-m, m};
    }
    case Op::kMod:
      // The sign of the divisor.
      if (b.lo == INT64_MIN) return {};
      return {b.lo < 0 ? b.lo + 1 : 0, b.hi > 0 ? b.hi - 1 : 0};
    case Op::kBitAnd:
      if (a.lo >= 0 && b.lo >= 0) return {0, std::min(a.hi, b.hi)};
      if (a.lo >= 0) return {0, a.hi};
      if (b.lo >= 0) return {0, b.hi};
      break;
    case Op::kBitOr:
    case Op::kBitXor:
      if (a.lo >= 0 && b.lo >= 0) return {0, all_ones(a.hi | b.hi)};
      break;
    case Op::kShr:
      if (a.lo >= 0) return {0, a.hi};
      return {std::min<int64_t>(a.lo, 0), std::max<int64_t>(a.hi, 0)};
    case Op::kShl:
      if (b.lo >= 0 && b.hi < 32 && a.lo >= 0) return clamped(0, Wide{a.hi} << b.hi);
      break;
    default: break;
  }
  if (a.fits_i32() && b.fits_i32() && op != Op::kShl) return {INT32_MIN, INT32_MAX};  // bits of i32 stay in i32
  return {};
}

}  // namespace

Ranges::Ranges(const tile::Program& program, const tile::Kernel& kernel)
    : program_(program), lets_(kernel.names.size()) {
  collect(kernel.body);
  for (const tile::Axis& a : kernel.axes) {
    // Earlier axes only, so that what a range mentions is there.
    Interval lo = a.lo ? of(a.lo) : Interval{0, 0}, hi = of(a.hi);
    axes_.push_back(hi.hi > lo.lo ? Interval{lo.lo, hi.hi - 1} : Interval{lo.lo, lo.lo});
  }
  known_.clear();
}

void Ranges::collect(const tile::Block& block) {
  for (const tile::Statement& s : block) {
    if (auto let = std::get_if<tile::Let>(&s.is)) lets_[static_cast<size_t>(let->name)] = let->value;
    if (auto loop = std::get_if<tile::Loop>(&s.is)) collect(loop->body);
    if (auto branch = std::get_if<tile::If>(&s.is)) collect(branch->body);
    if (auto nest = std::get_if<tile::Nest>(&s.is)) collect(nest->body);
  }
}

Interval Ranges::of(const ExprPtr& e) {
  if (kind(e->type) == Kind::kReal) return {};
  if (auto found = known_.find(e.get()); found != known_.end()) return found->second;
  Interval out = computed(*e);
  known_.emplace(e.get(), out);
  alive_.push_back(e);
  return out;
}

Interval Ranges::computed(const Expr& e) {
  using tile::Family;
  auto arg = [&](size_t i) { return of(e.args[i]); };
  switch (row(e).family) {
    case Family::literal: return {e.integer, e.integer};
    case Family::dim: {
      const auto& value = program_.dims[static_cast<size_t>(e.id)].value;
      return value ? Interval{*value, *value} : Interval{0, int64_t{1} << 48};
    }
    case Family::axis: {
      if (static_cast<size_t>(e.id) >= axes_.size()) return {};
      Interval range = axes_[static_cast<size_t>(e.id)];
      if (e.op == Op::kAxis) return range;
      return {range.lo, range.hi == INT64_MAX ? range.hi : range.hi + 1};
    }
    case Family::name:
      if (const ExprPtr& let = lets_[static_cast<size_t>(e.id)]) return of(let);
      return of_type(e.type);
    case Family::fill: return arg(0);
    case Family::load: return e.guard || e.checked ? hull(of_type(e.type), {0, 0}) : of_type(e.type);
    case Family::arithmetic:
    case Family::bits: return arithmetic(e.op, arg(0), arg(1));
    case Family::negate: return clamped(-Wide{arg(0).hi}, -Wide{arg(0).lo});
    case Family::select: return hull(arg(0), arg(2));
    case Family::extremum: {
      Interval a = arg(0), b = arg(1);
      if (e.op == Op::kMaxOf) return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
      return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    }
    case Family::rounding: {  // abs
      Interval a = arg(0);
      if (a.lo == INT64_MIN) return {};
      return {a.lo > 0 ? a.lo : a.hi < 0 ? -a.hi : 0, std::max(a.hi, -a.lo)};
    }
    case Family::random: return {0, UINT32_MAX};
    case Family::cast: {
      Interval type = of_type(e.type);
      if (kind(e.args[0]->type) == Kind::kReal) return type;
      Interval a = arg(0);
      return a.lo >= type.lo && a.hi <= type.hi ? a : type;
    }
    case Family::reduce:
      if (e.op == Op::kMax || e.op == Op::kMin) {
        Interval a = arg(0);  // of nothing: the identity
        return e.op == Op::kMax ? Interval{INT64_MIN, a.hi} : Interval{a.lo, INT64_MAX};
      }
      return of_type(e.type);
    default: return of_type(e.type);
  }
}

}  // namespace quern::target
