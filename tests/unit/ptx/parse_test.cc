// What the parser makes of text: names, scopes, constants, initial values, calls.
#include "ptx/parse.h"

#include <gtest/gtest.h>

#include "modules.h"
#include "ptx/print.h"

namespace quern::ptx {
namespace {

const Function& body(const Module& m) { return m.functions.back(); }

TEST(Parse, Head) {
  Module m = parsed(".version 7.8\n.target sm_80, debug, texmode_independent\n.address_size 64\n");
  EXPECT_EQ(m.version, 78);
  EXPECT_EQ(m.target, "sm_80");
  EXPECT_EQ(m.target_options, (std::vector<std::string>{"debug", "texmode_independent"}));
}

TEST(Parse, RegistersAreThoseThatAreUsed) {
  Module m = parsed(kernel(".reg .b32 %r<2000000000>; mov.b32 %r1999999999, %r7; add.s32 %r7, %r7, 1; ret;"));
  ASSERT_EQ(body(m).registers.size(), 2u);
  EXPECT_EQ(body(m).registers[0].name, "%r1999999999");
  EXPECT_EQ(body(m).registers[1].name, "%r7");
}

TEST(Parse, APrefixMayEndInADigit) {
  Module m = parsed(kernel(".reg .b32 %r<3>; .reg .f32 %r1<5>; mov.b32 %r2, 1; mov.f32 %r14, 0f00000000; ret;"));
  EXPECT_EQ(body(m).registers[0].type, Type::k_b32);
  EXPECT_EQ(body(m).registers[1].type, Type::k_f32);
}

TEST(Parse, BlocksHideNamesAndAreFlattened) {
  Module m =
      parsed(kernel(".reg .b32 t; mov.b32 t, 1; { .reg .b64 t; mov.b64 t, 2; } mov.b32 t, 3;"
                    "{ .param .b32 p; st.param.b32 [p], t; } { .param .b32 p; st.param.b32 [p], t; } ret;"));
  const Function& f = body(m);
  ASSERT_EQ(f.registers.size(), 2u);
  EXPECT_EQ(f.registers[1].name, "t_1");
  EXPECT_EQ(f.instructions[1].operands[0].reg, 1);
  EXPECT_EQ(f.instructions[2].operands[0].reg, 0);
  ASSERT_EQ(f.variables.size(), 2u);
  EXPECT_EQ(f.variables[1].name, "p_1");
}

// The block's x would stand for the variable after flattening: it gives way.
TEST(Parse, NamesOfTheModuleThatAFunctionUsesStay) {
  Module m = parsed(std::string(kHead) +
                    ".entry k() { .reg .b64 d; { .reg .b32 x; mov.b32 x, 1; } mov.u64 d, x; ret; }\n"
                    ".global .u32 x;\n");
  EXPECT_EQ(body(m).registers[0].name, "x_1");
  EXPECT_EQ(body(m).instructions[1].operands[1].symbol, (Symbol{SymbolKind::kVariable, 0}));
}

TEST(Parse, LabelsAreOfTheirBlock) {
  Module m = parsed(kernel("L: { bra L; L: ret; } bra L; bra M; { M: ret; } M: ret;"));
  const Function& f = body(m);
  EXPECT_EQ(f.labels[f.instructions[0].operands[0].value].instruction, 1);
  EXPECT_EQ(f.labels[f.instructions[2].operands[0].value].instruction, 0);
  EXPECT_EQ(f.labels[f.instructions[3].operands[0].value].instruction, 5);
}

TEST(Parse, VectorRegistersAreTakenApart) {
  Module m = parsed(kernel(".reg .v2 .f32 %v; mov.f32 %v.y, 0f00000000; ld.global.v2.f32 %v, [16]; ret;"));
  const Function& f = body(m);
  EXPECT_EQ(f.registers[0].name, "%v_y");
  ASSERT_EQ(f.instructions[1].operands[0].kind, OperandKind::kVector);
  EXPECT_EQ(f.instructions[1].operands[0].parts[0].reg, 1);
  EXPECT_EQ(f.instructions[1].operands[0].parts[1].reg, 0);
}

TEST(Parse, Constants) {
  const std::pair<const char*, int64_t> all[] = {{"0x1F", 31},
                                                 {"017", 15},
                                                 {"0b101", 5},
                                                 {"0xFFFFFFFFFFFFFFFF", -1},
                                                 {"18446744073709551615U", -1},
                                                 {"-3", -3},
                                                 {"~0", -1},
                                                 {"!5", 0},
                                                 {"1 + 2 * 3", 7},
                                                 {"(1 + 2) * 3", 9},
                                                 {"7 / 2 - 9 % 4", 2},
                                                 {"1 << 4 | 3", 19},
                                                 {"-8 >> 1", -4},
                                                 {"0x8000000000000000 >> 63", 1},
                                                 {"1 << 64", 0},
                                                 {"2 < 3 && 3 >= 4 || 5 != 5", 0},
                                                 {"-1 < 1U", 0},
                                                 {"6 & 3 ^ 1", 3},
                                                 {"1 ? 2 : 3 ? 4 : 5", 2},
                                                 {"(.u64)-1 / 2", INT64_MAX},
                                                 {"WARP_SZ * 2", 64},
                                                 {"-9223372036854775808 / -1", 0},
                                                 {"(-0x7FFFFFFFFFFFFFFF - 1) / -1", INT64_MIN},
                                                 {"-7 % -1", 0},
                                                 {"1.5 > 1", 1}};
  for (auto [text, value] : all) {
    Module m = parsed(kernel(".reg .b64 d; mov.b64 d, " + std::string(text) + "; ret;"));
    EXPECT_EQ(body(m).instructions[0].operands[1].value, value) << text;
  }
  Module m =
      parsed(kernel(".reg .f64 d; mov.f64 d, -1.5e2; mov.f64 d, 0d3FF8000000000000; mov.f64 d, 0f40000000; "
                    "mov.f64 d, 1.5 * 2; mov.f64 d, -0f40000000; ret;"));
  auto real = [&](size_t i) { return static_cast<uint64_t>(body(m).instructions[i].operands[1].value); };
  EXPECT_EQ(real(0), 0xC062C00000000000u);
  EXPECT_EQ(real(1), 0x3FF8000000000000u);
  EXPECT_EQ(real(2), 0x40000000u);
  EXPECT_TRUE(body(m).instructions[2].operands[1].single);
  EXPECT_EQ(real(3), 0x4008000000000000u);
  EXPECT_EQ(real(4), 0xC0000000u);
}

TEST(Parse, InitialValues) {
  Module m = parsed(std::string(kHead) +
                    ".global .u16 a[2][3] = {{1, 2}, {3, 4, 5}};\n.global .u8 b[][2] = {{1}, {2, 3}, {4}};\n"
                    ".global .f32 c = 0.5;\n.global .u64 d[2] = {f, generic(a) + 4};\n"
                    ".global .u8 e[3] = {0xFF(a), 0xFF00(a + 1), 0xFF0000(generic(a))};\n.func f() { ret; }\n");
  auto bytes = [](std::initializer_list<int> all) { return std::vector<uint8_t>(all.begin(), all.end()); };
  EXPECT_EQ(m.variables[0].initial, bytes({1, 0, 2, 0, 0, 0, 3, 0, 4, 0, 5, 0}));
  EXPECT_EQ(m.variables[1].dims, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(m.variables[1].initial, bytes({1, 0, 2, 3, 4}));
  EXPECT_EQ(m.variables[2].initial, bytes({0, 0, 0, 0x3F}));
  ASSERT_EQ(m.variables[3].relocations.size(), 2u);
  EXPECT_EQ(m.variables[3].relocations[0].symbol.kind, SymbolKind::kFunction);
  EXPECT_TRUE(m.variables[3].relocations[1].generic);
  EXPECT_EQ(m.variables[3].relocations[1].addend, 4);
  const Relocation& third = m.variables[4].relocations[2];
  EXPECT_EQ(std::tuple(third.offset, third.bytes, third.shift, third.generic), std::tuple(2, 1, 16, true));
}

TEST(Parse, Calls) {
  Module m = parsed(std::string(kHead) +
                    ".func (.param .b32 r) f(.param .b32 x, .param .b32 y) { call g; ret; }\n"
                    ".func g() { ret; }\n.entry k() { .reg .b32 a; .reg .b64 d; .param .b32 p, q;\n"
                    "call (p), f, (q, 5); call.uni g; call g, ();\n"
                    "pr: .callprototype (.param .b32 _) _ (.param .b32 _);\ncall (a), d, (a), pr; ret; }\n");
  const auto& all = body(m).instructions;
  EXPECT_EQ(all[0].call_results, 1);
  EXPECT_EQ(all[0].operands.size(), 4u);
  EXPECT_EQ(all[0].operands[1].symbol, (Symbol{SymbolKind::kFunction, 0}));
  EXPECT_EQ(all[1].operands.size(), 1u);
  EXPECT_TRUE(all[1].has(Modifier::kUni));
  EXPECT_EQ(all[3].operands.back().kind, OperandKind::kPrototype);
  EXPECT_EQ(m.functions[0].instructions[0].operands[0].symbol.index, 1);
}

TEST(Parse, OperandsInBrackets) {
  Module m =
      parsed(in_frame("ld.global.u32 r, [d+-8]; ld.global.u32 r, [g+4]; ld.local.u32 r, [24];"
                      "tex.2d.v4.f32.f32 {f, f, f, _}, [d, d2, {f, f2}]; ld.global.u32 r, g[8];"));
  const auto& all = body(m).instructions;
  EXPECT_EQ(all[0].operands[1].value, -8);
  EXPECT_EQ(all[1].operands[1].symbol, (Symbol{SymbolKind::kVariable, 0}));
  EXPECT_EQ(all[2].operands[1].symbol.index, kNone);
  EXPECT_EQ(all[2].operands[1].value, 24);
  EXPECT_EQ(all[3].operands[1].parts.size(), 2u);
  EXPECT_EQ(all[3].operands[0].parts[3].kind, OperandKind::kSink);
  EXPECT_EQ(all[4].operands[1].value, 8);
}

TEST(Parse, LinesAreThoseOfTheText) {
  Module m = parsed(kernel("ret;\n/* a\nb */ ret; // c\n\nret;"));
  EXPECT_EQ(body(m).line, 4);
  EXPECT_EQ(body(m).instructions[0].line, 5);
  EXPECT_EQ(body(m).instructions[1].line, 7);
  EXPECT_EQ(body(m).instructions[2].line, 9);
}

TEST(Parse, MadOfTheOldestProcessorsIsRounded) {
  const char* text = ".reg .f32 f; mov.f32 f, 0f3f800000; mad.f32 f, f, f, f; mad.sat.f32 f, f, f, f; ret;";
  Module m = parsed(".version 1.4\n.target sm_10\n.entry k { " + std::string(text) + " }");
  EXPECT_EQ(print(m, body(m), body(m).instructions[1]), "mad.rn.ftz.f32 f, f, f, f");
  EXPECT_EQ(print(m, body(m), body(m).instructions[2]), "mad.rn.ftz.sat.f32 f, f, f, f");
  EXPECT_FALSE(parse(kernel(text), "text.ptx"));
}

TEST(Parse, OldDebugDataIsSkipped) {
  Module m = parsed(kernel("ret;") + "@@DWARF .section .debug_info\n@@DWARF .byte 0x1, 'x\n");
  EXPECT_EQ(m.functions.size(), 1u);
}

}  // namespace
}  // namespace quern::ptx
