// Arrays for round trips: all bit patterns, also NaN payloads and negative zeros, which must come back as they were.
#include "bad_files.h"
#include "base/philox.h"

namespace quern::array {

Array any_array(ScalarType type, std::vector<int64_t> shape, uint64_t seed) {
  Array out = make(type, std::move(shape)).value();
  for (int64_t i = 0; i < out.elements(); ++i) {
    uint64_t high = random_bits(static_cast<int64_t>(seed), 2 * i);
    set_bits(out, i, high << 32 | random_bits(static_cast<int64_t>(seed), 2 * i + 1));
  }
  return out;
}

std::vector<int64_t> any_shape(ScalarType type, uint64_t seed) {
  auto draw = [&](int64_t i) { return random_bits(static_cast<int64_t>(seed) ^ 0x5eed, i); };
  bool packed = row(type).bits < 8;
  std::vector<int64_t> shape(packed + draw(0) % 5);
  for (size_t d = 0; d < shape.size(); ++d) shape[d] = draw(static_cast<int64_t>(d) + 1) % 6;
  if (packed) shape.back() *= 2;
  return shape;
}

}  // namespace quern::array
