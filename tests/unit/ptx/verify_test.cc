// Modules that no parser made: every index and every operand is looked at.
#include "ptx/verify.h"

#include <gtest/gtest.h>

#include <functional>

#include "modules.h"

namespace quern::ptx {
namespace {

TEST(Verify, WhatIsBrokenIsFound) {
  std::string text =
      in_frame(
          "@p bra L; brx.idx r, $targets_0; call.uni (d), d2, (r), proto; ld.global.u32 r, [g]; add.s32 r, r, 1;") +
      ".global .u64 at = g;\n";
  const std::pair<const char*, std::function<void(Module&, Function&)>> all[] = {
      {"a guard that is no predicate", [](Module&, Function& f) { f.instructions[0].guard.reg = 1; }},
      {"a label that is not there", [](Module&, Function& f) { f.instructions[0].operands[0].value = 7; }},
      {"a list that is not there", [](Module&, Function& f) { f.instructions[1].operands[1].value = -1; }},
      {"a target that is not there", [](Module&, Function& f) { f.target_lists[0][0] = 9; }},
      {"a prototype that is not there", [](Module&, Function& f) { f.instructions[2].operands.back().value = 3; }},
      {"a variable that is not there", [](Module&, Function& f) { f.instructions[3].operands[1].symbol.index = 5; }},
      {"a register that is not there", [](Module&, Function& f) { f.instructions[4].operands[0].reg = 99; }},
      {"an operand too few", [](Module&, Function& f) { f.instructions[4].operands.pop_back(); }},
      {"a register of another size", [](Module&, Function& f) { f.registers[1].type = Type::k_b64; }},
      {"a place that is not there", [](Module&, Function& f) { f.instructions[4].location = 0; }},
      {"labels out of order",
       [](Module&, Function& f) {
         f.labels.push_back({"M", 3});
         f.labels.push_back({"N", 2});
       }},
      {"an address beyond the value", [](Module& m, Function&) { m.variables[1].relocations[0].offset = 4; }},
      {"more bytes than the variable has", [](Module& m, Function&) { m.variables[1].initial.resize(9); }},
      {"a location inlined at itself",
       [](Module& m, Function&) {
         m.locations.push_back({1, 1, 1, 0, ""});
       }},
  };
  Module good = parsed(text);
  ASSERT_TRUE(verify(good).empty()) << render(verify(good));
  for (const auto& [what, change] : all) {
    Module bad = good;
    change(bad, bad.functions.back());
    EXPECT_FALSE(verify(bad).empty()) << what;
  }
}

TEST(Verify, MessagesNameTheFunctionAndTheLine) {
  Module m = parsed(in_frame("add.s32 r, r, 1;"));
  m.functions.back().registers[0].type = Type::k_f32;
  EXPECT_NE(render(verify(m)).find("k, line 13: operand 1 of add.s32 r, r, 1 is .f32, add takes .s32 there"),
            std::string::npos)
      << render(verify(m));
}

}  // namespace
}  // namespace quern::ptx
