// The cases of a .ptx file: kernels, their arrays and what must come of them (README.md has the form).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quern::test {

struct Array {
  enum class Way : uint8_t { kIn, kOut, kInout, kScalar, kTexture, kSurface };
  Way way = Way::kIn;
  std::string type;                // "f32"; of a channel
  std::vector<std::string> about;  // of a texture or surface: what stands before the colon, from the format on
  std::vector<std::string> given;  // as written; of kOut empty
  std::vector<std::string> wanted;
  double tolerance = 0;
  bool relative = false;
};

struct Case {
  std::string kernel;
  int line = 0;
  std::vector<Array> arrays;
  uint32_t block = 0;  // 0: the longest array
  std::string fails;   // code of the error
  std::string faults;  // kind of the fault that stops it
};

// What is wrong with the comments goes to `error`.
std::vector<Case> cases_of(std::string_view text, std::string& error);

int bytes_of(std::string_view type);
bool is_real(std::string_view type);
// The bits of a value of that type as it is written; false if it is none.
bool parse_value(std::string_view type, std::string_view text, uint64_t& low, uint64_t& high);
double real_of(std::string_view type, uint64_t bits);

}  // namespace quern::test
