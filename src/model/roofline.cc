#include "model/roofline.h"

namespace quern::model {

std::optional<Estimate> roofline(const Work& work, const chip::Chip& chip) {
  if (!chip.flops.known() || !chip.bandwidth.known()) return std::nullopt;
  double computing = work.flops / chip.flops.value, memory = work.bytes / chip.bandwidth.value;
  if (memory > computing) return Estimate{memory, Bound::kMemory};
  return Estimate{computing, Bound::kComputing};
}

}  // namespace quern::model
