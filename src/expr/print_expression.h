// Expressions as text with the places where a long line may break.
#pragma once

#include <string>
#include <vector>

#include "expr/node.h"

namespace quern::expr {

// A line of text before it is broken. `breaks` are positions of blanks that may become a line break; a smaller
// `weight` is a looser place (nesting first, then precedence).
struct Line {
  struct Break {
    size_t position;
    int weight;
  };
  std::string text;
  std::vector<Break> breaks;
  int nesting = 0;

  void add(std::string_view more) { text += more; }
  void blank(int weight);  // a blank that may break
};

void print_expression(Line& line, const NodePtr& node);
void print_condition(Line& line, const NodePtr& node);  // a filter: an `if … else` in it needs parentheses
void print_binder(Line& line, const Binder& binder);
void print_binders(Line& line, const std::vector<Binder>& binders);  // comma separated, no brackets

// The line cut to `kColumns`, later lines indented by `indent`.
std::string broken(const Line& line, size_t indent);

}  // namespace quern::expr
