#include "model/roofline.h"

namespace quern::model {

Estimate roofline(const Work& work, const Rates& rates) {
  double computing = work.flops / rates.flops, memory = work.bytes / rates.bandwidth;
  if (memory > computing) return {memory, Bound::kMemory};
  return {computing, Bound::kComputing};
}

std::optional<Estimate> roofline(const Work& work, const chip::Chip& chip) {
  if (!chip.flops.known() || !chip.bandwidth.known()) return std::nullopt;
  return roofline(work, Rates{chip.flops.value, chip.bandwidth.value});
}

}  // namespace quern::model
