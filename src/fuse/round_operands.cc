#include "fuse/round_operands.h"

#include <set>

#include "tile/rebuild.h"

namespace quern::fuse {

using tile::ExprPtr;
using tile::Op;

namespace {

class Rounder {
 public:
  Rounder(const std::map<int32_t, Rounding>& roundings, const tile::Machine& machine)
      : roundings_(roundings), machine_(machine) {}

  void run(tile::Block& block) {
    for (tile::Statement& s : block) {
      if (auto* let = std::get_if<tile::Let>(&s.is)) {
        let->value = rounded(let->value);
        values_[let->name] = let->value;
      }
      if (auto* loop = std::get_if<tile::Loop>(&s.is)) run(loop->body);
      if (auto* branch = std::get_if<tile::If>(&s.is)) run(branch->body);
    }
  }
  const std::set<int32_t>& beside() const { return beside_; }

 private:
  // Dots stand by themselves at this stage.
  ExprPtr rounded(const ExprPtr& e) {
    if (tile::row(*e).family != tile::Family::dot) return e;
    for (size_t k : {0, 1}) {
      const ExprPtr &computed = e->args[k], &plain = e->args[1 - k];
      if (plain->op != Op::kLoad || computed->type != ScalarType::f32 || !is_computed(computed)) continue;
      auto allowed = roundings_.find(plain->id);
      if (allowed == roundings_.end() || plain->type != allowed->second.type || !faster(plain->type)) continue;
      std::vector<ExprPtr> args = e->args;
      args[k] = tile::cast(plain->type, computed);
      beside_.insert(plain->id);
      return tile::with_args(*e, std::move(args), e->guard);
    }
    return e;
  }

  bool faster(ScalarType type) const {
    const tile::DotRule *narrow = machine_.dot(type, ScalarType::f32),
                        *wide = machine_.dot(ScalarType::f32, ScalarType::f32);
    return narrow && wide && narrow->per_cycle > wide->per_cycle;
  }

  // Neither a plain read nor a cast, and no difference from a centre that moves along: that is not what the notation
  // has there, and may be larger. A gauge only scales.
  bool is_computed(const ExprPtr& e) const {
    const ExprPtr& value = resolved(e);
    return value->op != Op::kLoad && value->op != Op::kCast && !moves(value);
  }
  const ExprPtr& resolved(const ExprPtr& e) const {
    if (e->op != Op::kName) return e;
    auto at = values_.find(e->id);
    return at == values_.end() ? e : resolved(at->second);
  }
  bool moves(const ExprPtr& e) const {
    if (e->op == Op::kExp || e->op == Op::kExp2 || e->op == Op::kExpAt) return false;
    if (e->op == Op::kAnchor) return true;
    if (e->op == Op::kName) {
      auto at = values_.find(e->id);
      return at == values_.end() || moves(at->second);  // what is carried, too
    }
    tile::Family family = tile::row(*e).family;
    if (family == tile::Family::reduce || family == tile::Family::dot || family == tile::Family::load) return false;
    for (const ExprPtr& a : e->args) {
      if (moves(a)) return true;
    }
    return false;
  }

  const std::map<int32_t, Rounding>& roundings_;
  const tile::Machine& machine_;
  std::map<int32_t, ExprPtr> values_;
  std::set<int32_t> beside_;
};

}  // namespace

RoundedProgram round_operands(const tile::Program& lowered, const std::map<int32_t, Rounding>& roundings,
                              const tile::Machine& machine) {
  RoundedProgram out{lowered, {}};
  std::set<int32_t> beside;
  for (tile::Kernel& kernel : out.program.kernels) {
    Rounder rounder(roundings, machine);
    rounder.run(kernel.body);
    beside.insert(rounder.beside().begin(), rounder.beside().end());
  }
  for (int32_t p : beside) out.remarks.push_back(roundings.at(p).remark);
  return out;
}

}  // namespace quern::fuse
