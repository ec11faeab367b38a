// The table of instructions: its columns can be read, every row has an example that parses and prints as it stands, and
// what ptxas refuses is refused.
#include <gtest/gtest.h>

#include <set>

#include "modules.h"
#include "ptx/parse.h"
#include "ptx/pattern.h"
#include "ptx/print.h"

namespace quern::ptx {
namespace {

TEST(Instructions, ColumnsCanBeRead) { EXPECT_EQ(faults_of_table(), std::vector<std::string>{}); }

TEST(Instructions, WordsAreUnique) {
  std::set<std::string_view> names, types, specials;
  std::set<std::pair<std::string_view, ModifierGroup>> modifiers;
  for (const OpRow& r : op_rows()) EXPECT_TRUE(names.insert(r.name).second) << r.name;
  for (const TypeRow& r : type_rows()) EXPECT_TRUE(types.insert(r.name).second) << r.name;
  for (const SpecialRow& r : special_rows()) EXPECT_TRUE(specials.insert(r.text).second) << r.text;
  for (const ModifierRow& r : modifier_rows()) {
    EXPECT_TRUE(modifiers.insert({r.text, r.group}).second) << r.text;
    EXPECT_FALSE(find_type(r.text)) << r.text << " is a type as well";
  }
}

// A text may be several modifiers, but one row takes only one of them.
TEST(Instructions, NoRowTakesAWordTwice) {
  for (const OpRow& r : op_rows()) {
    std::set<std::string_view> texts;
    for (const ModifierRow& m : modifier_rows()) {
      if (!pattern(r.op).takes(m.modifier)) continue;
      EXPECT_TRUE(texts.insert(m.text).second) << r.name << " ." << m.text;
    }
  }
}

TEST(Instructions, EveryRowHasAnExampleThatPrintsAsItStands) {
  std::set<Op> seen;
  for (const std::string& line : lines("examples.txt")) {
    Module m = parsed(in_frame(line + ";"));
    if (m.functions.empty()) continue;
    const Function& f = m.functions.back();
    seen.insert(f.instructions[0].op);
    EXPECT_NE(print(m).find("\nL:\n  " + line + ";\n"), std::string::npos) << line << "\n" << print(m);
  }
  for (const OpRow& r : op_rows()) EXPECT_TRUE(seen.contains(r.op)) << r.name << " has no example";
}

TEST(Instructions, WhatIsRefusedIsSaid) {
  for (const std::string& line : lines("refused.txt")) {
    std::string code = line.substr(0, 4), text = line.substr(5);
    EXPECT_NE(errors(in_frame(text)).find("error " + code + ":"), std::string::npos) << line;
  }
}

// The pipe follows the types: the row of `add` is for integers.
TEST(Instructions, PipesFollowTypes) {
  auto of = [](const std::string& line) {
    Module m = parsed(in_frame(line));
    return pipe(m.functions.back().instructions[0]);
  };
  EXPECT_EQ(of("add.s32 r, r, r2;"), Pipe::kAlu);
  EXPECT_EQ(of("add.rn.f32 f, f, f2;"), Pipe::kFma);
  EXPECT_EQ(of("mul.f32 f, f, f2;"), Pipe::kFma);
  EXPECT_EQ(of("add.f64 fd, fd, fd;"), Pipe::kFp64);
  EXPECT_EQ(of("fma.rn.f16x2 r, r, r, r;"), Pipe::kHalf);
  EXPECT_EQ(of("sin.approx.f32 f, f;"), Pipe::kXu);
  EXPECT_EQ(of("ld.global.f64 fd, [d];"), Pipe::kLsu);
  EXPECT_EQ(of("cvt.rn.f64.s32 fd, r;"), Pipe::kFp64);
}

TEST(Instructions, ModifiersAreOfTheGroupThatTheRowTakes) {
  Module m = parsed(in_frame("setp.lo.and.u32 p, r, r2, q; atom.global.and.b32 r, [d], r2; mul.lo.u32 r, r, r2;"));
  const auto& all = m.functions.back().instructions;
  EXPECT_EQ(all[0].of(ModifierGroup::kCompare), Modifier::kCompareLo);
  EXPECT_EQ(all[0].of(ModifierGroup::kBoolean), Modifier::kAnd);
  EXPECT_EQ(all[1].of(ModifierGroup::kOperation), Modifier::kOpAnd);
  EXPECT_EQ(all[1].space(), Space::kGlobal);
  EXPECT_EQ(all[2].of(ModifierGroup::kPart), Modifier::kLo);
}

}  // namespace
}  // namespace quern::ptx
