// The lattice and its transfer functions. A register has one shape for the whole function: the join over its writes.
#include "vgpu/shape.h"

#include <algorithm>
#include <bit>

#include "vgpu/traits.h"

namespace quern::vgpu {
namespace {

using ptx::Instruction;
using ptx::Modifier;
using ptx::ModifierGroup;
using ptx::Op;
using ptx::Operand;
using ptx::OperandKind;
using ptx::Special;

constexpr int kExact = 63;  // align of zero

constexpr int64_t kHuge = int64_t{1} << 31;  // ranges that reach it are not kept

Shape uniform(int align = 0) { return {.kind = Shape::kUniform, .align = align}; }

Shape up_to(Shape s, int64_t most) {
  s.most = most >= 0 && most < kHuge ? most : -1;
  return s;
}
Shape varying() { return {.kind = Shape::kVarying}; }

Shape pattern(const Lanes& lanes, int align) {
  return {.kind = Shape::kPattern, .align = align, .lanes = std::make_shared<Lanes>(lanes)};
}

template <class F>
Shape mapped(const Shape& a, int align, F f) {
  Lanes out;
  for (size_t l = 0; l < kLanes; ++l) out[l] = f((*a.lanes)[l]);
  return pattern(out, align);
}

int align_of(int64_t value) { return value ? std::countr_zero(static_cast<uint64_t>(value)) : kExact; }

Shape join(const Shape& a, const Shape& b) {
  if (a.kind == Shape::kNone) return b;
  if (b.kind == Shape::kNone) return a;
  if (a.kind == b.kind && a.scale == b.scale && a.sign == b.sign) {
    Shape out = a;
    out.align = std::min(a.align, b.align);
    // A bound that grows, as of a counter, is none.
    out.most = a.most < 0 || b.most < 0 || b.most > a.most ? -1 : a.most;
    if (a.kind == Shape::kUniform || a.kind == Shape::kIndexed) return out;
    if (a.lanes && b.lanes && *a.lanes == *b.lanes) return out;
    if (a.kind == Shape::kWide) {
      out.kind = Shape::kIndexed, out.lanes = nullptr, out.align = 0;
      return out;
    }
  }
  auto indexed = [](const Shape& s) { return s.kind == Shape::kWide || s.kind == Shape::kIndexed; };
  if (indexed(a) && indexed(b) && a.scale == b.scale && a.sign == b.sign) {
    return {.kind = Shape::kIndexed, .sign = a.sign, .scale = a.scale};
  }
  return varying();
}

// What an instruction's first result is like.
class Transfer {
 public:
  Transfer(const Instruction& in, const Shapes& shapes, const BlockClass& block, int64_t stride)
      : in_(in), shapes_(shapes), block_(block), stride_(stride) {}

  Shape operator()() const {
    Shape out = result();
    bool number = integer() || in_.op == Op::k_mov;
    out.most = number && (out.kind == Shape::kUniform || out.kind == Shape::kPattern) ? range() : -1;
    if (out.kind == Shape::kVarying && number && range() == 0) out = up_to(uniform(kExact), 0);
    return out;
  }

 private:
  Shape at(size_t i) const { return shape_of(in_.operands[i], shapes_, block_); }

  std::optional<int64_t> constant(size_t i) const {
    const Operand& o = in_.operands[i];
    if (o.kind == OperandKind::kInteger) return o.value;
    if (o.kind == OperandKind::kRegister) return shapes_.constant[static_cast<size_t>(o.reg)];
    return std::nullopt;
  }

  int bits() const { return ptx::row(in_.type()).size(); }
  bool integer() const {
    auto kind = ptx::row(in_.type()).kind;
    return kind != ptx::TypeKind::kFloat && kind != ptx::TypeKind::kPredicate && bits() >= 32 && bits() <= 64;
  }

  bool all_uniform() const {
    if (reads_carry(in_) && !shapes_.of.back().scalar()) return false;
    for (size_t i = result_count(in_); i < in_.operands.size(); ++i) {
      if (!uniform_operand(in_.operands[i])) return false;
    }
    return true;
  }

  bool uniform_operand(const Operand& o) const {
    for (const Operand& p : o.parts) {
      if (!uniform_operand(p)) return false;
    }
    if (o.reg != ptx::kNone) return shapes_.of[static_cast<size_t>(o.reg)].scalar();
    return o.kind != OperandKind::kSpecial || shape_of(o, shapes_, block_).scalar();
  }

  // The most that the result can be, if it can't be negative either.
  int64_t range() const {
    auto most = [&](size_t i) { return at(i).most; };
    auto both = [&](size_t i, size_t j) { return most(i) >= 0 && most(j) >= 0; };
    auto kept = [](int64_t x) { return x < kHuge ? x : -1; };
    auto c = in_.operands.size() > 2 ? constant(2) : std::nullopt;
    switch (in_.op) {
      case Op::k_mov: return in_.operands.size() == 2 && in_.operands[1].kind != OperandKind::kVector ? most(1) : -1;
      case Op::k_add: return both(1, 2) ? kept(most(1) + most(2)) : -1;
      case Op::k_mul: return both(1, 2) && !in_.has(Modifier::kHi) ? kept(most(1) * most(2)) : -1;
      case Op::k_mad:
        return both(1, 2) && most(3) >= 0 && !in_.has(Modifier::kHi)
                   ? kept(kept(most(1) * most(2)) < 0 ? -1 : kept(most(1) * most(2) + most(3)))
                   : -1;
      case Op::k_shl: return most(1) >= 0 && c && *c >= 0 && *c < 31 ? kept(most(1) << *c) : -1;
      case Op::k_shr: return most(1) >= 0 && c && *c >= 0 && *c < 63 ? most(1) >> *c : -1;
      case Op::k_and:
        if (c && *c >= 0) return most(1) >= 0 ? std::min(most(1), *c) : kept(*c);
        return most(1) >= 0 ? most(1) : -1;
      case Op::k_or:
      case Op::k_xor:
        return both(1, 2)
                   ? static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max(most(1), most(2)) + 1)) - 1)
                   : -1;
      case Op::k_cvt:
        return in_.types.size() == 2 && ptx::row(in_.type(1)).size() >= 32 &&
                       ptx::row(in_.type(1)).kind != ptx::TypeKind::kFloat
                   ? most(1)
                   : -1;
      default: return -1;
    }
  }

  Shape sum(const Shape& a, const Shape& b, int sign) const {
    if (a.scalar() && b.scalar()) return uniform(std::min(a.align, b.align));
    int align = std::min(a.align, b.align);
    if (a.kind == Shape::kPattern && b.scalar()) return mapped(a, align, [](int64_t c) { return c; });
    if (a.scalar() && b.kind == Shape::kPattern) return mapped(b, align, [&](int64_t c) { return sign * c; });
    if (a.kind == Shape::kPattern && b.kind == Shape::kPattern) {
      Lanes out;
      for (size_t l = 0; l < kLanes; ++l) out[l] = (*a.lanes)[l] + sign * (*b.lanes)[l];
      return pattern(out, align);
    }
    auto indexed = [](const Shape& s) { return s.kind == Shape::kWide || s.kind == Shape::kIndexed; };
    if (indexed(a) && b.scalar()) return a;
    if (indexed(b) && a.scalar() && sign > 0) return b;
    return varying();
  }

  Shape times(const Shape& a, std::optional<int64_t> c) const {
    if (!c) return varying();
    if (a.kind == Shape::kPattern) {
      return mapped(a, std::min(a.align + align_of(*c), kExact), [&](int64_t x) { return x * *c; });
    }
    if (a.kind == Shape::kBits && *c > 0 && std::has_single_bit(static_cast<uint64_t>(*c)))
      return mapped_bits(a, std::min(a.align + align_of(*c), kExact), [&](int64_t x) { return x * *c; });
    if (a.kind == Shape::kWide || a.kind == Shape::kIndexed) {
      Shape out = a;
      out.scale *= *c;
      constexpr int64_t kMost = 1 << 20;
      if (out.scale > kMost || out.scale < -kMost || *c > kMost || *c < -kMost || out.scale == 0) return varying();
      return out;
    }
    return varying();
  }

  Shape product(size_t i, size_t j) const {
    Shape a = at(i), b = at(j);
    if (a.scalar() && b.scalar()) return uniform(std::min(a.align + b.align, kExact));
    return b.scalar() ? times(a, constant(j)) : a.scalar() ? times(b, constant(i)) : varying();
  }

  Shape widened(const Shape& a, bool sign, int64_t scale) const {
    if (a.scalar()) return uniform();
    if (a.kind == Shape::kPattern) {
      return {.kind = Shape::kWide, .align = a.align, .sign = sign, .scale = scale, .lanes = a.lanes};
    }
    return {.kind = Shape::kIndexed, .sign = sign, .scale = scale};
  }

  Shape wide_product() const {
    Shape a = at(1), b = at(2);
    if (a.scalar() && b.scalar()) return uniform(std::min(a.align + b.align, kExact));
    auto c = constant(2);
    bool sign = ptx::row(in_.type()).kind == ptx::TypeKind::kSigned;
    constexpr int64_t kMost = 1 << 20;
    if (bits() != 32 || !b.scalar() || !c || *c == 0 || *c > kMost || *c < (sign ? -kMost : 0)) return varying();
    return widened(a, sign, *c);
  }

  Shape result() const {
    switch (in_.op) {
      case Op::k_mov:
        if (in_.operands.size() == 2 && in_.operands[0].kind == OperandKind::kRegister &&
            in_.operands[1].kind != OperandKind::kVector) {
          return at(1);
        }
        break;
      case Op::k_cvta: return in_.space() == ptx::Space::kLocal ? local_address() : sum(at(1), uniform(), 1);
      case Op::k_add: return integer() && !in_.has(Modifier::kSat) ? sum(at(1), at(2), 1) : pure();
      case Op::k_sub: return integer() && !in_.has(Modifier::kSat) ? sum(at(1), at(2), -1) : pure();
      case Op::k_mul:
        if (!integer()) break;
        if (in_.has(Modifier::kLo)) return product(1, 2);
        if (in_.has(Modifier::kWide)) return wide_product();
        break;
      case Op::k_mad:
        if (!integer()) break;
        if (in_.has(Modifier::kLo)) return sum(product(1, 2), at(3), 1);
        if (in_.has(Modifier::kWide)) return sum(wide_product(), at(3), 1);
        break;
      case Op::k_shl:
        if (auto c = constant(2); c && *c >= 0 && *c < 31) {
          Shape a = at(1);
          return a.scalar() ? uniform(std::min(a.align + static_cast<int>(*c), kExact)) : times(a, int64_t{1} << *c);
        }
        break;
      case Op::k_shr: return shifted_right();
      case Op::k_and: return masked();
      case Op::k_or: return joined_bits();
      case Op::k_xor: return exclusive();
      case Op::k_cvt: return converted();
      case Op::k_setp: return compared_alike() ? uniform() : pure();
      case Op::k_ld: return !own_memory() && all_uniform() ? uniform() : varying();
      case Op::k_ldu: return all_uniform() ? uniform() : varying();
      case Op::k_activemask: return uniform();
      // Lanes that name different masks get different results.
      case Op::k_vote:
      case Op::k_redux:
        return in_.has(Modifier::kSync) && !at(in_.operands.size() - 1).scalar() ? varying() : uniform();
      default: break;
    }
    return pure();
  }

  // An address that means another place in each lane.
  bool own_memory() const {
    const Operand& o = in_.operands[1];
    bool frame = o.reg == ptx::kNone && o.symbol.index != ptx::kNone && o.symbol.kind == ptx::SymbolKind::kLocal;
    return in_.space() == ptx::Space::kLocal || (in_.space() == ptx::Space::kParam && frame);
  }

  // The local memories of the lanes lie one behind the other.
  Shape local_address() const {
    Shape a = at(1);
    Lanes lanes;
    for (size_t l = 0; l < kLanes; ++l) lanes[l] = static_cast<int64_t>(l) * stride_;
    if (!in_.has(Modifier::kTo)) return a.scalar() ? pattern(lanes, 2) : varying();
    return a.kind == Shape::kPattern && *a.lanes == lanes ? uniform(2) : varying();
  }

  Shape pure() const { return is_pure(in_) && all_uniform() ? uniform() : varying(); }

  // base ^ lanes, of what is that: a number, what has its lanes below the lowest bit that the base may have, and kBits.
  std::optional<Lanes> bits_of_lanes(const Shape& a) const {
    if (a.scalar()) return Lanes{};
    if (a.kind != Shape::kBits && !within(a)) return std::nullopt;
    return *a.lanes;
  }

  // The plainest shape of base ^ lanes.
  static Shape of_bits(const Lanes& lanes, int align) {
    int64_t all = 0;
    for (int64_t x : lanes) all |= x;
    if (!all) return uniform(align);
    Shape out = pattern(lanes, align);
    if (align < 62 && all >= (int64_t{1} << align)) out.kind = Shape::kBits;
    return out;
  }

  template <class F>
  Shape mapped_bits(const Shape& a, int align, F f) const {
    auto lanes = bits_of_lanes(a);
    if (!lanes) return varying();
    for (int64_t& x : *lanes) x = f(x);
    return of_bits(*lanes, align);
  }

  Shape exclusive() const {
    Shape a = at(1), b = at(2);
    if (a.scalar() && b.scalar()) return pure();
    auto x = bits_of_lanes(a), y = bits_of_lanes(b);
    if (!integer() || !x || !y) return varying();
    for (size_t l = 0; l < kLanes; ++l) (*x)[l] ^= (*y)[l];
    return of_bits(*x, std::min(a.align, b.align));
  }

  // What the lanes add is not negative and stays below the lowest bit that the base may have.
  bool within(const Shape& a) const {
    if (a.kind != Shape::kPattern) return false;
    int64_t most = *std::max_element(a.lanes->begin(), a.lanes->end());
    int64_t least = *std::min_element(a.lanes->begin(), a.lanes->end());
    return least >= 0 && (a.align >= 62 || most < (int64_t{1} << a.align));
  }

  // Lanes that lie within one multiple of 2^n are all below a multiple of it, or none is: `tid < 64`.
  bool compared_alike() const {
    size_t first = in_.pair_results ? 2 : 1;
    Shape a = at(first), b = at(first + 1);
    if (!integer() || !within(a) || a.align > 30 || !b.scalar()) return false;
    for (size_t i = first + 2; i < in_.operands.size(); ++i) {
      if (!uniform_operand(in_.operands[i])) return false;
    }
    switch (*in_.of(ModifierGroup::kCompare)) {
      case Modifier::kLt:
      case Modifier::kGe:
      case Modifier::kCompareLo:
      case Modifier::kHs: return b.align >= a.align;
      case Modifier::kLe:
      case Modifier::kGt:
      case Modifier::kLs:
      case Modifier::kCompareHi: {
        auto c = constant(first + 1);
        return c && *c >= 0 && *c < kHuge - 1 && align_of(*c + 1) >= a.align;
      }
      default: return false;
    }
  }

  Shape shifted_right() const {
    Shape a = at(1);
    auto c = constant(2);
    if (a.scalar() && at(2).scalar()) {
      return uniform(c && *c >= 0 && *c < 64 ? std::max(a.align - static_cast<int>(*c), 0) : 0);
    }
    if (!c || *c < 0 || *c >= bits() || !integer()) return varying();
    return mapped_bits(a, std::max(a.align - static_cast<int>(*c), 0), [&](int64_t x) { return x >> *c; });
  }

  Shape masked() const {
    Shape a = at(1);
    auto c = constant(2);
    if (a.scalar() && at(2).scalar()) return uniform(c ? std::max(a.align, align_of(*c)) : a.align);
    if (!c || !integer()) return varying();
    // Nothing is left of a base whose bits are all above the mask.
    int64_t low = a.align >= 62 ? -1 : (int64_t{1} << a.align) - 1;
    int align = (*c & ~low) == 0 ? kExact : std::max(a.align, align_of(*c));
    return mapped_bits(a, align, [&](int64_t x) { return x & *c; });
  }

  Shape joined_bits() const {
    Shape a = at(1), b = at(2);
    auto c = constant(2);
    if (a.scalar() && b.scalar()) return pure();
    if (!integer()) return pure();
    if (c) {
      bool fits = *c >= 0 && within(a) && (a.align >= 62 || *c < (int64_t{1} << a.align));
      return fits ? mapped(a, a.align, [&](int64_t x) { return x | *c; }) : pure();
    }
    // Two that have no bit in common are added: one has no base, and its lanes lie below all bits of the other.
    auto below = [&](const Shape& low, const Shape& high) {
      if (low.kind != Shape::kPattern || low.align < 62 || !within(low)) return false;
      int free = high.align;
      for (size_t l = 0; high.kind == Shape::kPattern && l < kLanes; ++l)
        free = std::min(free, align_of((*high.lanes)[l]));
      int64_t most = *std::max_element(low.lanes->begin(), low.lanes->end());
      return (high.scalar() || high.kind == Shape::kPattern) && (free >= 62 || most < (int64_t{1} << free));
    };
    return below(a, b) || below(b, a) ? sum(a, b, 1) : pure();
  }

  Shape converted() const {
    if (in_.types.size() < 2) return pure();
    const ptx::TypeRow &to = ptx::row(in_.type(0)), &from = ptx::row(in_.type(1));
    Shape a = at(1);
    bool integers = to.kind != ptx::TypeKind::kFloat && from.kind != ptx::TypeKind::kFloat && !in_.has(Modifier::kSat);
    if (!integers || a.scalar()) return pure();
    if (to.size() == 64 && from.size() == 32) return widened(a, from.kind == ptx::TypeKind::kSigned, 1);
    if (to.size() == from.size() && (a.kind != Shape::kVarying)) return a;
    if (to.size() == 32 && from.size() == 64 && a.kind == Shape::kPattern) return a;
    return varying();
  }

  const Instruction& in_;
  const Shapes& shapes_;
  const BlockClass& block_;
  int64_t stride_;
};

bool lanes_fit(const Shape& s, int bits) {
  if (!s.lanes) return true;
  int64_t most = int64_t{1} << 30;
  return bits >= 32 && std::all_of(s.lanes->begin(), s.lanes->end(), [&](int64_t c) { return c > -most && c < most; });
}

Shape special_shape(Special s, const BlockClass& block) {
  Lanes lanes;
  switch (s) {
    case Special::kLaneid:
      for (size_t l = 0; l < kLanes; ++l) lanes[l] = static_cast<int64_t>(l);
      return up_to(pattern(lanes, kExact), 31);
    case Special::kTidX:
      for (size_t l = 0; l < kLanes; ++l) {
        lanes[l] = static_cast<int64_t>(block.kind == BlockClass::kNarrow ? l % block.narrow : l);
      }
      if (block.kind == BlockClass::kAny) return varying();
      return block.kind == BlockClass::kNarrow ? up_to(pattern(lanes, kExact), block.narrow - 1)
                                               : up_to(pattern(lanes, 5), 1023);
    case Special::kTidY:
    case Special::kTidZ:
      if (block.kind == BlockClass::kAny) return varying();
      if (block.kind != BlockClass::kNarrow || s == Special::kTidZ) return up_to(uniform(), 1023);
      for (size_t l = 0; l < kLanes; ++l) lanes[l] = static_cast<int64_t>(l / block.narrow);
      return up_to(pattern(lanes, std::countr_zero(32 / block.narrow)), 1023);
    case Special::kLanemaskEq:
    case Special::kLanemaskLe:
    case Special::kLanemaskLt:
    case Special::kLanemaskGe:
    case Special::kLanemaskGt: return varying();
    case Special::kNtidX: return up_to(uniform(block.kind == BlockClass::kRows ? 5 : 0), 1024);
    case Special::kNtidY:
    case Special::kNtidZ: return up_to(uniform(), 1024);
    case Special::kWarpid: return up_to(uniform(), 31);
    default: return uniform();
  }
}

}  // namespace

BlockClass class_of(uint32_t x, uint32_t y, uint32_t z) {
  BlockClass out;
  out.full = static_cast<uint64_t>(x) * y * z % 32 == 0;
  if (x % 32 == 0) {
    out.kind = BlockClass::kRows;
  } else if (y == 1 && z == 1) {
    out.kind = BlockClass::kLine;
  } else if (std::has_single_bit(x) && x <= 16 && out.full && (z == 1 || y % (32 / x) == 0)) {
    out.kind = BlockClass::kNarrow;
    out.narrow = x;
  }
  return out;
}

bool same(const Shape& a, const Shape& b) {
  return a.kind == b.kind && a.align == b.align && a.most == b.most && a.sign == b.sign && a.scale == b.scale &&
         (a.lanes == b.lanes || (a.lanes && b.lanes && *a.lanes == *b.lanes));
}

Shape shape_of(const Operand& o, const Shapes& shapes, const BlockClass& block) {
  switch (o.kind) {
    case OperandKind::kRegister: return shapes.of[static_cast<size_t>(o.reg)];
    case OperandKind::kInteger: return up_to(uniform(align_of(o.value)), o.value);
    case OperandKind::kSpecial: return special_shape(o.special, block);
    case OperandKind::kSymbol: return uniform(o.symbol.kind == ptx::SymbolKind::kLocal ? 2 : 0);
    default: return uniform();
  }
}

Shapes find_shapes(const ptx::Function& f, Flow& flow, const BlockClass& block, int64_t local_stride) {
  Shapes out;
  size_t registers = f.registers.size() + 1;
  out.of.assign(registers, {});
  out.constant.assign(registers, std::nullopt);
  out.blend.assign(f.instructions.size(), false);
  std::vector<int> writes(registers, 0);
  for (const Instruction& in : f.instructions) {
    Uses u = uses(in, static_cast<int32_t>(f.registers.size()));
    for (int32_t r : u.writes) ++writes[static_cast<size_t>(r)];
    if (in.op == Op::k_mov && in.guard.reg == ptx::kNone && in.operands[0].kind == OperandKind::kRegister &&
        in.operands[1].kind == OperandKind::kInteger) {
      out.constant[static_cast<size_t>(in.operands[0].reg)] = in.operands[1].value;
    }
  }
  for (size_t r = 0; r < registers; ++r) {
    if (writes[r] != 1) out.constant[r] = std::nullopt;
  }
  std::vector<Uses> all;
  for (const Instruction& in : f.instructions) all.push_back(uses(in, static_cast<int32_t>(f.registers.size())));
  for (bool changed = true; changed;) {
    changed = false;
    auto raise = [&](int32_t r, const Shape& to) {
      Shape& old = out.of[static_cast<size_t>(r)];
      Shape next = join(old, to);
      if (!same(old, next)) old = next, changed = true;
    };
    for (size_t i = 0; i < f.instructions.size(); ++i) {
      const Instruction& in = f.instructions[i];
      if (all[i].writes.empty()) continue;
      Shape s = Transfer(in, out, block, local_stride)();
      bool varies = out.blend[i];
      if (in.guard.reg != ptx::kNone && !ends_block(in)) {
        const Shape& guard = out.of[static_cast<size_t>(in.guard.reg)];
        varies |= !guard.scalar();
      }
      for (size_t k = 0; k < all[i].writes.size(); ++k) {
        int32_t r = all[i].writes[k];
        int bits =
            static_cast<size_t>(r) < f.registers.size() ? ptx::row(f.registers[static_cast<size_t>(r)].type).size() : 1;
        Shape to = k == 0 && all[i].writes.size() == 1 ? s : s.scalar() ? uniform() : varying();
        if (varies || !lanes_fit(to, bits)) to = varying();
        // Patterns and indices are of integers.
        if (!to.scalar() && to.kind != Shape::kVarying &&
            ptx::row(f.registers[static_cast<size_t>(r)].type).kind == ptx::TypeKind::kFloat) {
          to = varying();
        }
        raise(r, to);
      }
    }
    // Who parts where, and what must be kept for those who wait.
    for (Block& b : flow.blocks) {
      const Instruction& last = f.instructions[static_cast<size_t>(b.end) - 1];
      bool parts = b.guarded && !out.of[static_cast<size_t>(last.guard.reg)].scalar();
      if (b.ends == End::kTable) parts = !shape_of(last.operands[0], out, block).scalar();
      b.divergent |= parts;
    }
    find_waiting(flow);
    for (const Block& b : flow.blocks) {
      if (b.waiting.empty()) continue;
      for (int32_t i = b.begin; i < b.end; ++i) {
        if (out.blend[static_cast<size_t>(i)]) continue;
        for (int32_t r : all[static_cast<size_t>(i)].writes) {
          for (int32_t w : b.waiting) {
            if (w < flow.exit() && has(flow.live_in[static_cast<size_t>(w)], r)) {
              out.blend[static_cast<size_t>(i)] = true;
              changed = true;
              break;
            }
          }
        }
      }
    }
  }
  return out;
}

}  // namespace quern::vgpu
