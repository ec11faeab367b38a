// Expressions by precedence, with as few parentheses as the grammar allows.
#include "tile/print_expression.h"

#include <fmt/format.h>

#include <cmath>

namespace quern::tile {
namespace {

constexpr int kPrimary = 12;

std::string number(double v, ScalarType type) {
  std::string out;
  if (std::isnan(v)) {
    out = std::signbit(v) ? "-nan" : "nan";
  } else if (std::isinf(v)) {
    out = v < 0 ? "-inf" : "inf";
  } else {
    out = fmt::format("{}", v);
    if (out.find_first_of(".e") == std::string::npos) out += ".0";
  }
  if (type != ScalarType::f32) out += fmt::format(":{}", quern::name(type));
  return out;
}

std::string at(const std::vector<std::string>& names, int32_t id) {
  return id >= 0 && static_cast<size_t>(id) < names.size() ? names[static_cast<size_t>(id)] : fmt::format("?{}", id);
}

// A literal that prints as a number without sign, so that `-` before it would be taken for its sign.
bool is_plain_number(const Expr& e) { return e.op == Op::kInteger || e.op == Op::kReal; }

// How tightly an expression binds as it is printed. A guard reads `load x[i] if c`, which binds as a selection does.
int precedence(const Expr& e) { return e.op == Op::kLoad && e.guard ? 0 : row(e).precedence; }

}  // namespace

std::string ExpressionPrinter::axis(AxisId id) const { return at(kernel_ ? kernel_->axes : program_.dims, id); }
std::string ExpressionPrinter::name(int32_t id) const {
  return kernel_ ? at(kernel_->names, id) : fmt::format("?{}", id);
}

std::string ExpressionPrinter::text(const ExprPtr& e, int least) const {
  std::string out;
  add(out, e, least);
  return out;
}

void ExpressionPrinter::add(std::string& out, const ExprPtr& e, int least) const {
  if (!e) {
    out += "?";
    return;
  }
  bool inside = precedence(*e) < least;
  if (inside) out += "(";
  plain(out, *e);
  if (inside) out += ")";
}

void ExpressionPrinter::list(std::string& out, const std::vector<ExprPtr>& args) const {
  out += "(";
  for (size_t i = 0; i < args.size(); ++i) {
    if (i) out += ", ";
    add(out, args[i], 0);
  }
  out += ")";
}

void ExpressionPrinter::axes(std::string& out, AxisSet set) const {
  out += "[";
  bool first = true;
  for (AxisId a : set.list()) {
    if (!first) out += ", ";
    first = false;
    out += axis(a);
  }
  out += "]";
}

std::string ExpressionPrinter::reference(int32_t parameter, const std::vector<ExprPtr>& subscripts, uint32_t checked,
                                         int32_t site) const {
  std::string out = at(program_.parameters, parameter);
  if (!subscripts.empty()) {
    out += "[";
    for (size_t i = 0; i < subscripts.size(); ++i) {
      if (i) out += ", ";
      if (i < 32 && (checked >> i & 1)) out += "checked ";
      add(out, subscripts[i], 0);
    }
    out += "]";
  }
  if (site >= 0) out += fmt::format(" @{}", site);
  return out;
}

void ExpressionPrinter::plain(std::string& out, const Expr& e) const {
  const OpRow& r = row(e);
  switch (r.family) {
    case Family::literal:
      if (e.op == Op::kBoolean) {
        out += e.integer ? "true" : "false";
      } else if (e.op == Op::kReal) {
        out += number(e.real, e.type);
      } else {
        out += std::to_string(e.integer);
      }
      return;
    case Family::dim: out += at(program_.dims, e.id); return;
    case Family::axis: out += axis(e.id) + std::string(r.text); return;
    case Family::name: out += name(e.id); return;
    case Family::fill:
      out += r.text;
      axes(out, e.over);
      return list(out, e.args);
    case Family::load:
      out += "load " + reference(e.id, e.args, e.checked, e.site);
      if (e.guard) {
        out += " if ";
        add(out, e.guard, 1);
      }
      return;
    case Family::arithmetic:
    case Family::bits:
    case Family::logic:
      add(out, e.args[0], r.precedence);
      out += fmt::format(" {} ", r.text);
      return add(out, e.args[1], r.precedence + 1);
    case Family::compare:
      add(out, e.args[0], r.precedence + 1);
      out += fmt::format(" {} ", r.text);
      return add(out, e.args[1], r.precedence + 1);
    case Family::negate:
      out += r.text;
      return add(out, e.args[0], is_plain_number(*e.args[0]) ? kPrimary + 1 : r.precedence);
    case Family::negation: out += fmt::format("{} ", r.text); return add(out, e.args[0], r.precedence);
    case Family::select:
      add(out, e.args[0], 1);
      out += " if ";
      add(out, e.args[1], 1);
      out += " else ";
      return add(out, e.args[2], 0);
    case Family::cast: out += quern::name(e.type); return list(out, e.args);
    case Family::reduce:
      if (e.nan_ignored) out += "fast";
      out += r.text;
      axes(out, e.over);
      return list(out, e.args);
    case Family::check:
      out += r.text;
      list(out, e.args);
      if (e.site >= 0) out += fmt::format(" @{}", e.site);
      return;
    case Family::dot:
      out += r.text;
      if (e.type != ScalarType::f32) out += fmt::format(":{}", quern::name(e.type));
      axes(out, e.over);
      return list(out, e.args);
    case Family::extremum:
      if (e.nan_ignored) out += "fast";
      out += r.text;
      return list(out, e.args);
    case Family::fma:
    case Family::function:
    case Family::function2:
    case Family::rounding:
    case Family::anchor:
    case Family::random: out += r.text; return list(out, e.args);
  }
}

}  // namespace quern::tile
