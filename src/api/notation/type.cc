// Type variables have interned names, so that a Type is small and can be copied anywhere.
#include "quern/type.h"

#include "api/notation/recording.h"

namespace quern {

Type::Type(std::string_view name) : name_(Symbol(name).str()), variable_(true) {}

Type::Type(std::string_view name, const Type& otherwise) : Type(name) { otherwise_ = otherwise.name_; }

// To a type variable a cast is written as a call, and the parser makes one.
Expr Type::operator()(const Expr& x) const {
  const internal::Expression& value = internal::Access::of(x);
  expr::Node n{.op = variable_ ? expr::Op::kCall : expr::Op::kCast};
  if (variable_) {
    n.name = Symbol(name_);
  } else {
    n.type = internal::element_type(*this);
  }
  n.args = {value.node};
  return internal::Access::wrap(internal::combine(std::move(n), {&value}));
}

Expr cast(const Type& type, const Expr& x) { return type(x); }

expr::ElementType internal::element_type(const Type& type) {
  auto fixed = parse_type(type.name());
  if (type.variable() || !fixed) return {.variable = Symbol(type.name())};
  return {.scalar = *fixed, .variable = {}};
}

}  // namespace quern
