// Dot products of small types that AVX-512 has instructions for: vdpbf16ps takes two bf16 of each operand a lane,
// vpdpbusd four bytes, unsigned times signed, into i32; bytes that are both signed, or both not, are widened to 16 bits
// for vpdpwssd, which takes two. What is taken together are neighbouring positions of the innermost strip, in both
// operands alike; where there is no neighbour it is zero on both sides.
//
// Panels need no interleaving for it: two rows of 16 bits become lanes of 32 by a widening load, a shift and an or,
// once for all rows of the register block. LLVM has no pattern that leads to either instruction, so the intrinsics are
// named.
#include <fmt/format.h>

#include "target/vector/emitter.h"
#include "tile/rebuild.h"

namespace quern::target {

using tile::Expr;
using tile::ExprPtr;
using tile::Op;

namespace {

// An instruction: how many positions it takes, and how its operands look.
struct Packed {
  int together = 1;
  std::string_view name, type;
};

Packed packed(const Features& has, const Expr& e, const Type& into) {
  if (row(e).family != tile::Family::dot || into.lanes != 16) return {};
  ScalarType x = e.args[0]->type, y = e.args[1]->type;
  if (has.bf16_dot && into.base == Base::f32 && x == ScalarType::bf16 && y == ScalarType::bf16) {
    return {2, "llvm.x86.avx512bf16.dpbf16ps.512", "<32 x bfloat>"};
  }
  auto byte = [](ScalarType t) { return t == ScalarType::i8 || t == ScalarType::u8; };
  if (!has.int8_dot || into.base != Base::i32 || !byte(x) || !byte(y)) return {};
  if (x != y) return {4, "llvm.x86.avx512.vpdpbusd.512", "<64 x i8>"};
  return {2, "llvm.x86.avx512.vpdpwssd.512", "<32 x i16>"};
}

}  // namespace

// Casts to bf16 whose every use is a product that counts subnormal numbers as 0 itself.
void Emitter::find_multiplied() {
  std::set<const Expr*> casts, others;
  std::set<int32_t> names, other_names;
  std::map<int32_t, const Expr*> named;
  auto use = [&](const ExprPtr& e, bool multiplied) {
    if (!e) return;
    if (e->op == Op::kName) (multiplied ? names : other_names).insert(e->id);
    if (e->op == Op::kCast) (multiplied ? casts : others).insert(e.get());
  };
  auto uses_in = [&](const ExprPtr& root, bool packed) {
    tile::each_part(root, [&](const ExprPtr& e) {
      bool product = packed && row(*e).family == tile::Family::dot && e->args[0]->type == ScalarType::bf16 &&
                     e->args[1]->type == ScalarType::bf16;
      for (size_t i = 0; i < e->args.size(); ++i) use(e->args[i], product && i < 2);
      use(e->guard, false);
    });
  };
  auto walk = [&](auto& self, const tile::Block& block, bool packed) -> void {
    for (const tile::Statement& s : block) {
      if (auto nest = std::get_if<tile::Nest>(&s.is)) {
        int64_t step = 1;
        for (const tile::NestAxis& a : nest->axes) step = a.role == tile::AxisRole::kStrip ? a.size : step;
        self(self, nest->body, step % 2 == 0);
        continue;
      }
      if (auto let = std::get_if<tile::Let>(&s.is); let && let->value->op == Op::kCast) {
        named[let->name] = let->value.get();
        uses_in(let->value, packed);
        continue;
      }
      if (auto loop = std::get_if<tile::Loop>(&s.is)) {
        for (const tile::Carry& c : loop->carries) use(c.init, false), use(c.next, false);
        self(self, loop->body, false);
        continue;
      }
      if (auto branch = std::get_if<tile::If>(&s.is)) {
        use(branch->condition, false);
        self(self, branch->body, false);
        continue;
      }
      tile::each_expression({s}, [&](const ExprPtr& e) {
        use(e, false);
        uses_in(e, packed);
      });
    }
  };
  walk(walk, kernel_.body, false);
  for (const auto& [name, value] : named) {
    if (names.contains(name) && !other_names.contains(name)) casts.insert(value);
  }
  for (const Expr* e : casts) {
    if (!others.contains(e) && e->type == ScalarType::bf16 && e->args[0]->type == ScalarType::f32) {
      multiplied_.insert(e);
    }
  }
}

// vcvtneps2bf16, which counts subnormal numbers as 0.
std::optional<Value> Emitter::narrowed(const Expr& cast) {
  Value v = value(cast.args[0]);
  if (v.type.lanes != 16) return std::nullopt;
  constexpr std::string_view kName = "llvm.x86.avx512bf16.cvtneps2bf16.512";
  w_.module().declarations.insert(fmt::format("declare <16 x bfloat> @{}(<16 x float>)", kName));
  Type bits{Base::i16, 16};
  Value narrow = w_.pure(bits, fmt::format("call <16 x bfloat> @{}({})", kName, v.typed()), {v});
  return w_.pure(bits, fmt::format("bitcast <16 x bfloat> {} to <16 x i16>", narrow.name), {narrow});
}

// Only where the program goes in such steps: it decides, the code follows.
int Emitter::taken_together(const Accumulator& a) const {
  if (only_present_) return 1;
  const tile::NestAxis& inner = nest_axes_.back();
  int64_t step = inner.axis == lane_axis_ ? inner.size / lanes_ : inner.size;
  int together = packed(has_, *a.reduction, a.values[0].type).together;
  return step % together == 0 ? together : 1;
}

// One instruction a position of the accumulator, for the strip's positions that are pending.
void Emitter::take_pending(Accumulator& a) {
  if (a.pending.empty()) return;
  const Expr& e = *a.reduction;
  Packed with = packed(has_, e, a.values[0].type);
  int width = 32 / with.together;
  auto operand = [&](const ExprPtr& x, size_t position) {
    bool extended = row(x->type).bits < width && x->type == ScalarType::i8;  // bytes as signed 16 bits
    Value packed;
    for (size_t i = 0; i < a.pending.size(); ++i) {
      at_ = a.pending[i];
      for (const tile::NestAxis& n : nest_axes_) {
        if (n.role != tile::AxisRole::kStrip) {
          at_[static_cast<size_t>(n.axis)] = a.positions[position][static_cast<size_t>(n.axis)];
        }
      }
      Value v = value(x);
      auto mask = axes_[static_cast<size_t>(lane_axis_)].strip ? lane_mask() : std::nullopt;
      if (mask) v = w_.select(*mask, spread(v), constant({v.type.base, lanes_}, 0));
      if (extended) v = w_.convert("sext", v, Base::i16);
      v = w_.convert("zext", v, Base::i32);
      if (i > 0) v = w_.binary("shl", v, constant(v.type, static_cast<int64_t>(i) * width));
      if (i > 0) both(packed, v);
      packed = i == 0 ? v : w_.binary("or", packed, v);
    }
    Value lanes = w_.splat(packed, 16);
    Value out = w_.pure(lanes.type, fmt::format("bitcast {} to {}", lanes.typed(), with.type), {lanes});
    return fmt::format("{} {}", with.type, out.name);
  };
  for (size_t p = 0; p < a.positions.size(); ++p) {
    Value& into = a.values[p * static_cast<size_t>(a.parts) + static_cast<size_t>(a.turn % a.parts)];
    std::string x = operand(e.args[0], p), y = operand(e.args[1], p);
    if (with.together == 4 && e.args[0]->type == ScalarType::i8) std::swap(x, y);  // the unsigned one first
    std::string type = text(into.type);
    w_.module().declarations.insert(fmt::format("declare {0} @{1}({0}, {2}, {2})", type, with.name, with.type));
    into = w_.effect(into.type, fmt::format("call {} @{}({}, {}, {})", type, with.name, into.typed(), x, y));
  }
  ++a.turn;
  a.pending.clear();
}

}  // namespace quern::target
