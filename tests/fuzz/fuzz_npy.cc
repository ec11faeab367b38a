// Any bytes as a .npy file: an array inside them, or an error. What is read must survive being looked at and named.
#include "array/npy.h"
#include "fuzz_types.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quern;
  auto bytes = array::borrow({reinterpret_cast<const std::byte*>(data), size});
  for (std::optional<ScalarType> as : array::kFuzzTypes) {
    auto a = array::parse_npy(bytes, "fuzz", as);
    if (!a) {
      array::check_error(a.error());
      continue;
    }
    array::check_inside(*a, bytes);
  }
  return 0;
}
