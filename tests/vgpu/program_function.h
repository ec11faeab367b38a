// A function of a random program while it is written: program_values.cc has what gives values, program_text.cc what
// moves control.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "program_text.h"

namespace quern::oracle {

using Random = std::mt19937_64;

enum class Type : uint8_t { kI32, kI64, kF32, kF64 };
constexpr std::array kTypes = {Type::kI32, Type::kI64, Type::kF32, Type::kF64};

inline std::string_view name(Type t) { return std::array{"i32", "i64", "float", "double"}[static_cast<size_t>(t)]; }
inline std::string_view suffix(Type t) { return std::array{"i32", "i64", "f32", "f64"}[static_cast<size_t>(t)]; }
inline bool real(Type t) { return t == Type::kF32 || t == Type::kF64; }
inline int bits(Type t) { return t == Type::kI32 || t == Type::kF32 ? 32 : 64; }

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
  std::string place(int alignment);
  std::string address(Type t);
  std::string narrow_load(Type t);
  void vectors();
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

}  // namespace quern::oracle
