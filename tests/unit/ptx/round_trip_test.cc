// Laws of text: print(parse(x)) parses to the same module and prints the same, for what nvcc made of our kernels and
// for constructions that compilers seldom write.
#include <gtest/gtest.h>

#include "modules.h"
#include "ptx/parse.h"
#include "ptx/print.h"
#include "ptx/verify.h"

namespace quern::ptx {
namespace {

void expect_round_trip(const std::string& text, const std::string& what) {
  Module first = parsed(text);
  std::string printed = print(first);
  auto again = parse(printed, first.name);
  ASSERT_TRUE(again.has_value()) << what << "\n" << render(again.error()) << "\n" << printed.substr(0, 4000);
  EXPECT_EQ(print(*again), printed) << what;
  EXPECT_TRUE(without_lines(*again) == without_lines(first)) << what;
  EXPECT_TRUE(verify(first).empty()) << what << "\n" << render(verify(first));
}

TEST(RoundTrip, KernelsOfNvcc) {
  std::vector<std::string> files = kernel_files();
  EXPECT_GE(files.size(), 14u);
  for (const std::string& file : files) expect_round_trip(read(file), file);
}

TEST(RoundTrip, LineEndsOfOtherSystemsAndPaddingSayTheSame) {
  std::string text = read("tests/ptx/kernels/control.ptx"), crlf;
  for (char c : text) crlf += c == '\n' ? "\r\n" : std::string(1, c);
  Module plain = without_lines(parsed(text));
  EXPECT_TRUE(without_lines(parsed(crlf)) == plain);
  EXPECT_TRUE(without_lines(parsed(text + std::string(5, '\0'))) == plain);
}

TEST(RoundTrip, SeldomWritten) {
  const std::string all[] = {
      kernel("{ .reg .b32 t; mov.b32 t, 1; { .reg .b64 t; mov.b64 t, 2; } mov.b32 t, 3; } ret;"),
      kernel(
          ".reg .v4 .f32 %v; .reg .f32 %f<3>; mov.f32 %f1, %v.y; ld.global.v4.f32 %v, [16]; mov.f32 %v.w, %f2; ret;"),
      kernel(
          ".reg .b32 %r<3>, x, %r_1; .reg .f32 %rr1, %rr01; mov.b32 %r1, %r2; mov.b32 x, %r_1; mov.f32 %rr1, %rr01;"),
      kernel(".reg .b32 r; L: { L: bra L; } bra L; { bra M; M: ret; } M: ret;"),
      kernel(".reg .b32 r; ts: .branchtargets A, B; us: .branchtargets B; brx.idx r, ts; A: ret; B: ret;"),
      kernel(".reg .b64 d; p: .callprototype _ (.param .b64 _) .noreturn; call d, (d), p; ret;"),
      kernel(".reg .b64 d; t: .calltargets f, g; call (), d, (), t; ret;") + ".func f() { ret; }\n.func g() { ret; }\n",
      kernel(
          ".pragma \"nounroll\"; .local .align 16 .v2 .f64 x[3]; .reg .b64 d; mov.u64 d, x+8; ld.local.b64 d, [x+-0];"),
      std::string(kHead) +
          ".global .u8 b[] = {1, 2, 0xff};\n.global .f32 f[2][2] = {{1.5}, {0f3f800000, -2.0}};\n"
          ".global .u64 p[3] = {b, generic(b)+2, 7};\n.global .u8 m[4] = {0xff(b), 0xFF00(b+1), 0, 1};\n"
          ".const .v4 .u16 v = {1, 2, 3, 4};\n.global .f64 d = 1 + 2 * 3;\n.extern .shared .b32 s[];\n"
          ".global .samplerref sr = {addr_mode_0 = wrap, filter_mode = nearest};\n.global .texref t;\n",
      std::string(kHead) +
          ".visible .func (.param .b32 r) f(.param .b32 x);\n.weak .func h(.reg .b32 x, .param .b8 y[]) "
          "{ mov.b32 x, 1; ret; }\n.func (.param .b32 r) g(.param .b32 x) { ret; }\n"
          ".visible .func (.param .b32 r) f(.param .b32 x) { ret; }\n.alias f, g;\n",
      std::string(kHead) +
          ".entry k(.param .u64 .ptr .global .align 16 x, .param .u64 .ptr y, .param .align 8 .b8 z[12])\n"
          ".maxntid 1, 2, 3 .reqntid 4 .minnctapersm 2 .maxnreg 32 .reqnctapercluster 2, 1, 1 "
          ".explicitcluster .blocksareclusters { ret; }\n",
      std::string(kHead) +
          ".global .attribute(.managed) .u32 x;\n.common .global .u32 y[4];\n.weak .const .u8 z = 1;\n"
          ".global .attribute(.unified(1, 2)) .u64 w = x;\n.global .u64 to_kernel = k;\n"
          ".entry k() { { .reg .b32 x; mov.b32 x, 1; } .reg .b64 d; mov.u64 d, x; mov.u64 d, y; }\n",
  };
  for (const std::string& text : all) expect_round_trip(text, text);
}

TEST(RoundTrip, PlacesInTheSource) {
  std::string text = std::string(kHead) +
                     ".file 1 \"a.cu\"\n.file 2 \"b.h\", 12345, 99\n.entry k() {\n.loc 1 10 1\nbar.sync 0;\n"
                     ".loc 2 5 3, function_name $L__info_string0, inlined_at 1 10 1\nbar.sync 1;\n"
                     ".loc 2 7 3, function_name $L__info_string0+2, inlined_at 2 5 3\nbar.sync 2;\n"
                     ".loc 1 99 1\n.loc 1 10 1\nbar.sync 3;\nret;\n}\n"
                     ".section .debug_str\n{\n$L__info_string0:\n.b8 102, 111\n.b8 120,0\n}\n"
                     ".section .debug_info { .b32 1 // }\n.b8 2\n}\n";
  expect_round_trip(text, text);
  Module m = parsed(text);
  ASSERT_EQ(m.locations.size(), 3u);
  EXPECT_EQ(m.locations[1].function, "fox");
  EXPECT_EQ(m.locations[1].inlined_at, 0);
  EXPECT_EQ(m.locations[2].function, "x");
  EXPECT_EQ(m.locations[2].inlined_at, 1);
  EXPECT_EQ(m.functions[0].instructions[3].location, 0);
}

}  // namespace
}  // namespace quern::ptx
