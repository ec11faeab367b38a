#include "cli/device.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "chip/chip.h"

namespace quern::cli {

Result<void> check_device(const std::string& name) {
  if (name == "interpreter" || name == "cpu") return {};
  size_t colon = std::min(name.find(':'), name.size());
  std::string kind = name.substr(0, colon);
  std::string_view which = std::string_view(name).substr(std::min(colon + 1, name.size()));
  bool number = std::ranges::all_of(which, [](char c) { return c >= '0' && c <= '9'; });
  if (kind == "virtual") {
    auto chip = chip::find_gpu(std::string(which));
    return chip ? Result<void>() : fail(std::move(chip.error()));
  }
  bool later = (kind == "cuda" || kind == "hip") && number;
  if (later) return fail(diagnose(Code::N905, {}, {{"n", name}}));
  Diagnostic d = diagnose(Code::E743, {}, {{"n", name}, {"have", "interpreter, cpu, virtual:CHIP"}});
  std::vector<std::string> known = {"interpreter", "cpu"};
  if (auto near = nearest(name, known)) d.remedy = "did you mean " + *near + "?";
  return fail(std::move(d));
}

}  // namespace quern::cli
