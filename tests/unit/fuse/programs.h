// Programs that the derivation is tried on: what they are, and how many passes and accumulators they take.
#pragma once

#include <map>
#include <ostream>
#include <string>
#include <vector>

namespace quern::fuse {

struct Case {
  const char* name;
  std::string text;
  std::map<std::string, int64_t> sizes;
  std::string axis = "n";
  int passes = 1;
  int accumulators = 1;              // of the last pass
  std::vector<std::string> hostile;  // tensors that get unusual values
  bool raw = false;                  // overflows as written
};

inline void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::vector<Case> cases();

}  // namespace quern::fuse
