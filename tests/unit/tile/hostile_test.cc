// Text that is no program gives one diagnostic with its place; what parses can be verified and printed, whatever it is.
#include <gtest/gtest.h>

#include <random>

#include "tile/parse.h"
#include "tile/print.h"
#include "tile/verify.h"
#include "worked.h"

namespace quern::tile {
namespace {

void expect_refused(const std::string& text, const std::string& message) {
  auto p = parse(Source::make("test.tile", text));
  ASSERT_FALSE(p.has_value()) << text;
  ASSERT_EQ(p.error().size(), 1u);
  EXPECT_TRUE(p.error()[0].source != nullptr);
  std::string found = render(p.error());
  EXPECT_NE(found.find(message), std::string::npos) << "expected " << message << ", found\n" << found;
}

TEST(Hostile, WhatIsNoProgramIsSaid) {
  const std::string head = "program p tiled\ndims N = 4\nin x: f32[N]\nout y: f32[N]\n\nkernel k\n  axes n < N\n";
  const std::pair<std::string, const char*> all[] = {
      {"", "expected 'program', found the end of the file"},
      {"kernel k", "expected 'program', found 'kernel'"},
      {"program p\n", "expected lowered, tiled, placed or laid"},
      {"program p lowered x\n", "expected the end of the line, found 'x'"},
      {"  program p lowered\n", "expected a line without blanks before it"},
      {"program p lowered\ndims N\n", "expected '=', found the end of the"},
      {"program p lowered\ndims N = 1, N = 2\n", "expected a name that is not yet a dimension, found 'N'"},
      {"program p lowered\nin x: f33\n", "expected a type, found 'f33'"},
      {"program p lowered\nin x: f32\nin x: f32\n", "expected a name that is not yet a parameter, found 'x'"},
      {"program p lowered\nin x: f32[N]\n", "expected a value, found 'N'"},
      {"program p lowered\nsite E999 \"\" \"\"\n", "expected a code, found 'E999'"},
      {"program p lowered\nsite E801 \"\\q\" \"\"\n", "expected '\\xNN'"},
      {"program p lowered\nsite E801 \"x\n", "unexpected character '\"'"},
      {"program p lowered\n\x01\n", "unexpected character '\\x01'"},
      {"program p lowered\n\xc3\xa9\n", "unexpected character '\\xc3'"},
      {head + "  a = \n", "expected a value, found the end of the"},
      {head + "  a = 1 +\n  b = 2\n", "expected a value, found the end of the line"},
      {head + "  a = b\n", "expected a value, found 'b'"},
      {head + "  a = n.mid\n", "expected 'lo' or 'hi', found 'mid'"},
      {head + "  a = 1 if 2\n", "expected 'else', found the end of the"},
      {head + "  a = 1 < 2 < 3\n", "expected the end of the line, found '<'"},
      {head + "  a = max(1)\n", "expected another number of arguments, found 'max'"},
      {head + "  a = sum(1)\n", "expected '[', found 'sum'"},
      {head + "  a = exp[n](1.0)\n", "expected '(', found 'exp'"},
      {head + "  a = sum[q](1)\n", "expected an axis, found 'q'"},
      {head + "  a = dot[n](1.0)\n", "expected another number of arguments, found 'dot'"},
      {head + "  a = dot:x[n](1.0)\n", "expected a type, found 'x'"},
      {head + "  a = f32(1, 2)\n", "expected one argument, found 'f32'"},
      {head + "  a = load q[0]\n", "expected a parameter, found 'q'"},
      {head + "  a = load x[0] @0\n", "expected a site, found '0'"},
      {head + "  a = 99999999999999999999\n", "99999999999999999999"},
      {head + "  a = 1e999\n", "1e999"},
      {head + "  a = 1.0:i64\n", "expected a real type, found 'i64'"},
      {head + "  n = 1\n", "expected a name that is not an axis or a dimension, found 'n'"},
      {head + "  a = 1\n    b = 2\n", "expected"},
      {head + "  if true\n    a = 1\n   b = 2\n", "expected"},
      {head + "  for q\n", "expected an axis, found 'q'"},
      {head + "  for n:0\n", "expected a size, found '0'"},
      {head + "  for n in ..\n", "expected an end of the range"},
      {head + "  for n\n    carry a = 1\n", "expected 'next', found the end of the file"},
      {head + "  for n\n    carry a = 1\n    next b = 1\n", "expected 'a', found 'b'"},
      {head + "  next a = 1\n", "expected a line without blanks before it"},
      {head + "  nest q\n", "expected an axis, found 'q'"},
      {head + "  keep a home\n", "expected 'near', found 'home'"},
      {head + "  keep a near n/0\n", "expected a divisor, found '0'"},
      {head + "  store y[n] == 1.0\n", "expected '=', found '=='"},
      {"program p lowered\n\nkernel k\n  axes i < 2, i < 2\n", "expected a name that is not yet an axis, found 'i'"},
  };
  for (auto& [text, message] : all) expect_refused(text, message);
}

std::string repeated(const std::string& s, int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += s;
  return out;
}

TEST(Hostile, DepthIsLimited) {
  const std::string head = "program p tiled\n\nkernel k\n  a = ";
  const int n = 100000;
  expect_refused(head + repeated("(", n), "nested deeper than");
  expect_refused(head + repeated("-", n), "nested deeper than");
  expect_refused(head + repeated("not ", n), "nested deeper than");
  expect_refused(head + repeated("f32(", n), "nested deeper than");
  expect_refused(head + repeated("1 if true else ", n), "nested deeper than");
  expect_refused(head + "1" + repeated(" + 1", n), "nested deeper than");
  std::string blocks = "program p tiled\n\nkernel k\n";
  for (int i = 1; i < 300; ++i) blocks += std::string(static_cast<size_t>(i), ' ') + "if true\n";
  expect_refused(blocks, "nested deeper than");
  EXPECT_EQ(parsed(head + "1" + repeated(" + 1", 1500) + "\n").kernels.size(), 1u);
}

TEST(Hostile, AxesAreAtMost64) {
  std::string axes = "program p tiled\n\nkernel k\n  axes a0 < 2";
  for (int i = 1; i < 64; ++i) axes += ", a" + std::to_string(i) + " < 2";
  EXPECT_EQ(render(verify(parsed(axes + "\n"))), "");
  expect_refused(axes + ", b < 2\n", "expected at most 64 axes, found 'b'");
}

// Damaged texts: some parse, and then nothing may fail either.
TEST(Hostile, DamagedTexts) {
  std::mt19937_64 random(11);
  std::vector<std::string> texts;
  for (const std::string& name : worked_names()) texts.push_back(worked_text(name));
  const std::string pieces[] = {"(",  ")",   "[",     "]",      "if ", " else ", "load ",    "\n",
                                "  ", "n",   "m",     "@0",     ":",   ",",      "-",        "sum[n]",
                                "1",  "1.5", "next ", "carry ", "in ", "..",     "checked ", "dot[k]"};
  int parsed_ones = 0, wrong_ones = 0;
  for (int round = 0; round < 6000; ++round) {
    std::string text = texts[random() % texts.size()];
    for (uint64_t k = 0; k <= random() % 3; ++k) {
      size_t at = random() % text.size(), length = random() % 8;
      switch (random() % 4) {
        case 0: text.erase(at, length); break;
        case 1: text.insert(at, pieces[random() % std::size(pieces)]); break;
        case 2: text.replace(at, length, texts[random() % texts.size()].substr(at % 200, length)); break;
        default: text[at] = static_cast<char>(random() % 128);
      }
      if (text.empty()) text = " ";
    }
    auto p = parse(Source::make("test.tile", text));
    if (!p) {
      ASSERT_EQ(p.error().size(), 1u);
      continue;
    }
    ++parsed_ones;
    wrong_ones += !verify(*p).empty();
    std::string printed = print(*p);
    auto again = parse(Source::make("test.tile", printed));
    ASSERT_TRUE(again.has_value()) << text << "\n--- printed\n" << printed << render(again.error());
    ASSERT_EQ(print(*again), printed) << text;
  }
  EXPECT_GT(parsed_ones, 100);
  EXPECT_GT(wrong_ones, 20);
}

}  // namespace
}  // namespace quern::tile
