// A walk over all statements until nothing changes: what is carried, and tensors between kernels, close circles.
#include "tile/interpret/anchors.h"

namespace quern::tile {

Anchors::Anchors(const Program& program) : parameters_(program.parameters.size()), known_(program.kernels.size()) {
  for (const Kernel& k : program.kernels) names_.emplace_back(k.names.size());
  // Carried names and tensors between kernels: until nothing changes.
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t k = 0; k < program.kernels.size(); ++k) {
      changed |= scan(k, program.kernels[k].body);
    }
  }
}

bool Anchors::mark(std::vector<bool>& of, int32_t id, bool anchored) {
  if (!anchored || id < 0 || of[static_cast<size_t>(id)]) return false;
  of[static_cast<size_t>(id)] = true;
  for (auto& k : known_) k.clear();
  return true;
}

bool Anchors::scan(size_t kernel, const Block& block) {
  bool changed = false;
  for (const Statement& s : block) {
    if (auto* let = std::get_if<Let>(&s.is)) {
      changed |= mark(names_[kernel], let->name, before(kernel, let->value));
    } else if (auto* store = std::get_if<Store>(&s.is)) {
      changed |= mark(parameters_, store->parameter, before(kernel, store->value));
    } else if (auto* loop = std::get_if<Loop>(&s.is)) {
      for (const Carry& c : loop->carries) changed |= mark(names_[kernel], c.name, before(kernel, c.init));
      changed |= scan(kernel, loop->body);
      for (const Carry& c : loop->carries) changed |= mark(names_[kernel], c.name, before(kernel, c.next));
    } else if (auto* branch = std::get_if<If>(&s.is)) {
      changed |= scan(kernel, branch->body);
    } else if (auto* nest = std::get_if<Nest>(&s.is)) {
      changed |= scan(kernel, nest->body);
    }
  }
  return changed;
}

bool Anchors::before(size_t kernel, const ExprPtr& e) const {
  if (e->op == Op::kName) return names_[kernel][static_cast<size_t>(e->id)];
  auto found = known_[kernel].find(e.get());
  if (found != known_[kernel].end()) return found->second;
  bool anchored = look(kernel, *e);
  known_[kernel][e.get()] = anchored;
  return anchored;
}

bool Anchors::look(size_t kernel, const Expr& e) const {
  if (e.op == Op::kAnchor || (e.op == Op::kLoad && parameters_[static_cast<size_t>(e.id)])) return true;
  for (const ExprPtr& a : e.args) {
    if (before(kernel, a)) return true;
  }
  return e.guard && before(kernel, e.guard);
}

}  // namespace quern::tile
