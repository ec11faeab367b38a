// Registers and operands: how instructions read and write, whatever the shape.
#include "vgpu/emit.h"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "vgpu/traits.h"

namespace quern::vgpu {

using ptx::Operand;
using ptx::OperandKind;
using ptx::Space;
using ptx::SymbolKind;
using ptx::Type;
using ptx::TypeKind;

namespace {

std::string index_slot(int32_t reg) { return fmt::format("%x{}", reg); }

int64_t up(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

}  // namespace

Frame lay_out(const ptx::Module& module, const ptx::Function& function) {
  Frame out;
  out.offset.assign(function.variables.size(), 0);
  out.shared_offset.assign(module.variables.size(), -1);
  // Shared variables of the module come first, as far as the function names them; those without a size last of all.
  std::vector<bool> used(module.variables.size(), false);
  auto mark = [&](const Operand& o, auto& self) -> void {
    bool named = o.kind == OperandKind::kSymbol || (o.kind == OperandKind::kAddress && o.reg == ptx::kNone);
    if (named && o.symbol.kind == SymbolKind::kVariable && o.symbol.index != ptx::kNone) {
      used[static_cast<size_t>(o.symbol.index)] = true;
    }
    for (const Operand& p : o.parts) self(p, self);
  };
  for (const ptx::Instruction& in : function.instructions) {
    for (const Operand& o : in.operands) mark(o, mark);
  }
  int64_t open_align = 16;
  std::vector<int64_t*> open;
  auto place = [&](const ptx::Variable& v, int64_t& at) {
    open_align = std::max(open_align, v.align);
    if (!v.bytes()) {
      open.push_back(&at);
      return;
    }
    at = up(out.shared_bytes, std::max<int64_t>(v.align, 4));  // shape.cc takes it for granted
    out.shared_bytes = at + v.bytes();
  };
  for (size_t i = 0; i < used.size(); ++i) {
    if (used[i] && module.variables[i].space == Space::kShared) place(module.variables[i], out.shared_offset[i]);
  }
  for (size_t i = 0; i < function.variables.size(); ++i) {
    const ptx::Variable& v = function.variables[i];
    if (v.space == Space::kShared) place(v, out.offset[i]);
    if (v.space == Space::kLocal || v.space == Space::kParam) {
      out.offset[i] = up(out.local_bytes, std::max<int64_t>(v.align, 4));
      out.local_bytes = out.offset[i] + v.bytes();
    }
  }
  if (!open.empty()) out.shared_bytes = up(out.shared_bytes, open_align);
  for (int64_t* at : open) *at = out.shared_bytes;
  out.local_bytes = up(out.local_bytes, 16);
  return out;
}

std::string Emit::llvm_type(Type type) {
  const ptx::TypeRow& t = ptx::row(type);
  switch (type) {
    case Type::k_f16: return "half";
    case Type::k_bf16: return "i16";  // no arithmetic of its own: see emit_half.cc
    case Type::k_f32: return "float";
    case Type::k_tf32: return "i32";
    case Type::k_f64: return "double";
    case Type::k_pred: return "i1";
    default: return fmt::format("i{}", t.size());
  }
}

std::string Emit::storage_type(Type type) {
  if (type == Type::k_f16) return "i16";
  return llvm_type(type);
}

Emit::Emit(const ptx::Module& m, const ptx::Function& f, const Target& t) : module(m), function(f), target(t) {
  ir.wide_masks = t.lane_masks;
  flow_ = flow_of(f);
  frame_ = lay_out(m, f);
  for (Block& b : flow_.blocks) {
    const ptx::Instruction& first = f.instructions[static_cast<size_t>(b.begin)];
    b.parks = waits_for_lanes(first);
  }
  shapes_ = find_shapes(f, flow_, t.block, frame_.local_bytes);
}

Shape Emit::shape(const Operand& operand) const { return shape_of(operand, shapes_, target.block); }

std::optional<int64_t> Emit::constant(const Operand& o) const {
  if (o.kind == OperandKind::kInteger) return o.value;
  if (o.kind == OperandKind::kRegister) return shapes_.constant[static_cast<size_t>(o.reg)];
  return std::nullopt;
}

// --- registers ---

// Most of the places in %matrix are only met as numbers, in the constants of calls.
std::string Emit::slot_of(int32_t reg) {
  std::string name = fmt::format("%r{}", reg);
  auto place = matrix_.place.find(reg);
  if (place != matrix_.place.end() && matrix_named_.insert(reg).second)
    ir.entry("{} = getelementptr i8, ptr %matrix, i64 {}", name, place->second);
  return name;
}

void Emit::slots() {
  matrix_ = place_matrices(function, flow_, shapes_);
  if (matrix_.bytes) ir.entry("%matrix = alloca [{} x i8], align 256", matrix_.bytes);
  Bits crosses(function.registers.size() / 64 + 1);
  for (const Bits& live : flow_.live_in) {
    for (size_t w = 0; w < live.size(); ++w) crosses[w] |= live[w];
  }
  for (size_t r = 0; r <= function.registers.size(); ++r) {
    const Shape& s = shapes_.of[r];
    std::string type = r < function.registers.size() ? storage_type(function.registers[r].type) : "i1";
    auto reg = static_cast<int32_t>(r);
    if (matrix_.place.count(reg)) continue;
    bool parts = s.kind == Shape::kWide || s.kind == Shape::kIndexed;
    bool kept = dense_ && has(crosses, reg);
    slot(slot_of(reg), parts ? "i64" : type, s.kind == Shape::kVarying, kept);
    if (parts) slot(index_slot(reg), "i32", s.kind == Shape::kIndexed, kept);
  }
}

Value Emit::read_register(int32_t reg) {
  const Shape& s = shapes_.of[static_cast<size_t>(reg)];
  std::string type = static_cast<size_t>(reg) < function.registers.size()
                         ? storage_type(function.registers[static_cast<size_t>(reg)].type)
                         : "i1";
  auto load = [&](const std::string& slot, const std::string& t, bool vector) {
    Value v{{}, t, vector, t == "i1" && vector && ir.wide_masks};
    Value out = ir.let(t, vector, "load {}, ptr {}", v.full(), slot);
    out.wide = v.wide;
    return out;
  };
  switch (s.kind) {
    case Shape::kNone:
    case Shape::kUniform: return load(slot_of(reg), type, false);
    case Shape::kVarying: return load(slot_of(reg), type, true);
    case Shape::kPattern: return ir.op("add", load(slot_of(reg), type, false), Ir::lanes(type, *s.lanes));
    case Shape::kBits: return ir.op("xor", load(slot_of(reg), type, false), Ir::lanes(type, *s.lanes));
    case Shape::kWide:
    case Shape::kIndexed: {
      Value index = load(index_slot(reg), "i32", s.kind == Shape::kIndexed);
      if (s.kind == Shape::kWide) index = ir.op("add", index, Ir::lanes("i32", *s.lanes));
      Value wide = ir.resize(index, "i64", s.sign);
      if (s.scale != 1) wide = ir.op("mul", wide, Ir::number("i64", s.scale));
      return ir.op("add", wide, load(slot_of(reg), "i64", false));
    }
  }
  return {};
}

Value Emit::read_bits(const Operand& o, int bits) {
  std::string type = fmt::format("i{}", bits);
  switch (o.kind) {
    case OperandKind::kRegister: {
      Value v = read_register(o.reg);
      int have = bits_of(v.type);
      v = ir.bits_to(v, fmt::format("i{}", have));
      return ir.resize(v, type, false);
    }
    case OperandKind::kInteger: return Ir::number(type, bits < 64 ? o.value & ((int64_t{1} << bits) - 1) : o.value);
    case OperandKind::kReal: {
      uint64_t raw = static_cast<uint64_t>(o.value);
      if (bits == 32 && !o.single) raw = std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(raw)));
      if (bits == 64 && o.single)
        raw = std::bit_cast<uint64_t>(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(raw))));
      return Ir::number(type, static_cast<int64_t>(raw));
    }
    case OperandKind::kSpecial: {
      Value v = special(o.special);
      Shape s = shape(o);
      if (s.kind == Shape::kPattern) v = ir.op("add", v, Ir::lanes(v.type, *s.lanes));
      return ir.resize(v, type, false);
    }
    case OperandKind::kSymbol: {
      Value base = Ir::number("i64", 0);
      auto index = static_cast<size_t>(o.symbol.index);
      switch (o.symbol.kind) {
        case SymbolKind::kVariable:
          if (module.variables[index].space == Space::kShared) {
            base = Ir::number("i64", frame_.shared_offset[index]);
          } else {
            Value table = warp_field(offsetof(Warp, variables), "i64");
            base = ir.load("i64", false, ir.offset(ir.pointer(table), static_cast<int64_t>(index) * 8), 8);
          }
          break;
        case SymbolKind::kLocal: base = Ir::number("i64", frame_.offset[index]); break;
        case SymbolKind::kParameter: {
          ParameterLayout layout = parameter_layout(function);
          base = ir.op("add", warp_field(offsetof(Warp, parameters), "i64"), Ir::number("i64", layout.offsets[index]));
          break;
        }
        case SymbolKind::kFunction: base = Ir::number("i64", o.symbol.index + 1); break;
        case SymbolKind::kReturn: unsupported("a return parameter's address"); break;
      }
      if (o.value) base = ir.op("add", base, Ir::number("i64", o.value));
      return ir.resize(base, type, false);
    }
    case OperandKind::kVector: {  // packed: the first element lowest
      int each = bits / static_cast<int>(o.parts.size());
      Value all = Ir::number(type, 0);
      for (size_t i = 0; i < o.parts.size(); ++i) {
        if (o.parts[i].kind == OperandKind::kSink) continue;
        Value part = ir.resize(read_bits(o.parts[i], each), type, false);
        if (i) part = ir.op("shl", part, Ir::number(type, static_cast<int64_t>(i) * each));
        all = i ? ir.op("or", all, part) : part;
      }
      return all;
    }
    default: unsupported("an operand of that kind"); return Ir::number(type, 0);
  }
}

Value Emit::read(const Operand& o, Type type) {
  const ptx::TypeRow& t = ptx::row(type);
  std::string want = llvm_type(type);
  if (type == Type::k_pred) return predicate(o);
  if (o.kind == OperandKind::kReal && (want == "float" || want == "double")) {
    Value bits = read_bits(o, t.size());
    return Ir::real(want, static_cast<uint64_t>(std::stoll(bits.text)));
  }
  if (o.kind == OperandKind::kInteger && is_float(want)) {
    return ir.bits_to(read_bits(o, t.size()), want);
  }
  return ir.bits_to(read_bits(o, t.size()), want);
}

Value Emit::predicate(const Operand& o) {
  Value v = o.kind == OperandKind::kInteger   ? Ir::number("i1", o.value != 0)
            : o.kind == OperandKind::kSpecial ? special(o.special)
                                              : read_register(o.reg);
  return o.negated ? ir.logical_not(v) : v;
}

void Emit::write(const Operand& o, Value v) {
  if (o.kind == OperandKind::kSink) return;
  if (o.kind == OperandKind::kVector) {  // unpacked
    int all = bits_of(v.type), each = all / static_cast<int>(o.parts.size());
    v = ir.bits_to(v, fmt::format("i{}", all));
    for (size_t i = 0; i < o.parts.size(); ++i) {
      Value part = i ? ir.op("lshr", v, Ir::number(v.type, static_cast<int64_t>(i) * each)) : v;
      write(o.parts[i], ir.resize(part, fmt::format("i{}", each), false));
    }
    return;
  }
  auto reg = static_cast<size_t>(o.reg);
  bool flag = reg == function.registers.size();
  std::string type = flag ? "i1" : storage_type(function.registers[reg].type);
  if (v.type != type) {
    v = ir.bits_to(v, fmt::format("i{}", bits_of(v.type)));
    v = ir.bits_to(ir.resize(v, fmt::format("i{}", bits_of(type)), false), type);
  }
  const Shape& s = shapes_.of[reg];
  bool vector = s.kind == Shape::kVarying;
  if (vector) {
    v = ir.splat(v);
    if (guard_.vector || shapes_.blend[static_cast<size_t>(index_)]) {
      Mask m = mask();
      if (!m.full) v = ir.select(mask_lanes(m), v, read_register(o.reg));
    }
    if (!guard_.empty() && !guard_.vector) v = ir.select(guard_, v, read_register(o.reg));
  } else {
    if (v.vector && s.most == 0) v = Ir::number(type, 0);
    if (v.vector) {  // the analysis was promised one number
      problems_.push_back(
          diagnose(Code::B001, {}, {{"what", fmt::format("PTX line {}: lanes in a uniform register", in->line)}}));
      return;
    }
    if (!guard_.empty()) {
      Value old = ir.let(type, false, "load {}, ptr {}", type, slot_of(o.reg));
      v = ir.select(guard_, v, old);
    }
  }
  ir.line("store {}, ptr {}", v.typed(), slot_of(o.reg));
}

void Emit::write_extended(const Operand& o, Value value, bool sign) {
  if (o.kind == OperandKind::kRegister && !is_float(value.type)) {
    int want = bits_of(storage_type(function.registers[static_cast<size_t>(o.reg)].type));
    if (want > bits_of(value.type)) value = ir.resize(value, fmt::format("i{}", want), sign);
  }
  write(o, value);
}

// --- patterns: the algebra of shape.cc, on the parts ---

Value Emit::pattern_base(const Operand& o) {
  if (o.kind == OperandKind::kSpecial) return special(o.special);
  std::string type = storage_type(function.registers[static_cast<size_t>(o.reg)].type);
  return ir.let(type, false, "load {}, ptr {}", type, slot_of(o.reg));
}

bool Emit::affine() {
  if (in->operands.empty() || in->operands[0].kind != OperandKind::kRegister) return false;
  const Shape& to = shapes_.of[static_cast<size_t>(in->operands[0].reg)];
  auto lane_constants = [](const Shape& s) { return s.kind == Shape::kPattern || s.kind == Shape::kBits; };
  bool logic = in->op == ptx::Op::k_and || in->op == ptx::Op::k_xor || in->op == ptx::Op::k_shr;
  bool left_over = to.kind == Shape::kUniform && logic &&
                   (lane_constants(shape(in->operands[1])) || lane_constants(shape(in->operands[2])));
  if (!left_over && !lane_constants(to) && to.kind != Shape::kWide && to.kind != Shape::kIndexed) return false;
  struct Parts {
    Value base, index;
  };
  std::string type = lane_constants(to) || left_over
                         ? storage_type(function.registers[static_cast<size_t>(in->operands[0].reg)].type)
                         : "i64";
  auto parts = [&](const Operand& o) -> Parts {
    Shape s = shape(o);
    if (s.kind == Shape::kPattern) return {pattern_base(o), {}};
    if (lane_constants(s) || s.kind == Shape::kWide || s.kind == Shape::kIndexed) {
      std::string have = lane_constants(s) ? storage_type(function.registers[static_cast<size_t>(o.reg)].type) : "i64";
      Value base = ir.let(have, false, "load {}, ptr {}", have, slot_of(o.reg));
      if (lane_constants(s)) return {base, {}};
      bool vector = s.kind == Shape::kIndexed;
      Value index{{}, "i32", vector};
      return {base, ir.let("i32", vector, "load {}, ptr {}", index.full(), index_slot(o.reg))};
    }
    return {read_bits(o, ptx::row(in->type()).size()), {}};
  };
  auto set = [&](const Parts& p) {
    Value base = ir.resize(p.base, type, false), index = p.index;
    auto keep = [&](const Value& v, const std::string& slot) {
      Value now = v;
      if (!guard_.empty()) now = ir.select(guard_, v, ir.let(v.type, v.vector, "load {}, ptr {}", v.full(), slot));
      ir.line("store {}, ptr {}", now.typed(), slot);
    };
    int32_t reg = in->operands[0].reg;
    keep(base, slot_of(reg));
    if (lane_constants(to) || left_over) return;
    // A wide value that is kept as an indexed one.
    if (to.kind == Shape::kIndexed && !index.vector) {
      Shape from = in->operands.size() > 1 ? wide_source() : Shape{};
      index = from.lanes ? ir.op("add", index, Ir::lanes("i32", *from.lanes)) : ir.splat(index);
    }
    keep(index, index_slot(reg));
  };
  auto add = [&](const Parts& a, const Parts& b, const char* how) -> Parts {
    Parts out;
    out.base = ir.op(how, ir.resize(a.base, type, false), ir.resize(b.base, type, false));
    out.index = !a.index.empty() ? a.index : b.index;
    return out;
  };
  auto scaled = [&](const Parts& a, int64_t c) -> Parts {
    return {ir.op("mul", ir.resize(a.base, type, false), Ir::number(type, c)), a.index};
  };
  // mul.wide: the product starts at zero, the factor is the index.
  auto widened = [&](const Operand& o, const Operand& factor) -> Parts {
    Shape s = shape(o), t = shape(factor);
    const Operand& lanes = s.scalar() ? factor : o;
    if (s.scalar() && t.scalar()) {
      bool sign = ptx::row(in->type()).kind == TypeKind::kSigned;
      return {ir.op("mul", ir.resize(read_bits(o, 32), "i64", sign), ir.resize(read_bits(factor, 32), "i64", sign)),
              {}};
    }
    Shape ls = shape(lanes);
    Value index = ls.kind == Shape::kPattern ? parts(lanes).base : read_bits(lanes, 32);
    return {Ir::number("i64", 0), index};
  };
  auto product = [&](const Operand& a, const Operand& b) -> Parts {
    auto c = constant(b);
    if (c && !shape(a).scalar()) return scaled(parts(a), *c);
    c = constant(a);
    if (c && !shape(b).scalar()) return scaled(parts(b), *c);
    return {ir.op("mul", ir.resize(read_bits(a, bits_of(type)), type, false),
                  ir.resize(read_bits(b, bits_of(type)), type, false)),
            {}};
  };
  const auto& o = in->operands;
  switch (in->op) {
    case ptx::Op::k_mov: set(parts(o[1])); return true;
    case ptx::Op::k_cvta:
      if (to.kind == Shape::kPattern && in->space() == Space::kLocal) {
        Value base =
            ir.op("add", ir.resize(read_bits(o[1], 64), "i64", false), warp_field(offsetof(Warp, local), "i64"));
        set({base, {}});
      } else if (in->space() == Space::kShared) {
        Parts p = parts(o[1]);
        Value base = warp_field(offsetof(Warp, shared), "i64");
        p.base = ir.op(in->has(ptx::Modifier::kTo) ? "sub" : "add", ir.resize(p.base, "i64", false), base);
        set(p);
      } else {
        set(parts(o[1]));
      }
      return true;
    case ptx::Op::k_add: set(add(parts(o[1]), parts(o[2]), "add")); return true;
    case ptx::Op::k_sub: set(add(parts(o[1]), parts(o[2]), "sub")); return true;
    case ptx::Op::k_mul: set(in->has(ptx::Modifier::kWide) ? widened(o[1], o[2]) : product(o[1], o[2])); return true;
    case ptx::Op::k_mad: {
      Parts p = in->has(ptx::Modifier::kWide) ? widened(o[1], o[2]) : product(o[1], o[2]);
      Parts addend = shape(o[3]).scalar() ? Parts{read_bits(o[3], bits_of(type)), {}} : parts(o[3]);
      set(add(p, addend, "add"));
      return true;
    }
    case ptx::Op::k_shl: set(scaled(parts(o[1]), int64_t{1} << *constant(o[2]))); return true;
    case ptx::Op::k_shr: {
      Parts p = parts(o[1]);
      bool sign = ptx::row(in->type()).kind == TypeKind::kSigned;
      set({ir.op(sign ? "ashr" : "lshr", p.base, Ir::number(p.base.type, *constant(o[2]))), {}});
      return true;
    }
    case ptx::Op::k_and: {
      Parts p = parts(o[1]);
      set({ir.op("and", p.base, Ir::number(p.base.type, *constant(o[2]))), {}});
      return true;
    }
    case ptx::Op::k_or:
      // A number that is known went into the lanes.
      set(constant(o[2]) ? parts(o[1]) : add(parts(o[1]), parts(o[2]), "or"));
      return true;
    case ptx::Op::k_xor: set(add(parts(o[1]), parts(o[2]), "xor")); return true;
    case ptx::Op::k_cvt: {
      Shape s = shape(o[1]);
      if (lane_constants(to)) {
        set(parts(o[1]));
      } else if (s.kind == Shape::kPattern) {
        set({Ir::number("i64", 0), parts(o[1]).base});
      } else if (s.kind == Shape::kWide || s.kind == Shape::kIndexed) {
        set(parts(o[1]));
      } else {
        set({Ir::number("i64", 0), read_bits(o[1], 32)});
      }
      return true;
    }
    default:
      problems_.push_back(diagnose(
          Code::B001, {}, {{"what", fmt::format("PTX line {}: a pattern from {}", in->line, ptx::row(in->op).name)}}));
      return true;
  }
}

// The operand whose lanes a wide result has: for results that several instructions write with different lanes.
Shape Emit::wide_source() const {
  for (size_t i = 1; i < in->operands.size(); ++i) {
    Shape s = shape(in->operands[i]);
    if (s.kind == Shape::kWide || s.kind == Shape::kPattern) return s;
  }
  return {};
}

// --- lanes ---

Mask Emit::mask() {
  Mask out;
  if (!block_mask_) {
    out.full = true;
  } else {
    out.lanes = *block_mask_;
  }
  if (!guard_.empty() && guard_.vector) {
    out.lanes = out.full ? guard_ : ir.op("and", out.lanes, guard_);
    out.full = false;
  }
  return out;
}

Value Emit::mask_lanes(const Mask& m) { return m.full ? ir.all_lanes() : m.lanes; }

Value Emit::mask_bits(const Mask& m) { return m.full ? Ir::number("i32", 0xffffffff) : ir.mask_bits(m.lanes); }

std::string Emit::warp_pointer(size_t offset) { return ir.offset("%w", static_cast<int64_t>(offset)); }

Value Emit::warp_field(size_t offset, const std::string& type) {
  return ir.load(type, false, warp_pointer(offset), std::max(bits_of(type) / 8, 1));
}

void Emit::service(Service what, const Value& lanes, const std::string& data) {
  Value f = ir.let("ptr", false, "load ptr, ptr {}", warp_pointer(offsetof(Warp, service)));
  Value r = ir.let("i32", false, "call i32 {}(ptr %w, i32 {}, i32 {}, i32 {}, ptr {})", f.text, static_cast<int>(what),
                   index_, lanes.text, data);
  std::string on = ir.label("on"), off = ir.label("off");
  ir.branch_likely(ir.compare("icmp eq", r, Ir::number("i32", 0)), on, off);
  ir.begin(off);
  ir.line("ret i32 1");
  ir.begin(on);
}

void Emit::leave(Service what, const Value& lanes) {
  Value f = ir.let("ptr", false, "load ptr, ptr {}", warp_pointer(offsetof(Warp, service)));
  ir.let("i32", false, "call i32 {}(ptr %w, i32 {}, i32 {}, i32 {}, ptr null) cold", f.text, static_cast<int>(what),
         index_, lanes.text);
  ir.line("ret i32 1");
}

void Emit::each_lane(const Mask& m, const std::function<void(const Value& lane)>& body) {
  std::string left = ir.slot("i32");
  Value all = mask_bits(m);
  ir.line("store i32 {}, ptr {}", all.text, left);
  std::string loop = ir.label("lane"), turn = ir.label("turn"), done = ir.label("done");
  ir.jump(loop);
  ir.begin(loop);
  Value bits = ir.let("i32", false, "load i32, ptr {}", left);
  ir.branch(ir.compare("icmp ne", bits, Ir::number("i32", 0)), turn, done);
  ir.begin(turn);
  ir.declare("declare i32 @llvm.cttz.i32(i32, i1)");
  Value lane = ir.let("i32", false, "call i32 @llvm.cttz.i32(i32 {}, i1 true)", bits.text);
  Value less = ir.op("and", bits, ir.op("sub", bits, Ir::number("i32", 1)));
  ir.line("store i32 {}, ptr {}", less.text, left);
  body(lane);
  ir.jump(loop);
  ir.begin(done);
}

std::string Emit::spill(const Value& v) {
  if (!v.vector) return {};
  int bytes = std::max(bits_of(v.type) / 8, 1);
  Value stored = v.type == "i1" ? ir.cast("zext", v, "i8") : v;
  std::string slot = ir.array_slot(fmt::format("[32 x {}]", stored.type), 64);
  ir.store(stored, slot, std::min(bytes * 32, 64));
  return slot;
}

Value Emit::spilled(const std::string& slot, const Value& like, const Value& lane) {
  if (!like.vector) return like;
  std::string type = like.type == "i1" ? "i8" : like.type;
  Value p = ir.let("ptr", false, "getelementptr {}, ptr {}, i32 {}", type, slot, lane.text);
  Value v = ir.load(type, false, p.text, std::max(bits_of(type) / 8, 1));
  return like.type == "i1" ? ir.cast("trunc", v, "i1") : v;
}

void Emit::unsupported(std::string why) {
  std::string name(ptx::row(in->op).name);
  for (ptx::Modifier m : in->modifiers) name += "." + std::string(ptx::row(m).text);
  for (Type t : in->types) name += "." + std::string(ptx::row(t).name);
  problems_.push_back(diagnose(Code::N920, {},
                               {{"instruction", name},
                                {"line", std::to_string(in->line)},
                                {"kernel", function.name},
                                {"why", why.empty() ? "" : ": " + why}}));
}

}  // namespace quern::vgpu
