// Matrices between memory and registers (PTX ISA 9.7.14): wmma.load and wmma.store are calls of matrix/fragment.cc,
// ldmatrix and stmatrix go through the same checks as any access.
#include <cstddef>

#include "vgpu/emit.h"
#include "vgpu/matrix_form.h"
#include "vgpu/traits.h"

namespace quern::vgpu {

using ptx::Modifier;
using ptx::ModifierGroup;
using ptx::Op;
using ptx::Operand;
using ptx::Type;

void Emit::fragment_access() {
  bool store = in->op == Op::k_wmma_store;
  std::optional<FragmentShape> t = fragment_shape(*in);
  if (!t) return unsupported();
  const Operand& at = in->operands[store ? 0 : 1];
  std::vector<Operand> regs = parts_of(in->operands[store ? 1 : 0]);
  auto needed = static_cast<size_t>(t->registers());
  if (regs.size() < needed || regs.size() > kMostRegisters) return unsupported();
  if (store) regs.resize(needed);
  FragmentCall call = fragment_call(*t, store, static_cast<int>(regs.size()));
  Value stride = in->operands.size() > 2 ? read_bits(in->operands[2], 32) : Ir::number("i32", t->line_elements());
  Address base = address(at, in->space());
  Mask m = mask();
  // Registers that lie in the frame are used where they are, else they go through places of their own.
  bool in_place = store || writes_all_lanes();
  std::set<int64_t> used;
  for (const Operand& reg : regs) {
    std::optional<int64_t> kept = kept_place(reg, t->register_bits());
    in_place &= kept && (store || used.insert(*kept).second);
  }
  spare_used_ = 0;
  for (size_t r = 0; r < regs.size(); ++r) {
    int64_t place =
        in_place ? *kept_place(regs[r], t->register_bits()) : spare_place(regs[r], t->register_bits(), !store);
    call.offsets[r] = static_cast<int32_t>(place);
  }
  move_fragment(call, base, stride, m);
  if (store || in_place) return;
  std::vector<Value> values;
  for (size_t r = 0; r < regs.size(); ++r) values.push_back(spare_value(call.offsets[r], t->register_bits()));
  for (size_t r = 0; r < regs.size(); ++r) write(regs[r], values[r]);
}

// What check() is for other accesses: the one place that all of fragments pass. The function that is called looks at
// the memory first, and leaves in the warp what is said of an access that is wrong.
void Emit::move_fragment(const FragmentCall& call, const Address& base, const Value& stride, const Mask& m) {
  std::string constant = ir.constant(&call, 1);
  Value bad;
  bool uniform = base.kind == Shape::kUniform || base.kind == Shape::kNone;
  if (uniform && !stride.vector && m.full) {
    Value f = ir.let("ptr", false, "load ptr, ptr {}", warp_pointer(offsetof(Warp, move_fragment)));
    bad = ir.let("i32", false, "call i32 {}(ptr %w, ptr {}, ptr %matrix, i64 {}, i64 {}, i32 {})", f.text, constant,
                 base.base.text, ir.resize(stride, "i64", false).text, records_.size());
  } else {
    ir.store(address_vector(base), warp_pointer(offsetof(Warp, address)), 8);
    std::string strides = spill(ir.splat(stride));
    Value f = ir.let("ptr", false, "load ptr, ptr {}", warp_pointer(offsetof(Warp, move_fragment_of_lanes)));
    bad = ir.let("i32", false, "call i32 {}(ptr %w, ptr {}, ptr %matrix, ptr {}, i32 {}, i32 {})", f.text, constant,
                 strides, mask_bits(m).text, records_.size());
  }
  records_.push_back({.members = {{index_, 0, call.shape.access_bytes(), call.store != 0}}, .listed = true});
  std::string good = ir.label("good");
  ir.branch_likely(ir.compare("icmp eq", bad, Ir::number("i32", 0)), good, "fault");
  ir.begin(good);
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
