// Writing LLVM's text. A value is a number or a vector of 32 lanes; every operation takes either and gives a vector if
// one of its operands is one, so that code for an instruction is written once.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace quern::vgpu {

struct Value {
  std::string text;  // "%12", "7", "splat (i32 7)"
  std::string type;  // of one lane: "i32", "float"
  bool vector = false;
  bool wide = false;  // a mask kept as <32 x i32> of 0 and -1: see Ir::wide_masks

  bool empty() const { return text.empty(); }
  std::string full() const;   // "<32 x i32>"
  std::string typed() const;  // "<32 x i32> %12"
};

class Ir {
 public:
  // Vectors of i1 are kept as 32-bit lanes. A processor without mask registers has no other form of them, and LLVM
  // would pack them into bytes and unpack them again between any two operations.
  bool wide_masks = false;

  // --- text ---
  template <class... T>
  void line(fmt::format_string<T...> text, T&&... with) {
    body_ += "  ";
    fmt::format_to(std::back_inserter(body_), text, std::forward<T>(with)...);
    body_ += '\n';
  }
  // A line that defines a value.
  template <class... T>
  Value let(std::string type, bool vector, fmt::format_string<T...> text, T&&... with) {
    Value out{fmt::format("%{}", next_++), std::move(type), vector};
    body_ += "  " + out.text + " = ";
    fmt::format_to(std::back_inserter(body_), text, std::forward<T>(with)...);
    body_ += '\n';
    return out;
  }
  std::string label(std::string_view hint);  // a fresh name of a block
  void begin(const std::string& label);      // starts it; the block before must have ended
  void jump(const std::string& to) { line("br label %{}", to); }
  void branch(const Value& condition, const std::string& yes, const std::string& no);
  // `likely`: the first is taken almost always.
  void branch_likely(const Value& condition, const std::string& yes, const std::string& no);
  // A line of the entry block.
  template <class... T>
  void entry(fmt::format_string<T...> text, T&&... with) {
    slots_ += "  ";
    fmt::format_to(std::back_inserter(slots_), text, std::forward<T>(with)...);
    slots_ += '\n';
  }
  // A slot in the frame, in the entry block. Returns its name.
  std::string slot(const std::string& type, int64_t align = 0);
  // Arrays in the frame serve one instruction after the other: none is in use when a new one begins.
  std::string array_slot(const std::string& type, int64_t align);
  void begin_instruction() { arrays_used_.clear(); }
  void declare(const std::string& declaration);  // once each
  // A constant of the code, made of 32-bit words: its name. The same words have one name.
  template <class T>
  std::string constant(const T* things, size_t count) {
    static_assert(sizeof(T) % 4 == 0 && std::is_trivially_copyable_v<T>);
    return constant_words(reinterpret_cast<const int32_t*>(things), count * sizeof(T) / 4);
  }

  // --- values ---
  static Value number(std::string type, int64_t value);
  static Value real(std::string type, uint64_t bits);  // "float", "double": by the bits of the type
  static Value zero(std::string type, bool vector = false);
  static Value lanes(std::string type, const std::array<int64_t, 32>& values);  // not of i1
  Value splat(const Value& a);                                                  // a vector stays
  void unify(Value& a, Value& b);                                               // both vectors if one is
  void unify(Value& a, Value& b, Value& c);

  Value op(std::string_view opcode, Value a, Value b);          // "add", "fmul", "and"
  Value compare(std::string_view what, Value a, Value b);       // "icmp slt", "fcmp olt"
  Value compare_bits(std::string_view what, Value a, Value b);  // of lanes: a bit each, i32
  Value select(Value condition, Value yes, Value no);
  Value cast(std::string_view opcode, const Value& a, std::string to);  // "zext", "bitcast", "fptosi"
  Value bits_to(const Value& a, std::string to);                        // bitcast, or itself
  // Integers: zero- or sign-extended or cut to `to`.
  Value resize(const Value& a, std::string to, bool sign);
  Value logical_not(const Value& a);
  // "llvm.fma" of a.type.
  Value intrinsic(std::string_view name, std::vector<Value> operands, std::string_view extra = {});
  Value convert_intrinsic(std::string_view name, const Value& a, std::string to);  // llvm.fptosi.sat
  Value load(const std::string& type, bool vector, const std::string& pointer, int64_t align);
  void store(const Value& value, const std::string& pointer, int64_t align);
  std::string pointer(const Value& address);                      // inttoptr of a scalar i64
  std::string offset(const std::string& pointer, int64_t bytes);  // a pointer that many bytes on
  Value element(const Value& vector, const Value& lane);          // a scalar
  Value plain_mask(const Value& mask);                            // as <32 x i1>
  Value mask(const Value& plain);                                 // from <32 x i1>
  Value all_lanes() const;
  Value masks(std::string text) const;  // a vector of i1 that has a name
  Value mask_bits(const Value& mask);   // to i32
  Value mask_of_bits(const Value& bits);
  Value any(const Value& mask);                                                         // i1: one lane is set
  Value shuffle(const Value& wide, int64_t from_lanes, const std::vector<int>& lanes);  // to 32 lanes

  // The whole function: entry with slots, then the body. `head`: "define … {" without the brace.
  std::string finish(const std::string& head) const;
  const std::string& declarations() const { return declarations_; }

  Value splat_plain(const Value& a);

 private:
  std::string constant_words(const int32_t* words, size_t count);

  std::string slots_, body_, declarations_;
  std::set<std::string> declared_;
  std::map<std::string, std::string> constants_;            // names, by type and words
  std::map<std::string, std::vector<std::string>> arrays_;  // by type and alignment
  std::map<std::string, size_t> arrays_used_;
  int next_ = 0;
  int labels_ = 0;
};

int bits_of(std::string_view type);  // "i32", "float": 32
bool is_float(std::string_view type);

}  // namespace quern::vgpu
