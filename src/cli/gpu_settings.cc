#include "cli/gpu_settings.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "chip/chip.h"
#include "cli/settings.h"

namespace quern::cli {
namespace {

constexpr const char* kDefaultChip = "h100";

Result<void> check_words(const std::string& text) {
  const std::vector<std::string> known = {"all", "memory", "no-init", "shared-init", "none", "continue"};
  for (size_t at = 0; at <= text.size();) {
    size_t end = std::min(text.find(',', at), text.size());
    std::string word = text.substr(at, end - at);
    at = end + 1;
    if (std::ranges::find(known, word) != known.end()) continue;
    return fail(usage_error(
        "exec", "--check " + printable(word) + ": expected all, memory, no-init, shared-init, none or continue"));
  }
  return {};
}

Result<std::string> chip_name(const std::string& name) {
  std::vector<std::string> names;
  for (const chip::Chip& c : chip::gpus()) {
    if (c.name == name) return name;
    names.push_back(c.name);
  }
  auto d = diagnose(Code::E975, {}, {{"n", printable(name)}, {"have", join(names, ", ")}});
  if (auto near = nearest(name, names)) d.remedy = "did you mean `" + *near + "`?";
  return fail(std::move(d));
}

Result<double> seconds(const std::optional<std::string>& text) {
  if (!text) return 0.0;
  double value = 0;
  auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size() || !(value > 0 && value <= 1e9)) {
    return fail(usage_error("exec", "--timeout " + printable(*text) + ": expected a number of seconds"));
  }
  return value;
}

}  // namespace

Result<GpuOptions> parse_gpu_options(const CommandLine& line) {
  GpuOptions out;
  auto chip = chip_name(line.chip.value_or(kDefaultChip));
  if (!chip) return fail(std::move(chip.error()));
  out.settings.chip = *chip;
  out.settings.checks = line.memory_checks.value_or("all");
  if (auto good = check_words(out.settings.checks); !good) return fail(std::move(good.error()));
  auto devices = parse_count(line, "--devices", line.devices, 1, 64);
  if (!devices) return fail(std::move(devices.error()));
  auto order = parse_count(line, "--order", line.order, 0, UINT64_MAX);
  if (!order) return fail(std::move(order.error()));
  auto threads = parse_count(line, "--threads", line.threads, 1, 1024);
  if (!threads) return fail(std::move(threads.error()));
  auto timeout = seconds(line.timeout);
  if (!timeout) return fail(std::move(timeout.error()));
  out.devices = static_cast<int>(devices->value_or(1));
  out.settings.order = order->value_or(0);
  out.settings.threads = static_cast<int>(threads->value_or(0));
  out.settings.timeout_s = *timeout;
  out.json = line.json;
  return out;
}

Result<void> parse_extent(const std::string& option, const std::optional<std::string>& text, uint32_t (&out)[3]) {
  if (!text) return {};
  const char *at = text->data(), *last = at + text->size();
  for (int i = 0; i < 3; ++i) {
    uint32_t value = 0;
    auto [end, error] = std::from_chars(at, last, value);
    if (error != std::errc() || value == 0) break;
    out[i] = value;
    if (end == last) return {};
    if (*end != ',') break;
    at = end + 1;
  }
  return fail(usage_error("exec", option + " " + printable(*text) + ": expected one to three numbers, such as 4,2,1"));
}

}  // namespace quern::cli
