// Places in source text: what a message prints as line:column must be what an editor shows.
#include "base/source.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

TEST(Source, CountsLinesAndColumnsFromOne) {
  SourcePtr source = Source::make("a.qn", "ab\ncd");
  EXPECT_EQ(source->position(0).line, 1);
  EXPECT_EQ(source->position(0).column, 1);
  EXPECT_EQ(source->position(4).line, 2);
  EXPECT_EQ(source->position(4).column, 2);
}

TEST(Source, AColumnIsACharacterNotAByte) {
  SourcePtr source = Source::make("a.qn", "# \u00b5s\nx");  // the micro sign takes two bytes
  EXPECT_EQ(source->position(4).column, 4);
  EXPECT_EQ(source->position(6).line, 2);
}

TEST(Source, APlaceBehindTheTextIsItsEnd) {
  SourcePtr source = Source::make("a.qn", "ab\n");
  EXPECT_EQ(source->position(99).line, 2);
  EXPECT_EQ(source->position(99).column, 1);
}

TEST(Source, ALineHasNoLineBreakOfEitherKind) {
  SourcePtr source = Source::make("a.qn", "one\r\ntwo\nthree");
  EXPECT_EQ(source->line(1), "one");
  EXPECT_EQ(source->line(2), "two");
  EXPECT_EQ(source->line(3), "three");
  EXPECT_EQ(source->line(0), "");
  EXPECT_EQ(source->line(4), "");
}

TEST(Span, ToCoversBothAndNowhereAddsNothing) {
  SourcePtr source = Source::make("a.qn", "one two three");
  Span one{source.get(), 0, 3};
  Span three{source.get(), 8, 13};
  EXPECT_EQ(one.to(three).text(), "one two three");
  EXPECT_EQ(three.to(one).text(), "one two three");
  EXPECT_EQ(one.to(Span{}).text(), "one");
  EXPECT_EQ(Span{}.to(one).text(), "one");
}

}  // namespace
}  // namespace quern
