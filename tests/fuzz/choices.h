// Random choices that are the same on every machine: the standard's distributions are not.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace quern::fuzz {

class Choices {
 public:
  explicit Choices(uint64_t seed) : bits_(seed) {}

  // In [0, n).
  int below(int n) { return static_cast<int>(bits_() % static_cast<uint64_t>(n)); }
  bool one_in(int n) { return below(n) == 0; }

  template <class T>
  const T& of(const std::vector<T>& list) {
    return list[static_cast<size_t>(below(static_cast<int>(list.size())))];
  }

 private:
  std::mt19937_64 bits_;
};

}  // namespace quern::fuzz
