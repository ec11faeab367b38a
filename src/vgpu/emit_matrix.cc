// Matrices in registers (PTX ISA 9.7.14): a product is a call of matrix/, with the fragments' registers in a frame;
// what loads and stores fragments goes through the same checks as any access.
#include <cstddef>

#include "vgpu/emit.h"
#include "vgpu/matrix/matrix.h"

namespace quern::vgpu {

using ptx::Modifier;
using ptx::ModifierGroup;
using ptx::Op;
using ptx::Operand;
using ptx::Type;

namespace {

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

struct Extents {
  int m = 0, n = 0, k = 0;
};

// "m16n8k16"
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

std::vector<Operand> parts_of(const Operand& o) {
  return o.kind == ptx::OperandKind::kVector ? o.parts : std::vector<Operand>{o};
}

bool columns_first(const ptx::Instruction& in, size_t which) {
  size_t i = 0;
  for (Modifier m : in.modifiers) {
    if (m != Modifier::kRow && m != Modifier::kCol) continue;
    if (i++ == which) return m == Modifier::kCol;
  }
  return false;
}

// Registers of a fragment, as matrix.h lays them out.
int registers_of(int elements, Element e) { return elements * bits_of(e) / (32 * std::max(32, bits_of(e))); }

bool integer(Element e) {
  return e == Element::kS8 || e == Element::kU8 || e == Element::kS4 || e == Element::kU4 || e == Element::kB1;
}

// Whether there is such a product of matrices for chips up to sm_90.
bool known(const MatrixCall& t) {
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

void Emit::matrix() {
  switch (in->op) {
    case Op::k_mma:
    case Op::k_wmma_mma: return multiply_matrices();
    case Op::k_wmma_load:
    case Op::k_wmma_store: return fragment_access();
    case Op::k_ldmatrix:
    case Op::k_stmatrix: return matrix_access();
    case Op::k_movmatrix: {
      if (in->of(ModifierGroup::kShape) != Modifier::kM8n8) return unsupported();
      return write(0, transposed_rows(ir.splat(read_bits(in->operands[1], 32))));
    }
    default: unsupported();
  }
}

void Emit::multiply_matrices() {
  const auto& types = in->types;
  bool reals = types.size() == 2;  // wmma.mma of f16 names D's and C's only
  if (types.size() != 2 && types.size() != 4) return unsupported();
  auto a = element_of(reals ? Type::k_f16 : types[1]), b = element_of(reals ? Type::k_f16 : types[2]);
  auto c = element_of(types.back()), d = element_of(types[0]);
  if (!a || !b || !c || !d) return unsupported();
  MatrixCall t;
  Extents e = extents_of(*in);
  t.m = e.m, t.n = e.n, t.k = e.k;
  t.a = *a, t.b = *b, t.c = *c, t.d = *d;
  t.saturate = in->of(ModifierGroup::kSaturate) == Modifier::kSatfinite;
  t.combine = in->of(ModifierGroup::kOperation) == Modifier::kOpAnd;
  t.quads = in->op == Op::k_mma && t.a == Element::kF16 && t.m == 8 && t.n == 8 && t.k == 4;
  if (t.quads) t.a_columns = columns_first(*in, 0), t.b_columns = columns_first(*in, 1);
  if (t.a == Element::kF64) t.round = static_cast<int32_t>(round_of(*in));
  if (in->operands.size() != 4 || !known(t)) return unsupported();
  // m8n8k4 of f16 is four products of 8 by 8, each by 8 lanes.
  int times = t.quads ? 4 : 1;
  struct Side {
    size_t operand;
    int registers;
    size_t offset;
    Element element;
  };
  const Side sides[] = {{1, registers_of(times * t.m * t.k, t.a), offsetof(MatrixCall, ra), t.a},
                        {2, registers_of(times * t.k * t.n, t.b), offsetof(MatrixCall, rb), t.b},
                        {3, registers_of(times * t.m * t.n, t.c), offsetof(MatrixCall, rc), t.c}};
  if (matrix_frame_.empty()) matrix_frame_ = ir.slot(fmt::format("[{} x i8]", sizeof(MatrixCall)), 64);
  std::string head;
  const auto* words = reinterpret_cast<const int32_t*>(&t);
  for (size_t i = 0; i < 16; ++i) head += fmt::format("{}i32 {}", i ? ", " : "", words[i]);
  ir.line("store <16 x i32> <{}>, ptr {}, align 64", head, matrix_frame_);
  for (const Side& s : sides) {
    std::vector<Operand> regs = parts_of(in->operands[s.operand]);
    if (static_cast<int>(regs.size()) < s.registers) return unsupported();
    int bits = std::max(32, bits_of(s.element));
    for (int r = 0; r < s.registers; ++r) {
      ir.store(ir.splat(read_bits(regs[static_cast<size_t>(r)], bits)),
               ir.offset(matrix_frame_, static_cast<int64_t>(s.offset) + r * bits * 4), 64);
    }
  }
  Value table = ir.let("ptr", false, "load ptr, ptr {}", warp_pointer(offsetof(Warp, multiply)));
  Value f = ir.let("ptr", false, "load ptr, ptr {}",
                   ir.offset(table.text, static_cast<int64_t>(multiplier_of(t)) * int64_t{sizeof(void*)}));
  ir.line("call void {}(ptr {})", f.text, matrix_frame_);
  std::vector<Operand> to = parts_of(in->operands[0]);
  int registers = registers_of(times * t.m * t.n, t.d), bits = std::max(32, bits_of(t.d));
  if (static_cast<int>(to.size()) < registers) return unsupported();
  std::vector<Value> results;
  for (int r = 0; r < registers; ++r) {
    int64_t offset = static_cast<int64_t>(offsetof(MatrixCall, rc)) + r * bits * 4;
    results.push_back(ir.load(fmt::format("i{}", bits), true, ir.offset(matrix_frame_, offset), 64));
  }
  for (size_t r = 0; r < results.size(); ++r) write(to[r], results[r]);
}

// wmma.load and wmma.store: each register of the fragment from where its elements lie in memory. Fragments that the
// manual gives more registers than they have elements hold them several times.
void Emit::fragment_access() {
  bool store = in->op == Op::k_wmma_store;
  auto element = element_of(in->type());
  auto which = in->of(ModifierGroup::kFragment);
  if (!element || !which) return unsupported();
  Extents e = extents_of(*in);
  bool a = *which == Modifier::kFragmentA, b = *which == Modifier::kFragmentB;
  bool by_columns = columns_first(*in, 0);
  int bits = bits_of(*element);
  // In a register: elements that follow each other along k (A, B) or in a row (C, D).
  int each = a || b ? std::max(1, 32 / bits) : bits == 16 ? 2 : 1;
  bool contiguous = each == 1 || (b ? by_columns : !by_columns);
  if (!contiguous && bits < 8) return unsupported();
  const Operand& at = in->operands[store ? 0 : 1];
  std::vector<Operand> regs = parts_of(in->operands[store ? 1 : 0]);
  int rows = b ? e.k : e.m, columns = a ? e.k : e.n;
  int needed = registers_of(rows * columns, *element);
  if (!needed || static_cast<int>(regs.size()) < needed) return unsupported();
  Value stride = in->operands.size() > 2 ? ir.resize(read_bits(in->operands[2], 32), "i64", false)
                                         : Ir::number("i64", by_columns ? rows : columns);
  std::optional<int64_t> known_stride =
      in->operands.size() > 2 ? constant(in->operands[2]) : std::optional<int64_t>(by_columns ? rows : columns);
  Address base = address(at, in->space());
  Mask m = mask();
  // Row and column of element i of register r.
  auto place = [&](int r, int lane, int i) -> std::pair<int, int> {
    if (a) {
      int blocks = e.m / 8;
      return {8 * (r % blocks) + lane / 4, 4 * each * (r / blocks) + each * (lane % 4) + i};
    }
    if (b) {
      int blocks = e.k / (4 * each);
      return {4 * each * (r % blocks) + each * (lane % 4) + i, 8 * (r / blocks) + lane / 4};
    }
    int q = each == 2 ? r : r / 2, blocks = e.m / 8;
    return {8 * (q % blocks) + lane / 4, 8 * (q / blocks) + 2 * (lane % 4) + (each == 2 ? i : r % 2)};
  };
  auto element_address = [&](int r, int i) {
    Address out = base;
    std::array<int64_t, 32> major, minor;
    for (int l = 0; l < 32; ++l) {
      auto [row, column] = place(r, l, i);
      major[static_cast<size_t>(l)] = by_columns ? column : row;
      minor[static_cast<size_t>(l)] = (by_columns ? row : column) * bits / 8;
    }
    if (known_stride && (base.kind == Shape::kUniform || base.kind == Shape::kNone)) {
      out.kind = Shape::kPattern;
      for (size_t l = 0; l < 32; ++l) out.lanes[l] = major[l] * *known_stride * bits / 8 + minor[l];
      out.align = 0;
      return out;
    }
    Value by = ir.op("mul", Ir::lanes("i64", major), stride);
    by = bits < 8 ? ir.op("udiv", by, Ir::number("i64", 8 / bits)) : ir.op("mul", by, Ir::number("i64", bits / 8));
    Value all = ir.op("add", address_vector(base), ir.op("add", by, Ir::lanes("i64", minor)));
    return Address{.kind = Shape::kVarying, .all = all, .shared = base.shared, .safe = base.safe};
  };
  int width = std::max(32, bits);
  std::string type = fmt::format("i{}", width);
  std::vector<Value> values;
  for (int r = 0; r < needed; ++r) {
    Operand reg = regs[static_cast<size_t>(r)];
    if (store) {
      Value v = ir.splat(read_bits(reg, width));
      for (int i = 0; i < (contiguous ? 1 : each); ++i) {
        Value one =
            contiguous ? v : ir.resize(ir.op("lshr", v, Ir::number(type, i * bits)), fmt::format("i{}", bits), false);
        store_elements(element_address(r, i), {one}, m);
      }
      continue;
    }
    Value v;
    for (int i = 0; i < (contiguous ? 1 : each); ++i) {
      Value one = load_elements(element_address(r, i), contiguous ? width : bits, 1, m)[0];
      one = ir.resize(one, type, false);
      v = i ? ir.op("or", v, ir.op("shl", one, Ir::number(type, i * bits))) : one;
    }
    values.push_back(v);
  }
  if (store) return;
  for (size_t r = 0; r < regs.size(); ++r) write(regs[r], values[r % values.size()]);
}

// 8 rows of 8 elements of 16 bits, two in each lane, the other way round.
Value Emit::transposed_rows(const Value& v) {
  std::string which;
  for (int l = 0; l < 32; ++l) {
    for (int e = 0; e < 2; ++e)
      which += fmt::format("{}i32 {}", which.empty() ? "" : ", ", (l % 4 * 2 + e) * 8 + l / 4);
  }
  Value halves = ir.let("i16", true, "bitcast {} to <64 x i16>", v.typed());
  Value turned =
      ir.let("i16", true, "shufflevector <64 x i16> {}, <64 x i16> poison, <64 x i32> <{}>", halves.text, which);
  return ir.let("i32", true, "bitcast <64 x i16> {} to <32 x i32>", turned.text);
}

// ldmatrix and stmatrix: lane 8q + r has the address of row r of matrix q, 16 bytes.
void Emit::matrix_access() {
  bool store = in->op == Op::k_stmatrix;
  auto count = in->of(ModifierGroup::kCount);
  if (in->of(ModifierGroup::kShape) != Modifier::kM8n8 || in->type() != Type::k_b16 || !count) return unsupported();
  int matrices = *count == Modifier::kX1 ? 1 : *count == Modifier::kX2 ? 2 : 4;
  bool turned = in->has(Modifier::kTrans);
  std::vector<Operand> regs = parts_of(in->operands[store ? 1 : 0]);
  if (static_cast<int>(regs.size()) != matrices) return unsupported();
  Address a = address(in->operands[store ? 0 : 1], in->space());
  if (a.kind == Shape::kWide) a = {.kind = Shape::kVarying, .all = address_vector(a), .shared = a.shared};
  Mask m = mask();
  std::vector<Value> values;
  for (int q = 0; store && q < matrices; ++q) {
    Value v = ir.splat(read_bits(regs[static_cast<size_t>(q)], 32));
    values.push_back(turned ? transposed_rows(v) : v);
  }
  Mask rows = m;
  if (matrices < 4) {
    Value first = ir.mask_of_bits(Ir::number("i32", (int64_t{1} << matrices * 8) - 1));
    rows = {.full = false, .lanes = m.full ? first : ir.op("and", m.lanes, first)};
  }
  check(a, 16, store, rows);
  // A lane that isn't there reads from where everybody may, and writes nothing.
  Value all = address_vector(a);
  if (!rows.full) all = ir.select(rows.lanes, all, Ir::number("i64", static_cast<int64_t>(target.space.first)));
  std::string addresses = spill(all);
  auto row_pointer = [&](int row) { return ir.pointer(spilled(addresses, {"", "i64", true}, Ir::number("i32", row))); };
  if (store) {
    std::string frame = ir.slot("[128 x i32]", 64);
    for (size_t q = 0; q < values.size(); ++q) ir.store(values[q], ir.offset(frame, static_cast<int64_t>(q) * 128), 64);
    each_lane(rows, [&](const Value& lane) {
      Value from = ir.let("ptr", false, "getelementptr <4 x i32>, ptr {}, i32 {}", frame, lane.text);
      Value row = ir.let("i32", true, "load <4 x i32>, ptr {}, align 16", from.text);
      ir.line("store <4 x i32> {}, ptr {}, align 4", row.text, ir.pointer(spilled(addresses, {"", "i64", true}, lane)));
    });
    return mark_written(a, 16, rows);
  }
  for (int q = 0; q < matrices; ++q) {
    std::vector<std::string> pieces;
    for (int r = 0; r < 8; ++r) {
      pieces.push_back(ir.let("i32", true, "load <4 x i32>, ptr {}, align 4", row_pointer(8 * q + r)).text);
    }
    for (int n = 4; pieces.size() > 1; n *= 2) {
      std::vector<std::string> next;
      std::string which;
      for (int l = 0; l < 2 * n; ++l) which += fmt::format("{}i32 {}", l ? ", " : "", l);
      for (size_t i = 0; i < pieces.size(); i += 2) {
        next.push_back(ir.let("i32", true, "shufflevector <{0} x i32> {1}, <{0} x i32> {2}, <{3} x i32> <{4}>", n,
                              pieces[i], pieces[i + 1], 2 * n, which)
                           .text);
      }
      pieces = std::move(next);
    }
    Value v{pieces[0], "i32", true};
    values.push_back(turned ? transposed_rows(v) : v);
  }
  for (size_t q = 0; q < values.size(); ++q) write(regs[q], values[q]);
}

}  // namespace quern::vgpu
