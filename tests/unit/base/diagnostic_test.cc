// What a message looks like: the caret must stand under the character that is meant, whatever the line holds.
#include "base/diagnostic.h"

#include <gtest/gtest.h>

#include <set>

#include "base/text.h"

namespace quern {
namespace {

std::string rendered(const std::string& text, uint32_t begin, uint32_t end) {
  SourcePtr source = Source::make("k.qn", text);
  return render(diagnose(Code::E112, {source.get(), begin, end}, {{"n", "in"}}));
}

TEST(Render, PutsCaretsUnderTheSpan) {
  EXPECT_EQ(rendered("a = in + 1\n", 4, 6),
            "error E112: 'in' is reserved\n"
            "   --> k.qn:1:5\n"
            "   |\n"
            " 1 | a = in + 1\n"
            "   |     ^^\n"
            "   = help: rename it\n");
}

TEST(Render, CountsCharactersNotBytes) {
  // e with acute accent, euro sign, emoji: 2, 3 and 4 bytes
  std::string text = "# \xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80 in x";
  EXPECT_EQ(rendered(text, 12, 14),
            "error E112: 'in' is reserved\n"
            "   --> k.qn:1:7\n"
            "   |\n"
            " 1 | # \xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80 in x\n"
            "   |       ^^\n"
            "   = help: rename it\n");
  EXPECT_NE(rendered(text, 2, 11).find(" |   ^^^\n"), std::string::npos) << "three characters, nine bytes";
}

TEST(Render, ShowsATabAndAControlCharacterAsOneBlank) {
  EXPECT_EQ(rendered("\t\x1b\tin\tx\r\n", 3, 5),
            "error E112: 'in' is reserved\n"
            "   --> k.qn:1:4\n"
            "   |\n"
            " 1 |    in x\n"
            "   |    ^^\n"
            "   = help: rename it\n");
}

TEST(Render, IsUtf8EvenWhereTheSourceIsNot) {
  std::string text = "a \xFF\xC3 in \xE2\x82";
  std::string out = rendered(text, 5, 7);
  EXPECT_EQ(invalid_utf8(out), std::nullopt) << out;
  EXPECT_NE(out.find(" 1 | a ?? in ?\n   |      ^^\n"), std::string::npos) << out;
}

TEST(Render, CutsALongLineAroundThePlace) {
  std::string text(100'000, 'a');
  text[50'000] = 'b';
  std::string out = rendered(text, 50'000, 50'001);
  EXPECT_LT(out.size(), 600u);
  size_t line = out.find(" 1 | ") + 5, caret = out.find(" | ", out.find('\n', line)) + 3;
  EXPECT_EQ(out.find('b', line) - line, out.find('^', caret) - caret) << out;
  std::string tail = rendered(text, 99'999, 100'000);
  EXPECT_NE(tail.find("a\n"), std::string::npos);
  EXPECT_NE(tail.find(std::string(159, ' ') + "^\n"), std::string::npos) << tail;
}

TEST(Render, MarksTheEndOfTheTextAndOfSeveralLines) {
  EXPECT_NE(rendered("ab", 2, 2).find(" 1 | ab\n   |   ^\n"), std::string::npos);
  EXPECT_NE(rendered("", 0, 0).find(" 1 | \n   | ^\n"), std::string::npos);
  EXPECT_NE(rendered("abc\ndef\n", 1, 6).find(" 1 | abc\n   |  ^^\n"), std::string::npos) << "to the end of the line";
  EXPECT_NE(rendered("ab\ncd\n", 6, 6).find(" 3 | \n   | ^\n"), std::string::npos);
}

TEST(Render, ShowsNotesAndColors) {
  SourcePtr source = Source::make("k.qn", "x = 1\nx = 2");
  Diagnostic d = diagnose(Code::E501, {source.get(), 6, 7}, {{"n", "x"}}).note({source.get(), 0, 1}, "first here");
  EXPECT_EQ(render(d),
            "error E501: x is defined twice\n   --> k.qn:2:1\n   |\n 2 | x = 2\n   | ^\n"
            "   = help: a second write needs a first value or inout\n"
            "   = note: first here\n   --> k.qn:1:1\n   |\n 1 | x = 1\n   | ^\n");
  EXPECT_NE(render(d, true).find("\033[31m"), std::string::npos);
  EXPECT_EQ(render(diagnose(Code::R1, {}, {{"e", "i"}, {"d", "N"}})), "remark R1: kept a check: i < N isn't proved\n");
}

TEST(Diagnose, LeavesAMissingArgumentVisibleAndDoesNotFillArguments) {
  EXPECT_EQ(diagnose(Code::E729, {}, {{"path", "{n}"}}).message, "'{n}' has no array '{n}'");
  EXPECT_EQ(diagnose(Code::E729, {}, {{"path", "{n}"}, {"n", "w"}}).message, "'{n}' has no array 'w'");
}

TEST(Catalogue, RowsAreInOrderOnceAndInOneStyle) {
  std::set<std::string_view> names;
  for (const CodeRow& r : code_rows()) {
    EXPECT_EQ(&r, &row(r.code)) << r.name;
    EXPECT_TRUE(names.insert(r.name).second) << r.name;
    EXPECT_FALSE(r.message.empty()) << r.name;
    EXPECT_FALSE(r.message.ends_with('.')) << r.name;
    EXPECT_TRUE(r.explanation.ends_with('.')) << r.name;
  }
}

TEST(ExitCode, WrongInputComesBeforeUnsupportedBeforeAFinding) {
  auto of = [](std::initializer_list<Code> codes) {
    Diagnostics all;
    for (Code c : codes) all.push_back(diagnose(c, {}));
    return exit_code(all);
  };
  EXPECT_EQ(of({}), 0);
  EXPECT_EQ(of({Code::R1}), 0);
  EXPECT_EQ(of({Code::E801, Code::R2}), 1);
  EXPECT_EQ(of({Code::E801, Code::N905}), 3);
  EXPECT_EQ(of({Code::N905, Code::E720, Code::E801}), 2);
  EXPECT_EQ(of({Code::E720, Code::B001}), 70);
}

}  // namespace
}  // namespace quern
