#include "place/pads.h"

#include <map>

#include "tile/absent.h"
#include "tile/extent.h"
#include "tile/rebuild.h"
#include "tile/reductions.h"

namespace quern::place {

using namespace tile;

namespace {

class Padder {
 public:
  Padder(const Program& program, Kernel& kernel) : program_(program), kernel_(kernel), walks_(kernel.grid) {}

  void run() { visit(kernel_.body); }

 private:
  void visit(Block& block) {
    for (Statement& s : block) {
      if (auto* loop = std::get_if<Loop>(&s.is)) {
        size_t outer = walks_.size();
        walks_.insert(walks_.end(), loop->walks.begin(), loop->walks.end());
        visit(loop->body);
        walks_.resize(outer);
      } else if (auto* branch = std::get_if<If>(&s.is)) {
        visit(branch->body);
      } else if (auto* nest = std::get_if<Nest>(&s.is)) {
        for (const NestAxis& a : nest->axes) {
          if (a.lanes && !divides(a)) mend(*nest, a.axis);
        }
      }
    }
  }

  // Are all vectors of the axis full?
  bool divides(const NestAxis& a) const {
    const Axis& axis = kernel_.axes[a.axis];
    auto hi = constant(program_, axis.hi), lo = axis.lo ? constant(program_, axis.lo) : std::optional<int64_t>(0);
    if (!hi || !lo || (*hi - *lo) % a.size != 0) return false;
    for (const Walk& w : walks_) {
      if (w.axis == a.axis && (w.lo || w.hi || w.size % a.size != 0)) return false;
    }
    return true;
  }

  void mend(Nest& nest, AxisId lanes) {
    std::map<int32_t, Held> names;
    auto known = [&](const Expr& e) -> std::optional<Held> {
      if (e.op == Op::kLoad && e.axes.has(lanes)) return constant_held(0);
      if (e.op != Op::kName) return std::nullopt;
      auto it = names.find(e.id);
      return it == names.end() ? Held{} : it->second;
    };
    for (Statement& s : nest.body) {
      auto* let = std::get_if<Let>(&s.is);
      if (!let) continue;
      const Expr& e = *let->value;
      if (is_reduction(e) && e.over.has(lanes)) {
        std::vector<ExprPtr> args = e.args;
        size_t operands = row(e).family == Family::dot ? 2 : 1;
        for (size_t i = 0; i < operands; ++i) {
          if (e.args[i]->axes.has(lanes)) args[i] = mended(e, args[i], held(args[i], known), lanes);
        }
        let->value = with_args(e, args, e.guard);
        names[let->name] = Held{};
      } else {
        names[let->name] = held(let->value, known);
      }
    }
  }

  static ExprPtr mended(const Expr& reduction, const ExprPtr& operand, const Held& holds, AxisId lanes) {
    bool dot = row(reduction).family == Family::dot;
    if (dot ? holds.is(0) : unnoticed(reduction, {holds})) return operand;
    ExprPtr nothing = dot ? zero(operand->type) : identity(reduction.op, operand->type);
    return select(apply(Op::kLt, {axis(lanes), axis_high(lanes)}), operand, nothing);
  }

  const Program& program_;
  Kernel& kernel_;
  std::vector<Walk> walks_;
};

}  // namespace

Result<Program> pads(const Program& laid, const Machine& machine) {
  Program out = laid;
  if (!machine.lanes_talk) return out;
  for (Kernel& kernel : out.kernels) Padder(laid, kernel).run();
  return out;
}

}  // namespace quern::place
