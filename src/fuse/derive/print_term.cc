#include "fuse/derive/print_term.h"

#include <fmt/format.h>

#include <cmath>

namespace quern::fuse::algebra {

namespace {

constexpr size_t kLongest = 60;  // of a term in a remark

}  // namespace

std::string number_text(double value) {
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (value == std::floor(value) && std::abs(value) < 1e15) return fmt::format("{:.0f}", value);
  return fmt::format("{:.6g}", value);
}

std::string Writer::axis(AxisId id) const {
  if (facts_.axes && static_cast<size_t>(id) < facts_.axes->size()) return (*facts_.axes)[id].name.str();
  return fmt::format("i{}", id);
}

std::string Writer::parameter(int32_t id) const {
  if (facts_.program && id >= 0 && static_cast<size_t>(id) < facts_.program->parameters.size()) {
    return facts_.program->parameters[id].name.str();
  }
  return fmt::format("t{}", id);
}

std::string Writer::axes(AxisSet set) const {
  std::string out;
  for (AxisId id : set.list()) out += (out.empty() ? "" : ", ") + axis(id);
  return out;
}

std::string Writer::text(const ExprPtr& e) const { return write(e, 0); }

std::string Writer::brief(const ExprPtr& e) const {
  std::string out(e->span.text());
  if (out.empty()) out = text(e);
  if (out.size() > kLongest) out = out.substr(0, kLongest - 3) + "...";
  return out;
}

std::string Writer::write(const ExprPtr& e, int outer) const {
  if (call) {
    std::string name = call(e);
    if (!name.empty()) return name;
  }
  const tile::OpRow& r = row(*e);
  auto list = [&](const std::vector<ExprPtr>& args) {
    std::string out;
    for (const ExprPtr& a : args) out += (out.empty() ? "" : ", ") + write(a, 0);
    return out;
  };
  auto wrapped = [&](std::string text, int precedence) { return precedence < outer ? "(" + text + ")" : text; };
  switch (r.family) {
    case Family::literal:
      if (e->op == Op::kBoolean) return e->integer != 0 ? "true" : "false";
      if (e->op == Op::kInteger) return fmt::format("{}", e->integer);
      return number_text(e->real);
    case Family::dim:
      if (facts_.program && static_cast<size_t>(e->id) < facts_.program->dims.size()) {
        return facts_.program->dims[e->id].name.str();
      }
      return fmt::format("D{}", e->id);
    case Family::axis: return axis(e->id) + std::string(r.text);
    case Family::name: return fmt::format("x{}", e->id);
    case Family::load: return parameter(e->id) + (e->args.empty() ? "" : "[" + list(e->args) + "]");
    case Family::negate: return wrapped("-" + write(e->args[0], r.precedence), r.precedence);
    case Family::negation: return wrapped("not " + write(e->args[0], r.precedence), r.precedence);
    case Family::arithmetic:
    case Family::bits:
    case Family::compare:
    case Family::logic: {
      bool left = r.family == Family::compare;
      return wrapped(write(e->args[0], r.precedence + (left ? 1 : 0)) + " " + std::string(r.text) + " " +
                         write(e->args[1], r.precedence + (e->op == Op::kAdd || e->op == Op::kMul ? 0 : 1)),
                     r.precedence);
    }
    case Family::select:
      return wrapped(write(e->args[0], 1) + " if " + write(e->args[1], 1) + " else " + write(e->args[2], 0), 0);
    case Family::cast: {
      // Widening is exact and goes without saying.
      const ExprPtr& a = e->args[0];
      bool exact = is_real(e) && row(e->type).bits >= 32 && (!is_real(a) || row(a->type).bits <= row(e->type).bits);
      if (exact) return write(a, outer);
      return std::string(name(e->type)) + "(" + write(a, 0) + ")";
    }
    case Family::reduce:
    case Family::dot: {
      if (e->op == Op::kSum) {
        return wrapped("sum[" + axes(e->over) + "] " + write(e->args[0], 10), 9);
      }
      return std::string(r.text) + "[" + axes(e->over) + "](" + list(e->args) + ")";
    }
    default: return std::string(r.text) + "(" + list(e->args) + ")";
  }
}

}  // namespace quern::fuse::algebra
