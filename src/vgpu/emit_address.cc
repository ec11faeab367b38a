// Addresses of accesses, in the shape that is known of them, and the check that all lanes of an access hit memory that
// they may use. Every load, store, atomic and copy of a kernel passes check(): this is the one place where observers of
// memory are compiled in. (Fragments of matrices pass move_fragment() in emit_fragment.cc.)
//
// Bounds, use after free, read-only and uninitialised memory are one question: are the shadow's bits set for all bytes?
// Loads of this process may touch any address of the device's range and of its guards, so only the scalar base is held
// against the range; what a vector of 32-bit indices adds stays within the guards.
#include <algorithm>
#include <bit>
#include <cstddef>

#include "vgpu/emit.h"

namespace quern::vgpu {

using ptx::Operand;
using ptx::Space;
using ptx::SymbolKind;

namespace {

Value i64(int64_t v) { return Ir::number("i64", v); }

}  // namespace

Value Emit::address_vector(const Address& a) {
  switch (a.kind) {
    case Shape::kPattern: return ir.op("add", a.base, Ir::lanes("i64", a.lanes));
    case Shape::kWide:
    case Shape::kIndexed: {
      Value index = a.index;
      if (a.kind == Shape::kWide) index = ir.op("add", index, Ir::lanes("i32", a.lanes));
      Value wide = ir.resize(index, "i64", a.sign);
      if (a.scale != 1) wide = ir.op("mul", wide, i64(a.scale));
      return ir.splat(ir.op("add", wide, a.base));
    }
    case Shape::kVarying: return a.all;
    default: return ir.splat(a.base);
  }
}

Address Emit::address(const Operand& o, Space space) {
  Address out;
  Value base = i64(o.value);
  Lanes offsets{};
  bool local = space == Space::kLocal;
  if (space == Space::kShared) {
    out.shared = true;
    base = ir.op("add", base, warp_field(offsetof(Warp, shared), "i64"));
  }
  if (o.reg == ptx::kNone) {  // a variable, or a bare number
    Operand symbol = o;
    if (o.symbol.index != ptx::kNone) {
      symbol.kind = ptx::OperandKind::kSymbol;
      symbol.value = 0;
      base = ir.op("add", base, read_bits(symbol, 64));
      bool in_frame = o.symbol.kind == SymbolKind::kLocal &&
                      function.variables[static_cast<size_t>(o.symbol.index)].space != Space::kShared;
      local |= in_frame;
      out.safe = o.symbol.kind == SymbolKind::kParameter || (in_frame && space == Space::kParam);
      if (o.symbol.kind == SymbolKind::kVariable &&
          module.variables[static_cast<size_t>(o.symbol.index)].space == Space::kShared && !out.shared) {
        out.shared = true;
        base = ir.op("add", base, warp_field(offsetof(Warp, shared), "i64"));
      }
    }
    out.base = base;
    out.align = out.shared ? std::countr_zero(static_cast<uint64_t>(o.value | 16)) : 0;
    if (out.shared && o.symbol.index != ptx::kNone) {
      auto index = static_cast<size_t>(o.symbol.index);
      int64_t at = o.value + (o.symbol.kind == SymbolKind::kLocal ? frame_.offset[index] : frame_.shared_offset[index]);
      out.align = std::countr_zero(static_cast<uint64_t>(at | 128));
    }
  } else {
    const Shape& s = shapes_.of[static_cast<size_t>(o.reg)];
    int bits = ptx::row(function.registers[static_cast<size_t>(o.reg)].type).size();
    int offset_align = std::countr_zero(static_cast<uint64_t>(o.value | (int64_t{1} << 62)));
    auto load = [&](const std::string& slot, const std::string& type, bool vector) {
      Value v{{}, type, vector};
      return ir.let(type, vector, "load {}, ptr {}", v.full(), slot);
    };
    std::string r = fmt::format("%r{}", o.reg), x = fmt::format("%x{}", o.reg);
    std::string type = fmt::format("i{}", bits);
    switch (s.kind) {
      case Shape::kNone:
      case Shape::kUniform:
        out.base = ir.op("add", ir.resize(load(r, type, false), "i64", false), base);
        out.align = std::min(s.align, offset_align);
        break;
      case Shape::kPattern:
        if (bits == 64) {
          out.kind = Shape::kPattern;
          out.base = ir.op("add", load(r, "i64", false), base);
          out.lanes = *s.lanes;
          out.align = std::min(s.align, offset_align);
        } else if (out.shared) {
          // Valid offsets are below 2^31, so the index may be taken for a signed one, and what wraps lands in the gap
          // around the block's memory either way: no lane needs a way of its own.
          out.kind = Shape::kPattern;
          out.base = ir.op("add", base, ir.resize(load(r, "i32", false), "i64", true));
          out.lanes = *s.lanes;
          out.align = std::min(s.align, offset_align);
        } else {
          out.kind = Shape::kWide;
          out.base = base;
          out.index = load(r, "i32", false);
          out.lanes = *s.lanes;
          out.align = std::min(s.align, offset_align);
        }
        break;
      case Shape::kWide:
      case Shape::kIndexed:
        out.kind = s.kind;
        out.base = ir.op("add", load(r, "i64", false), base);
        out.index = load(x, "i32", s.kind == Shape::kIndexed);
        if (s.lanes) out.lanes = *s.lanes;
        out.sign = s.sign;
        out.scale = s.scale;
        break;
      case Shape::kBits:
      case Shape::kVarying:
        if (bits == 32) {
          out.kind = Shape::kIndexed;
          out.base = base;
          out.index = read_register(o.reg);
          out.sign = out.shared;
        } else {
          out.kind = Shape::kVarying;
          out.all = ir.op("add", read_register(o.reg), base);
        }
        break;
    }
  }
  if (local) {  // each lane has its own
    for (size_t l = 0; l < 32; ++l) offsets[l] = static_cast<int64_t>(l) * frame_.local_bytes;
    Value first = warp_field(offsetof(Warp, local), "i64");
    if (out.kind == Shape::kUniform) {
      out.kind = Shape::kPattern;
      out.base = ir.op("add", out.base, first);
      out.lanes = offsets;
      out.align = std::min(out.align, 4);
    } else {
      Value all = ir.op("add", address_vector(out), ir.op("add", first, Ir::lanes("i64", offsets)));
      out = {.kind = Shape::kVarying, .all = all, .safe = out.safe};
    }
  }
  return out;
}

// Whether base + lanes[l] (32 bits, wrapping) is the extended base plus lanes[l] for all lanes, and the address then.
Address Emit::straight(const Address& a, Value& is) {
  int64_t low = *std::min_element(a.lanes.begin(), a.lanes.end()),
          high = *std::max_element(a.lanes.begin(), a.lanes.end());
  Value first = ir.op("add", a.index, Ir::number("i32", low));
  Value last = ir.op("add", a.index, Ir::number("i32", high));
  is = ir.compare(a.sign ? "icmp sle" : "icmp ule", first, last);
  Address out = a;
  out.kind = Shape::kPattern;
  Value wide = ir.resize(first, "i64", a.sign);
  if (a.scale != 1) wide = ir.op("mul", wide, i64(a.scale));
  out.base = ir.op("add", a.base, wide);
  for (int64_t& l : out.lanes) l = (l - low) * a.scale;
  // The base's alignment is known of the index alone; what it is scaled by and added to, only for shared memory.
  out.align = a.shared && a.scale == 1 && low % 16 == 0 ? std::min(a.align, 4) : 0;
  return out;
}

// --- the check ---

void Emit::fault(const Address& a, const std::vector<CheckRecord::Member>& members, const Mask& m,
                 const std::string& from) {
  ir.begin(from);
  CheckRecord record{.members = members};
  Value base = i64(0);
  if (a.kind == Shape::kUniform || a.kind == Shape::kNone || a.kind == Shape::kPattern) {
    record.lanes = a.kind == Shape::kPattern ? a.lanes : Lanes{};
    base = a.base;
  } else {
    record.listed = true;
    ir.store(address_vector(a), warp_pointer(offsetof(Warp, address)), 8);
  }
  // By way of memory: values that come from thousands of places to one are what LLVM takes longest over.
  ir.store(Ir::number("i32", static_cast<int64_t>(records_.size())), warp_pointer(offsetof(Warp, fault_check)), 4);
  ir.store(mask_bits(m), warp_pointer(offsetof(Warp, fault_lanes)), 4);
  ir.store(base, warp_pointer(offsetof(Warp, fault_base)), 8);
  records_.push_back(std::move(record));
  ir.jump("fault");
}

// Where all failed checks end: one call, which never comes back.
void Emit::fault_exit() {
  if (records_.empty()) return;
  ir.begin("fault");
  Value check = warp_field(offsetof(Warp, fault_check), "i32"), who = warp_field(offsetof(Warp, fault_lanes), "i32");
  std::string data = ir.pointer(warp_field(offsetof(Warp, fault_base), "i64"));
  Value f = ir.let("ptr", false, "load ptr, ptr {}", warp_pointer(offsetof(Warp, service)));
  ir.let("i32", false, "call i32 {}(ptr %w, i32 {}, i32 {}, i32 {}, ptr {}) cold", f.text,
         static_cast<int>(Service::kFault), check.text, who.text, data);
  ir.line("ret i32 1");
}

std::string Emit::shadow_pointer(const Value& address) {
  Value word = ir.op("lshr", address, i64(2));
  return ir.pointer(ir.op("add", word, i64(static_cast<int64_t>(target.space.shadow_bias))));
}

Value Emit::in_range(const Value& address, int64_t slack) {
  auto first = static_cast<int64_t>(target.space.first) - slack;
  auto size = static_cast<int64_t>(target.space.bytes) + 2 * slack;
  return ir.compare("icmp ult", ir.op("sub", address, i64(first)), i64(size));
}

// The bits that each word of the shadow must have.
int64_t Emit::needed(int64_t bytes, bool write) const {
  uint64_t word = write ? kWritable : kHasValue;
  if (bytes < 4) return static_cast<int64_t>(((uint64_t{1} << bytes) - 1) << (write ? 4 : 0));
  uint64_t all = 0;
  for (int64_t i = 0; i < bytes; i += 4) all |= word << (i * 2);
  return static_cast<int64_t>(all);
}

// Where nobody asks whether memory was written, a load may read what could be written.
Value Emit::either_nibble(const Value& shadow, bool write) {
  if (write || (target.checks.init && !ahead_)) return shadow;
  return ir.op("or", shadow, ir.op("lshr", shadow, Ir::number(shadow.type, 4)));
}

void Emit::require(const Value& ok, const std::string& bad) {
  std::string on = ir.label("ok");
  ir.branch_likely(ok, on, bad);
  ir.begin(on);
}

// None of the lanes that run has its bit set.
void Emit::require_lanes(Value bits, const Mask& m, const std::string& bad) {
  if (!m.full) bits = ir.op("and", bits, mask_bits(m));
  require(ir.compare("icmp eq", bits, Ir::number("i32", 0)), bad);
}

void Emit::check(const Address& a, int64_t bytes, bool write, const Mask& m) {
  if (a.safe) return;
  std::vector<CheckRecord::Member> members = {{index_, 0, static_cast<int32_t>(bytes), write}};
  if (check_group(a, bytes, write, m, members)) return;
  std::string bad = ir.label("bad"), done = ir.label("good");
  switch (a.kind) {
    case Shape::kNone:
    case Shape::kUniform: check_uniform(a, bytes, write, bad); break;
    case Shape::kPattern: check_pattern(a, bytes, write, m, bad); break;
    case Shape::kIndexed: check_indexed(a, bytes, write, m, bad); break;
    default: check_lanes(address_vector(a), bytes, write, m, bad); break;
  }
  ir.jump(done);
  fault(a, members, m, bad);
  ir.begin(done);
}

void Emit::check_uniform(const Address& a, int64_t bytes, bool write, const std::string& bad) {
  Value ok = Ir::number("i1", 1);
  if (!a.shared) ok = in_range(a.base, 0);
  if (bytes > 1 && (1 << std::min(a.align, 30)) < bytes) {
    ok = ir.op("and", ok, ir.compare("icmp eq", ir.op("and", a.base, i64(bytes - 1)), i64(0)));
  }
  if (ok.text != "true") require(ok, bad);
  if (!target.checks.memory) return;
  std::string type = fmt::format("i{}", std::max<int64_t>(bytes * 2, 8));
  Value s = either_nibble(ir.load(type, false, shadow_pointer(a.base), 1), write);
  Value need = Ir::number(type, needed(bytes, write));
  if (bytes < 4) {
    Value by = ir.resize(ir.op("and", a.base, i64(3)), "i8", false);
    s = ir.op("lshr", s, by);
  }
  require(ir.compare("icmp eq", ir.op("and", s, need), need), bad);
}

// A constant choice out of consecutive elements, starting at `pointer`.
Value Emit::spread(const std::string& pointer, const std::string& type, const std::vector<int>& which, int count) {
  bool contiguous = count == kLanes;
  for (size_t l = 0; l < which.size(); ++l) contiguous &= which[l] == static_cast<int>(l);
  if (contiguous) return ir.load(type, true, pointer, std::max(bits_of(type) / 8, 1) > 4 ? 4 : 1);
  Value all = ir.let(type, true, "load <{} x {}>, ptr {}, align 1", count, type, pointer);
  return ir.shuffle(all, count, which);
}

void Emit::check_pattern(const Address& a, int64_t bytes, bool write, const Mask& m, const std::string& bad) {
  int64_t low = *std::min_element(a.lanes.begin(), a.lanes.end());
  int64_t high = *std::max_element(a.lanes.begin(), a.lanes.end()) + bytes;
  int64_t unit = std::max<int64_t>(bytes, 4);
  bool regular = high - low <= 4096;
  for (int64_t l : a.lanes) regular &= (l - low) % bytes == 0 && (bytes < 4 || (l - low) % unit == 0);
  if (!regular) return check_lanes(address_vector(a), bytes, write, m, bad);
  Value first = low ? ir.op("add", a.base, i64(low)) : a.base;
  Value ok = Ir::number("i1", 1);
  if (!a.shared) ok = in_range(first, 0);
  bool aligned = low % bytes == 0 && (1 << std::min(a.align, 30)) >= bytes;
  if (!aligned) ok = ir.op("and", ok, ir.compare("icmp eq", ir.op("and", first, i64(bytes - 1)), i64(0)));
  if (ok.text != "true") require(ok, bad);
  if (!target.checks.memory) return;
  std::string type = fmt::format("i{}", unit * 2);
  std::string done;
  if (bytes < 4 && !(low % 4 == 0 && a.align >= 2)) {
    // Which word of the shadow a lane needs is a constant only from the start of a word.
    std::string word = ir.label("word"), odd = ir.label("odd");
    done = ir.label("words");
    ir.branch_likely(ir.compare("icmp eq", ir.op("and", first, i64(3)), i64(0)), word, odd);
    ir.begin(odd);
    check_lanes(address_vector(a), bytes, write, m, bad);
    ir.jump(done);
    ir.begin(word);
  }
  std::vector<int> which;
  std::array<int64_t, 32> need;
  for (size_t l = 0; l < 32; ++l) {
    int64_t at = a.lanes[l] - low;
    which.push_back(static_cast<int>(at / unit));
    need[l] = needed(bytes, write) << (bytes < 4 ? at % 4 : 0);
  }
  Value s = spread(shadow_pointer(first), type, which, static_cast<int>((high - low + unit - 1) / unit));
  s = either_nibble(s, write);
  Value wanted = bytes < 4 ? Ir::lanes(type, need) : Ir::number(type, need[0]);
  require_lanes(ir.compare_bits("icmp ne", ir.op("and", s, wanted), wanted), m, bad);
  if (!done.empty()) {
    ir.jump(done);
    ir.begin(done);
  }
}

Value Emit::gather(const std::string& type, const Value& pointers, const Mask& m, int64_t align) {
  Value out{{}, type, true};
  ir.declare(fmt::format("declare {0} @llvm.masked.gather.v32{1}.v32p0(<32 x ptr>, <32 x i1>, {0})", out.full(), type));
  return ir.let(type, true,
                "call {0} @llvm.masked.gather.v32{1}.v32p0(<32 x ptr> align {2} {3}, {4}, {0} zeroinitializer)",
                out.full(), type, align, pointers.text, ir.plain_mask(mask_lanes(m)).typed());
}

Value Emit::pointers(const Value& addresses) {
  return ir.let("ptr", true, "inttoptr {} to <32 x ptr>", addresses.typed());
}

void Emit::check_lanes(const Value& all, int64_t bytes, bool write, const Mask& m, const std::string& bad) {
  Value from = ir.op("sub", all, i64(static_cast<int64_t>(target.space.first)));
  Value out = ir.op("lshr", from, i64(std::countr_zero(target.space.bytes)));
  if (bytes > 1) out = ir.op("or", out, ir.op("and", all, i64(bytes - 1)));
  require_lanes(ir.compare_bits("icmp ne", out, i64(0)), m, bad);
  if (!target.checks.memory) return;
  Value at = ir.op("add", ir.op("lshr", all, i64(2)), i64(static_cast<int64_t>(target.space.shadow_bias)));
  std::string type = bytes > 16 ? "i64" : "i32";
  Value s = gather(type, pointers(at), m, 1);
  check_shadow(s, bytes, write, m, bytes < 4 ? ir.resize(ir.op("and", all, i64(3)), "i32", false) : Value{}, bad);
}

void Emit::check_shadow(Value s, int64_t bytes, bool write, const Mask& m, const Value& byte, const std::string& bad) {
  s = either_nibble(s, write);
  if (!byte.empty()) s = ir.op("lshr", s, byte);
  Value need = Ir::number(s.type, needed(bytes, write));
  require_lanes(ir.compare_bits("icmp ne", ir.op("and", s, need), need), m, bad);
}

void Emit::check_indexed(const Address& a, int64_t bytes, bool write, const Mask& m, const std::string& bad) {
  bool near = std::abs(a.scale) <= 8;
  bool words = bytes >= 4 && a.scale % bytes == 0 && bytes <= 16;
  if (!near || !words) return check_lanes(address_vector(a), bytes, write, m, bad);
  // The base may lie outside, as long as the guards hold what the index adds.
  Value ok = in_range(a.base, int64_t{16} << 30);
  ok = ir.op("and", ok, ir.compare("icmp eq", ir.op("and", a.base, i64(bytes - 1)), i64(0)));
  require(ok, bad);
  if (!target.checks.memory) return;
  Value offset = ir.resize(a.index, "i64", a.sign);
  std::string scaled = fmt::format("i{}", std::abs(a.scale) / 4 * 8);
  (void)scaled;
  Value by = a.scale / 4 == 1 ? offset : ir.op("mul", offset, i64(a.scale / 4));
  Value at = ir.let("ptr", true, "getelementptr i8, ptr {}, {}", shadow_pointer(a.base), by.typed());
  check_shadow(gather("i32", at, m, 1), bytes, write, m, {}, bad);
}

// --- marking ---

void Emit::mark_written(const Address& a, int64_t bytes, const Mask& m) {
  if (!target.checks.memory || !target.checks.init || a.safe) return;
  int64_t words = bytes / 4;
  if (a.kind == Shape::kUniform && words) {
    std::string type = fmt::format("i{}", bytes * 2);
    ir.store(Ir::number(type, -1), shadow_pointer(a.base), 1);
    return;
  }
  if (a.kind == Shape::kPattern && words && m.full) {
    int64_t low = *std::min_element(a.lanes.begin(), a.lanes.end());
    bool contiguous = true;
    for (size_t l = 0; l < 32; ++l) contiguous &= a.lanes[l] - low == static_cast<int64_t>(l) * bytes;
    if (contiguous) {
      Value first = low ? ir.op("add", a.base, i64(low)) : a.base;
      ir.store({fmt::format("splat (i{} -1)", bytes * 2), fmt::format("i{}", bytes * 2), true}, shadow_pointer(first),
               1);
      return;
    }
  }
  // One lane after the other. A word that two threads write in parts is changed as one, and only if it must be: other
  // blocks may be doing the same.
  std::string addresses = spill(address_vector(a));
  each_lane(m, [&](const Value& lane) {
    Value at = spilled(addresses, {"", "i64", true}, lane);
    if (words) {
      ir.store(Ir::number(fmt::format("i{}", bytes * 2), -1), shadow_pointer(at), 1);
      return;
    }
    std::string p = shadow_pointer(at);
    Value bits = ir.op("shl", Ir::number("i8", (1 << bytes) - 1), ir.resize(ir.op("and", at, i64(3)), "i8", false));
    Value have = ir.load("i8", false, p, 1);
    std::string put = ir.label("mark"), has = ir.label("marked");
    ir.branch(ir.compare("icmp eq", ir.op("and", have, bits), bits), has, put);
    ir.begin(put);
    ir.let("i8", false, "atomicrmw or ptr {}, i8 {} monotonic", p, bits.text);
    ir.jump(has);
    ir.begin(has);
  });
}

}  // namespace quern::vgpu
