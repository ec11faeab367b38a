#include "target/ir_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace quern::target {
namespace {

std::string_view base_text(Base base) {
  switch (base) {
    case Base::i1: return "i1";
    case Base::i8: return "i8";
    case Base::i16: return "i16";
    case Base::i32: return "i32";
    case Base::i64: return "i64";
    case Base::f16: return "half";
    case Base::f32: return "float";
    case Base::f64: return "double";
    case Base::ptr: return "ptr";
  }
  return "";
}

int deepest(const std::vector<Value>& values) {
  int out = 0;
  for (const Value& v : values) out = std::max(out, v.depth);
  return out;
}

std::string arguments_text(const std::vector<Value>& values) {
  std::string out;
  for (const Value& v : values) out += (out.empty() ? "" : ", ") + v.typed();
  return out;
}

int64_t wrapped(Base base, uint64_t v) {
  int n = bits(base);
  if (n == 64) return static_cast<int64_t>(v);
  return static_cast<int64_t>(v << (64 - n)) >> (64 - n);
}

}  // namespace

std::string text(Type type) {
  return is_vector(type) ? fmt::format("<{} x {}>", type.lanes, base_text(type.base))
                         : std::string(base_text(type.base));
}

std::string suffix(Type type) {
  std::string_view name = base_text(type.base);
  switch (type.base) {
    case Base::f16: name = "f16"; break;
    case Base::f32: name = "f32"; break;
    case Base::f64: name = "f64"; break;
    case Base::ptr: name = "p0"; break;
    default: break;
  }
  return is_vector(type) ? fmt::format("v{}{}", type.lanes, name) : std::string(name);
}

int bits(Base base) {
  switch (base) {
    case Base::i1: return 1;
    case Base::i8: return 8;
    case Base::i16:
    case Base::f16: return 16;
    case Base::i32:
    case Base::f32: return 32;
    default: return 64;
  }
}

bool is_real(Type type) { return type.base == Base::f16 || type.base == Base::f32 || type.base == Base::f64; }

Base integer_of(int n) {
  switch (n) {
    case 1: return Base::i1;
    case 8: return Base::i8;
    case 16: return Base::i16;
    case 32: return Base::i32;
    default: return Base::i64;
  }
}

Value constant(Type type, int64_t value) {
  std::string number = type.base == Base::i1 ? (value ? "true" : "false") : std::to_string(value);
  if (is_vector(type)) number = fmt::format("splat ({} {})", base_text(type.base), number);
  return {number, type, 0, value};
}

Value real_constant(Type type, double value) {
  if (type.base == Base::f32) value = static_cast<float>(value);
  std::string number = fmt::format("0x{:016X}", std::bit_cast<uint64_t>(value));
  if (is_vector(type)) number = fmt::format("splat ({} {})", base_text(type.base), number);
  return {number, type, 0};
}

std::string Module::print() const {
  std::string out;
  for (const auto& [name, definition] : globals) out += definition + "\n";
  for (const auto& [name, helper] : helpers) out += helper;
  out += functions;
  for (const std::string& d : declarations) out += d + "\n";
  out += "attributes #0 = { nounwind }\n";
  return out;
}

Writer::Writer(Module& module, std::string header) : module_(module), header_(std::move(header)) {
  scopes_.push_back({.label = "entry"});
}

// --- without effect ---

Value Writer::placed(Type type, std::string body, int scope) {
  Value out{fresh(), type, scope};
  Scope& at = scopes_[static_cast<size_t>(scope)];
  at.text += "  " + out.name + " = " + body + "\n";
  at.seen.emplace(std::move(body), out);
  return out;
}

Value Writer::pure(Type type, std::string body, const std::vector<Value>& operands) {
  int scope = deepest(operands);
  for (int d = scope; d <= depth(); ++d) {
    const auto& seen = scopes_[static_cast<size_t>(d)].seen;
    if (auto found = seen.find(body); found != seen.end()) return found->second;
  }
  for (int d = depth(); d > scope; --d) {
    if (scopes_[static_cast<size_t>(d)].cold) scope = d;
  }
  return placed(type, std::move(body), scope);
}

Value Writer::pure(Type type, std::string body, std::initializer_list<Value> operands) {
  return pure(type, std::move(body), std::vector<Value>(operands));
}

Value Writer::binary(std::string_view op, const Value& a, const Value& b) {
  if (a.known && b.known) {
    auto x = static_cast<uint64_t>(*a.known), y = static_cast<uint64_t>(*b.known);
    std::optional<uint64_t> r;
    if (op == "add") r = x + y;
    if (op == "sub") r = x - y;
    if (op == "mul") r = x * y;
    if (op == "and") r = x & y;
    if (op == "or") r = x | y;
    if (op == "sdiv" && *b.known > 0) r = static_cast<uint64_t>(*a.known / *b.known);
    bool natural = *a.known >= 0 && *b.known > 0;
    if (op == "udiv" && natural) r = x / y;
    if (op == "urem" && natural) r = x % y;
    if (op == "srem" && *b.known > 0) r = static_cast<uint64_t>(*a.known % *b.known);
    if (r && a.type.base != Base::i1) return constant(a.type, wrapped(a.type.base, *r));
  }
  bool commutes = op == "add" || op == "mul" || op == "and" || op == "or";
  if (commutes && a.known && !b.known) return binary(op, b, a);
  if ((op == "add" || op == "sub" || op == "or" || op == "xor" || op == "shl") && b.is(0)) return a;
  if ((op == "mul" || op == "sdiv" || op == "udiv") && b.is(1)) return a;
  if (op == "mul" && b.is(0)) return b;
  if ((op == "srem" || op == "urem") && b.is(1)) return constant(a.type, 0);
  if (a.type.base == Base::i1 && op == "and" && b.known) return *b.known ? a : b;
  if (a.type.base == Base::i1 && op == "or" && b.known) return *b.known ? b : a;
  return pure(a.type, fmt::format("{} {}, {}", op, a.typed(), b.name), {a, b});
}

Value Writer::compare(std::string_view predicate, const Value& a, const Value& b) {
  if (a.known && b.known && predicate[0] == 's') {
    bool r = predicate == "slt"   ? *a.known < *b.known
             : predicate == "sle" ? *a.known <= *b.known
             : predicate == "sgt" ? *a.known > *b.known
                                  : *a.known >= *b.known;
    return constant(with(a.type, Base::i1), r);
  }
  return pure(with(a.type, Base::i1),
              fmt::format("{} {} {}, {}", is_real(a.type) ? "fcmp" : "icmp", predicate, a.typed(), b.name), {a, b});
}

Value Writer::convert(std::string_view op, const Value& a, Base to) {
  Type type = with(a.type, to);
  if (type == a.type) return a;
  if (a.known && (op == "sext" || op == "trunc" || op == "zext")) {
    auto v = static_cast<uint64_t>(*a.known);
    if (op == "zext" && bits(a.type.base) < 64) v &= (uint64_t{1} << bits(a.type.base)) - 1;
    if (op == "sext" && a.type.base == Base::i1) v = v ? ~uint64_t{0} : 0;
    if (to != Base::i1) return constant(type, wrapped(to, v));
  }
  return pure(type, fmt::format("{} {} to {}", op, a.typed(), text(type)), {a});
}

Value Writer::bitcast(const Value& a, Type to) {
  if (a.type == to) return a;
  return pure(to, fmt::format("bitcast {} to {}", a.typed(), text(to)), {a});
}

Value Writer::select(const Value& c, const Value& a, const Value& b) {
  if (c.known) return *c.known ? a : b;
  if (a.name == b.name) return a;
  return pure(a.type, fmt::format("select {}, {}, {}", c.typed(), a.typed(), b.typed()), {c, a, b});
}

Value Writer::intrinsic(std::string_view name, Type type, std::initializer_list<Value> arguments) {
  return call(fmt::format("llvm.{}.{}", name, suffix(type)), type, arguments);
}

Value Writer::call(std::string_view name, Type type, std::initializer_list<Value> arguments) {
  std::vector<Value> all(arguments);
  if (!module_.helpers.contains(std::string(name))) {
    std::string types;
    for (const Value& v : all) types += (types.empty() ? "" : ", ") + text(v.type);
    module_.declarations.insert(fmt::format("declare {} @{}({})", text(type), name, types));
  }
  return pure(type, fmt::format("call {} @{}({})", text(type), name, arguments_text(all)), all);
}

Value Writer::splat(const Value& scalar, int lanes) {
  if (lanes == 0 || scalar.type.lanes == lanes) return scalar;
  Type type{scalar.type.base, lanes};
  if (scalar.known) return constant(type, *scalar.known);
  if (lanes == kThreads) return {scalar.name, type, scalar.depth};
  if (scalar.name[0] != '%' && scalar.type.base != Base::ptr) {
    return {fmt::format("splat ({})", scalar.typed()), type, 0, scalar.known};
  }
  Value first = pure(type, fmt::format("insertelement {} poison, {}, i64 0", text(type), scalar.typed()), {scalar});
  return pure(type,
              fmt::format("shufflevector {}, {} poison, <{} x i32> zeroinitializer", first.typed(), text(type), lanes),
              {first});
}

Value Writer::extract(const Value& vector, int lane) {
  Type type{vector.type.base, 0};
  if (vector.known) return constant(type, *vector.known);
  if (vector.type.lanes == kThreads) return {vector.name, type, vector.depth};
  return pure(type, fmt::format("extractelement {}, i64 {}", vector.typed(), lane), {vector});
}

Value Writer::insert(const Value& vector, const Value& scalar, int lane) {
  if (vector.type.lanes == kThreads) {
    Value here = compare("eq", iota(Base::i32, kThreads), constant({Base::i32, kThreads}, lane));
    return select(here, splat(scalar, kThreads), vector);
  }
  return pure(vector.type, fmt::format("insertelement {}, {}, i64 {}", vector.typed(), scalar.typed(), lane),
              {vector, scalar});
}

Value Writer::shuffle(const Value& a, const Value& b, const std::vector<int>& lanes) {
  std::string mask;
  for (int l : lanes) mask += fmt::format("{}i32 {}", mask.empty() ? "" : ", ", l);
  Type type{a.type.base, static_cast<int>(lanes.size())};
  return pure(type, fmt::format("shufflevector {}, {}, <{} x i32> <{}>", a.typed(), b.typed(), lanes.size(), mask),
              {a, b});
}

Value Writer::iota(Base base, int lanes) {
  if (lanes == kThreads) return convert("sext", {"%lane", {Base::i32, kThreads}}, base);
  std::string list;
  for (int i = 0; i < lanes; ++i) list += fmt::format("{}{} {}", i ? ", " : "", base_text(base), i);
  return {"<" + list + ">", {base, lanes}, 0};
}

Value Writer::any(const Value& lanes) {
  if (!is_vector(lanes.type)) return {lanes.name, {Base::i1}, lanes.depth, lanes.known};
  return call("llvm.vector.reduce.or." + suffix(lanes.type), {Base::i1}, {lanes});
}

Value Writer::neg(const Value& a) {
  if (is_real(a.type)) return pure(a.type, "fneg " + a.typed(), {a});
  return sub(constant(a.type, 0), a);
}

Value Writer::offset(const Value& pointer, const Value& bytes) {
  if (bytes.is(0) && bytes.type.lanes == pointer.type.lanes) return pointer;
  Type type{Base::ptr, std::max(pointer.type.lanes, bytes.type.lanes)};
  return pure(type, fmt::format("getelementptr i8, {}, {}", pointer.typed(), bytes.typed()), {pointer, bytes});
}

// --- memory ---

Value Writer::memory(Type type, std::string body, int operand_depth, bool movable) {
  if (!movable) return effect(type, std::move(body));
  int scope = depth();
  while (scope > operand_depth && !scopes_[static_cast<size_t>(scope)].barrier &&
         !scopes_[static_cast<size_t>(scope)].cold) {
    --scope;
  }
  for (int d = operand_depth; d <= depth(); ++d) {
    const auto& seen = scopes_[static_cast<size_t>(d)].seen;
    if (auto found = seen.find(body); found != seen.end()) return found->second;
  }
  return placed(type, std::move(body), scope);
}

// Where each thread's own element is, if the pointer is where the first one's is.
Value Writer::side_by_side(Type element, const Value& pointer) {
  if (element.lanes != kThreads || pointer.type.lanes == kThreads) return pointer;
  int64_t bytes = (target::bits(element.base) + 7) / 8;
  return offset(pointer, mul(iota(Base::i64, kThreads), constant({Base::i64, kThreads}, bytes)));
}

Value Writer::load(Type type, const Value& whole, int align, bool movable) {
  Value pointer = side_by_side(type, whole);
  return memory(type, fmt::format("load {}, {}, align {}", text(type), pointer.typed(), align), pointer.depth, movable);
}

Value Writer::load_masked(Type type, const Value& pointer, int align, const Value& mask, bool movable) {
  if (type.lanes == kThreads) {
    module_.globals.emplace("nothing", "@nothing = private addrspace(1) constant i64 0, align 8");
    Value nothing{"addrspacecast (ptr addrspace(1) @nothing to ptr)", {Base::ptr, kThreads}};
    return load(type, select(mask, side_by_side(type, pointer), nothing), align, movable);
  }
  std::string name = fmt::format("llvm.masked.load.{}.p0", suffix(type));
  module_.declarations.insert(
      fmt::format("declare {} @{}(ptr, <{} x i1>, {})", text(type), name, type.lanes, text(type)));
  return memory(type,
                fmt::format("call {} @{}(ptr align {} {}, {}, {} zeroinitializer)", text(type), name, align,
                            pointer.name, mask.typed(), text(type)),
                std::max(pointer.depth, mask.depth), movable);
}

Value Writer::gather(Type type, const Value& pointers, int align, bool movable) {
  if (type.lanes == kThreads) return load(type, pointers, align, movable);
  std::string name = fmt::format("llvm.masked.gather.{}.v{}p0", suffix(type), type.lanes);
  module_.declarations.insert(
      fmt::format("declare {} @{}(<{} x ptr>, <{} x i1>, {})", text(type), name, type.lanes, type.lanes, text(type)));
  return memory(type,
                fmt::format("call {} @{}(<{} x ptr> align {} {}, <{} x i1> splat (i1 true), {} zeroinitializer)",
                            text(type), name, type.lanes, align, pointers.name, type.lanes, text(type)),
                pointers.depth, movable);
}

void Writer::store(const Value& value, const Value& whole, int align) {
  Value pointer = side_by_side(value.type, whole);
  effect(fmt::format("store {}, {}, align {}", value.typed(), pointer.typed(), align));
}

void Writer::store_masked(const Value& value, const Value& pointer, int align, const Value& mask) {
  if (value.type.lanes == kThreads) {
    Branch b = open_if(mask);
    store(value, pointer, align);
    close_if(b);
    return;
  }
  std::string name = fmt::format("llvm.masked.store.{}.p0", suffix(value.type));
  module_.declarations.insert(
      fmt::format("declare void @{}({}, ptr, <{} x i1>)", name, text(value.type), value.type.lanes));
  effect(fmt::format("call void @{}({}, ptr align {} {}, {})", name, value.typed(), align, pointer.name, mask.typed()));
}

Value Writer::stack(int64_t bytes) {
  std::string body = fmt::format("alloca [{} x i8], align 64", bytes);
  const auto& seen = scopes_[0].seen;
  auto found = seen.find(body);
  return found != seen.end() ? found->second : placed({Base::ptr}, std::move(body), 0);
}

Value Writer::effect(Type type, std::string body) {
  Value out{fresh(), type, depth()};
  scopes_.back().text += "  " + out.name + " = " + body + "\n";
  return out;
}

void Writer::effect(std::string line) { scopes_.back().text += "  " + line + "\n"; }

// --- control ---

void Writer::push(std::string label, bool barrier, bool cold) {
  scopes_.push_back({.label = std::move(label), .barrier = barrier, .cold = cold});
}

Writer::Scope Writer::pop() {
  Scope out = std::move(scopes_.back());
  scopes_.pop_back();
  return out;
}

Writer::Loop Writer::open_loop(const Value& low, const Value& high, const Value& step, bool certain) {
  Loop loop{.low = low, .high = high, .step = step, .certain = certain};
  loop.pre = label("pre"), loop.head = label("loop"), loop.after = label("after");
  push(loop.pre, !certain, false);
  push(loop.head, false, false);
  loop.index = {fresh(), low.type, depth()};
  return loop;
}

Value Writer::carry(Loop& loop, const Value& init) {
  loop.phis.push_back({.phi = {fresh(), init.type, depth()}, .init = init});
  return loop.phis.back().phi;
}

std::vector<Value> Writer::close_loop(Loop& loop) {
  Value next = effect(loop.index.type, fmt::format("add nsw {}, {}", loop.index.typed(), loop.step.name));
  Value more = effect({Base::i1}, fmt::format("icmp slt {}, {}", next.typed(), loop.high.name));
  std::string exit = label("exit");
  effect(fmt::format("br i1 {}, label %{}, label %{}", more.name, loop.head, exit));
  Scope body = pop(), pre = pop();
  Scope& at = scopes_.back();
  if (loop.certain) {
    at.text += fmt::format("  br label %{}\n", loop.pre);
  } else {
    Value any = effect({Base::i1}, fmt::format("icmp slt {}, {}", loop.low.typed(), loop.high.name));
    at.text += fmt::format("  br i1 {}, label %{}, label %{}\n", any.name, loop.pre, loop.after);
  }
  at.text += fmt::format("{}:\n{}  br label %{}\n{}:\n", loop.pre, pre.text, loop.head, loop.head);
  auto phi = [&](const Value& v, const Value& init, const std::string& value) {
    at.text += fmt::format("  {} = phi {} [ {}, %{} ], [ {}, %{} ]\n", v.name, text(v.type), init.name, pre.label,
                           value, body.label);
  };
  phi(loop.index, loop.low, next.name);
  for (const Loop::Phi& p : loop.phis) phi(p.phi, p.init, p.next.name);
  at.text += fmt::format("{}{}:\n  br label %{}\n{}:\n", body.text, exit, loop.after, loop.after);
  std::vector<Value> out;
  for (const Loop::Phi& p : loop.phis) {
    Value v{fresh(), p.phi.type, depth()};
    std::string from_start = loop.certain ? "" : fmt::format("[ {}, %{} ], ", p.init.name, at.label);
    at.text += fmt::format("  {} = phi {} {}[ {}, %{} ]\n", v.name, text(v.type), from_start, p.next.name, exit);
    out.push_back(v);
  }
  at.label = loop.after;
  return out;
}

Writer::Branch Writer::open_if(const Value& condition, bool cold) {
  Branch b{.condition = condition};
  b.then = label("then"), b.otherwise = label("else"), b.after = label("fi");
  push(b.then, true, cold);
  return b;
}

void Writer::open_else(Branch& b, std::vector<Value> then_values) {
  bool cold = scopes_.back().cold;
  Scope then = pop();
  b.then_text = std::move(then.text), b.then_end = then.label, b.then_values = std::move(then_values);
  b.in_else = true;
  push(b.otherwise, true, cold);
}

std::vector<Value> Writer::close_if(Branch& b, std::vector<Value> values) {
  if (!b.in_else) open_else(b, {});
  Scope otherwise = pop();
  Scope& at = scopes_.back();
  at.text += fmt::format("  br i1 {}, label %{}, label %{}\n{}:\n{}  br label %{}\n{}:\n{}  br label %{}\n{}:\n",
                         b.condition.name, b.then, b.otherwise, b.then, b.then_text, b.after, b.otherwise,
                         otherwise.text, b.after, b.after);
  std::vector<Value> out;
  for (size_t i = 0; i < values.size(); ++i) {
    Value v{fresh(), values[i].type, depth()};
    at.text += fmt::format("  {} = phi {} [ {}, %{} ], [ {}, %{} ]\n", v.name, text(v.type), b.then_values[i].name,
                           b.then_end, values[i].name, otherwise.label);
    out.push_back(v);
  }
  at.label = b.after;
  return out;
}

void Writer::finish(std::string terminator) {
  Scope entry = pop();
  module_.functions += fmt::format("{} #0 {{\nentry:\n{}  {}\n}}\n", header_, entry.text, terminator);
}

}  // namespace quern::target
