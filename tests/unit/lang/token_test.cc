// Tokens: positions, numbers, words, what is skipped and reported.
#include "lang/token.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace quern::lang {
namespace {

struct Lexed {
  SourcePtr source;
  Diagnostics errors;
  Tokens tokens;
};

Lexed lex(std::string text) {
  Lexed out;
  out.source = Source::make("test.qn", std::move(text));
  out.tokens = tokenize(*out.source, out.errors);
  return out;
}

std::string texts(const Lexed& lexed) {
  std::string out;
  for (const Token& t : lexed.tokens.tokens) out += std::string(t.text) + (t.kind == TokenKind::kEnd ? "" : "|");
  return out;
}

TEST(Tokens, AreSeparatedByBlanksOnlyWhereTheyMust) {
  EXPECT_EQ(texts(lex("y[i]=x[i]+2*a_b")), "y|[|i|]|=|x|[|i|]|+|2|*|a_b|");
  EXPECT_EQ(texts(lex("a<=b<<c//d->e+=f!=g")), "a|<=|b|<<|c|//|d|->|e|+=|f|!=|g|");
}

TEST(Tokens, HaveKinds) {
  auto kind = [](std::string text) { return lex(std::move(text)).tokens.tokens[0].kind; };
  EXPECT_EQ(kind("for"), TokenKind::kKeyword);
  EXPECT_EQ(kind("inf"), TokenKind::kKeyword);
  EXPECT_EQ(kind("argmax"), TokenKind::kReduction);
  EXPECT_EQ(kind("f8e4m3"), TokenKind::kType);
  EXPECT_EQ(kind("formula"), TokenKind::kLower);
  EXPECT_EQ(kind("_"), TokenKind::kLower);
  EXPECT_EQ(kind("N_2"), TokenKind::kUpper);
  EXPECT_EQ(kind("exp"), TokenKind::kLower);
  EXPECT_EQ(kind("0x1f"), TokenKind::kInteger);
  EXPECT_EQ(kind("0"), TokenKind::kInteger);
  for (const char* real : {"0.5", "1e-6", "1E6", "1.5e+3", "0.0"}) EXPECT_EQ(kind(real), TokenKind::kReal) << real;
}

TEST(Tokens, KnowTheirPlace) {
  Lexed lexed = lex("a  # größe\n\n\tbb\r\n  ccc");
  const auto& t = lexed.tokens.tokens;
  ASSERT_EQ(t.size(), 4u);
  EXPECT_EQ(t[0].line, 1u);
  EXPECT_EQ(t[1].line, 3u);
  EXPECT_EQ(t[2].line, 4u);
  EXPECT_TRUE(t[0].first_of_line && t[1].first_of_line && t[2].first_of_line);
  for (const Token& token : t) {
    EXPECT_EQ(lexed.source->text().substr(token.begin, token.end - token.begin), token.text);
  }
  EXPECT_EQ(lexed.source->position(t[1].begin).column, 2);
  EXPECT_EQ(lexed.source->position(t[2].begin).column, 3);
  EXPECT_FALSE(lex("a b").tokens.tokens[1].first_of_line);
}

TEST(Tokens, LineEndsOfOtherSystemsChangeNothing) {
  EXPECT_EQ(texts(lex("a = 1\r\nb = 2\r\n")), texts(lex("a = 1\nb = 2\n")));
  EXPECT_EQ(lex("a # why\r\n").tokens.comments[0].text, "why");
}

TEST(Tokens, CommentsAreKeptBeside) {
  Lexed lexed = lex("# one\n#two\n  a # tail  \n#\n");
  const auto& c = lexed.tokens.comments;
  ASSERT_EQ(c.size(), 4u);
  EXPECT_EQ(c[0].text, "one");
  EXPECT_EQ(c[1].text, "two");
  EXPECT_EQ(c[2].text, "tail");
  EXPECT_EQ(c[3].text, "");
  EXPECT_TRUE(c[0].alone && c[1].alone && c[3].alone);
  EXPECT_FALSE(c[2].alone);
  EXPECT_EQ(c[1].next_token, 0u);
  EXPECT_EQ(c[2].next_token, 1u);
}

TEST(Tokens, MalformedNumbersAreOneErrorEach) {
  for (const char* text : {".5", "5.", "0x", "0xg", "1e", "1e+", "1.e3", "12abc", "1.2.3", "1_000", "0b11", "1.5f"}) {
    Lexed lexed = lex(text);
    ASSERT_EQ(lexed.errors.size(), 1u) << text;
    EXPECT_EQ(lexed.errors[0].code, Code::E116) << text;
    EXPECT_EQ(lexed.errors[0].span.text(), text);
    EXPECT_EQ(lexed.tokens.tokens.size(), 2u) << text;
  }
}

TEST(Tokens, WhatCannotBeReadIsSkipped) {
  Lexed lexed = lex("a @ b $ c ü d \x01");
  EXPECT_EQ(texts(lexed), "a|b|c|d|");
  EXPECT_EQ(lexed.errors.size(), 4u);
  for (const Diagnostic& d : lexed.errors) EXPECT_EQ(d.code, Code::E101);
  EXPECT_EQ(texts(lex("a && b || c")), "a|and|b|or|c|");
}

TEST(Tokens, AMixedNameIsReportedOnce) { EXPECT_EQ(lex("xValue + xValue + yValue").errors.size(), 2u); }

TEST(Tokens, EmptyTextHasOneToken) {
  for (const char* text : {"", "\n", "# only\n", " \t\r\n"}) EXPECT_EQ(lex(text).tokens.tokens.size(), 1u);
}

}  // namespace
}  // namespace quern::lang
