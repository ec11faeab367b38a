// Textures and surfaces (PTX ISA 9.0, sections 9.7.10 and 9.7.11): the operands go into a frame, a C++ function does
// all lanes (texture/run.cc), and the results come back from it.
#include <bit>
#include <cstddef>

#include "vgpu/emit.h"
#include "vgpu/texture/call.h"
#include "vgpu/traits.h"

namespace quern::vgpu {

using ptx::Modifier;
using ptx::ModifierGroup;
using ptx::Op;
using ptx::Operand;
using ptx::OperandKind;
using ptx::SymbolKind;
using ptx::Type;

namespace {

constexpr size_t kRow = sizeof(uint32_t) * 32, kWideRow = sizeof(uint64_t) * 32;

int count_of(const ptx::Instruction& in) {
  auto v = in.of(ModifierGroup::kVector);
  return !v ? 1 : *v == Modifier::kV2 ? 2 : *v == Modifier::kV4 ? 4 : 8;
}

// False: none that textures and surfaces have here.
bool set_geometry(const ptx::Instruction& in, TextureForm& form) {
  switch (in.of(ModifierGroup::kGeometry).value_or(Modifier::k1d)) {
    case Modifier::k1d: form.dimensions = 1; return true;
    case Modifier::k2d: form.dimensions = 2; return true;
    case Modifier::k3d: form.dimensions = 3; return true;
    case Modifier::kA1d: form.dimensions = 1, form.layered = true; return true;
    case Modifier::kA2d: form.dimensions = 2, form.layered = true; return true;
    case Modifier::kCube: form.dimensions = 2, form.cube = true; return true;
    case Modifier::kAcube: form.dimensions = 2, form.cube = form.layered = true; return true;
    default: return false;
  }
}

TextureQuery query_of(Modifier m) {
  switch (m) {
    case Modifier::kWidth: return TextureQuery::kWidth;
    case Modifier::kHeight: return TextureQuery::kHeight;
    case Modifier::kDepth: return TextureQuery::kDepth;
    case Modifier::kArraySize: return TextureQuery::kArraySize;
    case Modifier::kNumMipmapLevels: return TextureQuery::kLevels;
    case Modifier::kNumSamples: return TextureQuery::kSamples;
    case Modifier::kChannelDataType: return TextureQuery::kChannelType;
    case Modifier::kChannelOrder: return TextureQuery::kChannelOrder;
    case Modifier::kNormalizedCoords: return TextureQuery::kNormalized;
    case Modifier::kForceUnnormalizedCoords: return TextureQuery::kUnnormalized;
    case Modifier::kFilterMode: return TextureQuery::kFilter;
    case Modifier::kAddrMode0: return TextureQuery::kAddress0;
    case Modifier::kAddrMode1: return TextureQuery::kAddress1;
    case Modifier::kAddrMode2: return TextureQuery::kAddress2;
    default: return TextureQuery::kLayout;
  }
}

// Of [object, coordinates] and [object, sampler, coordinates].
std::vector<Operand> coordinates_of(const Operand& address) {
  return address.parts.empty() ? std::vector<Operand>{} : parts_of(address.parts.back());
}

}  // namespace

// Stores what is known of the instruction and its object; returns the frame.
std::string Emit::texture_frame(const TextureForm& form, const Operand& object) {
  if (texture_frame_.empty()) texture_frame_ = ir.slot(fmt::format("[{} x i64]", sizeof(TextureCall) / 8), 64);
  auto words = std::bit_cast<std::array<int64_t, 2>>(form);
  ir.store(Ir::number("i64", words[0]), texture_frame_, 8);
  ir.store(Ir::number("i64", words[1]), ir.offset(texture_frame_, 8), 8);
  Operand at = object;
  at.parts.clear();
  at.kind = at.reg != ptx::kNone            ? OperandKind::kRegister
            : at.symbol.index != ptx::kNone ? OperandKind::kSymbol
                                            : OperandKind::kInteger;
  Value handle = read_bits(at, 64);
  // A parameter of type .texref holds the handle; so does a variable, which the function looks into.
  if (at.kind == OperandKind::kSymbol && at.symbol.kind == SymbolKind::kParameter && in->op != Op::k_istypep) {
    handle = ir.load("i64", false, ir.pointer(handle), 8);
  }
  ir.store(ir.splat(handle), ir.offset(texture_frame_, offsetof(TextureCall, object)), 8);
  return texture_frame_;
}

void Emit::texture() {
  TextureForm form;
  const auto& o = in->operands;
  if (!set_geometry(*in, form)) return unsupported("that geometry");
  size_t address = in->op == Op::k_sust || in->op == Op::k_sured ? 0 : in->pair_results ? 2 : 1;
  form.count = static_cast<uint8_t>(count_of(*in));
  form.formatted = in->has(Modifier::kSurfaceFormatted);
  if (auto overflow = in->of(ModifierGroup::kOverflow)) {
    form.beyond = *overflow == Modifier::kClamp  ? Beyond::kClamp
                  : *overflow == Modifier::kZero ? Beyond::kZero
                                                 : Beyond::kTrap;
  }
  int bits = ptx::row(in->type()).size();
  size_t next = address + 1;  // operands after the address
  switch (in->op) {
    case Op::k_tex:
      form.integer = in->type(1) == Type::k_s32;
      if (in->has(Modifier::kLevel)) form.level = LevelBy::kLevel, ++next;
      if (in->has(Modifier::kGrad)) form.level = LevelBy::kGradient, next += 2;
      break;
    case Op::k_tld4:
      form.op = TextureOp::kGather;
      form.component = in->has(Modifier::kComponentG)   ? 1
                       : in->has(Modifier::kComponentB) ? 2
                       : in->has(Modifier::kComponentA) ? 3
                                                        : 0;
      break;
    case Op::k_txq:
    case Op::k_suq:
      form.op = TextureOp::kQuery;
      form.query = query_of(*in->of(ModifierGroup::kQuery));
      if (o.size() > next) form.level = LevelBy::kLevel, ++next;
      break;
    case Op::k_istypep:
      form.op = TextureOp::kIsType;
      form.kind = in->type() == Type::k_surfref ? 1 : in->type() == Type::k_samplerref ? 2 : 0;
      break;
    case Op::k_suld:
      form.op = TextureOp::kLoad;
      if (form.formatted) return unsupported();
      break;
    case Op::k_sust: form.op = TextureOp::kStore, ++next; break;
    case Op::k_sured: {
      form.op = TextureOp::kReduce, ++next;
      form.sign = ptx::row(in->type()).kind == ptx::TypeKind::kSigned;
      Modifier how = *in->of(ModifierGroup::kOperation);
      form.reduce = how == Modifier::kOpMin   ? Reduce::kMin
                    : how == Modifier::kOpMax ? Reduce::kMax
                    : how == Modifier::kOpAnd ? Reduce::kAnd
                    : how == Modifier::kOpOr  ? Reduce::kOr
                                              : Reduce::kAdd;
      break;
    }
    default: return unsupported();
  }
  bool sampled = form.op == TextureOp::kSample || form.op == TextureOp::kGather;
  if (!sampled) form.bytes = static_cast<uint8_t>(bits / 8);
  if (sampled && o.size() > next && o[next].kind == OperandKind::kVector) form.offset = true, ++next;
  if (o.size() > next) return unsupported("a comparison of depths");
  // As many numbers as the geometry has: what is missing in the text would be left over from another instruction.
  size_t numbers = form.cube ? 3 : form.dimensions;
  auto has = [&](const Operand& operand, size_t least) { return parts_of(operand).size() >= least; };
  bool located = form.op != TextureOp::kQuery && form.op != TextureOp::kIsType;
  bool enough = !located || coordinates_of(o[address]).size() >= numbers + form.layered;
  if (form.level == LevelBy::kGradient) enough &= has(o[address + 1], numbers) && has(o[address + 2], numbers);
  if (form.offset) enough &= has(o[next - 1], form.dimensions);
  if (!enough) return unsupported("fewer coordinates than its geometry has");
  if (form.count > 4 || parts_of(o[0]).size() > 4) return unsupported("so many elements");

  std::string frame = texture_frame(form, o[address]);
  auto at = [&](size_t offset) { return ir.offset(frame, static_cast<int64_t>(offset)); };
  auto put = [&](const std::vector<Operand>& from, size_t offset, size_t most) {
    for (size_t i = 0; i < from.size() && i < most; ++i)
      ir.store(ir.splat(read_bits(from[i], 32)), at(offset + i * kRow), 4);
  };
  put(coordinates_of(o[address]), offsetof(TextureCall, coordinate), 4);
  if (form.level == LevelBy::kLevel) put({o[address + 1]}, offsetof(TextureCall, level), 1);
  if (form.level == LevelBy::kGradient) {
    put(parts_of(o[address + 1]), offsetof(TextureCall, level), 3);
    put(parts_of(o[address + 2]), offsetof(TextureCall, level) + 3 * kRow, 3);
  }
  if (form.offset) put(parts_of(o[next - 1]), offsetof(TextureCall, offset), 3);
  size_t value = offsetof(TextureCall, value);
  if (form.op == TextureOp::kStore || form.op == TextureOp::kReduce) {
    std::vector<Operand> from = parts_of(o[address + 1]);
    for (size_t i = 0; i < from.size() && i < 4; ++i) {
      Value v = ir.resize(read_bits(from[i], bits), "i64", false);
      ir.store(ir.splat(v), at(value + i * kWideRow), 8);
    }
  }
  service(Service::kTexture, mask_bits(mask()), frame);
  if (form.op == TextureOp::kStore || form.op == TextureOp::kReduce) return;
  auto got = [&](size_t i) { return ir.load("i64", true, at(value + i * kWideRow), 8); };
  if (form.op == TextureOp::kIsType)
    return write(o[0], ir.mask(ir.let("i1", true, "icmp ne {}, zeroinitializer", got(0).typed())));
  std::vector<Operand> to = parts_of(o[0]);
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i].kind == OperandKind::kSink) continue;
    if (!sampled || (ptx::row(in->type()).size() == 32 && in->type() != Type::k_f16x2)) {
      write_extended(to[i], ir.resize(got(i), fmt::format("i{}", sampled ? 32 : bits), false), false);
      continue;
    }
    // f16 in registers of 16 bits, or two in one of 32.
    auto half = [&](size_t which) {
      Value real = ir.bits_to(ir.resize(got(which), "i32", false), "float");
      return to_half(ir, Type::k_f16, real, Round::kNearest, target.f16c);
    };
    if (in->type() == Type::k_f16x2) {
      Value high = ir.op("shl", ir.resize(half(2 * i + 1), "i32", false), Ir::number("i32", 16));
      write(to[i], ir.op("or", ir.resize(half(2 * i), "i32", false), high));
    } else {
      write(to[i], half(i));
    }
  }
  if (in->pair_results) write(o[1], Ir::number("i1", 1));
}

}  // namespace quern::vgpu
