// The roofline (S. Williams, A. Waterman, D. Patterson, CACM 52, 2009): computing and moving overlap, so a kernel takes
// as long as the slower of the two. It is a lower bound on time, and tells which of the two a change must lessen.
#pragma once

#include <optional>

#include "chip/chip.h"

namespace quern::model {

struct Work {
  double flops = 0;  // f32 operations, a multiply-add is two
  double bytes = 0;  // to and from far memory
};

enum class Bound : uint8_t { kComputing, kMemory };

struct Estimate {
  double seconds = 0;
  Bound bound = Bound::kComputing;
};

// Operations and bytes a second.
struct Rates {
  double flops = 1;
  double bandwidth = 1;
};

Estimate roofline(const Work& work, const Rates& rates);
// Nothing where the chip's rates are not known.
std::optional<Estimate> roofline(const Work& work, const chip::Chip& chip);

}  // namespace quern::model
