// Any bytes as a PTX module: errors, or a module whose text says the same again and that passes the verifier.
#include <cstdlib>

#include "ptx/parse.h"
#include "ptx/print.h"
#include "ptx/verify.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quern;
  auto module = ptx::parse({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!module) {
    if (render(module.error()).empty()) std::abort();
    return 0;
  }
  if (!ptx::verify(*module).empty()) std::abort();
  std::string text = ptx::print(*module);
  auto again = ptx::parse(text, "fuzz");
  if (!again || ptx::print(*again) != text) std::abort();
  return 0;
}
