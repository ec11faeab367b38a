// Sizes to try where nothing can be proved for all of them: kernels expect orders (N >= M) and divisibility (H // G,
// K / L) that their text doesn't say. Deterministic, so that a check says the same in every run.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "expr/bind.h"
#include "expr/program.h"

namespace quern::cli {

struct Sample {
  std::vector<std::pair<Symbol, int64_t>> chosen;  // in the program's order; what was given is not among them
  expr::Binding binding;
};

// Up to `limit` samples of different character that bind, with the sizes of `request` kept.
std::vector<Sample> samples(const expr::Program& program, const expr::Request& request, size_t limit);

// Sizes at which a kernel can be computed many times: small, of every character, another sample for each seed, and
// every subscript that goes through no data is in range. From 1 to `most`; nullopt where no such sizes are found.
std::optional<Sample> small_sample(const expr::Program& program, const expr::Request& request, int64_t most,
                                   uint64_t seed);

}  // namespace quern::cli
