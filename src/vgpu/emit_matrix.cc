// Products of matrices in registers (PTX ISA 9.7.14): calls of matrix/, with the fragments' registers in a frame.
#include <cstddef>
#include <cstring>

#include "vgpu/emit.h"
#include "vgpu/matrix_form.h"
#include "vgpu/traits.h"

namespace quern::vgpu {

using ptx::Modifier;
using ptx::ModifierGroup;
using ptx::Op;
using ptx::Operand;
using ptx::OperandKind;

namespace {

// The registers of a product, each where `place` says; nothing where it says none, or there are too few.
template <class Place>
std::optional<MatrixCall> call_of(const ptx::Instruction& in, const MatrixShape& t, Place place) {
  MatrixCall call{};
  call.shape = t;
  int times = t.quads ? 4 : 1;
  auto all = [&](size_t operand, int elements, Element element, int32_t* offsets) {
    std::vector<Operand> regs = parts_of(in.operands[operand]);
    auto count = static_cast<size_t>(registers_of(times * elements, element));
    if (regs.size() < count) return false;
    for (size_t r = 0; r < count; ++r) {
      std::optional<int64_t> at = place(regs[r], std::max(32, bits_of(element)), operand == 0);
      if (!at) return false;
      offsets[r] = static_cast<int32_t>(*at);
    }
    return true;
  };
  bool placed = all(1, t.m * t.k, t.a, call.a) && all(2, t.k * t.n, t.b, call.b) && all(3, t.m * t.n, t.c, call.c) &&
                all(0, t.m * t.n, t.d, call.d);
  return placed ? std::optional(call) : std::nullopt;
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

// Every lane gets what the instruction writes, so that it may be written in its place.
bool Emit::writes_all_lanes() { return mask().full && guard_.empty() && !shapes_.blend[static_cast<size_t>(index_)]; }

// Where a register of so many bits lies in %matrix, if it does.
std::optional<int64_t> Emit::kept_place(const Operand& o, int bits) const {
  if (o.kind != OperandKind::kRegister) return std::nullopt;
  if (ptx::row(function.registers[static_cast<size_t>(o.reg)].type).size() != bits) return std::nullopt;
  auto at = matrix_.place.find(o.reg);
  return at == matrix_.place.end() ? std::nullopt : std::optional(at->second);
}

// The next of the places for registers that have none, or that not all lanes write; an operand's value is put there.
int64_t Emit::spare_place(const Operand& o, int bits, bool result) {
  int64_t at = matrix_.spare + spare_used_;
  if (!result) ir.store(ir.splat(read_bits(o, bits)), ir.offset("%matrix", at), 64);
  spare_used_ += bits * 4;
  return at;
}

Value Emit::spare_value(int64_t at, int bits) {
  return ir.load(fmt::format("i{}", bits), true, ir.offset("%matrix", at), 64);
}

void Emit::call_multiplier(const std::vector<MatrixCall>& calls) {
  Value table = ir.let("ptr", false, "load ptr, ptr {}", warp_pointer(offsetof(Warp, multiply)));
  auto multiplier = static_cast<int64_t>(multiplier_of(calls[0].shape));
  Value f = ir.let("ptr", false, "load ptr, ptr {}", ir.offset(table.text, multiplier * int64_t{sizeof(void*)}));
  ir.line("call void {}(ptr {}, ptr %matrix, i32 {})", f.text, ir.constant(calls.data(), calls.size()), calls.size());
}

void Emit::multiply_matrices() {
  if (multiplied_.count(index_)) return;
  std::optional<MatrixShape> shape = matrix_shape(*in);
  if (!shape) return unsupported();
  const MatrixShape& t = *shape;
  auto placed = [&](const ptx::Instruction& i, const MatrixShape& of) {
    return call_of(i, of, [&](const Operand& o, int bits, bool) { return kept_place(o, bits); });
  };
  if (std::optional<MatrixCall> first = writes_all_lanes() ? placed(*in, t) : std::nullopt) {
    std::vector<MatrixCall> calls = pieces(*first);
    if (std::memcmp(calls.front().a, calls.back().a, sizeof first->a)) {
      for (const MatrixCall& call : calls) call_multiplier({call});
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
      auto call = other ? placed(next, *other) : std::nullopt;
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
    return call_multiplier(calls);
  }
  // Registers elsewhere, or lanes that must keep what they have: through places of their own.
  spare_used_ = 0;
  auto call = call_of(
      *in, t, [&](const Operand& o, int bits, bool result) { return std::optional(spare_place(o, bits, result)); });
  if (!call) return unsupported();
  call_multiplier({*call});
  std::vector<Operand> to = parts_of(in->operands[0]);
  int bits = std::max(32, bits_of(t.d));
  std::vector<Value> results;
  for (int r = 0; r < registers_of((t.quads ? 4 : 1) * t.m * t.n, t.d); ++r)
    results.push_back(spare_value(call->d[r], bits));
  for (size_t r = 0; r < results.size(); ++r) write(to[r], results[r]);
}

}  // namespace quern::vgpu
