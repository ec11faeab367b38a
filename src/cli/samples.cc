#include "cli/samples.h"

#include <algorithm>

#include "base/philox.h"
#include "expr/prove.h"

namespace quern::cli {
namespace {

using Sizes = std::vector<int64_t>;

// Powers of two rise or fall along the list of dimensions: each divides all larger ones. What the caller gives stands
// first in the list and is often a block size: if one is free, rising comes first, so that blocks are not empty.
// `given`, the largest size that is given, divides the first ones.
std::vector<Sizes> families(size_t count, int64_t given, bool rising_first) {
  constexpr int64_t kPrimes[] = {3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41};
  constexpr size_t kSteps = 12;  // longer lists repeat, so that products stay small
  std::vector<Sizes> out;
  auto add = [&](auto value) {
    Sizes sizes;
    for (size_t i = 0; i < count; ++i) sizes.push_back(value(i % kSteps));
    Sizes falling(sizes.rbegin(), sizes.rend());
    if (rising_first) std::swap(sizes, falling);
    if (falling != sizes) out.push_back(std::move(falling));
    out.push_back(std::move(sizes));
  };
  add([&](size_t i) { return given << (i + 1); });
  if (given > 1) add([](size_t i) { return int64_t{2} << i; });
  add([](size_t) { return int64_t{16}; });
  add([](size_t i) { return int64_t{64} << i; });
  add([](size_t) { return int64_t{256}; });
  add([&](size_t i) { return kPrimes[i]; });
  add([&](size_t i) { return 64 * kPrimes[i]; });
  return out;
}

}  // namespace

std::vector<Sample> samples(const expr::Program& program, const expr::Request& request, size_t limit) {
  constexpr int kTries = 2000;
  constexpr int64_t kSizes[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512};
  std::vector<Symbol> free;
  bool block = false;  // of the caller's choice
  for (const expr::Dimension& d : program.dimensions) {
    if (request.dimensions.contains(d.name)) continue;
    free.push_back(d.name);
    block |= d.given;
  }
  int64_t given = 1;
  constexpr int64_t kLargest = 1 << 20;  // larger ones would only overflow
  for (const auto& [name, size] : request.dimensions) given = std::max(given, size <= kLargest ? size : 1);
  std::vector<Sample> out;
  auto attempt = [&](const Sizes& sizes) {
    Sample sample;
    expr::Request full = request;
    for (size_t i = 0; i < free.size(); ++i) {
      sample.chosen.emplace_back(free[i], sizes[i]);
      full.dimensions[free[i]] = sizes[i];
    }
    auto same = [&](const Sample& s) { return s.chosen == sample.chosen; };
    if (std::ranges::any_of(out, same)) return;
    auto bound = expr::bind(program, full);
    if (!bound) return;
    sample.binding = *std::move(bound);
    out.push_back(std::move(sample));
  };
  for (const Sizes& sizes : families(free.size(), given, block)) {
    if (out.size() < limit) attempt(sizes);
  }
  // No family fits, or few do: look around, with numbers from a linear congruence (Numerical Recipes' constants).
  uint32_t state = 1;
  for (int i = 0; i < kTries && out.size() < limit; ++i) {
    Sizes sizes;
    for (size_t k = 0; k < free.size(); ++k) {
      state = state * 1664525u + 1013904223u;
      sizes.push_back(kSizes[state >> 28]);
    }
    attempt(sizes);
  }
  return out;
}

std::optional<Sample> small_sample(const expr::Program& program, const expr::Request& request, int64_t most,
                                   uint64_t seed) {
  constexpr int kTries = 4000;
  constexpr int64_t kMostElements = 1 << 16, kMostPoints = 1 << 20;
  int64_t counter = 0;
  for (int i = 0; i < kTries; ++i) {
    Sample sample;
    expr::Request full = request;
    int64_t points = 1;
    for (const expr::Dimension& d : program.dimensions) {
      if (auto given = request.dimensions.find(d.name); given != request.dimensions.end()) {
        points = std::min(points, kMostPoints) * std::clamp<int64_t>(given->second, 1, kMostPoints);
        continue;
      }
      // Every other time powers of two, which divide each other.
      int64_t word = random_bits(static_cast<int64_t>(seed), counter++);
      int64_t size = 1 + word % most;
      if (i % 2) {
        for (size = 1; size * 2 <= most && word % 4 != 0; word /= 4) size *= 2;
      }
      points = std::min(points, kMostPoints) * size;
      sample.chosen.emplace_back(d.name, size);
      full.dimensions[d.name] = size;
    }
    if (points > kMostPoints && !sample.chosen.empty()) continue;
    auto bound = expr::bind(program, full);
    if (!bound) continue;
    int64_t elements = 0;
    for (const std::vector<int64_t>& shape : bound->shapes) {
      int64_t count = 1;
      for (int64_t n : shape) count = std::min(count, kMostElements) * std::min(n, kMostElements + 1);
      elements += count;
    }
    if (elements > kMostElements && !sample.chosen.empty()) continue;
    if (!expr::prove(program, *bound).errors.empty()) continue;
    sample.binding = *std::move(bound);
    return sample;
  }
  return std::nullopt;
}

}  // namespace quern::cli
