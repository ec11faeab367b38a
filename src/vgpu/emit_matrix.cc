// Matrices in registers (PTX ISA 9.7.14): a product is a call of matrix/, with the fragments' registers in a frame;
// what loads and stores fragments goes through the same checks as any access.
#include "vgpu/emit_matrix.h"

#include <cstddef>
#include <cstring>

#include "vgpu/emit.h"
#include "vgpu/matrix/matrix.h"

namespace quern::vgpu {

using ptx::Modifier;
using ptx::ModifierGroup;
using ptx::Op;
using ptx::Operand;
using ptx::OperandKind;
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

namespace {

// Of registers that have no place of their own: as many as a product can have.
constexpr int64_t kSpareBytes = 4 * kMostRegisters * 256;

}  // namespace

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

std::vector<Operand> parts_of(const Operand& o) {
  return o.kind == OperandKind::kVector ? o.parts : std::vector<Operand>{o};
}

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

// What an instruction multiplies; nothing where it is no such product.
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

// Whether some of D lies where others of the operands' registers do: D's own place in C apart.
bool overlaps(const MatrixCall& call) {
  const MatrixShape& t = call.shape;
  for (int r = 0; r < registers_of(t.m * t.n, t.d); ++r) {
    for (int i = 0; i < registers_of(t.m * t.k, t.a); ++i) {
      if (call.d[r] == call.a[i]) return true;
    }
    for (int i = 0; i < registers_of(t.k * t.n, t.b); ++i) {
      if (call.d[r] == call.b[i]) return true;
    }
    for (int i = 0; i < registers_of(t.m * t.n, t.c); ++i) {
      if (call.d[r] == call.c[i] && i != r) return true;
    }
  }
  return false;
}

// wmma's larger products of pairs as two of the shape that is fastest: of the same A, or of the same B. The first one's
// results must not be what the second one reads.
std::vector<MatrixCall> pieces(const MatrixCall& call) {
  const MatrixShape& t = call.shape;
  bool wide = t.m == 16 && t.n == 16, tall = t.m == 32 && t.n == 8;
  if (multiplier_of(t) != Multiplier::kPairs || t.k != 16 || (!wide && !tall) || overlaps(call)) return {call};
  std::vector<MatrixCall> out(2, call);
  for (int half = 0; half < 2; ++half) {
    MatrixCall& piece = out[static_cast<size_t>(half)];
    piece.shape.m = 16, piece.shape.n = 8;
    for (int i = 0; i < 4; ++i) {
      if (tall) piece.a[i] = call.a[2 * half + i % 2 + i / 2 * 4];
      if (wide && i < 2) piece.b[i] = call.b[2 * half + i];
      piece.c[i] = call.c[4 * half + i], piece.d[i] = call.d[4 * half + i];
    }
  }
  return out;
}

}  // namespace

void Emit::matrix() {
  switch (in->op) {
    case Op::k_mma:
    case Op::k_wmma_mma: return multiply_matrices();
    case Op::k_mma_sp:
    case Op::k_mma_sp_ordered_metadata: return multiply_sparse();
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

// Where the registers of a product lie in %matrix; nothing where some don't.
std::optional<MatrixCall> Emit::placed_product(const ptx::Instruction& i, const MatrixShape& t) const {
  MatrixCall call{};
  call.shape = t;
  int times = t.quads ? 4 : 1;
  auto place = [&](size_t operand, int elements, Element element, int32_t* offsets) {
    std::vector<Operand> regs = parts_of(i.operands[operand]);
    int count = registers_of(times * elements, element);
    for (int r = 0; r < count; ++r) {
      if (r >= static_cast<int>(regs.size()) || regs[static_cast<size_t>(r)].kind != OperandKind::kRegister)
        return false;
      auto kept = matrix_place_.find(regs[static_cast<size_t>(r)].reg);
      if (kept == matrix_place_.end()) return false;
      offsets[r] = static_cast<int32_t>(kept->second);
    }
    return true;
  };
  bool all = place(1, t.m * t.k, t.a, call.a) && place(2, t.k * t.n, t.b, call.b) && place(3, t.m * t.n, t.c, call.c) &&
             place(0, t.m * t.n, t.d, call.d);
  return all ? std::optional(call) : std::nullopt;
}

void Emit::call_multiplier(const std::vector<MatrixCall>& calls, size_t number) {
  Value table = ir.let("ptr", false, "load ptr, ptr {}", warp_pointer(offsetof(Warp, multiply)));
  auto multiplier = static_cast<int64_t>(multiplier_of(calls[0].shape));
  Value f = ir.let("ptr", false, "load ptr, ptr {}", ir.offset(table.text, multiplier * int64_t{sizeof(void*)}));
  std::string words;
  for (const MatrixCall& call : calls) {
    for (size_t i = 0; i < sizeof call / 4; ++i)
      words += fmt::format("{}i32 {}", words.empty() ? "" : ", ", reinterpret_cast<const int32_t*>(&call)[i]);
  }
  std::string name = fmt::format("@product{}.{}", index_, number);
  ir.declare(fmt::format("{} = private constant [{} x i32] [{}], align 64", name, calls.size() * sizeof(MatrixCall) / 4,
                         words));
  ir.line("call void {}(ptr {}, ptr %matrix, i32 {})", f.text, name, calls.size());
}

void Emit::multiply_matrices() {
  if (multiplied_.count(index_)) return;
  std::optional<MatrixShape> shape = matrix_shape(*in);
  if (!shape) return unsupported();
  const MatrixShape& t = *shape;
  bool whole = mask().full && guard_.empty() && !shapes_.blend[static_cast<size_t>(index_)];
  if (std::optional<MatrixCall> first = whole ? placed_product(*in, t) : std::nullopt) {
    std::vector<MatrixCall> calls = pieces(*first);
    if (std::memcmp(calls.front().a, calls.back().a, sizeof first->a)) {
      for (size_t i = 0; i < calls.size(); ++i) call_multiplier({calls[i]}, i);
      return;
    }
    // Products of the same A that follow each other are one call.
    MatrixCall last = *first;
    for (int32_t i = index_ + 1; i < static_cast<int32_t>(function.instructions.size()); ++i) {
      const ptx::Instruction& next = function.instructions[static_cast<size_t>(i)];
      const Block& block = flow_.blocks[static_cast<size_t>(flow_.block_of[static_cast<size_t>(i)])];
      bool straight = block.waiting.empty() && (block.begin != i || block.previous.size() == 1);
      if (next.op != in->op || next.guard.reg != ptx::kNone || !straight || shapes_.blend[static_cast<size_t>(i)])
        break;
      std::optional<MatrixShape> other = matrix_shape(next);
      auto call = other ? placed_product(next, *other) : std::nullopt;
      bool same = call && !std::memcmp(&call->shape, &t, sizeof t) && !std::memcmp(call->a, first->a, sizeof first->a);
      // What one of them writes may not be part of A.
      for (int r = 0; same && r < registers_of(t.m * t.n, t.d); ++r) {
        for (int k = 0; k < registers_of(t.m * t.k, t.a); ++k) same &= last.d[r] != first->a[k];
      }
      if (!same) break;
      last = *call;
      for (const MatrixCall& piece : pieces(last)) calls.push_back(piece);
      multiplied_.insert(i);
    }
    return call_multiplier(calls, 0);
  }
  // Registers elsewhere, or lanes that must keep what they have: through places of their own.
  MatrixCall call{};
  call.shape = t;
  int times = t.quads ? 4 : 1;
  int64_t spare = matrix_bytes_ - kSpareBytes;
  auto place = [&](size_t operand, int elements, Element element, int32_t* offsets, bool result) {
    std::vector<Operand> regs = parts_of(in->operands[operand]);
    int count = registers_of(times * elements, element), bits = std::max(32, bits_of(element));
    if (static_cast<int>(regs.size()) < count) return false;
    for (int r = 0; r < count; ++r) {
      offsets[r] = static_cast<int32_t>(spare);
      if (!result) {
        Value v = ir.splat(read_bits(regs[static_cast<size_t>(r)], bits));
        ir.store(v, ir.offset("%matrix", spare), 64);
      }
      spare += bits * 4;
    }
    return true;
  };
  bool placed = place(1, t.m * t.k, t.a, call.a, false) && place(2, t.k * t.n, t.b, call.b, false) &&
                place(3, t.m * t.n, t.c, call.c, false) && place(0, t.m * t.n, t.d, call.d, true);
  if (!placed) return unsupported();
  call_multiplier({call}, 0);
  std::vector<Operand> to = parts_of(in->operands[0]);
  int bits = std::max(32, bits_of(t.d));
  std::vector<Value> results;
  for (int r = 0; r < registers_of(times * t.m * t.n, t.d); ++r)
    results.push_back(ir.load(fmt::format("i{}", bits), true, ir.offset("%matrix", call.d[r]), 64));
  for (size_t r = 0; r < results.size(); ++r) write(to[r], results[r]);
}

// Vectors that products read and write lie in memory of one piece, where the functions that multiply find them: they
// would be there most of the time in any case.
void Emit::place_matrices() {
  bool any = false;
  for (const ptx::Instruction& i : function.instructions) {
    if (i.op != Op::k_mma && i.op != Op::k_wmma_mma) continue;
    for (const Operand& o : i.operands) {
      for (const Operand& part : parts_of(o)) {
        if (part.kind != OperandKind::kRegister || matrix_place_.count(part.reg)) continue;
        if (shapes_.of[static_cast<size_t>(part.reg)].kind != Shape::kVarying) continue;
        int bits = bits_of(storage_type(function.registers[static_cast<size_t>(part.reg)].type));
        if (bits < 32) continue;
        int64_t size = bits * 4;
        matrix_place_[part.reg] = (matrix_bytes_ + size - 1) / size * size;
        matrix_bytes_ = matrix_place_[part.reg] + size;
      }
    }
    any = true;
  }
  if (any) matrix_bytes_ = (matrix_bytes_ + 255) / 256 * 256 + kSpareBytes;
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
