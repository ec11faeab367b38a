#include "random_syntax.h"

#include <cmath>

#include "choices.h"

namespace quern::fuzz {
namespace {

using expr::Binder;
using expr::Comments;
using expr::Definition;
using expr::ElementType;
using expr::Family;
using expr::Node;
using expr::NodePtr;
using expr::Op;

class Writer {
 public:
  explicit Writer(uint64_t seed) : choose_(seed) {}

  expr::Module module() {
    expr::Module out;
    for (int i = 1 + choose_.below(4); i > 0; --i) out.items.push_back(item());
    if (choose_.one_in(4)) out.closing_comments = blocks();
    return out;
  }

 private:
  Symbol lower() {
    static const std::vector<std::string> names = {"a", "b", "x", "y", "n", "m", "i", "_", "t2", "exp", "count", "a_name_that_is_long"};
    return Symbol(choose_.of(names));
  }
  Symbol upper() {
    static const std::vector<std::string> names = {"M", "N", "K", "T", "N2", "LONG_DIMENSION", "A_B"};
    return Symbol(choose_.of(names));
  }

  // --- expressions ---
  NodePtr leaf() {
    switch (choose_.below(8)) {
      case 0: {
        static const std::vector<std::pair<std::string, int64_t>> numbers = {
            {"0", 0}, {"1", 1}, {"12", 12}, {"0x1f", 31}, {"007", 7}, {"9223372036854775807", INT64_MAX}, {"0xffffffffffffffff", -1}};
        const auto& [text, value] = choose_.of(numbers);
        Node n{.op = Op::kInteger};
        n.name = Symbol(text);
        n.integer = value;
        return expr::make(std::move(n));
      }
      case 1: {
        static const std::vector<std::pair<std::string, double>> numbers = {{"0.5", 0.5}, {"1e-6", 1e-6}, {"1.0", 1}, {"2E+3", 2000}};
        const auto& [text, value] = choose_.of(numbers);
        Node n{.op = Op::kReal};
        n.name = Symbol(text);
        n.real = value;
        return expr::make(std::move(n));
      }
      case 2: return expr::make(Node{.op = choose_.of<Op>({Op::kTrue, Op::kFalse, Op::kInf, Op::kNan})});
      case 3:
      case 4: return named(Op::kUpper, upper(), {});
      default: return named(Op::kName, lower(), {});
    }
  }

  NodePtr named(Op op, Symbol name, std::vector<NodePtr> args, std::vector<Binder> binders = {}) {
    Node n{.op = op};
    n.name = name;
    n.args = std::move(args);
    n.binders = std::move(binders);
    return expr::make(std::move(n));
  }

  std::vector<NodePtr> some(int depth, int most = 3) {
    std::vector<NodePtr> out;
    for (int i = 1 + choose_.below(most); i > 0; --i) out.push_back(expression(depth));
    return out;
  }

  NodePtr expression(int depth) {
    if (depth <= 0) return leaf();
    switch (choose_.below(16)) {
      case 0: return leaf();
      case 1: return named(Op::kSubscript, lower(), some(depth - 1));
      case 2: return named(Op::kCall, choose_.one_in(4) ? upper() : lower(), some(depth - 1));
      case 3: return named(Op::kCall, lower(), some(depth - 1), binders(depth - 1));
      case 4: return cast(depth);
      case 5: return expr::make_op(choose_.of<Op>({Op::kMaxOf, Op::kMinOf}), some(depth - 1));
      case 6:
      case 7: return reduction(depth);
      case 8: return expr::make_op(Op::kSelect, {expression(depth - 1), expression(depth - 1), expression(depth - 1)});
      case 9: return chain(depth);
      case 10: return expr::make_op(choose_.of<Op>({Op::kNeg, Op::kNot}), {expression(depth - 1)});
      default: return binary(depth);
    }
  }

  NodePtr binary(int depth) {
    static const std::vector<Op> ops = [] {
      std::vector<Op> out;
      for (const expr::OpRow& r : expr::op_rows()) {
        bool two = r.family == Family::arithmetic || r.family == Family::bits || r.family == Family::compare || r.family == Family::logic;
        if (two) out.push_back(r.op);
      }
      return out;
    }();
    return expr::make_op(choose_.of(ops), {expression(depth - 1), expression(depth - 1)});
  }

  NodePtr cast(int depth) {
    Node n{.op = Op::kCast};
    n.type.scalar = choose_.of(type_rows()).type;
    n.args = {expression(depth - 1)};
    return expr::make(std::move(n));
  }

  NodePtr reduction(int depth) {
    static const std::vector<Op> ops = {Op::kSum, Op::kProd, Op::kMax, Op::kMin, Op::kArgmax, Op::kArgmin, Op::kAny, Op::kAll};
    Node n{.op = choose_.of(ops)};
    n.binders = binders(depth - 1);
    n.args = {expression(depth - 1)};
    return expr::make(std::move(n));
  }

  // a < b <= c: comparisons that share their middle.
  NodePtr chain(int depth) {
    static const std::vector<Op> ops = {Op::kLt, Op::kLe, Op::kGt, Op::kGe, Op::kEq, Op::kNe};
    NodePtr left = expression(depth - 1), middle = expression(depth - 1);
    NodePtr out = expr::make_op(choose_.of(ops), {left, middle});
    for (int i = 1 + choose_.below(2); i > 0; --i) {
      NodePtr right = expression(depth - 1);
      Node n{.op = Op::kAnd};
      n.chain = true;
      n.args = {out, expr::make_op(choose_.of(ops), {middle, right})};
      out = expr::make(std::move(n));
      middle = right;
    }
    return out;
  }

  Binder binder(int depth) {
    Binder b;
    b.name = lower();
    int form = choose_.below(3);
    if (form > 0) {
      b.hi = expression(depth);
      b.hi_inclusive = choose_.one_in(2);
    }
    if (form > 1) {
      b.lo = expression(depth);
      b.lo_strict = choose_.one_in(2);
    }
    return b;
  }
  std::vector<Binder> binders(int depth) {
    std::vector<Binder> out;
    for (int i = 1 + choose_.below(3); i > 0; --i) out.push_back(binder(depth));
    return out;
  }

  // --- comments ---
  std::vector<std::string> lines() {
    static const std::vector<std::string> texts = {"", "why", "# more", "  indented", "größe: sum[i] x[i]", "}", "kernel f() {"};
    std::vector<std::string> out;
    for (int i = 1 + choose_.below(2); i > 0; --i) out.push_back(choose_.of(texts));
    return out;
  }
  std::vector<std::vector<std::string>> blocks() {
    std::vector<std::vector<std::string>> out;
    for (int i = 1 + choose_.below(2); i > 0; --i) out.push_back(lines());
    return out;
  }
  Comments comments() {
    Comments out;
    if (choose_.one_in(4)) {
      out.blocks = blocks();
      out.attached = choose_.one_in(2);
    }
    if (choose_.one_in(6)) out.trailing = {"behind"};
    return out;
  }

  // --- items ---
  ElementType type() {
    if (choose_.one_in(2)) return {.scalar = ScalarType::f32, .variable = upper()};
    return {.scalar = choose_.of(type_rows()).type, .variable = {}};
  }

  Definition definition(bool function) {
    Definition d;
    d.name = lower();
    d.comments = comments();
    if (!function && choose_.one_in(3)) {
      d.loops = binders(1);
      if (choose_.one_in(2)) d.filter = expression(2);
    }
    for (int i = choose_.below(4); i > 0; --i) {
      if (choose_.one_in(4)) {
        d.left.push_back({std::nullopt, expr::make_op(Op::kAdd, {expression(2), expression(1)})});
      } else {
        d.left.push_back({binder(1), nullptr});
      }
    }
    if (choose_.one_in(4)) d.type = type();
    d.add = choose_.one_in(4);
    d.value = expression(1 + choose_.below(6));
    return d;
  }

  std::vector<Definition> definitions(bool function) {
    std::vector<Definition> out;
    for (int i = choose_.below(4); i > 0; --i) out.push_back(definition(function));
    return out;
  }

  expr::Parameter parameter(bool result) {
    expr::Parameter p;
    p.name = lower();
    p.shaped.type = type();
    if (choose_.one_in(2)) p.shaped.shape = some(2);
    p.inout = !result && choose_.one_in(5);
    if (choose_.one_in(4)) p.value = expression(2);
    return p;
  }

  expr::Item item() {
    switch (choose_.below(5)) {
      case 0: return expr::Import{.name = lower(), .span = {}, .comments = comments()};
      case 1: return expr::Constant{.name = upper(), .name_span = {}, .value = expression(3), .span = {}, .comments = comments()};
      case 2: return function();
      default: return kernel();
    }
  }

  expr::Function function() {
    expr::Function f;
    f.name = lower();
    f.comments = comments();
    for (int i = choose_.below(3); i > 0; --i) f.indices.push_back(lower());
    for (int i = 1 + choose_.below(3); i > 0; --i) {
      expr::Function::Formal formal;
      formal.name = lower();
      for (int k = choose_.below(3); k > 0; --k) formal.indices.push_back(lower());
      f.formals.push_back(std::move(formal));
    }
    f.braces = choose_.one_in(2);
    if (f.braces) f.definitions = definitions(true);
    if (f.braces) f.return_comments = comments();
    if (f.braces && choose_.one_in(4)) f.closing_comments = blocks();
    f.value = expression(1 + choose_.below(5));
    return f;
  }

  expr::Kernel kernel() {
    expr::Kernel k;
    k.name = lower();
    k.comments = comments();
    for (int i = choose_.below(3); i > 0; --i) {
      expr::Given g;
      g.name = upper();
      g.dynamic = choose_.one_in(4);
      if (!g.dynamic && choose_.one_in(2)) {
        if (choose_.one_in(2)) {
          g.value = expression(2);
        } else {
          g.type = ElementType{.scalar = choose_.of(type_rows()).type, .variable = {}};
        }
      }
      k.given.push_back(std::move(g));
    }
    for (int i = choose_.below(6); i > 0; --i) k.parameters.push_back(parameter(false));
    for (int i = choose_.below(4); i > 0; --i) k.results.push_back(parameter(true));
    k.definitions = definitions(false);
    if (choose_.one_in(4)) k.closing_comments = blocks();
    return k;
  }

  Choices choose_;
};

}  // namespace

expr::Module random_syntax(uint64_t seed) { return Writer(seed).module(); }

}  // namespace quern::fuzz
