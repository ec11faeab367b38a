#include "chip/host.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <sched.h>

#include <array>
#include <cstring>
#include <fstream>
#include <optional>

namespace quern::chip {
namespace {

constexpr const char* kSystem = "/sys/devices/system/cpu/cpu0/";

std::optional<std::string> word_of(const std::string& path) {
  std::ifstream in(path);
  std::string out;
  if (in >> out) return out;
  return std::nullopt;
}

// "512K", "32M"
std::optional<double> size_of(const std::string& text) {
  char* end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !(value > 0)) return std::nullopt;
  if (*end == 'K') value *= 1024;
  if (*end == 'M') value *= 1024 * 1024;
  return value;
}

std::string class_name() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq")) {
    return "x86-64-v4";
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "x86-64-v3";
#endif
  return "x86-64";
}

std::string model() {
#if defined(__x86_64__)
  std::array<unsigned, 12> brand{};
  unsigned most = __get_cpuid_max(0x80000000, nullptr);
  if (most >= 0x80000004) {
    for (unsigned i = 0; i < 3; ++i) {
      __get_cpuid(0x80000002 + i, &brand[4 * i], &brand[4 * i + 1], &brand[4 * i + 2], &brand[4 * i + 3]);
    }
    char text[sizeof brand + 1] = {};
    std::memcpy(text, brand.data(), sizeof brand);
    std::string out = text;
    while (!out.empty() && out.back() == ' ') out.pop_back();
    return out.substr(std::min(out.find_first_not_of(' '), out.size()));
  }
#endif
  return {};
}

void read_caches(Chip& chip) {
  for (int i = 0; i < 8; ++i) {
    std::string folder = std::string(kSystem) + "cache/index" + std::to_string(i) + "/";
    auto level = word_of(folder + "level"), type = word_of(folder + "type"), text = word_of(folder + "size");
    if (!level || !type || !text || *type == "Instruction") continue;
    auto size = size_of(*text);
    if (!size) continue;
    Figure* figure = *level == "1"   ? &chip.l1_bytes
                     : *level == "2" ? &chip.l2_bytes
                     : *level == "3" ? &chip.l3_bytes
                                     : nullptr;
    if (figure) *figure = {*size, "sysfs"};
    auto line = word_of(folder + "coherency_line_size");
    if (auto bytes = line ? size_of(*line) : std::nullopt) chip.line_bytes = {*bytes, "sysfs"};
  }
}

void read_clock(Chip& chip) {
  if (auto text = word_of(std::string(kSystem) + "cpufreq/cpuinfo_max_freq")) {
    if (auto khz = size_of(*text)) {
      chip.clock = {*khz * 1e3, "sysfs"};
      return;
    }
  }
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("cpu MHz")) continue;
    if (auto mhz = size_of(line.substr(line.find(':') + 1))) chip.clock = {*mhz * 1e6, "/proc/cpuinfo"};
    return;
  }
}

}  // namespace

Chip host() {
  Chip chip = *find(class_name());
  chip.name = "cpu";
  chip.model = model();
  read_caches(chip);
  read_clock(chip);
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) {
    chip.units = {static_cast<double>(CPU_COUNT(&set)), "sched_getaffinity"};
  }
  double lanes = chip.vector_bytes.value / 4;
  chip.flops = {chip.units.value * chip.clock.value * chip.fma_per_cycle.value * lanes * 2, "clock x vectors"};
  return chip;
}

}  // namespace quern::chip
