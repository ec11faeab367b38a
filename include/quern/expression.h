// Expressions of the notation in C++: dimensions, indices, ranges, operators, reductions, built-in functions.
//
// Nothing is computed here: an Expr is a tree, and what it means is docs/notation.md. Copies share the tree. An Index
// is itself, whatever its name: two indices of one name may be nested and don't capture each other (the printed text
// names the inner one n2). Dimensions and types are what they are called: two Dim("M") are the same.
//
// Mistakes that C++ would let pass don't compile: `n / 2` of an index, `lo <= n < hi`. Everything else is found when
// the kernel is checked, with the codes of the text.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "quern/type.h"

// A deleted function whose message a compiler of C++26 shows; older ones show the line, which has it too.
#if __cplusplus > 202302L && defined(__cpp_deleted_function)
#define QUERN_DELETED(message) = delete (message)
#else
#define QUERN_DELETED(message) = delete
#endif

namespace quern {

class DimExpr;
class Index;

namespace internal {
struct Expression;
struct Access;
template <class N>
concept Number = std::is_arithmetic_v<N>;
template <class N>
concept Whole = std::integral<N> && !std::same_as<N, bool>;
template <class N>
concept WholeDivisor = Whole<N> || std::derived_from<N, DimExpr> || std::same_as<N, Index>;
}  // namespace internal

inline constexpr double inf = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// A value for each of the indices that it mentions. From whole numbers: an integer; from other numbers: a real one as
// it is (write 0.1, not 0.1f); from bool: true or false.
class Expr {
 public:
  template <internal::Number N>
  Expr(N value) : Expr(literal(value)) {}

  std::string text() const;  // as the notation writes it, for messages and logs

 protected:
  friend struct internal::Access;
  explicit Expr(std::shared_ptr<const internal::Expression> e) : expression_(std::move(e)) {}

 private:
  template <class N>
  static Expr literal(N value) {
    if constexpr (std::same_as<N, bool>) {
      return truth(value);
    } else if constexpr (std::integral<N>) {
      return whole(static_cast<int64_t>(value));
    } else {
      return real(static_cast<double>(value));
    }
  }
  static Expr truth(bool value);
  static Expr whole(int64_t value);
  static Expr real(double value);

  std::shared_ptr<const internal::Expression> expression_;
};

// A comparison, or several joined by && || !. It can't be compared again.
class Condition : public Expr {
  friend struct internal::Access;
  explicit Condition(std::shared_ptr<const internal::Expression> e) : Expr(std::move(e)) {}
};

// A formula of dimensions and whole numbers: a tensor's size. `/` is exact (K / 2 says that 2 divides K), floor_div
// rounds down. In an expression it is an integer, and `/` is the real division.
class DimExpr : public Expr {
 public:
  template <internal::Whole N>
  DimExpr(N value) : Expr(value) {}

 protected:
  friend struct internal::Access;
  explicit DimExpr(std::shared_ptr<const internal::Expression> e) : Expr(std::move(e)) {}
};

// A dimension, solved from the arguments' shapes. `name` is upper case. One that can't be solved has to be listed among
// the kernel's parameters, so that the caller gives it; `otherwise` is what it is if he doesn't.
class Dim : public DimExpr {
 public:
  explicit Dim(std::string_view name);
  Dim(std::string_view name, int64_t otherwise);

  const std::string& name() const { return *name_; }
  std::optional<int64_t> otherwise() const { return otherwise_; }

 private:
  const std::string* name_;  // interned
  std::optional<int64_t> otherwise_;
};

class Range;

// The upper end of a range whose lower one is known: n.from(lo).below(hi).
class Lower;

// An index. It has a range wherever it is bound: on the left of a definition, in a reduction, in a call, in `update`.
// Without a bound the range is the dimension in which the index stands bare.
class Index : public Expr {
 public:
  explicit Index(std::string_view name);  // lower case
  // For use inside a function: its name gives way where a tensor of the kernel has it.
  static Index fresh(std::string_view name);

  Range below(const Expr& hi) const;                    // n < hi
  Range at_most(const Expr& hi) const;                  // n <= hi
  Range between(const Expr& lo, const Expr& hi) const;  // lo <= n < hi
  Lower from(const Expr& lo) const;                     // lo <= n …
  Lower above(const Expr& lo) const;                    // lo < n …

 private:
  friend struct internal::Access;
  explicit Index(std::shared_ptr<const internal::Expression> e) : Expr(std::move(e)) {}
};

class Range {
 public:
  Range(const Index& index) : index_(index) {}  // inferred

  const Index& index() const { return index_; }

 private:
  friend class Index;
  friend class Lower;
  friend struct internal::Access;
  Index index_;
  std::optional<Expr> lo_, hi_;
  bool lo_strict_ = false, hi_inclusive_ = false;
};

class Lower {
 public:
  Range below(const Expr& hi) const;    // … n < hi
  Range at_most(const Expr& hi) const;  // … n <= hi

 private:
  friend class Index;
  explicit Lower(Range range) : range_(std::move(range)) {}
  Range range_;
};

// One range or several, left to right: `k`, `n.below(hi)`, `{r, s, c}`.
class Ranges {
 public:
  Ranges(const Index& index) : list_{Range(index)} {}
  Ranges(const Range& range) : list_{range} {}
  Ranges(std::initializer_list<Range> list) : list_(list) {}
  explicit Ranges(std::vector<Range> list) : list_(std::move(list)) {}

  const std::vector<Range>& list() const { return list_; }

 private:
  std::vector<Range> list_;
};

// --- Operators. Division is real; floor_div and % are for integers, % has the sign of the divisor. ---
Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator*(const Expr& a, const Expr& b);
Expr operator/(const Expr& a, const Expr& b);
Expr operator%(const Expr& a, const Expr& b);
Expr operator&(const Expr& a, const Expr& b);
Expr operator|(const Expr& a, const Expr& b);
Expr operator^(const Expr& a, const Expr& b);
Expr operator<<(const Expr& a, const Expr& b);
Expr operator>>(const Expr& a, const Expr& b);
Expr operator-(const Expr& a);
Expr floor_div(const Expr& a, const Expr& b);

DimExpr operator+(const DimExpr& a, const DimExpr& b);
DimExpr operator-(const DimExpr& a, const DimExpr& b);
DimExpr operator*(const DimExpr& a, const DimExpr& b);
DimExpr operator/(const DimExpr& a, const DimExpr& b);
DimExpr floor_div(const DimExpr& a, const DimExpr& b);

// `n / 2` in a subscript would be a real number, and in C++ it looks like a whole one.
template <internal::WholeDivisor N>
Expr operator/(const Index& n, const N& by) QUERN_DELETED("floor_div(n, by); Expr(n) / by divides as reals");

Condition operator<(const Expr& a, const Expr& b);
Condition operator<=(const Expr& a, const Expr& b);
Condition operator>(const Expr& a, const Expr& b);
Condition operator>=(const Expr& a, const Expr& b);
Condition operator==(const Expr& a, const Expr& b);
Condition operator!=(const Expr& a, const Expr& b);
Condition operator&&(const Expr& a, const Expr& b);  // `and`, `or` and `if_else` guard what they skip: it isn't read
Condition operator||(const Expr& a, const Expr& b);
Condition operator!(const Expr& a);
// lo <= x < hi, as the notation writes it.
Condition between(const Expr& x, const Expr& lo, const Expr& hi);

// `lo <= n < hi` compares a truth with hi, in C++.
template <class T>
void operator<(const Condition& chain, const T& hi) QUERN_DELETED("between(x, lo, hi); n.between(lo, hi)");
template <class T>
void operator<=(const Condition& chain, const T& hi) QUERN_DELETED("between(x, lo, hi); n.between(lo, hi)");
template <class T>
void operator>(const Condition& chain, const T& lo) QUERN_DELETED("between(x, lo, hi); n.between(lo, hi)");
template <class T>
void operator>=(const Condition& chain, const T& lo) QUERN_DELETED("between(x, lo, hi); n.between(lo, hi)");

// a if c, else b; only that one is evaluated.
Expr if_else(const Expr& c, const Expr& a, const Expr& b);

// --- Reductions over one range or several. Over nothing: 0, 1, -inf, inf, -1, -1, false, true. ---
Expr sum(const Ranges& over, const Expr& body);
Expr prod(const Ranges& over, const Expr& body);
Expr max(const Ranges& over, const Expr& body);
Expr min(const Ranges& over, const Expr& body);
Expr argmax(const Ranges& over, const Expr& body);  // the value of its one index, the first of equals
Expr argmin(const Ranges& over, const Expr& body);
Condition any(const Ranges& over, const Expr& body);
Condition all(const Ranges& over, const Expr& body);

// The largest and the smallest of several. With an Index in front they reduce over it: max(0, n) compares.
Expr max(const Index& over, const Expr& body);
Expr min(const Index& over, const Expr& body);
Expr max(const Expr& a, const Expr& b);
Expr min(const Expr& a, const Expr& b);
Expr max_of(const std::vector<Expr>& values);  // of one or more
Expr min_of(const std::vector<Expr>& values);
template <std::convertible_to<Expr>... More>
Expr max(const Expr& a, const Expr& b, const Expr& c, const More&... more) {
  return max_of({a, b, c, Expr(more)...});
}
template <std::convertible_to<Expr>... More>
Expr min(const Expr& a, const Expr& b, const Expr& c, const More&... more) {
  return min_of({a, b, c, Expr(more)...});
}

// --- Built-in functions, of one number unless said; real results are f32, f64 if an operand is. ---
Expr exp(const Expr& x);
Expr exp2(const Expr& x);
Expr log(const Expr& x);
Expr log2(const Expr& x);
Expr sqrt(const Expr& x);
Expr rsqrt(const Expr& x);
Expr sin(const Expr& x);
Expr cos(const Expr& x);
Expr tanh(const Expr& x);
Expr erf(const Expr& x);
Expr abs(const Expr& x);
Expr floor(const Expr& x);
Expr ceil(const Expr& x);
Expr round(const Expr& x);  // ties to even
Expr pow(const Expr& x, const Expr& y);
// Word i % 4 of Philox-4x32-10 with key `seed` and counter i // 4: an integer in [0, 2^32), a pure function.
Expr random_bits(const Expr& seed, const Expr& i);
Expr cast(const Type& type, const Expr& x);

// x with every i that is free in it replaced by j: how a C++ function reads its argument elsewhere. The value of
// softmax(i, …) and its like can't be moved that way (E602): give it a name first, p(i) = softmax(i, …), and read p(j).
Expr at(const Expr& x, const Index& i, const Expr& j);

}  // namespace quern
