// Linking: what modules share, what they keep to themselves, and what they may not disagree on.
#include "ptx/link.h"

#include <gtest/gtest.h>

#include "modules.h"
#include "ptx/parse.h"
#include "ptx/print.h"
#include "ptx/verify.h"

namespace quern::ptx {
namespace {

Module named(const std::string& name, const std::string& text) {
  auto module = parse(std::string(kHead) + text, name);
  EXPECT_TRUE(module.has_value()) << render(module.error());
  return module ? std::move(*module) : Module{};
}

Module linked(std::vector<Module> modules) {
  auto out = link(std::move(modules));
  EXPECT_TRUE(out.has_value()) << render(out.error());
  if (!out) return {};
  EXPECT_TRUE(verify(*out).empty()) << render(verify(*out));
  // What is linked is a module like any other: its text says it all.
  std::string printed = print(*out);
  auto again = parse(printed, out->name);
  EXPECT_TRUE(again.has_value()) << render(again.error()) << printed;
  EXPECT_TRUE(again && print(*again) == printed);
  return std::move(*out);
}

std::string refused(std::vector<Module> modules) {
  auto out = link(std::move(modules));
  EXPECT_FALSE(out.has_value());
  return out ? std::string() : render(out.error());
}

const Function& function(const Module& m, const std::string& name) {
  for (const Function& f : m.functions) {
    if (f.name == name) return f;
  }
  ADD_FAILURE() << "no function " << name << " in\n" << print(m);
  static const Function none;
  return none;
}

TEST(Link, SeparateCompilation) {
  std::vector<Module> modules;
  for (const char* file : {"linked_main", "linked_other"}) {
    std::string path = "tests/ptx/kernels/" + std::string(file) + ".ptx";
    modules.push_back(*parse(read(path), path));
  }
  Module m = linked(std::move(modules));
  const Function& kernel = function(m, "linked");
  int calls = 0;
  for (const Instruction& i : kernel.instructions) {
    for (const Operand& o : i.operands) {
      if (o.kind != OperandKind::kSymbol || o.symbol.kind != SymbolKind::kFunction) continue;
      EXPECT_TRUE(m.functions[o.symbol.index].defined) << m.functions[o.symbol.index].name;
      ++calls;
    }
    ASSERT_NE(i.location, kNone);
  }
  EXPECT_EQ(calls, 2);
  auto path = [&](const std::string& name) {
    int32_t file = m.locations[function(m, name).instructions[0].location].file;
    for (const File& f : m.files) {
      if (f.number == file) return f.path;
    }
    return std::string();
  };
  EXPECT_EQ(path("linked"), "tests/ptx/kernels/linked_main.cu");
  EXPECT_EQ(path("_Z5scalei"), "tests/ptx/kernels/linked_other.cu");
  EXPECT_TRUE(function(m, "_Z5scalei").defined);
  int counters = 0;
  for (const Variable& v : m.variables) counters += v.name == "shared_counter";
  EXPECT_EQ(counters, 1);
}

TEST(Link, InternalNamesThatClashAreRenamed) {
  std::string text = ".global .u32 x = 1;\n.func f() { .reg .b64 d; mov.u64 d, x; ret; }\n";
  Module m = linked({named("a", text + ".visible .func g() { call f; ret; }"),
                     named("b", text + ".visible .func h() { call f; ret; }")});
  EXPECT_EQ(m.variables.size(), 2u);
  EXPECT_EQ(m.functions.size(), 4u);
  auto callee = [&](const std::string& name) { return function(m, name).instructions[0].operands[0].symbol.index; };
  EXPECT_NE(callee("g"), callee("h"));
  const Function& f = m.functions[callee("h")];
  EXPECT_NE(m.variables[f.instructions[0].operands[1].symbol.index].name, "x");
}

TEST(Link, WeakAndCommonAndDynamicShared) {
  Module m = linked({named("a",
                           ".weak .global .u32 w = 1;\n.common .global .u32 c[2];\n.extern .shared .align 4 .b8 s[];\n"
                           ".weak .func f() { ret; }"),
                     named("b",
                           ".weak .global .u32 w = 2;\n.common .global .u32 c[5];\n.extern .shared .align 16 .b8 s[];\n"
                           ".visible .func f() { bar.sync 0; ret; }")});
  ASSERT_EQ(m.variables.size(), 3u);
  EXPECT_EQ(m.variables[0].initial[0], 1);
  EXPECT_EQ(m.variables[1].dims[0], 5);
  EXPECT_EQ(m.variables[2].align, 16);
  EXPECT_EQ(function(m, "f").instructions.size(), 2u);
}

TEST(Link, WhatNobodyDefinesStaysExtern) {
  std::string text = ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n";
  Module m = linked({named("a", text), named("b", text)});
  ASSERT_EQ(m.functions.size(), 1u);
  EXPECT_FALSE(m.functions[0].defined);
  EXPECT_EQ(m.functions[0].linkage, Linkage::kExtern);
}

TEST(Link, AddressesAndAliasesAndTargetsFollow) {
  Module m = linked({named("a", ".visible .func f() { ret; }"),
                     named("b",
                           ".extern .func f();\n.global .u64 p = f;\n.func g() { ret; }\n.visible .func h();\n"
                           ".alias h, g;\n.visible .func k() { .reg .b64 d; t: .calltargets f, g;\n"
                           "call (), d, (), t; ret; }")});
  EXPECT_EQ(m.functions[m.variables[0].relocations[0].symbol.index].name, "f");
  EXPECT_EQ(function(m, "h").alias_of, "g");
  const Function& k = function(m, "k");
  EXPECT_EQ(m.functions[k.target_lists[0][0]].name, "f");
  EXPECT_EQ(m.functions[k.target_lists[0][1]].name, "g");
}

TEST(Link, Disagreements) {
  EXPECT_NE(refused({named("a", ".visible .func f() { ret; }"), named("b", ".visible .func f() { ret; }")})
                .find("E912: f is defined in a and in b"),
            std::string::npos);
  EXPECT_NE(refused({named("a", ".visible .global .u32 x;"), named("b", ".extern .global .u64 x;")})
                .find("E913: x is .global of 4 bytes in a and .global of 8 bytes in b"),
            std::string::npos);
  EXPECT_NE(refused({named("a", ".visible .func f(.param .b32 x) { ret; }"), named("b", ".extern .func f();")})
                .find("E913: f is a function of (4 bytes) giving () in a and a function of () giving () in b"),
            std::string::npos);
}

TEST(Link, Nothing) {
  EXPECT_TRUE(linked({named("a", ".visible .func f() { ret; }")}) == named("a", ".visible .func f() { ret; }"));
}

}  // namespace
}  // namespace quern::ptx
