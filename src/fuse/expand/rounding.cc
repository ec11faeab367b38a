// Operand rounding, the permission: a sum of the notation says whether the operand beside a plain one of 16 bits may be
// rounded; here it becomes a statement about the parameter that is read there, because a derivation makes other sums of
// the sum, but goes on multiplying with that parameter's elements.
#include "expr/print.h"
#include "fuse/expand/expander.h"
#include "tile/rebuild.h"

namespace quern::fuse {

using tile::ExprPtr;

namespace {

// The parameters that a product reads as plain factors.
void plain_factors(const ExprPtr& e, std::set<int32_t>& out) {
  switch (e->op) {
    case tile::Op::kMul:
    case tile::Op::kDiv:
      plain_factors(e->args[0], out);
      plain_factors(e->args[1], out);
      return;
    case tile::Op::kSelect:
      plain_factors(e->args[0], out);
      plain_factors(e->args[2], out);
      return;
    case tile::Op::kNeg:
    case tile::Op::kCast: plain_factors(e->args[0], out); return;
    case tile::Op::kLoad: out.insert(e->id); return;
    default: return;
  }
}

}  // namespace

void Expander::note_rounding(const expr::NodePtr& sum, const ExprPtr& made, const std::optional<expr::Contraction>& c) {
  std::optional<Rounding> allowed;
  if (c && c->rounds_to) {
    int k = c->computed[0] ? 0 : 1;
    allowed =
        Rounding{*c->rounds_to,
                 diagnose(Code::R2, sum->span,
                          {{"e", expr::print(expr::operand(*c, k))}, {"t", std::string(quern::name(*c->rounds_to))}})};
  }
  // Sums of the notation that are written differently may become one.
  auto [at, added] = sums_.emplace(made.get(), allowed);
  if (!added && !allowed) at->second.reset();
  // Sums that were taken out of it (fuse/factor.h).
  tile::each_part(made->args[0], [&](const ExprPtr& part) {
    if (part->op == tile::Op::kSum) sums_.emplace(part.get(), std::nullopt);
  });
}

void Expander::settle_roundings() {
  std::set<int32_t> refused;
  for (const auto& [sum, allowed] : sums_) {
    std::set<int32_t> factors;
    plain_factors(sum->args[0], factors);
    for (int32_t p : factors) {
      if (allowed && allowed->type == graph_.program.parameters[static_cast<size_t>(p)].type) {
        graph_.roundings.emplace(p, *allowed);
      } else {
        refused.insert(p);
      }
    }
  }
  for (int32_t p : refused) graph_.roundings.erase(p);
}

}  // namespace quern::fuse
