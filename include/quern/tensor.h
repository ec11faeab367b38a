// Tensors, and definitions over them.
//   Tensor c("c", T, {M, N});                 a parameter or result; no shape: a scalar, or a result of one element
//   Tensor s = Tensor::local("s");            a value with a name, a function of its subscripts
//   c(m, n) = sum(k, a(m, k) * b(k, n));      a definition
//   h.update({n})(x(n)) += 1;                 for[n] h[x[n]] += 1
//
// A definition is recorded with its tensor, and belongs to the kernel that lists the tensor (or reads the local); where
// the Kernel is made, before or after, doesn't matter. A Tensor is a handle: copies are the same tensor. Results,
// inout tensors and locals belong to one kernel; plain parameters and indices may serve several. The objects of a
// kernel are for one thread at a time until it is compiled.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quern/expression.h"

namespace quern {

namespace internal {
struct TensorState;
}

// What stands between a tensor's parentheses: an expression; on the left of a definition also a range.
class Subscript {
 public:
  Subscript(const Range& range) : range_(range) {}
  template <std::convertible_to<Expr> T>
  Subscript(const T& value) : value_(value) {}

 private:
  friend struct internal::Access;
  std::optional<Range> range_;
  std::optional<Expr> value_;
};

// A tensor at subscripts: a value on the right, a definition once it is assigned to. `Ref = Ref` defines, too; nothing
// rebinds one.
class Ref {
 public:
  Ref(const Ref&) = default;
  void operator=(const Expr& value);
  void operator=(const Ref& value);  // NOLINT: it defines, and gives nothing back
  void operator+=(const Expr& value);
  // The local is rounded once to this type: acc(m, n).as(i32) = …
  Ref& as(const Type& type);
  operator Expr() const;

 private:
  friend class Tensor;
  friend class Update;
  friend struct internal::Access;
  Ref(std::shared_ptr<internal::TensorState> tensor, std::vector<Subscript> subscripts)
      : tensor_(std::move(tensor)), subscripts_(std::move(subscripts)) {}

  std::shared_ptr<internal::TensorState> tensor_;
  std::vector<Subscript> subscripts_;
  std::optional<Type> type_;
  std::optional<Ranges> loops_;
  std::optional<Expr> filter_;
};

// for[…] or for[… if c]: what is written with computed subscripts, or over ranges that the left side doesn't bind.
class Update {
 public:
  template <std::convertible_to<Subscript>... S>
  Ref operator()(const S&... subscripts) const {
    return at({Subscript(subscripts)...});
  }
  Ref at(std::vector<Subscript> subscripts) const;

 private:
  friend class Tensor;
  Update(std::shared_ptr<internal::TensorState> tensor, Ranges loops, std::optional<Expr> filter)
      : tensor_(std::move(tensor)), loops_(std::move(loops)), filter_(std::move(filter)) {}
  std::shared_ptr<internal::TensorState> tensor_;
  Ranges loops_;
  std::optional<Expr> filter_;
};

class Tensor {
 public:
  // `name` is lower case. Sizes in elements, row-major; none for a scalar by value, or a result of one element.
  Tensor(std::string_view name, const Type& type, std::vector<DimExpr> shape = {});
  // Its range and kind come from its definition.
  static Tensor local(std::string_view name);

  Tensor(const Tensor&) = default;
  // Would give the handle another tensor, and looks like a definition: write y(m, n) = x(m, n).
  Tensor& operator=(const Tensor&) = delete;

  // The value a result has before its updates: a number (E611).
  Tensor& first(const Expr& value);
  // What a scalar parameter is if the caller gives none: a number (E611); E102 for tensors.
  Tensor& otherwise(const Expr& value);
  // A parameter that the kernel also writes. On the right it is its value before the kernel.
  Tensor& inout();

  template <std::convertible_to<Subscript>... S>
  Ref operator()(const S&... subscripts) const {
    return at({Subscript(subscripts)...});
  }
  // The same for a number of subscripts that is not known to the compiler.
  Ref at(std::vector<Subscript> subscripts) const;
  operator Expr() const;  // of a scalar; E304 for others

  Update update(const Ranges& loops) const { return Update(state_, loops, std::nullopt); }
  Update update(const Ranges& loops, const Expr& filter) const { return Update(state_, loops, filter); }

  const std::string& name() const;

 private:
  friend struct internal::Access;
  explicit Tensor(std::shared_ptr<internal::TensorState> state) : state_(std::move(state)) {}
  std::shared_ptr<internal::TensorState> state_;
};

}  // namespace quern
