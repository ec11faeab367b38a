#include "worked.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "tile/parse.h"

namespace quern::tile {

std::vector<std::string> worked_names() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator("tests/golden/tile")) {
    out.push_back(entry.path().stem().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string worked_text(const std::string& name) {
  auto source = read_source("tests/golden/tile/" + name + ".tile");
  if (!source) {
    ADD_FAILURE() << render(source.error());
    return "";
  }
  std::string text((*source)->text());
  while (text.starts_with("#")) text.erase(0, text.find('\n') + 1);
  return text;
}

Program parsed(const std::string& text) {
  auto program = parse(Source::make("test.tile", text));
  if (!program) {
    ADD_FAILURE() << render(program.error()) << text;
    return {};
  }
  return *program;
}

Program worked(const std::string& name) { return parsed(worked_text(name)); }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  size_t count = 0;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
    ++count;
  }
  EXPECT_GT(count, 0u) << "no '" << from << "' in\n" << text;
  return text;
}

}  // namespace quern::tile
