// The worked programs of tests/golden/tile/, as the tests of this layer use them.
#pragma once

#include <string>
#include <vector>

#include "tile/program.h"

namespace quern::tile {

std::vector<std::string> worked_names();  // file names without ending, sorted
// The text without the comments that open the file.
std::string worked_text(const std::string& name);
Program worked(const std::string& name);
// What parse() makes of a text that must be right.
Program parsed(const std::string& text);
// Replaces each `from` of the text by `to`; there must be one.
std::string replaced(std::string text, const std::string& from, const std::string& to);

}  // namespace quern::tile
