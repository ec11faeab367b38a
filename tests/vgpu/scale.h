// How long the oracles run: QUERN_ORACLE_SECONDS for each test, or about a second each where it isn't set; from
// QUERN_ORACLE_SEED, or 1.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>

namespace quern::oracle {

inline double environment(const char* name, double otherwise) {
  const char* text = std::getenv(name);
  return text && *text ? std::strtod(text, nullptr) : otherwise;
}
inline uint64_t seed() { return static_cast<uint64_t>(environment("QUERN_ORACLE_SEED", 1)); }

class Budget {
 public:
  // Whether there is time for more. The first `least` rounds are always done.
  bool more(int64_t least) {
    std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
    return rounds_++ < least || spent.count() < seconds_;
  }
  bool is_long() const { return seconds_ > 0; }

 private:
  double seconds_ = environment("QUERN_ORACLE_SECONDS", 0);
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  int64_t rounds_ = 0;
};

}  // namespace quern::oracle
