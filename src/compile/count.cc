#include "compile/count.h"

#include <set>
#include <unordered_set>

#include "tile/extent.h"

namespace quern::compile {
namespace {

using tile::AxisSet;
using tile::Expr;
using tile::ExprPtr;
using tile::Family;

class Counter {
 public:
  Counter(const tile::Program& program, const tile::Kernel& kernel) : program_(program), kernel_(kernel) {}

  double flops = 0;
  std::set<int32_t> read, written;

  void block(const tile::Block& statements) {
    for (const tile::Statement& s : statements) std::visit([&](const auto& x) { statement(x); }, s.is);
  }

 private:
  void statement(const tile::Let& let) { expression(let.value); }
  void statement(const tile::Store& store) {
    written.insert(store.parameter);
    for (const ExprPtr& e : store.subscripts) expression(e);
    expression(store.value);
    if (store.when) expression(store.when);
    if (store.add) flops += points(store.value->axes);
  }
  void statement(const tile::Loop& loop) {
    for (const tile::Carry& c : loop.carries) {
      expression(c.init);
      expression(c.next);
    }
    block(loop.body);
  }
  void statement(const tile::If& branch) { block(branch.body); }
  void statement(const tile::Nest& nest) { block(nest.body); }
  void statement(const tile::Keep&) {}

  double points(AxisSet axes) {
    double out = 1;
    for (tile::AxisId a : axes.list()) out *= static_cast<double>(tile::extent(program_, kernel_, a).value_or(1));
    return out;
  }

  void expression(const ExprPtr& e) {
    if (!e || !seen_.insert(e.get()).second) return;
    const tile::OpRow& r = row(*e);
    if (r.family == Family::load) read.insert(e->id);
    bool real = kind(e->type) == Kind::kReal;
    if (r.family == Family::dot) {
      flops += 2 * points(e->axes | e->over);
    } else if (r.family == Family::reduce) {
      if (real) flops += points(e->axes | e->over);
    } else if (real && computes(r.family)) {
      flops += points(e->axes);
    }
    for (const ExprPtr& a : e->args) expression(a);
    expression(e->guard);
  }

  // One operation on reals. Casts, selects and comparisons are not counted, as nobody does.
  static bool computes(Family f) {
    return f == Family::arithmetic || f == Family::fma || f == Family::function || f == Family::function2 ||
           f == Family::extremum || f == Family::negate;
  }

  const tile::Program& program_;
  const tile::Kernel& kernel_;
  std::unordered_set<const Expr*> seen_;
};

double bytes_of(const tile::Program& program, const tile::Parameter& p) {
  double elements = 1;
  for (const ExprPtr& e : p.shape) elements *= static_cast<double>(tile::constant(program, e).value_or(1));
  return elements * row(p.type).bits / 8;
}

}  // namespace

backend::Work count(const tile::Program& lowered) {
  backend::Work out;
  for (const tile::Kernel& k : lowered.kernels) {
    Counter counter(lowered, k);
    counter.block(k.body);
    out.flops += counter.flops;
    for (int32_t p : counter.read) out.moved_bytes += bytes_of(lowered, lowered.parameters[static_cast<size_t>(p)]);
    for (int32_t p : counter.written) out.moved_bytes += bytes_of(lowered, lowered.parameters[static_cast<size_t>(p)]);
    ++out.kernels;
  }
  for (const tile::Parameter& p : lowered.parameters) {
    if (p.role == tile::Role::kIn || p.role == tile::Role::kOut) out.least_bytes += bytes_of(lowered, p);
    if (p.role == tile::Role::kInout) out.least_bytes += 2 * bytes_of(lowered, p);
  }
  return out;
}

}  // namespace quern::compile
