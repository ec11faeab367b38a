#include "program_text.h"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <random>
#include <set>
#include <string_view>
#include <vector>

namespace quern::oracle {
namespace {

using Random = std::mt19937_64;

enum class Type : uint8_t { kI32, kI64, kF32, kF64 };
constexpr std::array kTypes = {Type::kI32, Type::kI64, Type::kF32, Type::kF64};

std::string_view name(Type t) { return std::array{"i32", "i64", "float", "double"}[static_cast<size_t>(t)]; }
std::string_view suffix(Type t) { return std::array{"i32", "i64", "f32", "f64"}[static_cast<size_t>(t)]; }
bool real(Type t) { return t == Type::kF32 || t == Type::kF64; }
int bits(Type t) { return t == Type::kI32 || t == Type::kF32 ? 32 : 64; }

struct Signature {
  std::string name;
  std::vector<Type> parameters;
  Type result;
};

// Variables of a function, in its frame; arrays beside them.
constexpr int kVariables = 3;  // of each type
constexpr int kArray = 16;     // elements
constexpr int kGiven = 64;     // bytes of each memory that a function is given

class Function {
 public:
  Function(Random& random, const std::vector<Signature>& callable, std::set<std::string>& declared)
      : random_(random), callable_(callable), declared_(declared) {}

  std::string text(const Signature& self, Shape shape, bool main);

 private:
  uint64_t below(uint64_t n) { return random_() % n; }
  bool chance(uint64_t of) { return below(of) == 0; }
  template <size_t n>
  std::string_view any(const std::array<std::string_view, n>& of) {
    return of[below(n)];
  }

  template <class... A>
  void line(fmt::format_string<A...> format, A&&... a) {
    body_ += "  " + fmt::format(format, std::forward<A>(a)...) + "\n";
  }
  template <class... A>
  std::string let(fmt::format_string<A...> format, A&&... a) {
    std::string v = fmt::format("%v{}", next_++);
    body_ += "  " + v + " = " + fmt::format(format, std::forward<A>(a)...) + "\n";
    return v;
  }
  std::string label() { return fmt::format("l{}", next_++); }
  void open(const std::string& label) { body_ += label + ":\n"; }
  std::string call(std::string_view type, std::string_view name, const std::vector<std::string>& arguments);
  std::string intrinsic(std::string_view name, Type t, const std::vector<std::string>& v, std::string_view last = "");

  std::string constant(Type t);
  std::string leaf(Type t);
  std::string value(Type t, int depth);
  std::string integer(Type t, int depth);
  std::string real_value(Type t, int depth);
  std::string converted(Type to, int depth);
  std::string condition(int depth);
  std::string bits_of(Type t, const std::string& v);
  std::string number_or_one(Type t, const std::string& v);
  std::string address(Type t);
  std::string called(Type t, int depth);

  void statement(int depth);
  void assign();
  void statements(int count, int depth);
  void branch(int depth);
  void loop(int depth);
  void choose(int depth);
  void jumps();

  Random& random_;
  const std::vector<Signature>& callable_;
  std::set<std::string>& declared_;
  std::string body_;
  int next_ = 0, calls_ = 0;
};

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
  switch (below(14)) {
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

void Function::assign() {
  Type t = kTypes[below(kTypes.size())];
  std::string v = value(t, 1 + static_cast<int>(below(4)));
  if (chance(4)) {
    std::string at = address(t);
    if (real(t)) v = number_or_one(t, v);  // it may be read as an integer
    line("store {} {}, ptr {}, align {}", name(t), v, at, bits(t) / 8);
  } else {
    line("store {} {}, ptr %{}.{}", name(t), v, suffix(t), below(kVariables));
  }
}

void Function::statement(int depth) {
  uint64_t kind = depth > 0 ? below(9) : 0;
  if (kind < 5) return assign();
  if (kind == 5) return choose(depth - 1);
  if (kind == 6) return loop(depth - 1);
  branch(depth - 1);
}

void Function::statements(int count, int depth) {
  for (int i = 0; i < count; ++i) statement(depth);
}

void Function::branch(int depth) {
  std::string c = condition(1), yes = label(), no = label(), end = label();
  bool both = chance(2);
  line("br i1 {}, label %{}, label %{}", c, yes, both ? no : end);
  open(yes);
  statements(1 + static_cast<int>(below(3)), depth);
  line("br label %{}", end);
  if (both) {
    open(no);
    statements(1 + static_cast<int>(below(3)), depth);
    line("br label %{}", end);
  }
  open(end);
}

// As often as a value says, 15 times at most and inner ones 3 times; left in the middle or begun anew where another
// says so.
void Function::loop(int depth) {
  std::string count = let("and i32 {}, {}", value(Type::kI32, 1), depth < 2 ? 3 : chance(3) ? 15 : 7);
  std::string counter = fmt::format("%counter.{}", next_++), head = label(), in = label(), end = label();
  line("{} = alloca i32", counter);
  line("store i32 {}, ptr {}", count, counter);
  line("br label %{}", head);
  open(head);
  std::string left = let("load i32, ptr {}", counter);
  line("store i32 {}, ptr {}", let("sub i32 {}, 1", left), counter);
  line("br i1 {}, label %{}, label %{}", let("icmp sgt i32 {}, 0", left), in, end);
  open(in);
  statements(1 + static_cast<int>(below(2)), depth);
  if (chance(2)) {
    std::string c = condition(1), on = label();
    line("br i1 {}, label %{}, label %{}", c, chance(2) ? end : head, on);
    open(on);
    statements(1, depth);
  }
  line("br label %{}", head);
  open(end);
}

void Function::choose(int depth) {
  int cases = 2 + static_cast<int>(below(6));
  bool dense = chance(2);
  std::string v = let("and i32 {}, {}", value(Type::kI32, 1), dense ? 7 : 255);
  std::vector<std::string> labels;
  std::string list, end = label();
  for (int i = 0; i < cases; ++i) {
    labels.push_back(label());
    list += fmt::format(" i32 {}, label %{}", dense ? i : i * 31 % 256, labels.back());
  }
  line("switch i32 {}, label %{} [{} ]", v, end, list);
  for (int i = 0; i < cases; ++i) {
    open(labels[static_cast<size_t>(i)]);
    statements(1, depth);
    bool falls = i + 1 < cases && chance(3);  // into the next
    line("br label %{}", falls ? labels[static_cast<size_t>(i + 1)] : end);
  }
  open(end);
}

// Blocks that jump anywhere, until the fuel is gone.
void Function::jumps() {
  int count = 3 + static_cast<int>(below(12));
  std::vector<std::string> labels;
  for (int i = 0; i < count; ++i) labels.push_back(label());
  std::string end = label();
  auto target = [&]() { return chance(12) ? end : labels[below(labels.size())]; };
  line("%fuel = alloca i32");
  std::string fuel = let("and i32 {}, 63", value(Type::kI32, 1));
  line("store i32 {}, ptr %fuel", fuel);
  line("br label %{}", labels[0]);
  for (const std::string& l : labels) {
    open(l);
    std::string left = let("load i32, ptr %fuel"), on = label();
    line("store i32 {}, ptr %fuel", let("sub i32 {}, 1", left));
    line("br i1 {}, label %{}, label %{}", let("icmp slt i32 {}, 0", left), end, on);
    open(on);
    statements(static_cast<int>(below(4)), chance(6) ? 1 : 0);
    switch (below(6)) {
      case 0: line("br label %{}", target()); break;
      case 1: {
        std::string v = let("and i32 {}, 7", value(Type::kI32, 1)), list;
        int cases = 2 + static_cast<int>(below(6));
        for (int i = 0; i < cases; ++i) list += fmt::format(" i32 {}, label %{}", i, target());
        line("switch i32 {}, label %{} [{} ]", v, target(), list);
        break;
      }
      default: {
        std::string c = condition(1);
        line("br i1 {}, label %{}, label %{}", c, target(), target());
      }
    }
  }
  open(end);
}

std::string Function::text(const Signature& self, Shape shape, bool main) {
  std::vector<std::string> parameters;
  for (size_t i = 0; i < self.parameters.size(); ++i)
    parameters.push_back(fmt::format("{} %p{}", name(self.parameters[i]), i));
  parameters.push_back("ptr %memory");
  parameters.push_back("ptr %near");
  for (Type t : kTypes) {
    for (int i = 0; i < kVariables; ++i) line("%{}.{} = alloca {}", suffix(t), i, name(t));
    line("%array.{} = alloca [{} x {}]", suffix(t), kArray, name(t));
  }
  // Each variable begins as a parameter of its type, or as a constant; the arrays hold constants and parameters.
  for (Type t : kTypes) {
    std::vector<std::string> given;
    for (size_t i = 0; i < self.parameters.size(); ++i) {
      if (self.parameters[i] == t) given.push_back(fmt::format("%p{}", i));
    }
    size_t used = 0;
    for (int i = 0; i < kVariables; ++i) {
      line("store {} {}, ptr %{}.{}", name(t), used < given.size() ? given[used++] : constant(t), suffix(t), i);
    }
    for (int i = 0; i < kArray; ++i) {
      std::string at = let("getelementptr {}, ptr %array.{}, i32 {}", name(t), suffix(t), i);
      std::string v = !given.empty() && chance(2) ? given[below(given.size())] : constant(t);
      line("store {} {}, ptr {}", name(t), v, at);
    }
  }
  switch (shape) {
    case Shape::kStraight: statements(6 + static_cast<int>(below(20)), 0); break;
    case Shape::kNested: statements(3 + static_cast<int>(below(5)), main ? 3 : 2); break;
    case Shape::kJumps: jumps(); break;
  }
  std::string result;
  if (!main && self.parameters[0] == Type::kI32 && chance(2)) {  // calls itself up to 7 times, by three bits
    std::string again = label(), on = label(), left = let("and i32 %p0, 7");
    line("br i1 {}, label %{}, label %{}", let("icmp eq i32 {}, 0", left), on, again);
    open(again);
    std::vector<std::string> arguments = {fmt::format("i32 {}", let("sub i32 %p0, 1"))};
    for (size_t i = 1; i < self.parameters.size(); ++i) {
      arguments.push_back(fmt::format("{} {}", name(self.parameters[i]), leaf(self.parameters[i])));
    }
    arguments.push_back("ptr %near");  // the other way round
    arguments.push_back("ptr %memory");
    std::string r = call(name(self.result), self.name, arguments);
    line("store {} {}, ptr %{}.0", name(self.result), r, suffix(self.result));
    line("br label %{}", on);
    open(on);
  }
  if (!main) {
    result = value(self.result, 1);
  } else {  // all that there is
    result = "0";
    for (Type t : kTypes) {
      for (int i = 0; i < kVariables + 4; ++i) {
        std::string v;
        if (i < kVariables) {
          v = let("load {}, ptr %{}.{}", name(t), suffix(t), i);
        } else {  // some of the array
          v = let("getelementptr {}, ptr %array.{}, i32 {}", name(t), suffix(t), (i - kVariables) * 5);
          v = let("load {}, ptr {}", name(t), v);
        }
        if (real(t)) v = bits_of(t, v);
        if (bits(t) == 32) v = let("zext i32 {} to i64", v);
        result = let("add i64 {}, {}", let("mul i64 {}, 6364136223846793005", result), v);
      }
    }
  }
  line("ret {} {}", name(self.result), result);
  // Allocas in the middle of a function grow the frame each time that they are met; all go to the front.
  std::string front, rest;
  for (size_t at = 0; at < body_.size();) {
    size_t end = body_.find('\n', at) + 1;
    std::string one = body_.substr(at, end - at);
    (one.find(" = alloca ") != std::string::npos ? front : rest) += one;
    at = end;
  }
  return fmt::format("define internal {} @{}({}) noinline {{\n{}{}}}\n\n", name(self.result), self.name,
                     fmt::join(parameters, ", "), front, rest);
}

constexpr std::array kInputs = {Type::kI32, Type::kI32, Type::kI32, Type::kI64,
                                Type::kI64, Type::kF32, Type::kF32, Type::kF64};

// What runs the program for %i.
std::string one_run() {
  std::string out =
      "  %wide = zext i32 %i to i64\n  %input = getelementptr [64 x i8], ptr %inputs, i64 %wide\n"
      "  %memory = getelementptr [64 x i8], ptr %memories, i64 %wide\n"
      "  %result = getelementptr i64, ptr %results, i64 %wide\n";
  std::vector<std::string> arguments;
  for (size_t i = 0; i < kInputs.size(); ++i) {
    out += fmt::format("  %at{} = getelementptr i64, ptr %input, i32 {}\n  %a{} = load {}, ptr %at{}\n", i, i, i,
                       name(kInputs[i]), i);
    arguments.push_back(fmt::format("{} %a{}", name(kInputs[i]), i));
  }
  for (int i = 0; i < kGiven / 8; ++i) {
    out += fmt::format(
        "  %from{0} = getelementptr i64, ptr %input, i32 {0}\n  %to{0} = getelementptr i64, ptr %near, i32 "
        "{0}\n  %w{0} = load i64, ptr %from{0}\n  store i64 %w{0}, ptr %to{0}\n",
        i);
  }
  return out + fmt::format("  %r = call i64 @main({}, ptr %memory, ptr %near)\n  store i64 %r, ptr %result\n",
                           fmt::join(arguments, ", "));
}

}  // namespace

ProgramText random_program(uint64_t seed) {
  Random random(seed);
  ProgramText out;
  out.shape = std::array{Shape::kStraight, Shape::kNested, Shape::kJumps, Shape::kNested, Shape::kJumps}[random() % 5];
  std::set<std::string> declared;
  std::vector<Signature> callable;
  size_t functions = random() % 4;
  for (size_t i = 0; i < functions; ++i) {
    Signature s{.name = fmt::format("f{}", i), .parameters = {}, .result = kTypes[random() % 4]};
    size_t parameters = 1 + random() % 3;
    for (size_t p = 0; p < parameters; ++p) s.parameters.push_back(kTypes[random() % 4]);
    if (random() % 2) s.parameters[0] = Type::kI32;
    if (!callable.empty() && random() % 2) s.parameters = callable[0].parameters, s.result = callable[0].result;
    Shape shape = std::array{Shape::kStraight, Shape::kStraight, Shape::kNested, Shape::kJumps}[random() % 4];
    out.functions += Function(random, callable, declared).text(s, shape, false);
    callable.push_back(s);
  }
  Signature main{.name = "main", .parameters = {kInputs.begin(), kInputs.end()}, .result = Type::kI64};
  out.functions += Function(random, callable, declared).text(main, out.shape, true);
  for (const std::string& d : declared) out.functions += d;
  return out;
}

std::string kernel_module(const ProgramText& program) {
  std::string near = fmt::format(
      "  %slot = getelementptr [{0} x i8], ptr addrspace(3) @near, i32 %tid\n"
      "  %near = addrspacecast ptr addrspace(3) %slot to ptr\n",
      kGiven);
  std::string sreg = "llvm.nvvm.read.ptx.sreg.";
  return "target triple = \"nvptx64-nvidia-cuda\"\n" +
         fmt::format("@near = internal addrspace(3) global [{} x i8] undef, align 16\n", kMostThreads * kGiven) +
         program.functions + "declare i32 @" + sreg + "tid.x()\ndeclare i32 @" + sreg + "ntid.x()\ndeclare i32 @" +
         sreg + "ctaid.x()\n" +
         "define ptx_kernel void @all(ptr %inputs, ptr %memories, ptr %results, i32 %n) {\n"
         "  %tid = call i32 @" +
         sreg + "tid.x()\n  %ntid = call i32 @" + sreg + "ntid.x()\n  %block = call i32 @" + sreg +
         "ctaid.x()\n  %first = mul i32 %block, %ntid\n  %i = add i32 %first, %tid\n  %in = icmp ult i32 %i, %n\n"
         "  br i1 %in, label %run, label %end\nrun:\n" +
         near + one_run() + "  br label %end\nend:\n  ret void\n}\n";
}

std::string host_module(const ProgramText& program) {
  return program.functions +
         "define void @all(ptr %inputs, ptr %memories, ptr %results, i32 %n) {\nentry:\n"
         "  %near = alloca [64 x i8], align 16\n  br label %run\nrun:\n  %i = phi i32 [ 0, %entry ], [ %next, %run "
         "]\n" +
         one_run() +
         "  %next = add i32 %i, 1\n  %more = icmp ult i32 %next, %n\n  br i1 %more, label %run, label %end\nend:\n  "
         "ret void\n}\n";
}

}  // namespace quern::oracle
