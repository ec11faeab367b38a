// What instructions say of matrices: their shapes, as modifiers and types name them.
#include "vgpu/matrix_form.h"

#include <algorithm>

#include "vgpu/real.h"

namespace quern::vgpu {

using ptx::Modifier;
using ptx::ModifierGroup;
using ptx::Op;
using ptx::Type;

std::optional<Element> element_of(Type type) {
  switch (type) {
    case Type::k_f16: return Element::kF16;
    case Type::k_bf16: return Element::kBf16;
    case Type::k_tf32: return Element::kTf32;
    case Type::k_e4m3: return Element::kE4m3;
    case Type::k_e5m2: return Element::kE5m2;
    case Type::k_f32: return Element::kF32;
    case Type::k_f64: return Element::kF64;
    case Type::k_s8: return Element::kS8;
    case Type::k_u8: return Element::kU8;
    case Type::k_s4: return Element::kS4;
    case Type::k_u4: return Element::kU4;
    case Type::k_b1: return Element::kB1;
    case Type::k_s32: return Element::kS32;
    default: return std::nullopt;
  }
}

Extents extents_of(const ptx::Instruction& in) {
  Extents out;
  int* at = nullptr;
  for (char c : ptx::row(*in.of(ModifierGroup::kShape)).text) {
    if (c == 'm') at = &out.m;
    if (c == 'n') at = &out.n;
    if (c == 'k') at = &out.k;
    if (at && c >= '0' && c <= '9') *at = *at * 10 + (c - '0');
  }
  return out;
}

namespace {

bool columns_first(const ptx::Instruction& in, size_t which) {
  size_t i = 0;
  for (Modifier m : in.modifiers) {
    if (m != Modifier::kRow && m != Modifier::kCol) continue;
    if (i++ == which) return m == Modifier::kCol;
  }
  return false;
}

bool integer(Element e) {
  return e == Element::kS8 || e == Element::kU8 || e == Element::kS4 || e == Element::kU4 || e == Element::kB1;
}

// Whether there is such a product of matrices for chips up to sm_90.
bool known(const MatrixShape& t) {
  bool f16c = (t.c == Element::kF16 || t.c == Element::kF32) && (t.d == Element::kF16 || t.d == Element::kF32);
  int wide = 4 * std::max(1, 32 / bits_of(t.a));
  if (t.m % 8 || t.n % 8 || t.k <= 0 || (!t.quads && t.k % wide)) return false;
  switch (t.a) {
    case Element::kF16: return t.b == Element::kF16 && f16c;
    case Element::kE4m3:
    case Element::kE5m2: return (t.b == Element::kE4m3 || t.b == Element::kE5m2) && f16c;
    case Element::kBf16:
    case Element::kTf32: return t.b == t.a && t.c == Element::kF32 && t.d == Element::kF32;
    case Element::kF64: return t.b == t.a && t.c == t.a && t.d == t.a;
    default: return integer(t.a) && bits_of(t.a) == bits_of(t.b) && t.c == Element::kS32 && t.d == Element::kS32;
  }
}

}  // namespace

std::optional<MatrixShape> matrix_shape(const ptx::Instruction& in) {
  const auto& types = in.types;
  bool reals = types.size() == 2;  // wmma.mma of f16 names D's and C's only
  if ((types.size() != 2 && types.size() != 4) || in.operands.size() != 4) return std::nullopt;
  auto a = element_of(reals ? Type::k_f16 : types[1]), b = element_of(reals ? Type::k_f16 : types[2]);
  auto c = element_of(types.back()), d = element_of(types[0]);
  if (!a || !b || !c || !d) return std::nullopt;
  MatrixShape t;
  Extents e = extents_of(in);
  t.m = e.m, t.n = e.n, t.k = e.k;
  t.a = *a, t.b = *b, t.c = *c, t.d = *d;
  t.saturate = in.of(ModifierGroup::kSaturate) == Modifier::kSatfinite;
  t.combine = in.of(ModifierGroup::kOperation) == Modifier::kOpAnd;
  t.quads = in.op == Op::k_mma && t.a == Element::kF16 && t.m == 8 && t.n == 8 && t.k == 4;
  if (t.quads) t.a_columns = columns_first(in, 0), t.b_columns = columns_first(in, 1);
  if (t.a == Element::kF64) t.round = static_cast<int32_t>(round_of(in));
  return known(t) ? std::optional(t) : std::nullopt;
}

std::optional<FragmentShape> fragment_shape(const ptx::Instruction& in) {
  auto element = element_of(in.type());
  auto which = in.of(ModifierGroup::kFragment);
  if (!element || !which) return std::nullopt;
  Extents e = extents_of(in);
  FragmentShape t;
  t.m = e.m, t.n = e.n, t.k = e.k;
  t.element = *element;
  t.part = *which == Modifier::kFragmentA ? Part::kA : *which == Modifier::kFragmentB ? Part::kB : Part::kC;
  t.by_columns = columns_first(in, 0);
  bool eights = t.part == Part::kA ? t.m % 8 == 0 : t.part == Part::kB ? t.n % 8 == 0 : t.m % 8 == 0 && t.n % 8 == 0;
  bool whole = t.part == Part::kC || t.k % (4 * t.each()) == 0;
  bool bytes = bits_of(t.element) >= 8 || t.packed();
  return eights && whole && bytes && t.registers() ? std::optional(t) : std::nullopt;
}

}  // namespace quern::vgpu
