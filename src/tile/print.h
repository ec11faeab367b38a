// The canonical text of tile programs, in the grammar of docs/tile.md; tile/parse.h reads it back. Names that several
// things share are told apart by a number, so that text always means what it prints.
#pragma once

#include <string>

#include "tile/program.h"

namespace quern::tile {

std::string_view name(Stage stage);  // "lowered", …
std::string_view name(Role role);    // "in", …

std::string print(const Program& program);
// One kernel, or one expression of it, as it stands in the program's text.
std::string print(const Program& program, const Kernel& kernel);
std::string print(const Program& program, const Kernel& kernel, const ExprPtr& expression);

// Words that can't be names.
const std::vector<std::string_view>& keywords();
// Is `text` a letter or _, then letters, digits, _ and '?
bool is_identifier(std::string_view text);

}  // namespace quern::tile
