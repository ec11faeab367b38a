// Any bytes as a fatbin, and as a program that holds one: entries inside the bytes and texts within the limit, or an
// error that is one message.
#include "base/text.h"
#include "fatbin/program_file.h"

namespace {

void check_error(const quern::Diagnostics& error) {
  if (error.size() != 1 || quern::blame(error[0].code) != quern::Blame::kYours) __builtin_trap();
  if (quern::render(error).empty()) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quern::fatbin;
  std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  auto entries = read_container(bytes, "fuzz");
  if (!entries) check_error(entries.error());
  for (const Entry& e : entries ? *entries : std::vector<Entry>{}) {
    bool inside =
        e.payload.data() >= bytes.data() && e.payload.data() + e.payload.size() <= bytes.data() + bytes.size();
    if (!inside) __builtin_trap();
    auto text = unpack(e, "fuzz");
    if (!text) check_error(text.error());
  }
  if (entries) {
    if (auto best = choose(*entries, {"h100", 90}, "fuzz"); !best) check_error(best.error());
  }
  if (auto program = look_into(bytes, "fuzz", {"h100", 90}); !program) check_error(program.error());
  return 0;
}
