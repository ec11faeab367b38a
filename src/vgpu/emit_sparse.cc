// Products with a sparse A (PTX ISA 9.7.14.6): a call of matrix/sparse.h, which is one slow way for all.
#include <cstddef>

#include "vgpu/emit.h"
#include "vgpu/matrix/sparse.h"
#include "vgpu/matrix_form.h"

namespace quern::vgpu {

using ptx::ModifierGroup;
using ptx::Operand;

namespace {

std::optional<MatrixShape> product_of(const ptx::Instruction& in) {
  if (in.types.size() != 4 || in.operands.size() != 6) return std::nullopt;
  auto d = element_of(in.types[0]), a = element_of(in.types[1]), b = element_of(in.types[2]),
       c = element_of(in.types[3]);
  if (!a || !b || !c || !d) return std::nullopt;
  Extents e = extents_of(in);
  MatrixShape t;
  t.m = e.m, t.n = e.n, t.k = e.k;
  t.a = *a, t.b = *b, t.c = *c, t.d = *d;
  t.saturate = in.of(ModifierGroup::kSaturate) == ptx::Modifier::kSatfinite;
  return t;
}

}  // namespace

void Emit::multiply_sparse() {
  std::optional<MatrixShape> shape = product_of(*in);
  int lanes = shape ? metadata_lanes(*shape) : 0;
  if (!lanes) return unsupported();
  int64_t selector = in->operands[5].value;
  if (selector < 0 || (selector + 1) * lanes > 4)
    return unsupported("the selector must be from 0 to what four lanes hold");
  const MatrixShape& t = *shape;
  std::string call = ir.slot(fmt::format("[{} x i32]", sizeof(SparseCall) / 4), 64);
  auto at = [&](size_t offset, int reg) { return ir.offset(call, static_cast<int64_t>(offset) + reg * 128); };
  SparseCall constant{};
  constant.shape = t, constant.selector = static_cast<int32_t>(selector);
  for (size_t i = 0; i < offsetof(SparseCall, a) / 4; ++i) {
    ir.store(Ir::number("i32", reinterpret_cast<const int32_t*>(&constant)[i]),
             ir.offset(call, static_cast<int64_t>(i) * 4), 4);
  }
  auto put = [&](size_t operand, int count, size_t offset) {
    const Operand& o = in->operands[operand];
    for (int r = 0; r < count; ++r) {
      ir.store(ir.splat(read_bits(o.kind == ptx::OperandKind::kVector ? o.parts[static_cast<size_t>(r)] : o, 32)),
               at(offset, r), 64);
    }
  };
  auto held = [&](size_t operand) { return in->operands[operand].parts.size(); };
  int a = registers_of(t.m * t.k / 2, t.a), b = registers_of(t.k * t.n, t.b);
  int c = registers_of(t.m * t.n, t.c), d = registers_of(t.m * t.n, t.d);
  auto fits = [&](size_t operand, int count) { return held(operand) == static_cast<size_t>(count); };
  if (!fits(0, d) || !fits(1, a) || !fits(2, b) || !fits(3, c)) return unsupported();
  put(1, a, offsetof(SparseCall, a)), put(2, b, offsetof(SparseCall, b)), put(3, c, offsetof(SparseCall, c));
  put(4, 1, offsetof(SparseCall, metadata));
  service(Service::kSparse, mask_bits(mask()), call);
  for (int r = 0; r < d; ++r)
    write(in->operands[0].parts[static_cast<size_t>(r)], ir.load("i32", true, at(offsetof(SparseCall, d), r), 64));
}

}  // namespace quern::vgpu
