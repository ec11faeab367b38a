// What gives values in a random program: operations, conversions, loads, calls.
#include "program_function.h"

namespace quern::oracle {

std::string Function::call(std::string_view type, std::string_view name, const std::vector<std::string>& arguments) {
  return let("call {} @{}({})", type, name, fmt::join(arguments, ", "));
}

// All operands and the result of one type.
std::string Function::intrinsic(std::string_view what, Type t, const std::vector<std::string>& v,
                                std::string_view last) {
  std::vector<std::string> arguments, types;
  for (const std::string& x : v) {
    arguments.push_back(fmt::format("{} {}", name(t), x));
    types.push_back(std::string(name(t)));
  }
  if (!last.empty()) arguments.push_back(std::string(last)), types.push_back("i1");
  std::string full = fmt::format("llvm.{}.{}", what, suffix(t));
  declared_.insert(fmt::format("declare {} @{}({})\n", name(t), full, fmt::join(types, ", ")));
  return call(name(t), full, arguments);
}

std::string Function::constant(Type t) {
  if (real(t)) {
    static constexpr std::array<std::string_view, 12> kReals = {"0.0",
                                                                "-0.0",
                                                                "1.0",
                                                                "-1.0",
                                                                "0.5",
                                                                "3.0",
                                                                "-7.0",
                                                                "0x7FF0000000000000",
                                                                "0x36A0000000000000",
                                                                "1.0e+10",
                                                                "0x47EFFFFFE0000000",
                                                                "0x3810000000000000"};
    return std::string(any(kReals));
  }
  uint64_t v = random_();
  switch (below(4)) {
    case 0: return std::to_string(static_cast<int64_t>(v % 33) - 16);
    case 1: v = uint64_t{1} << v % 64; break;
    case 2: v = (uint64_t{1} << v % 64) - 1; break;
    default: break;
  }
  return t == Type::kI32 ? std::to_string(static_cast<int32_t>(v)) : std::to_string(static_cast<int64_t>(v));
}

std::string Function::leaf(Type t) {
  if (chance(5)) return constant(t);
  if (chance(6)) return let("load {}, ptr {}, align {}", name(t), address(t), bits(t) / 8);
  return let("load {}, ptr %{}.{}", name(t), suffix(t), below(kVariables));
}

// Of an element of an array in the frame, or of what the caller gave; or of one or the other as the lane has it.
std::string Function::address(Type t) {
  std::string frame = fmt::format("%array.{}", suffix(t));
  std::string of = std::array<std::string, 3>{frame, "%memory", "%near"}[below(3)];
  std::string at = let("and i32 {}, {}", value(Type::kI32, 0), (of == frame ? kArray : kGiven * 8 / bits(t)) - 1);
  if (of != frame && chance(4)) {
    static constexpr std::array<std::string_view, 3> kOthers = {"%memory", "%near", "%array.i64"};
    std::string c = condition(0);
    of = let("select i1 {}, ptr {}, ptr {}", c, of, any(kOthers));
  }
  return let("getelementptr {}, ptr {}, i32 {}", name(t), of, at);
}

// Any aligned place in one of the memories, of the lane's own choice.
std::string Function::place(int alignment) {
  static constexpr std::array<std::string_view, 3> kAll = {"%memory", "%near", "%array.i64"};
  std::string of(any(kAll));
  if (chance(3)) {
    std::string c = condition(0);
    of = let("select i1 {}, ptr {}, ptr {}", c, of, any(kAll));
  }
  std::string at = let("and i32 {}, {}", value(Type::kI32, 0), kGiven - alignment);
  return let("getelementptr i8, ptr {}, i32 {}", of, at);
}

std::string Function::narrow_load(Type t) {
  bool byte = chance(2);
  std::string p = place(byte ? 1 : 2);
  std::string v = let("load {}, ptr {}, align {}", byte ? "i8" : "i16", p, byte ? 1 : 2);
  return let("{} {} {} to {}", chance(2) ? "sext" : "zext", byte ? "i8" : "i16", v, name(t));
}

// Loads and stores of several elements at once, and of parts of words.
void Function::vectors() {
  if (chance(3)) {
    bool byte = chance(2);
    std::string v = let("trunc i32 {} to {}", value(Type::kI32, 1), byte ? "i8" : "i16");
    std::string p = place(byte ? 1 : 2);
    return line("store {} {}, ptr {}, align {}", byte ? "i8" : "i16", v, p, byte ? 1 : 2);
  }
  struct Kind {
    std::string_view type, element;
    int bytes;
  };
  static constexpr std::array<Kind, 5> kKinds = {Kind{"<2 x i32>", "i32", 8}, Kind{"<4 x i32>", "i32", 16},
                                                 Kind{"<2 x i64>", "i64", 16}, Kind{"<4 x i8>", "i8", 4},
                                                 Kind{"<4 x i16>", "i16", 8}};
  const Kind& k = kKinds[below(kKinds.size())];
  std::string from = place(k.bytes), v = let("load {}, ptr {}, align {}", k.type, from, k.bytes);
  static constexpr std::array<std::string_view, 4> kPlain = {"add", "sub", "xor", "mul"};
  std::string other = place(k.bytes), w = let("load {}, ptr {}, align {}", k.type, other, k.bytes);
  v = let("{} {} {}, {}", any(kPlain), k.type, v, w);
  if (k.element == "i32" || k.element == "i64") {
    std::string one = value(k.element == "i32" ? Type::kI32 : Type::kI64, 1);
    v = let("insertelement {} {}, {} {}, i32 1", k.type, v, k.element, one);
  }
  std::string to = place(k.bytes);
  line("store {} {}, ptr {}, align {}", k.type, v, to, k.bytes);
}

std::string Function::value(Type t, int depth) {
  if (depth <= 0 || chance(10)) return leaf(t);
  if (chance(9)) return converted(t, depth - 1);
  if (chance(9)) {
    std::string c = condition(depth - 1), a = value(t, depth - 1), b = value(t, depth - 1);
    return let("select i1 {}, {} {}, {} {}", c, name(t), a, name(t), b);
  }
  if (chance(24)) return called(t, depth - 1);
  return real(t) ? real_value(t, depth - 1) : integer(t, depth - 1);
}

std::string Function::integer(Type t, int depth) {
  static constexpr std::array<std::string_view, 6> kPlain = {"add", "sub", "mul", "and", "or", "xor"};
  static constexpr std::array<std::string_view, 3> kShift = {"shl", "lshr", "ashr"};
  static constexpr std::array<std::string_view, 8> kTwo = {"smin",     "smax",     "umin",     "umax",
                                                           "uadd.sat", "sadd.sat", "usub.sat", "ssub.sat"};
  static constexpr std::array<std::string_view, 3> kOne = {"ctpop", "bitreverse", "bswap"};
  std::string a = value(t, depth);
  auto typed = [&](std::string_view op, const std::string& x, const std::string& y) {
    return let("{} {} {}, {}", op, name(t), x, y);
  };
  switch (below(15)) {
    default: return typed(any(kPlain), a, value(t, depth));
    case 0: return typed(any(kShift), a, typed("and", value(t, depth), std::to_string(bits(t) - 1)));
    case 1: return typed(chance(2) ? "udiv" : "urem", a, typed("or", value(t, depth), "1"));
    case 2: {
      std::string b = typed("or", value(t, depth), "1");
      std::string minus = let("icmp eq {} {}, -1", name(t), b);
      b = let("select i1 {}, {} 3, {} {}", minus, name(t), name(t), b);
      return typed(chance(2) ? "sdiv" : "srem", a, b);
    }
    case 3: return typed(chance(2) ? "sdiv" : "urem", a, std::to_string(2 + below(1000)));
    case 4: return intrinsic(any(kTwo), t, {a, value(t, depth)});
    case 5: return intrinsic(any(kOne), t, {a});
    case 6: return intrinsic(chance(2) ? "ctlz" : "cttz", t, {a}, "i1 false");
    case 7: return intrinsic(chance(2) ? "fshl" : "fshr", t, {a, value(t, depth), value(t, depth)});
    case 8: return intrinsic("abs", t, {a}, "i1 false");
    case 9: {  // by way of fewer bits
      std::string_view narrow = chance(2) ? "i8" : "i16";
      std::string n = let("trunc {} {} to {}", name(t), a, narrow);
      if (chance(2)) n = let("{} {} {}, {}", any(kPlain), narrow, n, below(100));
      return let("{} {} {} to {}", chance(2) ? "sext" : "zext", narrow, n, name(t));
    }
    case 10: {  // the upper half of a product
      int w = bits(t) * 2;
      std::string_view extend = chance(2) ? "sext" : "zext";
      std::string x = let("{} {} {} to i{}", extend, name(t), a, w);
      std::string y = let("{} {} {} to i{}", extend, name(t), value(t, depth), w);
      std::string p = let("mul i{} {}, {}", w, x, y);
      return let("trunc i{} {} to {}", w, let("lshr i{} {}, {}", w, p, bits(t)), name(t));
    }
    case 11:
      return bits(t) == 32 ? bits_of(Type::kF32, value(Type::kF32, depth))
                           : bits_of(Type::kF64, value(Type::kF64, depth));
  }
}

std::string Function::real_value(Type t, int depth) {
  static constexpr std::array<std::string_view, 4> kPlain = {"fadd", "fsub", "fmul", "fdiv"};
  static constexpr std::array<std::string_view, 4> kWhole = {"floor", "ceil", "trunc", "roundeven"};
  std::string a = value(t, depth);
  switch (below(12)) {
    default: return let("{} {} {}, {}", any(kPlain), name(t), a, value(t, depth));
    case 0: return let("fneg {} {}", name(t), a);
    case 1: return intrinsic("fabs", t, {a});
    case 2: return intrinsic("sqrt", t, {a});
    case 3: return intrinsic("fma", t, {a, value(t, depth), value(t, depth)});
    case 4: return intrinsic("copysign", t, {a, number_or_one(t, value(t, depth))});
    case 5: return intrinsic(any(kWhole), t, {a});
    case 6:
      if (t == Type::kF64) return let("fadd double {}, 1.0", a);
      return intrinsic(chance(2) ? "minimum" : "maximum", t, {a, value(t, depth)});
    case 7: return let("bitcast i{} {} to {}", bits(t), value(bits(t) == 32 ? Type::kI32 : Type::kI64, depth), name(t));
  }
}

std::string Function::converted(Type to, int depth) {
  Type from = kTypes[below(kTypes.size())];
  std::string v = value(from, depth);
  if (from == to) return v;
  if (!real(from) && !real(to)) {
    if (bits(from) > bits(to)) return let("trunc {} {} to {}", name(from), v, name(to));
    return let("{} {} {} to {}", chance(2) ? "sext" : "zext", name(from), v, name(to));
  }
  if (real(from) && real(to)) {
    return let("{} {} {} to {}", bits(from) > bits(to) ? "fptrunc" : "fpext", name(from), v, name(to));
  }
  if (real(to)) return let("{} {} {} to {}", chance(2) ? "sitofp" : "uitofp", name(from), v, name(to));
  std::string full = fmt::format("llvm.{}.sat.{}.{}", chance(2) ? "fptosi" : "fptoui", suffix(to), suffix(from));
  declared_.insert(fmt::format("declare {} @{}({})\n", name(to), full, name(from)));
  return call(name(to), full, {fmt::format("{} {}", name(from), v)});
}

std::string Function::condition(int depth) {
  static constexpr std::array<std::string_view, 10> kInteger = {"eq",  "ne",  "slt", "sle", "sgt",
                                                                "sge", "ult", "ule", "ugt", "uge"};
  static constexpr std::array<std::string_view, 14> kReal = {"oeq", "ogt", "oge", "olt", "ole", "one", "ord",
                                                             "ueq", "ugt", "uge", "ult", "ule", "une", "uno"};
  if (depth > 0 && chance(6)) {
    std::string a = condition(depth - 1), b = condition(depth - 1);
    static constexpr std::array<std::string_view, 3> kJoin = {"and", "or", "xor"};
    return let("{} i1 {}, {}", any(kJoin), a, b);
  }
  Type t = kTypes[below(kTypes.size())];
  std::string a = value(t, depth), b = value(t, depth);
  if (real(t)) return let("fcmp {} {} {}, {}", any(kReal), name(t), a, b);
  return let("icmp {} {} {}, {}", any(kInteger), name(t), a, b);
}

// NaNs are one NaN.
std::string Function::bits_of(Type t, const std::string& v) {
  std::string nan = let("fcmp uno {} {}, {}", name(t), v, v);
  std::string b = let("bitcast {} {} to i{}", name(t), v, bits(t));
  return let("select i1 {}, i{} 77, i{} {}", nan, bits(t), bits(t), b);
}

// Where the sign of a NaN would show.
std::string Function::number_or_one(Type t, const std::string& v) {
  std::string nan = let("fcmp uno {} {}, {}", name(t), v, v);
  return let("select i1 {}, {} 1.0, {} {}", nan, name(t), name(t), v);
}

// A call, where there is a function of that result and not too many calls are in this one already.
std::string Function::called(Type t, int depth) {
  if (callable_.empty() || ++calls_ > 2) return leaf(t);
  const Signature& f = callable_[below(callable_.size())];
  std::vector<std::string> arguments;
  for (Type p : f.parameters) {
    std::string v = value(p, std::min(depth, 1));
    arguments.push_back(fmt::format("{} {}", name(p), v));
  }
  for (std::string_view other : {"%memory", "%near"}) {
    arguments.push_back(fmt::format("ptr {}", chance(4) ? "%array.i64" : other));
  }
  std::string r;
  // By name, or through a pointer to one of two.
  std::vector<const Signature*> alike;
  for (const Signature& g : callable_) {
    if (g.parameters == f.parameters && g.result == f.result && &g != &f) alike.push_back(&g);
  }
  if (!alike.empty() && chance(2)) {
    std::string c = condition(0);
    std::string p = let("select i1 {}, ptr @{}, ptr @{}", c, f.name, alike[below(alike.size())]->name);
    r = let("call {} {}({})", name(f.result), p, fmt::join(arguments, ", "));
  } else {
    r = call(name(f.result), f.name, arguments);
  }
  if (f.result == t) return r;
  line("store {} {}, ptr %{}.{}", name(f.result), r, suffix(f.result), below(kVariables));
  return leaf(t);
}

}  // namespace quern::oracle
