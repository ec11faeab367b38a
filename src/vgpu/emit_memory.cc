// Loads and stores (PTX ISA 9.7.9). Lanes that read consecutive elements are one vector load, lanes that all read one
// are a scalar load, other constant patterns are a load and a shuffle; what varies is gathered.
#include <algorithm>
#include <bit>
#include <cstddef>

#include "vgpu/emit.h"

namespace quern::vgpu {

using ptx::Modifier;
using ptx::ModifierGroup;
using ptx::Operand;
using ptx::Space;
using ptx::Type;
using ptx::TypeKind;

namespace {

constexpr int64_t kWidestPattern = 1024;  // bytes of one load that a shuffle takes apart

Value i64(int64_t v) { return Ir::number("i64", v); }

int count_of(const ptx::Instruction& in) {
  auto v = in.of(ModifierGroup::kVector);
  return !v ? 1 : *v == Modifier::kV2 ? 2 : *v == Modifier::kV4 ? 4 : 8;
}

// All lanes' elements within one span that starts on an element.
bool close(const Address& a, int64_t size) {
  int64_t low = *std::min_element(a.lanes.begin(), a.lanes.end()),
          high = *std::max_element(a.lanes.begin(), a.lanes.end());
  bool out = high - low + size <= kWidestPattern;
  for (int64_t l : a.lanes) out &= (l - low) % size == 0;
  return out;
}

bool contiguous(const Address& a, int64_t bytes) {
  for (size_t l = 1; l < 32; ++l) {
    if (a.lanes[l] - a.lanes[0] != static_cast<int64_t>(l) * bytes) return false;
  }
  return true;
}

}  // namespace

// The elements of one access, each as a number or a vector of lanes.
std::vector<Value> Emit::load_elements(const Address& a, int bits, int count, const Mask& m) {
  std::string type = fmt::format("i{}", bits);
  int64_t size = bits / 8, all = size * count;
  int64_t align = std::min<int64_t>(all, 4);
  std::vector<Value> out;
  switch (a.kind) {
    case Shape::kNone:
    case Shape::kUniform: {
      check(a, all, false, m);
      std::string p = ir.pointer(a.base);
      for (int i = 0; i < count; ++i) out.push_back(ir.load(type, false, ir.offset(p, i * size), size));
      return out;
    }
    case Shape::kPattern: {
      if (!close(a, size)) break;
      check(a, all, false, m);
      int64_t low = *std::min_element(a.lanes.begin(), a.lanes.end());
      int64_t high = *std::max_element(a.lanes.begin(), a.lanes.end()) + all;
      std::string p = ir.pointer(low ? ir.op("add", a.base, i64(low)) : a.base);
      auto span = static_cast<int>((high - low) / size);
      Value whole;
      for (int i = 0; i < count; ++i) {
        std::vector<int> which;
        for (int64_t l : a.lanes) which.push_back(static_cast<int>((l - low) / size) + i);
        if (count == 1 && contiguous(a, size)) {
          out.push_back(ir.load(type, true, p, align));
        } else {
          if (whole.empty()) whole = ir.let(type, true, "load <{} x {}>, ptr {}, align {}", span, type, p, align);
          out.push_back(ir.shuffle(whole, span, which));
        }
      }
      return out;
    }
    case Shape::kWide: {
      Value is;
      Address pattern = straight(a, is);
      bool regular = close(pattern, size);
      if (!regular) break;
      return either(
          is, type, count, [&] { return load_elements(pattern, bits, count, m); },
          [&] { return bent_elements(a, bits, count, m); });
    }
    case Shape::kIndexed:
      // Often the lanes are in a row after all, which only this run knows.
      if (a.scale == all && bits >= 32) {
        Value first = ir.element(a.index, i64(0));
        std::array<int64_t, 32> steps;
        for (size_t l = 0; l < 32; ++l) steps[l] = static_cast<int64_t>(l);
        Value row = ir.op("add", ir.splat(first), Ir::lanes("i32", steps));
        Value off = ir.compare_bits("icmp ne", row, a.index);
        if (!m.full) off = ir.op("and", off, mask_bits(m));
        // Not where the index wraps on the way.
        Value last = ir.op("add", first, Ir::number("i32", 31));
        Value is = ir.op("and", ir.compare("icmp eq", off, Ir::number("i32", 0)),
                         ir.compare(a.sign ? "icmp slt" : "icmp ult", first, last));
        Address pattern{.kind = Shape::kPattern, .shared = a.shared};
        Value wide = ir.op("mul", ir.resize(first, "i64", a.sign), i64(a.scale));
        pattern.base = ir.op("add", a.base, wide);
        for (size_t l = 0; l < 32; ++l) pattern.lanes[l] = static_cast<int64_t>(l) * all;
        return either(
            is, type, count, [&] { return load_elements(pattern, bits, count, m); },
            [&] { return gather_elements(a, bits, count, m); });
      }
      break;
    default: break;
  }
  return gather_elements(a, bits, count, m);
}

std::vector<Value> Emit::gather_elements(const Address& a, int bits, int count, const Mask& m) {
  std::string type = fmt::format("i{}", bits);
  int64_t size = bits / 8;
  check(a, size * count, false, m);
  Value at;
  if (a.kind == Shape::kIndexed) {
    Value by = ir.resize(a.index, "i64", a.sign);
    if (a.scale != 1) by = ir.op("mul", by, i64(a.scale));
    at = ir.let("ptr", true, "getelementptr i8, ptr {}, {}", ir.pointer(a.base), by.typed());
  } else {
    at = pointers(address_vector(a));
  }
  std::vector<Value> out;
  for (int i = 0; i < count; ++i) {
    Value p = i ? ir.let("ptr", true, "getelementptr i8, {}, i64 {}", at.typed(), i * size) : at;
    if (bits >= 32) {
      out.push_back(gather(type, p, m, std::min<int64_t>(size, 4)));
      continue;
    }
    // There is no gather of less: a word from there is read, which stays within the range and its guards.
    out.push_back(ir.resize(gather("i32", p, m, 1), type, false));
  }
  return out;
}

// Lanes whose 32-bit index wraps between two of them: rare enough to take them one by one.
Value Emit::bent_address(const Address& a, const Value& lane) {
  Value index = ir.op("add", a.index, ir.element(Ir::lanes("i32", a.lanes), lane));
  Value wide = ir.resize(index, "i64", a.sign);
  if (a.scale != 1) wide = ir.op("mul", wide, i64(a.scale));
  return ir.op("add", wide, a.base);
}

std::vector<Value> Emit::bent_elements(const Address& a, int bits, int count, const Mask& m) {
  std::string type = fmt::format("i{}", bits);
  int64_t size = bits / 8;
  std::vector<std::string> slots;
  for (int i = 0; i < count; ++i) {
    slots.push_back(ir.array_slot(fmt::format("[32 x {}]", type), 32));
    ir.store(Ir::zero(type, true), slots.back(), 8);
  }
  each_lane(m, [&](const Value& lane) {
    Address one{.kind = Shape::kUniform, .base = bent_address(a, lane), .shared = a.shared};
    check(one, size * count, false,
          {.full = false, .lanes = ir.mask_of_bits(ir.op("shl", Ir::number("i32", 1), lane))});
    std::string p = ir.pointer(one.base);
    for (int i = 0; i < count; ++i) {
      Value to =
          ir.let("ptr", false, "getelementptr {}, ptr {}, i32 {}", type, slots[static_cast<size_t>(i)], lane.text);
      ir.store(ir.load(type, false, ir.offset(p, i * size), size), to.text, size);
    }
  });
  std::vector<Value> out;
  for (const std::string& s : slots) out.push_back(ir.load(type, true, s, 8));
  return out;
}

void Emit::store_bent(const Address& a, const std::vector<Value>& v, const Mask& m) {
  int64_t size = bits_of(v[0].type) / 8, all = size * static_cast<int64_t>(v.size());
  std::vector<std::string> slots;
  for (const Value& x : v) slots.push_back(spill(x));
  each_lane(m, [&](const Value& lane) {
    Address one{.kind = Shape::kUniform, .base = bent_address(a, lane), .shared = a.shared};
    Mask own{.full = false, .lanes = ir.mask_of_bits(ir.op("shl", Ir::number("i32", 1), lane))};
    check(one, all, true, own);
    std::string p = ir.pointer(one.base);
    for (size_t i = 0; i < v.size(); ++i) {
      ir.store(spilled(slots[i], v[i], lane), ir.offset(p, static_cast<int64_t>(i) * size), size);
    }
    mark_written(one, all, own);
  });
}

// One of two ways to the same values.
std::vector<Value> Emit::either(const Value& first, const std::string& type, int count,
                                const std::function<std::vector<Value>()>& likely,
                                const std::function<std::vector<Value>()>& other) {
  std::vector<std::string> slots;
  Value like{{}, type, true};
  for (int i = 0; i < count; ++i) slots.push_back(ir.slot(like.full()));
  std::string yes = ir.label("straight"), no = ir.label("bent"), done = ir.label("both");
  ir.branch_likely(first, yes, no);
  auto way = [&](const std::string& label, const std::function<std::vector<Value>()>& values) {
    ir.begin(label);
    std::vector<Value> v = values();
    for (int i = 0; i < count; ++i)
      ir.line("store {}, ptr {}", ir.splat(v[static_cast<size_t>(i)]).typed(), slots[static_cast<size_t>(i)]);
    ir.jump(done);
  };
  way(yes, likely);
  way(no, other);
  ir.begin(done);
  std::vector<Value> out;
  for (const std::string& s : slots) out.push_back(ir.let(type, true, "load {}, ptr {}", like.full(), s));
  return out;
}

// A variable on the stack at a constant distance: compilers read one before they know whether it has a value, and
// choose afterwards. Elements at an index they can't read ahead, since it may be past the end.
bool Emit::fixed_place(const Operand& o) {
  if (only_writer_.empty()) {
    only_writer_.assign(function.registers.size() + 1, -1);
    std::vector<int> writers(only_writer_.size(), 0);
    for (size_t i = 0; i < function.instructions.size(); ++i) {
      for (int32_t r : uses(function.instructions[i]).writes) {
        only_writer_[static_cast<size_t>(r)] = ++writers[static_cast<size_t>(r)] == 1 ? static_cast<int32_t>(i) : -1;
      }
    }
  }
  const Operand* at = &o;
  for (int steps = 0; at->reg != ptx::kNone && steps < 16; ++steps) {
    int32_t i = only_writer_[static_cast<size_t>(at->reg)];
    if (i < 0) return false;
    const ptx::Instruction& from = function.instructions[static_cast<size_t>(i)];
    bool moves = from.op == ptx::Op::k_mov || from.op == ptx::Op::k_cvta;
    bool adds = from.op == ptx::Op::k_add && from.operands[2].kind == ptx::OperandKind::kInteger;
    if (!moves && !adds) return false;
    at = &from.operands[1];
  }
  return at->symbol.kind == ptx::SymbolKind::kLocal;
}

void Emit::load() {
  if (in->op != ptx::Op::k_ld && in->op != ptx::Op::k_ldu) return unsupported();
  Type t = in->type();
  int bits = ptx::row(t).size(), count = count_of(*in);
  if (bits == 128) bits = 64, count = 2;
  bool sign = ptx::row(t).kind == TypeKind::kSigned;
  Address a = address(in->operands[1], in->space());
  ahead_ = in->space() == ptx::Space::kLocal && fixed_place(in->operands[1]);
  std::vector<Value> v = load_elements(a, bits, count, mask());
  ahead_ = false;
  const Operand& to = in->operands[0];
  if (ptx::row(t).size() == 128) {
    Value all = ir.op("or", ir.resize(v[0], "i128", false),
                      ir.op("shl", ir.resize(v[1], "i128", false), Ir::number("i128", 64)));
    return write(to, all);
  }
  for (int i = 0; i < count; ++i) {
    write_extended(to.kind == ptx::OperandKind::kVector ? to.parts[static_cast<size_t>(i)] : to,
                   v[static_cast<size_t>(i)], sign);
  }
}

// --- stores ---

void Emit::store() {
  if (in->op != ptx::Op::k_st) return unsupported();
  Type t = in->type();
  int bits = ptx::row(t).size(), count = count_of(*in);
  const Operand& from = in->operands[1];
  std::vector<Value> v;
  if (bits == 128) {
    Value all = read_bits(from, 128);
    v = {ir.resize(all, "i64", false), ir.resize(ir.op("lshr", all, Ir::number("i128", 64)), "i64", false)};
    bits = 64, count = 2;
  } else {
    for (int i = 0; i < count; ++i) {
      v.push_back(read_bits(from.kind == ptx::OperandKind::kVector ? from.parts[static_cast<size_t>(i)] : from, bits));
    }
  }
  store_elements(address(in->operands[0], in->space()), v, mask());
}

void Emit::store_elements(const Address& a, const std::vector<Value>& v, const Mask& m) {
  auto count = static_cast<int>(v.size());
  int bits = bits_of(v[0].type);
  int64_t size = bits / 8, all = size * count;
  int64_t align = std::min<int64_t>(all, 4);
  if (a.kind == Shape::kWide) {
    Value is;
    Address pattern = straight(a, is);
    if (!contiguous(pattern, all)) {
      Address varying{.kind = Shape::kVarying, .all = address_vector(a), .shared = a.shared};
      return store_elements(varying, v, m);
    }
    std::string yes = ir.label("straight"), no = ir.label("bent"), done = ir.label("both");
    ir.branch_likely(is, yes, no);
    ir.begin(yes);
    store_elements(pattern, v, m);
    ir.jump(done);
    ir.begin(no);
    store_bent(a, v, m);
    ir.jump(done);
    ir.begin(done);
    return;
  }
  check(a, all, true, m);
  if (a.kind == Shape::kUniform) {  // of several lanes, the last one's value stays
    Value lane;
    std::string p = ir.pointer(a.base);
    for (int i = 0; i < count; ++i) {
      Value x = v[static_cast<size_t>(i)];
      if (x.vector) {
        if (lane.empty()) {
          ir.declare("declare i32 @llvm.ctlz.i32(i32, i1)");
          Value zeros = ir.let("i32", false, "call i32 @llvm.ctlz.i32(i32 {}, i1 false)", mask_bits(m).text);
          lane = ir.op("and", ir.op("sub", Ir::number("i32", 31), zeros), Ir::number("i32", 31));
        }
        x = ir.element(x, lane);
      }
      ir.store(x, ir.offset(p, i * size), size);
    }
    return mark_written(a, all, m);
  }
  if (a.kind == Shape::kPattern && contiguous(a, all)) {
    std::string p = ir.pointer(a.lanes[0] ? ir.op("add", a.base, i64(a.lanes[0])) : a.base);
    Value row = ir.splat(v[0]);
    if (count > 1) row = interleaved(v);
    std::string type = fmt::format("<{} x {}>", 32 * count, row.type);
    if (m.full) {
      ir.line("store {} {}, ptr {}, align {}", type, row.text, p, align);
      return mark_written(a, all, m);
    }
    std::string whole = ir.label("whole"), part = ir.label("part"), done = ir.label("stored");
    ir.branch_likely(ir.compare("icmp eq", mask_bits(m), Ir::number("i32", 0xffffffff)), whole, part);
    ir.begin(whole);
    ir.line("store {} {}, ptr {}, align {}", type, row.text, p, align);
    mark_written(a, all, {.full = true});
    ir.jump(done);
    ir.begin(part);
    store_lanes(a, v, m);
    mark_written(a, all, m);
    ir.jump(done);
    ir.begin(done);
    return;
  }
  store_lanes(a, v, m);
  mark_written(a, all, m);
}

Value Emit::interleaved(const std::vector<Value>& v) {
  // Pairwise: {a, b, c, d} -> (a, b), (c, d) -> all, then one permutation.
  std::vector<std::pair<std::string, int>> rows;
  for (const Value& x : v) rows.emplace_back(ir.splat(x).text, 32);
  std::string type = v[0].type;
  while (rows.size() > 1) {
    std::vector<std::pair<std::string, int>> next;
    for (size_t i = 0; i + 1 < rows.size(); i += 2) {
      int n = rows[i].second;
      std::string which;
      for (int l = 0; l < 2 * n; ++l) which += fmt::format("{}i32 {}", l ? ", " : "", l);
      next.emplace_back(ir.let(type, true, "shufflevector <{0} x {1}> {2}, <{0} x {1}> {3}, <{4} x i32> <{5}>", n, type,
                               rows[i].first, rows[i + 1].first, 2 * n, which)
                            .text,
                        2 * n);
    }
    rows = next;
  }
  auto count = static_cast<int>(v.size());
  std::string which;
  for (int l = 0; l < 32; ++l) {
    for (int i = 0; i < count; ++i) which += fmt::format("{}i32 {}", which.empty() ? "" : ", ", i * 32 + l);
  }
  return ir.let(type, true, "shufflevector <{0} x {1}> {2}, <{0} x {1}> poison, <{0} x i32> <{3}>", 32 * count, type,
                rows[0].first, which);
}

void Emit::store_lanes(const Address& a, const std::vector<Value>& v, const Mask& m) {
  int64_t size = bits_of(v[0].type) / 8;
  std::string addresses = spill(address_vector(a));
  std::vector<std::string> slots;
  for (const Value& x : v) slots.push_back(spill(x));
  each_lane(m, [&](const Value& lane) {
    std::string p = ir.pointer(spilled(addresses, {"", "i64", true}, lane));
    for (size_t i = 0; i < v.size(); ++i) {
      ir.store(spilled(slots[i], v[i], lane), ir.offset(p, static_cast<int64_t>(i) * size), size);
    }
  });
}

}  // namespace quern::vgpu
