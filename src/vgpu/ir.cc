#include "vgpu/ir.h"

#include <bit>
#include <cstring>

namespace quern::vgpu {

std::string Value::full() const {
  if (wide) return "<32 x i32>";
  return vector ? fmt::format("<32 x {}>", type) : type;
}
std::string Value::typed() const { return full() + " " + text; }

int bits_of(std::string_view type) {
  if (type == "float") return 32;
  if (type == "double") return 64;
  if (type == "half" || type == "bfloat") return 16;
  int bits = 0;
  for (char c : type.substr(1)) bits = bits * 10 + (c - '0');
  return bits;
}

bool is_float(std::string_view type) { return type[0] != 'i'; }

std::string Ir::label(std::string_view hint) { return fmt::format("{}.{}", hint, labels_++); }

void Ir::begin(const std::string& label) { body_ += label + ":\n"; }

void Ir::branch(const Value& condition, const std::string& yes, const std::string& no) {
  line("br i1 {}, label %{}, label %{}", condition.text, yes, no);
}

void Ir::branch_likely(const Value& condition, const std::string& yes, const std::string& no) {
  line("br i1 {}, label %{}, label %{}, !prof !0", condition.text, yes, no);
}

std::string Ir::slot(const std::string& type, int64_t align) {
  std::string name = fmt::format("%s{}", labels_++);
  slots_ += fmt::format("  {} = alloca {}", name, type);
  if (align) slots_ += fmt::format(", align {}", align);
  slots_ += '\n';
  return name;
}

std::string Ir::array_slot(const std::string& type, int64_t align) {
  std::string key = fmt::format("{} {}", type, align);
  std::vector<std::string>& all = arrays_[key];
  size_t& used = arrays_used_[key];
  if (used == all.size()) all.push_back(slot(type, align));
  return all[used++];
}

void Ir::declare(const std::string& declaration) {
  if (declared_.insert(declaration).second) declarations_ += declaration + "\n";
}

std::string Ir::constant_words(const int32_t* words, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += fmt::format("{}i32 {}", i ? ", " : "", words[i]);
  text = fmt::format("private constant [{} x i32] [{}], align 64", count, text);
  auto [at, fresh] = constants_.try_emplace(std::move(text), fmt::format("@constant{}", constants_.size()));
  if (fresh) declarations_ += fmt::format("{} = {}\n", at->second, at->first);
  return at->second;
}

Value Ir::number(std::string type, int64_t value) {
  if (type == "i1") return {value ? "true" : "false", "i1", false};
  return {std::to_string(value), std::move(type), false};
}

Value Ir::real(std::string type, uint64_t bits) {
  if (type == "float") {  // LLVM writes a float as the double of the same value
    float f = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (f != f) {  // the payload would be lost by a conversion that quiets
      uint64_t wide = (bits & 0x80000000u) << 32 | 0x7ff0000000000000u | (bits & 0x7fffffu) << 29;
      return {fmt::format("0x{:016X}", wide), "float", false};
    }
    bits = std::bit_cast<uint64_t>(static_cast<double>(f));
  }
  return {fmt::format("0x{:016X}", bits), std::move(type), false};
}

Value Ir::zero(std::string type, bool vector) { return {"zeroinitializer", std::move(type), vector}; }

Value Ir::lanes(std::string type, const std::array<int64_t, 32>& values) {
  std::string text = "<";
  for (size_t l = 0; l < 32; ++l) {
    text += l ? ", " : "";
    text += fmt::format("{} {}", type, values[l]);
  }
  return {text + ">", std::move(type), true};
}

Value Ir::plain_mask(const Value& m) {
  if (!m.vector) return splat_plain(m);
  if (!m.wide) return m;
  if (m.text == "splat (i32 -1)") return {"splat (i1 true)", "i1", true};
  if (m.text == "zeroinitializer") return {m.text, "i1", true};
  return let("i1", true, "icmp slt <32 x i32> {}, zeroinitializer", m.text);
}

Value Ir::mask(const Value& plain) {
  if (!wide_masks || plain.wide) return plain;
  Value out = let("i1", true, "sext <32 x i1> {} to <32 x i32>", plain.text);
  out.wide = true;
  return out;
}

Value Ir::masks(std::string text) const { return {std::move(text), "i1", true, wide_masks}; }

Value Ir::all_lanes() const { return masks(wide_masks ? "splat (i32 -1)" : "splat (i1 true)"); }

Value Ir::splat_plain(const Value& a) {
  if (a.text[0] != '%') return {fmt::format("splat ({} {})", a.type, a.text), a.type, true};
  Value one = let(a.type, true, "insertelement <32 x {0}> poison, {0} {1}, i64 0", a.type, a.text);
  return let(a.type, true, "shufflevector {0} {1}, {0} poison, <32 x i32> zeroinitializer", one.full(), one.text);
}

Value Ir::splat(const Value& a) {
  if (a.vector) return a;
  if (a.type == "i1" && wide_masks) {
    if (a.text == "true") return all_lanes();
    if (a.text == "false" || a.text == "zeroinitializer") return masks("zeroinitializer");
    Value lanes = splat_plain(let("i32", false, "sext i1 {} to i32", a.text));
    return masks(lanes.text);
  }
  if (a.text == "zeroinitializer") return {a.text, a.type, true};
  return splat_plain(a);
}

void Ir::unify(Value& a, Value& b) {
  if (a.vector == b.vector) return;
  a = splat(a);
  b = splat(b);
}

void Ir::unify(Value& a, Value& b, Value& c) {
  if (a.vector == b.vector && b.vector == c.vector) return;
  a = splat(a), b = splat(b), c = splat(c);
}

Value Ir::op(std::string_view opcode, Value a, Value b) {
  unify(a, b);
  Value out = let(a.type, a.vector, "{} {} {}, {}", opcode, a.full(), a.text, b.text);
  out.wide = a.wide;
  return out;
}

Value Ir::compare(std::string_view what, Value a, Value b) {
  unify(a, b);
  if (a.wide) a = plain_mask(a), b = plain_mask(b);
  Value out = let("i1", a.vector, "{} {} {}, {}", what, a.full(), a.text, b.text);
  return a.vector ? mask(out) : out;
}

Value Ir::compare_bits(std::string_view what, Value a, Value b) {
  a = splat(a), b = splat(b);
  Value lanes = let("i1", true, "{} {} {}, {}", what, a.full(), a.text, b.text);
  return let("i32", false, "bitcast <32 x i1> {} to i32", lanes.text);
}

Value Ir::select(Value condition, Value yes, Value no) {
  if (condition.text == "true") return yes;
  if (condition.text == "false") return no;
  if (condition.vector) {
    yes = splat(yes), no = splat(no);
  } else {
    unify(yes, no);
  }
  Value by = condition.vector ? plain_mask(condition) : condition;
  Value out = let(yes.type, yes.vector, "select {}, {}, {}", by.typed(), yes.typed(), no.typed());
  out.wide = yes.wide;
  return out;
}

Value Ir::cast(std::string_view opcode, const Value& v, std::string to) {
  Value a = v.wide ? plain_mask(v) : v;
  Value out{{}, to, a.vector};
  out = let(to, a.vector, "{} {} to {}", opcode, a.typed(), out.full());
  return to == "i1" && a.vector ? mask(out) : out;
}

Value Ir::bits_to(const Value& a, std::string to) {
  if (a.type == to) return a;
  if (a.text == "zeroinitializer") return {a.text, std::move(to), a.vector};
  return cast("bitcast", a, std::move(to));
}

Value Ir::resize(const Value& a, std::string to, bool sign) {
  int from = bits_of(a.type), want = bits_of(to);
  if (from == want) return a;
  if (from > want) return cast("trunc", a, std::move(to));
  return cast(sign ? "sext" : "zext", a, std::move(to));
}

Value Ir::logical_not(const Value& a) { return op("xor", a, number("i1", 1)); }

Value Ir::intrinsic(std::string_view name, std::vector<Value> operands, std::string_view extra) {
  bool vector = false;
  for (const Value& v : operands) vector |= v.vector;
  std::string arguments, types;
  for (Value& v : operands) {
    if (vector) v = splat(v);
    arguments += (arguments.empty() ? "" : ", ") + v.typed();
    types += (types.empty() ? "" : ", ") + v.full();
  }
  arguments += extra;
  std::string suffix = is_float(operands[0].type)
                           ? operands[0].type == "half" ? "f16" : fmt::format("f{}", bits_of(operands[0].type))
                           : operands[0].type;
  if (vector) suffix = "v32" + suffix;
  std::string extra_type = extra.empty() ? "" : ", i1";
  declare(fmt::format("declare {} @{}.{}({}{})", operands[0].full(), name, suffix, types, extra_type));
  return let(operands[0].type, vector, "call {} @{}.{}({})", operands[0].full(), name, suffix, arguments);
}

Value Ir::convert_intrinsic(std::string_view name, const Value& a, std::string to) {
  auto suffix = [&](const std::string& type) {
    std::string s = is_float(type) ? fmt::format("f{}", bits_of(type)) : type;
    return a.vector ? "v32" + s : s;
  };
  Value out{{}, to, a.vector};
  std::string called = fmt::format("{}.{}.{}", name, suffix(to), suffix(a.type));
  declare(fmt::format("declare {} @{}({})", out.full(), called, a.full()));
  return let(to, a.vector, "call {} @{}({})", out.full(), called, a.typed());
}

Value Ir::load(const std::string& type, bool vector, const std::string& pointer, int64_t align) {
  Value out{{}, type, vector};
  if (type == "i1" && vector) {
    out = masks({});
    return masks(let(type, true, "load {}, ptr {}, align {}", out.full(), pointer, align).text);
  }
  return let(type, vector, "load {}, ptr {}, align {}", out.full(), pointer, align);
}

void Ir::store(const Value& value, const std::string& pointer, int64_t align) {
  line("store {}, ptr {}, align {}", value.typed(), pointer, align);
}

std::string Ir::pointer(const Value& address) { return let("ptr", false, "inttoptr i64 {} to ptr", address.text).text; }

std::string Ir::offset(const std::string& pointer, int64_t bytes) {
  if (!bytes) return pointer;
  return let("ptr", false, "getelementptr i8, ptr {}, i64 {}", pointer, bytes).text;
}

Value Ir::element(const Value& vector, const Value& lane) {
  if (!vector.vector) return vector;
  Value from = vector.wide ? plain_mask(vector) : vector;
  return let(vector.type, false, "extractelement {}, {}", from.typed(), lane.typed());
}

Value Ir::mask_bits(const Value& mask) { return let("i32", false, "bitcast {} to i32", plain_mask(mask).typed()); }

Value Ir::mask_of_bits(const Value& bits) { return mask(let("i1", true, "bitcast {} to <32 x i1>", bits.typed())); }

Value Ir::any(const Value& mask) { return mask.vector ? compare("icmp ne", mask_bits(mask), number("i32", 0)) : mask; }

Value Ir::shuffle(const Value& wide, int64_t from_lanes, const std::vector<int>& lanes) {
  std::string text;
  for (int l : lanes)
    text += fmt::format("{}i32 {}", text.empty() ? "" : ", ", l < 0 ? std::string("poison") : std::to_string(l));
  return let(wide.type, true, "shufflevector <{0} x {1}> {2}, <{0} x {1}> poison, <{3} x i32> <{4}>", from_lanes,
             wide.type, wide.text, lanes.size(), text);
}

std::string Ir::finish(const std::string& head) const { return head + " {\nentry:\n" + slots_ + body_ + "}\n"; }

}  // namespace quern::vgpu
