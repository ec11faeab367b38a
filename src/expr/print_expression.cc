#include "expr/print_expression.h"

#include <fmt/format.h>

#include <cmath>

#include "expr/print.h"

namespace quern::expr {
namespace {

constexpr int kPrimary = 12;
constexpr int kNestingWeight = 20;  // above every precedence: any operator outside a bracket breaks before one inside

bool is_bits(Family f) { return f == Family::bits; }
bool is_loose_beside_bits(Family f) { return f == Family::arithmetic || f == Family::reduction || f == Family::negate; }

class Printer {
 public:
  explicit Printer(Line& line) : line_(line) {}

  // `least`: precedence below which parentheses are needed. `factor_follows`: a `*` or `/` may come right after, which
  // an open reduction would swallow.
  void expression(const NodePtr& node, int least, bool factor_follows) {
    const OpRow& r = row(*node);
    bool parentheses = precedence(*node) < least || (r.family == Family::reduction && factor_follows);
    if (parentheses) {
      line_.add("(");
      ++line_.nesting;
      factor_follows = false;
    }
    bare(node, factor_follows);
    if (parentheses) {
      --line_.nesting;
      line_.add(")");
    }
  }

 private:
  static int precedence(const Node& n) {
    if (n.chain) return row(Op::kLt).precedence;
    // A negative number is only made by folding; it binds like a negation.
    if ((n.op == Op::kInteger && n.integer < 0) || (n.op == Op::kReal && std::signbit(n.real))) {
      return row(Op::kNeg).precedence;
    }
    return row(n).precedence;
  }

  void bare(const NodePtr& node, bool factor_follows) {
    const OpRow& r = row(*node);
    switch (r.family) {
      case Family::literal: return literal(*node);
      case Family::name:
      case Family::resolved: return line_.add(node->name.str());
      case Family::subscript: return subscripts(*node);
      case Family::read:
        if (node->args.empty()) return line_.add(node->name.str());
        return subscripts(*node);
      case Family::call:
        line_.add(node->name.str());
        if (!node->binders.empty()) brackets(node->binders);
        return arguments(*node);
      case Family::cast:
        line_.add(name(node->type));
        return arguments(*node);
      case Family::within:
      case Family::function:
      case Family::function2:
      case Family::rounding:
      case Family::extremum:
      case Family::random:
        line_.add(r.text);
        return arguments(*node);
      case Family::reduction:
        line_.add(r.text);
        brackets(node->binders);
        line_.add(" ");
        return body(node->args[0], factor_follows);
      case Family::negate:
        line_.add("-");
        return expression(node->args[0], r.precedence, factor_follows);
      case Family::negation:
        line_.add("not ");
        return expression(node->args[0], r.precedence, false);
      case Family::select:
        expression(node->args[0], 1, false);
        line_.blank(0);
        line_.add("if ");
        expression(node->args[1], 1, false);
        line_.blank(0);
        line_.add("else ");
        return expression(node->args[2], 0, false);
      case Family::compare:
        expression(node->args[0], r.precedence + 1, false);
        return right_of_compare(*node);
      case Family::logic: return logic(*node, r);
      case Family::arithmetic:
      case Family::bits: return binary(*node, r, factor_follows);
    }
  }

  // A term: a product, or another reduction.
  void body(const NodePtr& n, bool factor_follows) {
    bool reduces = row(*n).family == Family::reduction;
    expression(n, reduces ? 0 : row(Op::kMul).precedence, factor_follows);
  }

  void literal(const Node& n) {
    if (!n.name.empty()) return line_.add(n.name.str());
    if (n.op == Op::kInteger) return line_.add(std::to_string(n.integer));
    if (n.op != Op::kReal) return line_.add(row(n).text);
    if (std::isnan(n.real)) return line_.add("nan");
    if (std::isinf(n.real)) return line_.add(n.real < 0 ? "-inf" : "inf");
    std::string text = fmt::format("{}", n.real);
    // A real has a point or an exponent, or it would read back as an integer.
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    line_.add(text);
  }

  void subscripts(const Node& n) {
    line_.add(n.name.str());
    list("[", n.args, "]");
  }
  void arguments(const Node& n) { list("(", n.args, ")"); }
  void list(std::string_view open, const std::vector<NodePtr>& parts, std::string_view close) {
    line_.add(open);
    ++line_.nesting;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (i) {
        line_.add(",");
        line_.blank(0);
      }
      expression(parts[i], 0, false);
    }
    --line_.nesting;
    line_.add(close);
  }
  void brackets(const std::vector<Binder>& binders) {
    line_.add("[");
    ++line_.nesting;
    print_binders(line_, binders);
    --line_.nesting;
    line_.add("]");
  }

  void right_of_compare(const Node& n) {
    line_.blank(row(n).precedence);
    line_.add(fmt::format("{} ", row(n).text));
    expression(n.args[1], row(n).precedence + 1, false);
  }

  void logic(const Node& n, const OpRow& r) {
    if (n.chain) {
      // a < b <= c: the left side is a comparison or a shorter chain, the right one shares its left operand with it.
      expression(n.args[0], row(Op::kLt).precedence, false);
      return right_of_compare(*n.args[1]);
    }
    int least = r.precedence;
    if (n.op == Op::kOr) least = row(Op::kAnd).precedence + 1;  // parentheses around `and` inside `or`
    expression(n.args[0], is(n.args[0], Op::kOr) && n.op == Op::kOr ? 0 : least, false);
    line_.blank(r.precedence);
    line_.add(fmt::format("{} ", r.text));
    expression(n.args[1], is(n.args[1], Op::kOr) ? r.precedence + 1 : std::max(least, r.precedence + 1), false);
  }

  // Left associative; the right operand needs one level more.
  void binary(const Node& n, const OpRow& r, bool factor_follows) {
    bool multiplies = r.precedence == row(Op::kMul).precedence;
    operand(n, n.args[0], r.precedence, multiplies);
    line_.blank(r.precedence);
    line_.add(fmt::format("{} ", r.text));
    operand(n, n.args[1], r.precedence + 1, multiplies && factor_follows);
  }

  void operand(const Node& parent, const NodePtr& child, int least, bool factor_follows) {
    Family own = row(parent).family, other = row(*child).family;
    bool unlike = is_bits(own) && ((is_bits(other) && child->op != parent.op) || is_loose_beside_bits(other));
    // A reduction binds between + and *: as the last factor it needs no parentheses.
    bool open_reduction = other == Family::reduction && own == Family::arithmetic && !factor_follows;
    expression(child, unlike ? kPrimary : open_reduction ? 0 : least, factor_follows);
  }

  Line& line_;
};

}  // namespace

void Line::blank(int weight) {
  breaks.push_back({text.size(), nesting * kNestingWeight + weight});
  text += ' ';
}

void print_expression(Line& line, const NodePtr& node) { Printer(line).expression(node, 0, false); }

void print_condition(Line& line, const NodePtr& node) { Printer(line).expression(node, 1, false); }

void print_binder(Line& line, const Binder& b) {
  constexpr int kBits = 5;  // bounds are `bits` in the grammar
  Printer printer(line);
  if (b.lo) {
    printer.expression(b.lo, kBits, false);
    line.add(b.lo_strict ? " < " : " <= ");
  }
  line.add(b.name.str());
  if (b.hi) {
    line.add(b.hi_inclusive ? " <= " : " < ");
    printer.expression(b.hi, kBits, false);
  }
}

void print_binders(Line& line, const std::vector<Binder>& binders) {
  for (size_t i = 0; i < binders.size(); ++i) {
    if (i) {
      line.add(",");
      line.blank(0);
    }
    print_binder(line, binders[i]);
  }
}

std::string broken(const Line& line, size_t indent) {
  std::string out;
  size_t start = 0;
  size_t used = 0;  // columns before `start` on the current line
  while (used + line.text.size() - start > kColumns) {
    const Line::Break* best = nullptr;
    const Line::Break* first_beyond = nullptr;
    for (const Line::Break& b : line.breaks) {
      if (b.position <= start) continue;
      if (used + b.position - start > kColumns) {
        if (!first_beyond) first_beyond = &b;
        break;
      }
      if (!best || b.weight <= best->weight) best = &b;
    }
    if (!best) best = first_beyond;  // nothing short enough: the shortest that there is
    if (!best) break;
    out += line.text.substr(start, best->position - start);
    out += "\n" + std::string(indent, ' ');
    start = best->position + 1;
    used = indent;
  }
  return out + line.text.substr(start);
}

}  // namespace quern::expr
