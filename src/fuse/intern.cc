#include "fuse/intern.h"

#include <bit>

namespace quern::fuse {

using tile::Expr;
using tile::ExprPtr;

ExprPtr Interner::operator()(ExprPtr e) { return *all_.insert(std::move(e)).first; }

size_t Interner::Hash::operator()(const ExprPtr& e) const {
  uint64_t h = 0;
  auto mix = [&](uint64_t x) {
    h = (h ^ x) * 0xff51afd7ed558ccdu;
    h ^= h >> 32;
  };
  mix(static_cast<uint64_t>(e->op) << 8 | static_cast<uint64_t>(e->type));
  mix(e->over.bits());
  mix(static_cast<uint64_t>(static_cast<int64_t>(e->id)));
  mix(std::bit_cast<uint64_t>(e->integer));
  for (const ExprPtr& arg : e->args) mix(std::bit_cast<uintptr_t>(arg.get()));
  mix(std::bit_cast<uintptr_t>(e->guard.get()));
  return h;
}

bool Interner::Same::operator()(const ExprPtr& a, const ExprPtr& b) const {
  return a->op == b->op && a->type == b->type && a->axes == b->axes && a->id == b->id && a->over == b->over &&
         a->integer == b->integer && a->args == b->args && a->guard == b->guard && a->checked == b->checked &&
         a->site == b->site && a->nan_ignored == b->nan_ignored;
}

}  // namespace quern::fuse
