#include "cuda/runtime/config.h"

#include <charconv>
#include <cstdlib>

#include "artifact/cache.h"
#include "base/text.h"

namespace quern::cuda {
namespace {

std::unexpected<Diagnostics> refuse(const std::string& what) {
  return fail(diagnose(Code::E740, {}, {{"what", what}, {"command", "exec"}}));
}

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text ? text : "";
}

// The variable as a number in [least, greatest]; absent or empty: `otherwise`.
template <class T>
Result<T> number(const char* name, T least, T greatest, T otherwise) {
  std::string text = variable(name);
  if (text.empty()) return otherwise;
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= least && value <= greatest)) {
    return refuse(std::string(name) + "=" + printable(text) + ": expected a number from " + std::to_string(least) +
                  " to " + std::to_string(greatest));
  }
  return value;
}

}  // namespace

Result<void> parse_checks(const std::string& text, Config& config) {
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find(',', at), text.size());
    std::string word = text.substr(at, end - at);
    at = end + 1;
    if (word == "none") {
      config.checks = {false, false};
    } else if (word == "no-init") {
      config.checks.init = false;
    } else if (word == "shared-init") {
      config.checks.shared_init = true;
    } else if (word == "memory" || word == "all") {
      config.checks = {true, word == "all"};
    } else if (word == "continue") {
      config.go_on = true;
    } else {
      return refuse("--check " + printable(word) + ": expected all, memory, no-init, shared-init, none or continue");
    }
  }
  return {};
}

Result<Config> config_from_environment() {
  Config out;
  std::string name = variable("QUERN_CHIP");
  auto chip = find_gpu(name.empty() ? kDefaultChip : name);
  if (!chip) return fail(std::move(chip.error()));
  out.chip = *chip;
  if (auto good = parse_checks(variable("QUERN_CHECK"), out); !good) return fail(std::move(good.error()));
  auto take = [](auto result, auto& to) -> Result<void> {
    if (!result) return fail(std::move(result.error()));
    to = *result;
    return {};
  };
  for (auto step : {take(number("QUERN_DEVICES", 1, kMaxDevices, 1), out.devices),
                    take(number<uint64_t>("QUERN_ORDER", 0, UINT64_MAX, 0), out.order),
                    take(number("QUERN_THREADS", 0, 1024, 0), out.threads),
                    take(number("QUERN_TIMEOUT", 0.0, 1e9, 0.0), out.timeout_s)}) {
    if (!step) return fail(std::move(step.error()));
  }
  out.blocking = variable("CUDA_LAUNCH_BLOCKING") == "1";
  out.json = variable("QUERN_JSON") == "1";
  out.cache_folder = artifact::Cache::default_folder();
  return out;
}

}  // namespace quern::cuda
