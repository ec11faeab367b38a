// Video arithmetic (PTX ISA 9.7.18): bytes, halves or words of the sources, extended by their types, one operation on
// them without loss, then clamping, and a second operation or a merge with the third source. The forms for 2 and 4
// elements do the same on each.
#include <cstring>
#include <string_view>

#include "vgpu/emit.h"

namespace quern::vgpu {

using ptx::Modifier;
using ptx::ModifierGroup;
using ptx::Op;
using ptx::Type;
using ptx::TypeKind;

namespace {

Value i32(int64_t n) { return Ir::number("i32", n); }
Value i64(int64_t n) { return Ir::number("i64", n); }
bool is_signed(Type t) { return ptx::row(t).kind == TypeKind::kSigned; }

enum class Action : uint8_t { kAdd, kSubtract, kAverage, kDifference, kLeast, kMost, kCompare };

struct Video {
  Action action;
  int elements;
};

Video video_of(Op op) {
  switch (op) {
    case Op::k_vadd2: return {Action::kAdd, 2};
    case Op::k_vadd4: return {Action::kAdd, 4};
    case Op::k_vsub: return {Action::kSubtract, 1};
    case Op::k_vsub2: return {Action::kSubtract, 2};
    case Op::k_vsub4: return {Action::kSubtract, 4};
    case Op::k_vavrg2: return {Action::kAverage, 2};
    case Op::k_vavrg4: return {Action::kAverage, 4};
    case Op::k_vabsdiff: return {Action::kDifference, 1};
    case Op::k_vabsdiff2: return {Action::kDifference, 2};
    case Op::k_vabsdiff4: return {Action::kDifference, 4};
    case Op::k_vmin: return {Action::kLeast, 1};
    case Op::k_vmin2: return {Action::kLeast, 2};
    case Op::k_vmin4: return {Action::kLeast, 4};
    case Op::k_vmax: return {Action::kMost, 1};
    case Op::k_vmax2: return {Action::kMost, 2};
    case Op::k_vmax4: return {Action::kMost, 4};
    case Op::k_vset: return {Action::kCompare, 1};
    case Op::k_vset2: return {Action::kCompare, 2};
    case Op::k_vset4: return {Action::kCompare, 4};
    default: return {Action::kAdd, 1};
  }
}

// "b3210": which element each of the parts is, the lowest first.
std::vector<int> chosen(std::string_view selector) {
  std::vector<int> out;
  for (size_t i = selector.size(); i-- > 1;) out.push_back(selector[i] - '0');
  return out;
}

std::string_view selector_of(const ptx::Operand& o) {
  return {o.selector.data(), strnlen(o.selector.data(), o.selector.size())};
}

// An element of so many bits, extended.
Value part(Ir& ir, const Value& v, int bits, int index, bool sign) {
  Value up = ir.op("shl", v, i32(32 - bits * (index + 1)));
  return ir.resize(ir.op(sign ? "ashr" : "lshr", up, i32(32 - bits)), "i64", sign);
}

Value clamp(Ir& ir, const Value& v, int bits, bool sign) {
  int64_t most = sign ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
  Value low = ir.intrinsic("llvm.smax", {v, i64(sign ? -most - 1 : 0)});
  return ir.intrinsic("llvm.smin", {low, i64(most)});
}

}  // namespace

// A source of the scalar forms: all of it, a half or a byte.
Value Emit::video_source(const ptx::Operand& o, Type type) {
  Value v = read_bits(o, 32);
  std::string_view s = selector_of(o);
  if (s.empty()) return ir.resize(v, "i64", is_signed(type));
  return part(ir, v, s[0] == 'b' ? 8 : 16, s[1] - '0', is_signed(type));
}

Value Emit::video_action(const Value& a, const Value& b) {
  switch (video_of(in->op).action) {
    case Action::kAdd: return ir.op("add", a, b);
    case Action::kSubtract: return ir.op("sub", a, b);
    case Action::kDifference: return ir.intrinsic("llvm.abs", {ir.op("sub", a, b)}, ", i1 false");
    case Action::kLeast: return ir.intrinsic("llvm.smin", {a, b});
    case Action::kMost: return ir.intrinsic("llvm.smax", {a, b});
    case Action::kAverage: {
      Value sum = ir.op("add", a, b);
      Value round = ir.select(ir.compare("icmp sge", sum, i64(0)), i64(1), i64(0));
      return ir.op("ashr", ir.op("add", sum, round), i64(1));
    }
    case Action::kCompare: {
      Value is = comparison(*in->of(ModifierGroup::kCompare), Type::k_s64, a, b);
      return ir.select(is, i64(1), i64(0));
    }
  }
  return a;
}

// Clamped, joined with the third source, or put into a part of it.
void Emit::video_result(Value v, bool sign) {
  const auto& o = in->operands;
  std::string_view to = selector_of(o[0]);
  int bits = to.empty() ? 32 : to[0] == 'b' ? 8 : 16;
  if (in->has(Modifier::kSat)) v = clamp(ir, v, bits, sign);
  Value r = ir.resize(v, "i32", false);
  if (o.size() > 3) {
    Value c = read_bits(o[3], 32);
    if (!to.empty()) {
      int at = (to[1] - '0') * bits;
      auto mask = static_cast<int64_t>(((uint64_t{1} << bits) - 1) << at);
      Value put = ir.op("and", ir.op("shl", r, i32(at)), i32(mask));
      r = ir.op("or", put, ir.op("and", c, i32(~mask & 0xffffffff)));
    } else if (in->has(Modifier::kSecondAdd)) {
      r = ir.op("add", r, c);
    } else if (in->has(Modifier::kSecondMin)) {
      r = ir.intrinsic(sign ? "llvm.smin" : "llvm.umin", {r, c});
    } else if (in->has(Modifier::kSecondMax)) {
      r = ir.intrinsic(sign ? "llvm.smax" : "llvm.umax", {r, c});
    }
  }
  write(0, r);
}

void Emit::video() {
  if (in->op == Op::k_vmad) return video_multiply_add();
  Video what = video_of(in->op);
  bool compares = what.action == Action::kCompare;
  bool to_sign = !compares && is_signed(in->type(0));
  Type of_a = in->type(compares ? 0 : 1), of_b = in->type(compares ? 1 : 2);
  const auto& o = in->operands;
  if (what.elements > 1) return video_elements(what.elements, to_sign, of_a, of_b);
  Value a = video_source(o[1], of_a);
  if (in->op == Op::k_vshl || in->op == Op::k_vshr) {
    Value by = video_source(o[2], Type::k_u32);
    by = in->has(Modifier::kWrap) ? ir.op("and", by, i64(31)) : ir.intrinsic("llvm.umin", {by, i64(32)});
    return video_result(ir.op(in->op == Op::k_vshl ? "shl" : "ashr", a, by), to_sign);
  }
  video_result(video_action(a, video_source(o[2], of_b)), to_sign);
}

void Emit::video_elements(int count, bool to_sign, Type of_a, Type of_b) {
  const auto& o = in->operands;
  int bits = 32 / count;
  Value both[2] = {read_bits(o[1], 32), read_bits(o[2], 32)};
  // The elements of both sources are numbered together.
  auto choice = [&](const ptx::Operand& from, int first) {
    std::string_view s = selector_of(from);
    std::vector<int> out = chosen(s);
    for (int i = 0; s.empty() && i < count; ++i) out.push_back(first + i);
    return out;
  };
  std::vector<int> from_a = choice(o[1], 0), from_b = choice(o[2], count);
  std::vector<bool> wanted(static_cast<size_t>(count), selector_of(o[0]).empty());
  for (int i : chosen(selector_of(o[0]))) {
    if (i < count) wanted[static_cast<size_t>(i)] = true;
  }
  if (static_cast<int>(from_a.size()) != count || static_cast<int>(from_b.size()) != count)
    return unsupported("a selector of another size");
  auto pick = [&](int index, Type type) {
    return part(ir, both[index / count % 2], bits, index % count, is_signed(type));
  };
  Value c = read_bits(o[3], 32);
  Value r = in->has(Modifier::kSecondAdd) ? c : Value{};
  for (int i = 0; i < count; ++i) {
    auto at = static_cast<size_t>(i);
    if (!wanted[at] && in->has(Modifier::kSecondAdd)) continue;
    Value v;
    if (wanted[at]) {
      v = video_action(pick(from_a[at], of_a), pick(from_b[at], of_b));
      if (in->has(Modifier::kSat)) v = clamp(ir, v, bits, to_sign);
      v = ir.resize(v, "i32", false);
    } else {
      v = ir.op("lshr", c, i32(int64_t{i} * bits));
    }
    if (in->has(Modifier::kSecondAdd)) {
      r = ir.op("add", r, v);
      continue;
    }
    v = ir.op("shl", ir.op("and", v, i32((int64_t{1} << bits) - 1)), i32(int64_t{i} * bits));
    r = i ? ir.op("or", r, v) : v;
  }
  write(0, r);
}

void Emit::video_multiply_add() {
  const auto& o = in->operands;
  Type of_a = in->type(1), of_b = in->type(2);
  bool sign = is_signed(of_a) || is_signed(of_b);
  // 66 bits at most: a product of 64, and two more.
  auto wide = [&](const Value& v, bool extend) { return ir.resize(v, "i128", extend); };
  Value p = ir.op("mul", wide(video_source(o[1], of_a), true), wide(video_source(o[2], of_b), true));
  Value sum = ir.op("add", p, wide(read_bits(o[3], 32), sign));
  if (in->has(Modifier::kPlusOne)) sum = ir.op("add", sum, Ir::number("i128", 1));
  int scale = in->has(Modifier::kVideoShr7) ? 7 : in->has(Modifier::kVideoShr15) ? 15 : 0;
  if (scale) sum = ir.op("ashr", sum, Ir::number("i128", scale));
  if (in->has(Modifier::kSat)) {
    int64_t most = sign ? INT32_MAX : int64_t{UINT32_MAX};
    sum = ir.intrinsic("llvm.smax", {sum, Ir::number("i128", sign ? INT32_MIN : 0)});
    sum = ir.intrinsic("llvm.smin", {sum, Ir::number("i128", most)});
  }
  write(0, ir.resize(sum, "i32", false));
}

}  // namespace quern::vgpu
