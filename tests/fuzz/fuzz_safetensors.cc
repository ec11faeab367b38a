// Any bytes as a .safetensors file: arrays inside them, or an error.
#include "array/safetensors.h"
#include "fuzz_types.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quern;
  auto bytes = array::borrow({reinterpret_cast<const std::byte*>(data), size});
  for (std::optional<ScalarType> as : array::kFuzzTypes) {
    auto file = array::parse_safetensors(bytes, "fuzz", [&](std::string_view) { return as; });
    if (!file) {
      array::check_error(file.error());
      continue;
    }
    for (const array::Named& n : file->arrays) array::check_inside(n.array, bytes);
  }
  return 0;
}
