#include "jit/kernel_abi.h"

#include <bit>

namespace quern::jit {

void keep_first(Report* r, int64_t point, int32_t site, int32_t subscript, int64_t value, int64_t extent,
                const int64_t* axes, uint64_t known) {
  if (point >= r->point) return;  // the same point again: what came first stays
  r->point = point, r->site = site, r->subscript = subscript, r->value = value, r->extent = extent, r->known = known;
  for (uint64_t rest = known; rest != 0; rest &= rest - 1)
    r->axes[std::countr_zero(rest)] = axes[std::countr_zero(rest)];
}

void merge(Report& into, const Report& other) {
  if (other.point < into.point) into = other;
}

}  // namespace quern::jit
