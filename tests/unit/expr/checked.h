// Checks the text of one kernel, for tests of what it means.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "expr/print.h"
#include "lang/load.h"

namespace quern::expr {

struct CheckedText {
  lang::Unit unit;

  const Program& program() const {
    static const Program none;
    bool good = unit.errors.empty() && !unit.kernels.empty() && unit.kernels.back().program;
    EXPECT_TRUE(good) << render(unit.errors);
    return good ? *unit.kernels.back().program : none;
  }
  // Codes of the errors, joined by blanks.
  std::string codes() const {
    std::string out;
    for (const Diagnostic& d : unit.errors) out += (out.empty() ? "" : " ") + std::string(row(d.code).name);
    return out;
  }
};

inline CheckedText check_text(const std::string& text) { return {lang::load(Source::make("test.qn", text))}; }

}  // namespace quern::expr
