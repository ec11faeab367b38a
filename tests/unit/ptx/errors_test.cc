// Every message about PTX: its code, its text, its place; several errors of one text; and texts that are out to exhaust
// memory, stack or time.
#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "modules.h"
#include "ptx/parse.h"
#include "ptx/print.h"

namespace quern::ptx {
namespace {

void expect_error(const std::string& text, const std::string& message) {
  std::string found = errors(text);
  EXPECT_NE(found.find(message), std::string::npos) << "expected " << message << ", found\n" << found;
}

TEST(Errors, Messages) {
  const std::string head(kHead);
  const std::pair<std::string, const char*> all[] = {
      {"", "E901: expected '.version', found the end of the file"},
      {"int main() {}", "E901: expected '.version', found 'int'"},
      {".version 9.0 .address_size 64", "E901: expected '.target', found '.address_size'"},
      {head + "foo", "E901: expected a directive, found 'foo'"},
      {head + ".global .u32", "E901: expected a name, found the end of the file"},
      {head + ".global x;", "E901: expected a type, found 'x'"},
      {head + ".global .pred x;", "E901: expected a type of 8 bits or more"},
      {head + ".entry k() {", "E901: expected '}' for this '{', found the end of the file"},
      {kernel("ret"), "E901: expected ';', found '}'"},
      {kernel("add.s32 ,"), "E901: expected an operand, found ','"},
      {in_frame("mov.b32 r, 1 ret;"), "E901: expected ',' or ';', found 'ret'"},
      {std::string(kHead).replace(13, 13, ".target debug"), "E901: expected a target, as sm_80, found '.address_size'"},
      {head + ".entry k() { \x80\x81 ret; }", "E902: \\x80\\x81 can't stand in PTX"},
      {head + "/* no end", "E902: this comment has no end"},
      {head + ".file 1 \"a\n\"", "E902: this string has no end"},
      {".version 9", "E903: 9 is no version, as 9.0"},
      {kernel(".reg .b32 r; mov.b32 r, 99999999999999999999; ret;"), "E903: 99999999999999999999 does not fit 64 bits"},
      {kernel(".reg .b32 r; mov.b32 r, 08; ret;"), "E903: 08 is no number"},
      {kernel(".reg .b32 r; mov.b32 r, 0f3f8; ret;"), "E903: 0f3f8 needs 8 hexadecimal digits"},
      {kernel(".reg .b32 r; mov.b32 r, 1 / 0; ret;"), "E903: '/' divides by zero"},
      {kernel(".reg .b32 r; mov.b32 r, ~1.5; ret;"), "E903: '~' is not for floats"},
      {head + ".global .align 3 .u8 x;", "E903: 3 is no power of two"},
      {head + ".global .u32 x = 1.5;", "E903: 1.5 is no value of .u32"},
      {head + ".global .u8 x[2] = {0xF0(x), 1};", "E903: this mask does not pick whole bytes"},
      {kernel("ad.s32 1, 2;"), "E904: there is no instruction ad\n"},
      {kernel("fam.rn.f32;"), "do you mean fma?"},
      {in_frame("add.rnn.f32 f, f, f2;"), "E905: add takes no .rnn"},
      {in_frame("add.rn.rz.f32 f, f, f2;"), "E905: add takes no .rz beside the words before it"},
      {in_frame("add r, r, r2;"), "E905: add needs a type"},
      {in_frame("mul.s32 r, r, r2;"), "E905: mul needs one of .lo .hi .wide"},
      {in_frame("mov.b32 r, %r9;"), "E906: %r9 is not declared"},
      {in_frame("mov.b64 d, nothing;"), "E906: nothing is not declared"},
      {in_frame("bra Nowhere;"), "E906: the label Nowhere is not declared"},
      {in_frame("@z ret;"), "E906: the predicate z is not declared"},
      {head + ".alias f, g;", "E906: the function f is not declared"},
      {kernel(".reg .b32 r; .reg .f32 r; ret;"), "E907: r is declared twice"},
      {kernel("L: L: ret;"), "E907: the label L is declared twice"},
      {head + ".global .u32 x; .global .u32 x;", "E907: x is declared twice"},
      {head + ".func f() { ret; } .func f() { ret; }", "E907: f is declared twice"},
      {head + ".global .u8 x[4294967296][4294967296];", "E908: bytes of x: more, the limit is 1099511627776"},
      {head + ".global .u8 x[2][2000000000] = {{1}, {2}};", "E908: bytes of an initial value: 2000000001"},
      {head + ".global .u8 x[2] = {1, 2, 3};", "E908: elements of this list: 3, the limit is 2"},
      {in_frame("add.s32 r, r;"), "E909: add does not take these operands: a register of .b32, a register of .b32"},
      {in_frame("add.s32 r, r;"), "it takes a register, a value, a value"},
      {in_frame("ld.global.v2.f32 {f, f2, f}, [d];"),
       "E909: ld does not take these operands: a vector of 3, an address"},
      {in_frame("call callee, (r);"), "it takes 0 results and 2 arguments"},
      {in_frame("call d, (r);"), "a prototype or list of targets, since the callee is a register"},
      {in_frame("call later, (r);") + ".func later() { ret; }", "it takes 0 results and 0 arguments"},
      {in_frame("call callee, (r, d);"), "E910: d has 8 bytes, the parameter 4 bytes"},
      {in_frame("call g;"), "E910: g can't be called"},
      {in_frame("add.s32 r, f, 1;"), "E910: f is .f32, add takes .s32 there"},
      {in_frame("mul.wide.u32 r, r, 4;"), "E910: r is .b32, mul takes 64 bits there"},
      {in_frame("@r ret;"), "E910: r is .b32, not .pred"},
      {in_frame("ld.global.u32 r, [f];"), "E910: [f] holds .f32, which is no address"},
      {in_frame("ld.global.u32 r, [{r, r2}];"), "E901: expected a constant, found '{'"},
      {in_frame("mov.b32 r, -g;"), "E910: -g can't be negated"},
      {head + ".global .u8 x[2] = {x, 1};", "E910: x is an address, which .u8 does not hold"},
      {head + ".foo 1;", "E911: '.foo' can't stand here"},
      {kernel(".entry k() {} ret;"), "E911: '.entry' can't stand in a function"},
      {head + ".entry k() .visible { ret; }", "E911: '.visible' can't stand in the head of a function"},
      {head + ".global .u32 .u32 x;", "E911: '.u32' can't stand in a declaration"},
  };
  for (const auto& [text, message] : all) expect_error(text, message);
}

TEST(Errors, APlaceAndACaret) {
  EXPECT_EQ(errors(kernel(".reg .f32 %f<2>;\n  add.s32 %f1, %f0, 1;\nret;")),
            "error E910: %f1 is .f32, add takes .s32 there\n"
            "   --> test.ptx:6:11\n"
            "   |\n"
            " 6 |   add.s32 %f1, %f0, 1;\n"
            "   |           ^^^\n");
}

TEST(Errors, SeveralOfOneText) {
  auto module = parse(in_frame("foo; add.s32 r, r; bra X; mov.b32 r, 1; ret") + ".global x;\n.foo;\n", "test.ptx");
  ASSERT_FALSE(module.has_value());
  EXPECT_GE(module.error().size(), 5u) << render(module.error());
}

TEST(Errors, AtMostTwenty) {
  std::string body;
  for (int i = 0; i < 100'000; ++i) body += "foo;\n";
  auto module = parse(kernel(body), "test.ptx");
  ASSERT_FALSE(module.has_value());
  EXPECT_LE(module.error().size(), 20u);
}

std::string repeated(const std::string& s, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += s;
  return out;
}

// Each within seconds, though it would take minutes or gigabytes if anything were quadratic.
TEST(Hostile, Sizes) {
  constexpr int kMany = 100'000;
  std::string labels, places, files = std::string(kHead), sparse = ".reg .b32 %r<2000000000>;";
  for (int i = 0; i < kMany; ++i) {
    labels += "L" + std::to_string(i) + ": bra L" + std::to_string(i * 7919LL % kMany) + ";\n";
    places += ".loc 1 " + std::to_string(i + 1) + " 1, inlined_at 1 " + std::to_string(i) + " 1\n";
    files += ".file " + std::to_string(kMany - i) + " \"x\"\n";
    sparse += "mov.b32 %r" + std::to_string(1'000'000'000 + i * 7919LL) + ", 1;\n";
  }
  const std::pair<std::string, bool> all[] = {
      {kernel(repeated("{", kMany) + "ret;" + repeated("}", kMany)), true},
      {kernel(repeated("{.reg .b32 r; mov.b32 r, 1;\n", kMany) + repeated("}", kMany)), true},
      {kernel(repeated("{L: bra L; bra M;\n", kMany) + repeated("}", kMany) + "M: ret;"), true},
      {kernel(repeated("{.param .b32 p; st.param.b32 [p], 1;}\n", kMany)), true},
      {kernel(labels), true},
      {kernel(places + "bar.sync 0; ret;"), true},
      {files, true},
      {kernel(sparse), true},
      {kernel(".reg .b32 r; mov.b32 r, 1" + repeated("+1", kMany) + ";"), true},
      {std::string(kHead) + ".entry k(" + repeated(".param .b32 _, ", kMany) + ".param .b32 _) { ret; }", true},
      {std::string(kHead) + ".global .b8 x[4294967296];", true},
      {kernel(repeated("{", kMany)), false},
      {kernel(repeated("}", kMany)), false},
      {kernel(".reg .b32 r; mov.b32 r, " + repeated("(", kMany) + "1" + repeated(")", kMany) + ";"), false},
      {kernel(".reg .b32 r; mov.b32 r, " + repeated("-", kMany) + "1;"), false},
      {kernel(".reg .b32 r; mov.b32 r, " + repeated("1?2:", kMany) + "1;"), false},
      {kernel(".reg .b32 r; mov.b32 r, " + repeated("{", kMany) + ";"), false},
      {kernel(".reg .b32 r; ld.u32 r, " + repeated("[r,", kMany) + ";"), false},
      {kernel(".reg .b32 r; add" + repeated(".s32", kMany) + " r, r, r;"), false},
      {std::string(kHead) + ".global .b8 x" + repeated("[1]", kMany) + ";", false},
      {std::string(kHead) + ".global .b8 x[1][1] = " + repeated("{", kMany) + ";", false},
      {std::string(1 << 20, '\0'), false},
      {repeated(".version 9.0\n", kMany), false},
  };
  for (const auto& [text, good] : all) {
    auto start = std::chrono::steady_clock::now();
    auto module = parse(text, "hostile");
    EXPECT_EQ(module.has_value(), good) << text.substr(0, 200)
                                        << (module ? "" : render(module.error()).substr(0, 1000));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20)) << text.substr(0, 200);
  }
}

// Text that was cut anywhere is an error, or what is left of it is a module; nothing worse.
TEST(Hostile, CutAnywhere) {
  std::string text = read("tests/ptx/kernels/control.ptx");
  for (size_t end = 0; end < text.size(); end += 5) {
    auto module = parse(text.substr(0, end), "cut");
    EXPECT_TRUE(module.has_value() || !module.error().empty());
  }
}

// What is still a module after random changes obeys the laws of text.
TEST(Hostile, Changed) {
  std::string all = read("tests/ptx/kernels/memory.ptx") + read("tests/ptx/kernels/warp.ptx");
  std::string text = read("tests/ptx/kernels/saxpy.ptx");
  std::mt19937 random(1);
  int good = 0;
  for (int k = 0; k < 4000; ++k) {
    std::string changed = text;
    for (int changes = 1 + static_cast<int>(random() % 3); changes > 0; --changes) {
      size_t at = random() % changed.size();
      switch (random() % 4) {
        case 0: changed[at] = static_cast<char>(random()); break;
        case 1: changed.erase(at, random() % 8); break;
        case 2: changed.insert(at, all.substr(random() % all.size(), random() % 12)); break;
        default: changed[at] = static_cast<char>(' ' + random() % 95);
      }
    }
    auto module = parse(changed, "changed");
    if (!module) continue;
    ++good;
    std::string printed = print(*module);
    auto again = parse(printed, "changed");
    ASSERT_TRUE(again.has_value()) << changed << "\n" << render(again.error()) << "\n" << printed;
    EXPECT_EQ(print(*again), printed) << changed;
    EXPECT_TRUE(without_lines(*again) == without_lines(*module)) << changed;
  }
  EXPECT_GT(good, 100);
}

}  // namespace
}  // namespace quern::ptx
