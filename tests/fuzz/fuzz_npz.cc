// Any bytes as a .npz file: arrays that are no larger than the limit together, or an error.
#include "array/npz.h"
#include "fuzz_types.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quern;
  constexpr int64_t kLimit = 1 << 20;
  auto bytes = array::borrow({reinterpret_cast<const std::byte*>(data), size});
  for (std::optional<ScalarType> as : array::kFuzzTypes) {
    auto arrays = array::parse_npz(
        bytes, "fuzz", [&](std::string_view) { return as; }, kLimit);
    if (!arrays) {
      array::check_error(arrays.error());
      continue;
    }
    int64_t total = 0;
    for (const array::Named& n : *arrays) {
      total += n.array.byte_size();
      array::touch(n.array);
    }
    if (total > kLimit) __builtin_trap();
  }
  return 0;
}
