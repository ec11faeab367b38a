// The PTX that fits a chip, or one line that says why there is none.
#include "fatbin/choose.h"

#include <gtest/gtest.h>

#include <span>
#include <string>

#include "make_fatbin.h"

namespace quern::fatbin {
namespace {

using namespace std::string_literals;

Entry entry(EntryKind kind, uint32_t arch, char suffix = 0) {
  Entry e;
  e.kind = kind;
  e.arch = arch;
  e.suffix = suffix;
  static const std::string code = std::string(64, '\0') + ".strtab\0.text.kernel"s;
  if (kind == EntryKind::kMachineCode) e.payload = std::as_bytes(std::span(code));
  return e;
}

std::string chosen(const std::vector<Entry>& entries, int capability) {
  auto best = choose(entries, {"chip", capability}, "app");
  if (!best) return text_of(best.error());
  return *best ? arch_name(**best) : "nothing";
}

TEST(Choose, TheNewestThatIsNotNewerThanTheChip) {
  std::vector<Entry> all = {entry(EntryKind::kPtx, 75), entry(EntryKind::kPtx, 90), entry(EntryKind::kPtx, 80),
                            entry(EntryKind::kMachineCode, 90)};
  EXPECT_EQ(chosen(all, 80), "compute_80");
  EXPECT_EQ(chosen(all, 86), "compute_80");
  EXPECT_EQ(chosen(all, 90), "compute_90");
  EXPECT_EQ(chosen(all, 120), "compute_90");
}

TEST(Choose, WhatIsMadeForAChipRunsOnItAlone) {
  std::vector<Entry> all = {entry(EntryKind::kPtx, 90), entry(EntryKind::kPtx, 90, 'a')};
  EXPECT_EQ(chosen(all, 90), "compute_90a");
  EXPECT_EQ(chosen(all, 100), "compute_90");
  EXPECT_EQ(chosen({entry(EntryKind::kPtx, 90, 'a')}, 100),
            "E973: app holds PTX for compute_90a only; chip runs compute_100 and older");
  EXPECT_EQ(chosen({entry(EntryKind::kPtx, 100, 'f')}, 103), "compute_100f");
  EXPECT_EQ(chosen({entry(EntryKind::kPtx, 100, 'f')}, 120),
            "E973: app holds PTX for compute_100f only; chip runs compute_120 and older");
}

TEST(Choose, MachineCodeWithoutAKernelIsNothing) {
  Entry empty = entry(EntryKind::kMachineCode, 90);
  empty.payload = empty.payload.first(70);
  EXPECT_EQ(chosen({empty}, 90), "nothing");
  EXPECT_EQ(chosen({empty, entry(EntryKind::kMachineCode, 80)}, 90),
            "E971: app holds machine code (sm_80, sm_90) and no PTX");
}

TEST(Choose, SaysWhyThereIsNone) {
  EXPECT_EQ(chosen({}, 90), "nothing");
  EXPECT_EQ(chosen({entry(EntryKind::kMachineCode, 80), entry(EntryKind::kMachineCode, 90)}, 90),
            "E971: app holds machine code (sm_80, sm_90) and no PTX");
  EXPECT_EQ(chosen({entry(EntryKind::kLinkTime, 80)}, 90),
            "E972: app holds only code for link-time optimisation, and no PTX");
  EXPECT_EQ(chosen({entry(EntryKind::kPtx, 100)}, 90),
            "E973: app holds PTX for compute_100 only; chip runs compute_90 and older");
}

}  // namespace
}  // namespace quern::fatbin
