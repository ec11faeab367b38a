#include "fatbin/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"

namespace quern::fatbin {
namespace {

bool runs(const Entry& entry, uint32_t chip) {
  if (entry.suffix == 'a') return entry.arch == chip;
  if (entry.suffix == 'f') return entry.arch / 10 == chip / 10 && entry.arch <= chip;
  return entry.arch <= chip;
}

// How well PTX that runs fits: newer is better, then what is made for this very chip.
std::pair<uint32_t, int> fit(const Entry& e) { return {e.arch, e.suffix == 'a' ? 2 : e.suffix == 'f' ? 1 : 0}; }

std::string names(std::span<const Entry> entries, EntryKind kind) {
  std::set<std::pair<uint32_t, std::string>> all;
  for (const Entry& e : entries) {
    if (e.kind == kind) all.emplace(e.arch, arch_name(e));
  }
  std::vector<std::string> texts;
  for (const auto& [arch, text] : all) texts.push_back(text);
  return join(texts, ", ");
}

// What links device code writes an image for programs that have none, too. A kernel has a section of its name.
bool holds_kernels(const Entry& e) {
  auto image = unpack(e, {});
  return !image || image->find(".text.") != std::string::npos;
}

}  // namespace

Result<const Entry*> choose(std::span<const Entry> entries, const ChipName& chip, std::string_view what) {
  const Entry* best = nullptr;
  auto has = [&](EntryKind kind) {
    return std::ranges::any_of(entries, [&](const Entry& e) {
      return e.kind == kind && (kind != EntryKind::kMachineCode || holds_kernels(e));
    });
  };
  for (const Entry& e : entries) {
    if (e.kind != EntryKind::kPtx || !runs(e, chip.compute_capability)) continue;
    if (!best || fit(e) > fit(*best)) best = &e;
  }
  if (best || entries.empty()) return best;
  std::string who(what);
  if (has(EntryKind::kPtx)) {
    return fail(diagnose(Code::E973, {},
                         {{"what", who},
                          {"have", names(entries, EntryKind::kPtx)},
                          {"chip", std::string(chip.name)},
                          {"cc", fmt::format("compute_{}", chip.compute_capability)}}));
  }
  if (has(EntryKind::kMachineCode)) {
    return fail(diagnose(Code::E971, {}, {{"what", who}, {"have", names(entries, EntryKind::kMachineCode)}}));
  }
  if (has(EntryKind::kLinkTime)) return fail(diagnose(Code::E972, {}, {{"what", who}}));
  return nullptr;
}

}  // namespace quern::fatbin
