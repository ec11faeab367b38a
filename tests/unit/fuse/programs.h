// Programs that the derivation is tried on: what they are, and how many passes and accumulators they take.
#pragma once

#include <map>
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
};

std::vector<Case> cases();

}  // namespace quern::fuse
