// Runs things that wait for each other on a number of threads.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "vgpu/fault.h"

namespace quern::vgpu {

// `after`: for each one the numbers of those that it waits for, without a circle. Of those that are ready the first is
// taken, or with a seed another, the same for the same seed where `threads` is 1. `run` gets the number and how many of
// the threads are its own. Ends with the first that gives a fault or an error.
Result<std::optional<Fault>> run_in_order(const std::vector<std::vector<size_t>>& after, int threads, uint64_t seed,
                                          const std::function<Result<std::optional<Fault>>(size_t, int)>& run);

}  // namespace quern::vgpu
