#include "expr/bind.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "expr/dimension_form.h"
#include "expr/print.h"

namespace quern::expr {
namespace {

using Sizes = std::unordered_map<Symbol, int64_t>;

int64_t floor_divide(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0));
}

// The value over the rationals, as the forms have it; nullopt on overflow, division by zero, or an unknown name.
std::optional<Rational> rational(const NodePtr& node, const Sizes& sizes) {
  switch (node->op) {
    case Op::kInteger: return Rational{node->integer, 1};
    case Op::kDimension: {
      auto it = sizes.find(node->name);
      return it == sizes.end() ? std::nullopt : std::optional(Rational{it->second, 1});
    }
    case Op::kNeg: {
      auto a = rational(node->args[0], sizes);
      return a ? multiply(*a, {-1, 1}) : std::nullopt;
    }
    default: break;
  }
  auto a = rational(node->args[0], sizes), b = rational(node->args[1], sizes);
  if (!a || !b) return std::nullopt;
  switch (node->op) {
    case Op::kAdd: return add(*a, *b);
    case Op::kSub: {
      auto minus = multiply(*b, {-1, 1});
      return minus ? add(*a, *minus) : std::nullopt;
    }
    case Op::kMul: return multiply(*a, *b);
    case Op::kDiv: return divide(*a, *b);
    case Op::kFloorDiv: {
      if (b->num == 0) return Rational{0, 1};  // x // 0 is 0
      auto q = divide(*a, *b);
      return q ? std::optional(Rational{floor_divide(q->num, q->den), 1}) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

// An exact division by zero is not whole, and no overflow.
bool divides_by_zero(const NodePtr& node, const Sizes& sizes) {
  if (node->op == Op::kDiv) {
    auto by = rational(node->args[1], sizes);
    if (by && by->num == 0) return true;
  }
  return std::ranges::any_of(node->args, [&](const NodePtr& a) { return divides_by_zero(a, sizes); });
}

class Solver {
 public:
  Solver(const Program& program, const Request& request) : program_(program), request_(request) {}

  Result<Binding> run() {
    names();
    types();
    ranks();
    for (const Dimension& d : program_.dimensions) dimension(d);
    shapes();
    if (!errors_.empty()) return fail(std::move(errors_));
    return std::move(out_);
  }

 private:
  void report(Code code, const Span& span, std::initializer_list<Argument> arguments) {
    errors_.push_back(diagnose(code, span, arguments));
  }

  void unknown(Symbol name) {
    Diagnostic d = diagnose(Code::E712, {}, {{"kernel", program_.name.str()}, {"n", name.str()}});
    std::vector<std::string> known;
    for (const Tensor& t : program_.tensors) {
      if (t.role != Role::kResult) known.push_back(t.name.str());
    }
    for (const Dimension& x : program_.dimensions) known.push_back(x.name.str());
    for (const TypeVariable& t : program_.types) known.push_back(t.name.str());
    auto near = nearest(name.str(), known);
    d.remedy = near ? "did you mean " + *near + "?" : "it has " + join(known, ", ");
    errors_.push_back(std::move(d));
  }

  void names() {
    for (const auto& [name, value] : request_.dimensions) {
      if (!program_.find_dimension(name)) unknown(name);
      if (value < 0) report(Code::E711, {}, {{"e", name.str()}, {"v", std::to_string(value)}});
    }
    for (const auto& [name, type] : request_.types) {
      auto it = std::ranges::find_if(program_.types, [&](const TypeVariable& t) { return t.name == name; });
      if (it == program_.types.end()) unknown(name);
    }
    for (const auto& [name, argument] : request_.arguments) {
      const Tensor* t = program_.find_tensor(name);
      if (!t || t->role == Role::kResult) unknown(name);
    }
  }

  const ArgumentShape* argument(const Tensor& t) const {
    auto it = request_.arguments.find(t.name);
    return it == request_.arguments.end() ? nullptr : &it->second;
  }

  void types() {
    for (const TypeVariable& v : program_.types) {
      std::optional<ScalarType> type;
      std::string from;
      if (auto it = request_.types.find(v.name); it != request_.types.end()) {
        type = it->second;
        from = "the caller";
        if (quern::kind(*type) != Kind::kReal) {
          report(Code::E715, v.span, {{"T", v.name.str()}, {"t", std::string(quern::name(*type))}});
          continue;
        }
      }
      for (const Tensor& t : program_.tensors) {
        const ArgumentShape* a = t.type.variable == v.name ? argument(t) : nullptr;
        if (!a) continue;
        if (quern::kind(a->type) != Kind::kReal) {
          report(Code::E715, t.span,
                 {{"T", v.name.str()}, {"t", std::string(quern::name(a->type)) + " (from " + t.name.str() + ")"}});
        } else if (type && *type != a->type) {
          report(Code::E707, t.span,
                 {{"T", v.name.str()},
                  {"a", std::string(quern::name(*type))},
                  {"x", from},
                  {"b", std::string(quern::name(a->type))},
                  {"y", t.name.str()}});
        } else {
          type = a->type;
          if (from.empty()) from = t.name.str();
        }
      }
      if (!type) type = v.value ? v.value->scalar : request_.default_type;
      out_.types[v.name] = *type;
    }
    for (const Tensor& t : program_.tensors) {
      const ArgumentShape* a = argument(t);
      if (!a || t.type.variable || a->type == t.type.scalar) continue;
      report(Code::E709, t.span,
             {{"x", t.name.str()},
              {"a", std::string(quern::name(t.type.scalar))},
              {"b", std::string(quern::name(a->type))}});
    }
  }

  void ranks() {
    for (const Tensor& t : program_.tensors) {
      const ArgumentShape* a = argument(t);
      if (!a || a->shape.size() == t.shape.size()) continue;
      report(
          Code::E704, t.span,
          {{"x", t.name.str()}, {"r", counted(a->shape.size(), "dimension")}, {"k", std::to_string(t.shape.size())}});
      wrong_.insert(t.name);
    }
  }

  void dimension(const Dimension& d) {
    auto requested = request_.dimensions.find(d.name);
    bool asked = requested != request_.dimensions.end() && requested->second >= 0;
    if (d.tensor < 0) {
      if (asked) {
        set(d.name, requested->second, "the caller");
      } else if (d.value) {
        auto value = rational(d.value, {});
        if (value && value->num >= 0) return set(d.name, value->num, "its default");
        report(Code::E711, d.span, {{"e", d.name.str()}, {"v", print(d.value)}});
      } else if (requested == request_.dimensions.end()) {
        report(Code::E701, d.span, {{"N", d.name.str()}});
      }
      return;
    }
    const Tensor& t = program_.tensors[d.tensor];
    const ArgumentShape* a = argument(t);
    if (!a) {
      if (asked) return set(d.name, requested->second, "the caller");
      if (requested != request_.dimensions.end()) return;
      Diagnostic e = diagnose(Code::E701, d.span, {{"N", d.name.str()}});
      e.remedy = "--dim " + d.name.str() + "=..., or an array for " + t.name.str();
      errors_.push_back(std::move(e));
      return;
    }
    if (wrong_.contains(t.name)) return;
    int64_t have = a->shape[d.axis];
    std::optional<int64_t> value = solve(t.shape[d.axis], d.name, have, t);
    if (!value) return;
    if (asked && requested->second != *value) {
      report(Code::E717, d.span,
             {{"N", d.name.str()},
              {"v", std::to_string(*value)},
              {"x", t.name.str()},
              {"w", std::to_string(requested->second)}});
    }
    set(d.name, *value, t.name.str());
  }

  void set(Symbol name, int64_t value, std::string from) {
    out_.sizes[name] = value;
    from_[name] = std::move(from);
  }

  // size = slope * N + offset for N.
  std::optional<int64_t> solve(const NodePtr& size, Symbol name, int64_t have, const Tensor& t) {
    if (size->op == Op::kDimension) return have;
    for (Symbol other : dimension_names(size)) {
      if (other != name && !out_.sizes.contains(other)) return std::nullopt;  // its own error is there
    }
    Sizes sizes = out_.sizes;
    sizes[name] = 0;
    auto offset = rational(size, sizes);
    sizes[name] = 1;
    auto one = rational(size, sizes);
    auto no_solution = [&](std::string reason) {
      report(Code::E702, t.span,
             {{"e", print(size)}, {"v", std::to_string(have)}, {"N", name.str()}, {"reason", std::move(reason)}});
      return std::nullopt;
    };
    auto negative = offset ? multiply(*offset, {-1, 1}) : std::nullopt;
    auto slope = one && negative ? add(*one, *negative) : std::nullopt;
    auto rest = negative ? add({have, 1}, *negative) : std::nullopt;
    if (!slope || !rest) {
      if (divides_by_zero(size, sizes)) {
        report(Code::E706, t.span, {{"y", t.name.str()}, {"e", print(size)}});
      } else {
        report(Code::E710, t.span, {{"e", print(size)}});
      }
      return std::nullopt;
    }
    if (slope->num == 0) return no_solution(t.name.str() + "'s size decides nothing here");
    auto value = divide(*rest, *slope);
    if (!value || value->den != 1) {
      std::string by = slope->den == 1 ? std::to_string(slope->num) : print(size);
      bool scaled = slope->den == 1 && rest->den == 1;
      return no_solution(scaled ? std::to_string(rest->num) + " is not divisible by " + by : "no whole number fits");
    }
    if (value->num < 0) return no_solution(name.str() + " would be " + std::to_string(value->num));
    return value->num;
  }

  std::string with(const NodePtr& size) const {
    std::string out;
    for (Symbol name : dimension_names(size)) {
      if (!out.empty()) out += ", ";
      out += name.str() + " = " + std::to_string(out_.sizes.at(name)) + " from " + from_.at(name);
    }
    return out;
  }

  void shapes() {
    for (const Tensor& t : program_.tensors) {
      std::vector<int64_t> shape;
      const ArgumentShape* a = wrong_.contains(t.name) ? nullptr : argument(t);
      for (size_t i = 0; i < t.shape.size(); ++i) {
        auto names = dimension_names(t.shape[i]);
        bool known = std::ranges::all_of(names, [&](Symbol n) { return out_.sizes.contains(n); });
        shape.push_back(0);
        if (!known) continue;
        auto value = rational(t.shape[i], out_.sizes);
        std::string e = print(t.shape[i]);
        bool whole =
            value ? value->den == 1 && evaluate(t.shape[i], out_.sizes) : !divides_by_zero(t.shape[i], out_.sizes);
        if (!value && whole) {
          report(Code::E710, t.span, {{"e", e}});
        } else if (!whole) {
          report(Code::E706, t.span, {{"y", t.name.str()}, {"e", e}});
        } else if (value->num < 0) {
          report(Code::E711, t.span, {{"e", t.name.str() + ": " + e}, {"v", std::to_string(value->num)}});
        } else {
          shape.back() = value->num;
          if (a && a->shape[i] != value->num) {
            Diagnostic d = diagnose(Code::E705, t.span,
                                    {{"x", t.name.str()},
                                     {"e", e},
                                     {"v", std::to_string(value->num)},
                                     {"w", std::to_string(a->shape[i])},
                                     {"with", with(t.shape[i])}});
            if (names.empty())
              d.message =
                  t.name.str() + ": the size must be " + e + ", the argument has " + std::to_string(a->shape[i]);
            errors_.push_back(std::move(d));
          }
        }
      }
      storage(t, shape);
      out_.shapes.push_back(std::move(shape));
    }
  }

  // Bytes must fit 63 bits, also if some other dimension is 0; pairs of packed elements must be whole.
  void storage(const Tensor& t, const std::vector<int64_t>& shape) {
    ScalarType type = out_.type(t.type);
    int64_t bytes = (quern::row(type).bits + 7) / 8;
    for (int64_t n : shape) {
      if (__builtin_mul_overflow(bytes, std::max<int64_t>(n, 1), &bytes)) {
        report(Code::E710, t.span, {{"e", "the size of " + t.name.str()}});
        return;
      }
    }
    if (quern::row(type).bits < 8 && !shape.empty() && shape.back() % 2 != 0) {
      report(Code::E512, t.span, {{"x", t.name.str()}, {"v", std::to_string(shape.back())}});
    }
  }

  const Program& program_;
  const Request& request_;
  Binding out_;
  std::unordered_map<Symbol, std::string> from_;
  std::set<Symbol> wrong_;
  Diagnostics errors_;
};

}  // namespace

ScalarType Binding::type(const ElementType& type) const {
  if (!type.variable) return type.scalar;
  auto it = types.find(type.variable);
  return it == types.end() ? ScalarType::f32 : it->second;
}

std::optional<int64_t> evaluate(const NodePtr& node, const Sizes& sizes) {
  // Every division must come out whole, not only the result: `K / 2 * 2` says that 2 divides K.
  if (node->op == Op::kDiv) {
    auto a = evaluate(node->args[0], sizes), b = evaluate(node->args[1], sizes);
    if (!a || !b || *b == 0 || (*b == -1 && *a == INT64_MIN) || *a % *b != 0) return std::nullopt;
    return *a / *b;
  }
  for (const NodePtr& arg : node->args) {
    if (!evaluate(arg, sizes)) return std::nullopt;
  }
  auto value = rational(node, sizes);
  return value && value->den == 1 ? std::optional(value->num) : std::nullopt;
}

Result<Binding> bind(const Program& program, const Request& request) { return Solver(program, request).run(); }

}  // namespace quern::expr
