// 4-bit elements, two a byte, and `+=`: accesses that read before they write.
#include <fmt/format.h>

#include "target/vector/emitter.h"

namespace quern::target {

// Is the element of lane 0 surely the lower one of its byte?
bool Emitter::even(const Linear& at) const {
  if (at.constant % 2 != 0) return false;
  for (const auto& [term, factor] : at.terms) {
    if (factor.known && *factor.known % 2 == 0) continue;
    if (term.known && *term.known % 2 == 0) continue;
    bool aligned = false;
    for (const AxisNow& now : axes_) {
      aligned |= now.in_nest && now.rel.name == term.name && now.align % 2 == 0;
    }
    if (!aligned) return false;
  }
  return true;
}

Value Emitter::load_nibbles(const Value& base, const Linear& at, std::optional<Value> mask, bool movable) {
  bool pairs = at.lane.is(1) && !at.vector && is_vector({Base::i8, width_}) && even(at);
  if (pairs) {
    Value p = w_.offset(base, w_.binary("ashr", scalar_of(at), i64(1)));
    Type bytes{Base::i8, lanes_ / 2};
    Value v;
    std::vector<int> lower, upper, woven;
    for (int i = 0; i < lanes_ / 2; ++i) {
      lower.push_back(2 * i), upper.push_back(2 * i + 1);
      woven.push_back(i), woven.push_back(i + lanes_ / 2);
    }
    if (mask) {
      mask = w_.splat(*mask, lanes_);
      Value any = w_.binary("or", w_.shuffle(*mask, *mask, lower), w_.shuffle(*mask, *mask, upper));
      v = w_.load_masked(bytes, p, 1, any, movable);
    } else {
      v = w_.load(bytes, p, 1, movable);
    }
    Value low = w_.binary("and", v, constant(bytes, 15)), high = w_.binary("lshr", v, constant(bytes, 4));
    Value out = w_.shuffle(low, high, woven);
    return mask ? w_.select(*mask, out, constant(out.type, 0)) : out;
  }
  Value index = value_of(at);
  Value byte = w_.binary("ashr", index, constant(index.type, 1));
  Linear where;
  if (index.type.lanes > 0) {
    where.vector = byte;
  } else {
    where.terms.emplace_back(byte, i64(1));
  }
  Value v = load_at(ScalarType::u8, base, where, mask, movable);
  Value shift = w_.binary("shl", w_.binary("and", index, constant(index.type, 1)), constant(index.type, 2));
  shift = w_.splat(w_.convert("trunc", shift, Base::i8), v.type.lanes);
  return w_.binary("and", w_.binary("lshr", v, shift), constant(v.type, 15));
}

void Emitter::store_nibbles(const Value& base, const Linear& at, Value v, std::optional<Value> mask) {
  if (!mask && is_vector(v.type) && at.lane.is(1) && !at.vector && even(at)) {
    std::vector<int> lower, upper;
    for (int i = 0; i < lanes_ / 2; ++i) lower.push_back(2 * i), upper.push_back(2 * i + 1);
    Value high = w_.shuffle(v, v, upper);
    Value bytes = w_.binary("or", w_.shuffle(v, v, lower), w_.binary("shl", high, constant(high.type, 4)));
    w_.store(bytes, w_.offset(base, w_.binary("ashr", scalar_of(at), i64(1))), 1);
    return;
  }
  // The other half of the byte may be another thread's: it is never written, not even with what was there.
  auto one = [&](const Value& index, const Value& nibble) {
    Value p = w_.offset(base, w_.binary("ashr", index, i64(1)));
    Value shift = w_.convert("trunc", w_.binary("shl", w_.binary("and", index, i64(1)), i64(2)), Base::i8);
    Value keep = w_.binary("lshr", constant({Base::i8}, -16), shift);  // 0xf0 or 0x0f
    w_.effect({Base::i8}, fmt::format("atomicrmw and ptr {}, {} monotonic", p.name, keep.typed()));
    w_.effect({Base::i8},
              fmt::format("atomicrmw or ptr {}, {} monotonic", p.name, w_.binary("shl", nibble, shift).typed()));
  };
  if (v.type.lanes == 0) {
    std::optional<Writer::Branch> b;
    if (has_.threads()) mask = both_hold(mask, first_thread());
    if (mask) b = w_.open_if(*mask);
    one(scalar_of(at), v);
    if (b) w_.close_if(*b);
    return;
  }
  Value indices = w_.splat(value_of(at), width_);
  each_lane(Linear{}, base, 1, mask,
            [&](const Value&, int lane) { one(w_.extract(indices, lane), w_.extract(v, lane)); });
}

namespace {

// A sum of two elements in their registers' form.
Value plus(Writer& w, const Features& has, ScalarType type, const Value& a, const Value& b) {
  if (is_real(a.type)) return w.binary("fadd", a, b);
  if (kind(type) != Kind::kReal) {
    Value out = w.add(a, b);
    return row(type).bits == 4 ? w.binary("and", out, constant(out.type, 15)) : out;
  }
  Value x = convert(w, has, a, type, ScalarType::f32), y = convert(w, has, b, type, ScalarType::f32);
  return convert(w, has, w.binary("fadd", x, y), ScalarType::f32, type);
}

// i16 @plus_f16(i16, i16): the sum of two elements.
std::string plus_helper(Module& module, const Features& has, ScalarType type) {
  std::string name = fmt::format("plus_{}", quern::name(type));
  if (!module.helpers.contains(name)) {
    module.helpers[name] = "";
    Type t{register_base(type)};
    Writer w(module, fmt::format("define internal {0} @{1}({0} %a, {0} %b)", text(t), name));
    Value sum = plus(w, has, type, {"%a", t}, {"%b", t});
    w.finish(fmt::format("ret {} {}", text(t), sum.name));
  }
  return name;
}

// void @atomic_plus_f16(ptr, i16): adds to an element that other threads may add to as well.
std::string atomic_plus(Module& module, const Features& has, ScalarType type) {
  std::string name = fmt::format("atomic_plus_{}", quern::name(type));
  if (module.helpers.contains(name)) return name;
  Type t{register_base(type)};
  module.helpers[name] = fmt::format(
      "define internal void @{0}(ptr %p, {1} %v) #0 {{\nentry:\n  %first = load atomic {1}, ptr %p monotonic, align "
      "{3}\n"
      "  br label %loop\nloop:\n  %old = phi {1} [ %first, %entry ], [ %seen, %loop ]\n"
      "  %new = call {1} @{2}({1} %old, {1} %v)\n"
      "  %pair = cmpxchg ptr %p, {1} %old, {1} %new monotonic monotonic\n"
      "  %seen = extractvalue {{ {1}, i1 }} %pair, 0\n  %done = extractvalue {{ {1}, i1 }} %pair, 1\n"
      "  br i1 %done, label %end, label %loop\nend:\n  ret void\n}}\n",
      name, text(t), plus_helper(module, has, type), bits(t.base) / 8);
  return name;
}

// void @atomic_plus_nibble_u4(ptr tensor, i64 element, i8): the same of 4 bits, in the word of 32 that holds them.
std::string atomic_plus_nibble(Module& module, const Features& has, ScalarType type) {
  std::string name = fmt::format("atomic_plus_nibble_{}", quern::name(type));
  if (module.helpers.contains(name)) return name;
  module.helpers[name] = fmt::format(
      R"(define internal void @{}(ptr %base, i64 %element, i8 %v) #0 {{
entry:
  %number = ashr i64 %element, 3
  %p = getelementptr i32, ptr %base, i64 %number
  %in = and i64 %element, 7
  %bits = shl i64 %in, 2
  %shift = trunc i64 %bits to i32
  %mask = shl i32 15, %shift
  %others = xor i32 %mask, -1
  %first = load atomic i32, ptr %p monotonic, align 4
  br label %loop
loop:
  %old = phi i32 [ %first, %entry ], [ %seen, %loop ]
  %down = lshr i32 %old, %shift
  %nibble = and i32 %down, 15
  %a = trunc i32 %nibble to i8
  %sum = call i8 @{}(i8 %a, i8 %v)
  %wide = zext i8 %sum to i32
  %kept = and i32 %wide, 15
  %up = shl i32 %kept, %shift
  %rest = and i32 %old, %others
  %new = or i32 %rest, %up
  %pair = cmpxchg ptr %p, i32 %old, i32 %new monotonic monotonic
  %seen = extractvalue {{ i32, i1 }} %pair, 0
  %done = extractvalue {{ i32, i1 }} %pair, 1
  br i1 %done, label %end, label %loop
end:
  ret void
}}
)",
      name, plus_helper(module, has, type));
  return name;
}

}  // namespace

void Emitter::add_at(const tile::Store& s, const Value& base, const Linear& at, Value v, std::optional<Value> mask) {
  ScalarType type = program_.parameters[static_cast<size_t>(s.parameter)].type;
  if (row(type).bits < 8 && has_.threads()) {
    std::string plus = atomic_plus_nibble(w_.module(), has_, type);
    auto one = [&](const Value& index, const Value& x) {
      w_.effect(fmt::format("call void @{}(ptr {}, {}, {})", plus, base.name, index.typed(), x.typed()));
    };
    if (v.type.lanes == 0) mask = both_hold(mask, first_thread());
    std::optional<Writer::Branch> b;
    if (mask) b = w_.open_if(w_.any(*mask));
    one(w_.extract(value_of(at), 0), w_.extract(v, 0));
    if (b) w_.close_if(*b);
    return;
  }
  if (row(type).bits < 8) {
    if (s.atomic) throw NotLaid{"an atomic addition to elements of 4 bits"};
    if (v.type.lanes == 0) {
      store_nibbles(base, at, plus(w_, has_, type, load_nibbles(base, at, mask, false), v), mask);
      return;
    }
    Value indices = w_.splat(value_of(at), width_);
    each_lane(Linear{}, base, 1, mask, [&](const Value&, int lane) {
      Linear one{.terms = {{w_.extract(indices, lane), i64(1)}}};
      Value old = load_nibbles(base, one, std::nullopt, false);
      store_nibbles(base, one, plus(w_, has_, type, old, w_.extract(v, lane)), std::nullopt);
    });
    return;
  }
  int bytes = bits(memory_base(type)) / 8;
  bool side_by_side = v.type.lanes == 0 || (at.lane.is(1) && !at.vector);
  bool atomic = s.atomic || (has_.threads() && !(side_by_side && of_one_warp(s)));
  if (!atomic && side_by_side) {
    Value old = load_at(type, base, at, mask, false);
    store_at(type, base, at, plus(w_, has_, type, old, v), mask);
    return;
  }
  auto one = [&](const Value& p, const Value& x) {
    if (!atomic) {
      Value old = w_.load(x.type, p, bytes, false);
      w_.store(plus(w_, has_, type, old, x), p, bytes);
    } else if (is_real(x.type) || kind(type) == Kind::kInt) {
      w_.effect(x.type,
                fmt::format("atomicrmw {} ptr {}, {} monotonic", is_real(x.type) ? "fadd" : "add", p.name, x.typed()));
    } else {
      w_.effect(fmt::format("call void @{}(ptr {}, {})", atomic_plus(w_.module(), has_, type), p.name, x.typed()));
    }
  };
  if (v.type.lanes == 0) {
    std::optional<Writer::Branch> b;
    if (has_.threads()) mask = both_hold(mask, first_thread());
    if (mask) b = w_.open_if(*mask);
    one(pointer_to(base, at, bytes), v);
    if (b) w_.close_if(*b);
    return;
  }
  each_lane(at, base, bytes, mask, [&](const Value& p, int lane) { one(p, w_.extract(v, lane)); });
}

}  // namespace quern::target
