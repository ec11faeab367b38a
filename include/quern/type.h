// Element types of the notation (docs/notation.md, kinds and types): fixed ones as constants, and type variables.
//   Type T("T");                a kernel for any real type: T is what the arguments say
//   Type U("U", bf16);          a type that the caller chooses (list it among the parameters), bf16 unless he does
//   i8(round(x))                a cast; also to a type variable: T(x)
#pragma once

#include <string_view>

namespace quern {

class Expr;

class Type {
 public:
  // A type variable; `name` is upper case (E104 when the kernel is checked).
  explicit Type(std::string_view name);
  // One that the caller chooses, with what it is otherwise: a fixed real type (E715).
  Type(std::string_view name, const Type& otherwise);

  std::string_view name() const { return name_; }  // "f32", "bool", "T"; lives as long as the process
  bool variable() const { return variable_; }
  std::string_view otherwise() const { return otherwise_; }  // name of the default type, empty if there is none

  // The cast of `x` to this type: real to integer truncates and saturates, see docs/notation.md.
  Expr operator()(const Expr& x) const;

  bool operator==(const Type& other) const { return name_ == other.name_; }

  struct Fixed {
    std::string_view name;
  };
  constexpr explicit Type(Fixed fixed) : name_(fixed.name) {}

 private:
  std::string_view name_;
  std::string_view otherwise_;
  bool variable_ = false;
};

inline constexpr Type f64{Type::Fixed{"f64"}};
inline constexpr Type f32{Type::Fixed{"f32"}};
inline constexpr Type f16{Type::Fixed{"f16"}};
inline constexpr Type bf16{Type::Fixed{"bf16"}};
inline constexpr Type f8e4m3{Type::Fixed{"f8e4m3"}};
inline constexpr Type f8e5m2{Type::Fixed{"f8e5m2"}};
inline constexpr Type f8e8m0{Type::Fixed{"f8e8m0"}};
inline constexpr Type f4e2m1{Type::Fixed{"f4e2m1"}};  // two elements a byte, the even one in the low half
inline constexpr Type i64{Type::Fixed{"i64"}};
inline constexpr Type i32{Type::Fixed{"i32"}};
inline constexpr Type i16{Type::Fixed{"i16"}};
inline constexpr Type i8{Type::Fixed{"i8"}};
inline constexpr Type i4{Type::Fixed{"i4"}};  // two a byte
inline constexpr Type u32{Type::Fixed{"u32"}};
inline constexpr Type u8{Type::Fixed{"u8"}};
inline constexpr Type u4{Type::Fixed{"u4"}};         // two a byte
inline constexpr Type boolean{Type::Fixed{"bool"}};  // one byte, true if not 0

}  // namespace quern
