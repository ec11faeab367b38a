#include "library.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

namespace quern::fuzz {

std::vector<File> library() {
  std::vector<File> out;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("kernels", error)) {
    if (entry.path().extension() != ".qn") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    out.push_back({entry.path().string(), text.str()});
  }
  std::ranges::sort(out, {}, &File::path);
  return out;
}

std::string renamed_library(const std::string& suffix) {
  std::string text;
  for (const File& f : library()) text += f.text + "\n";
  text = std::regex_replace(text, std::regex(R"((^|\n)import [^\n]*)"), "$1");
  // Kernels aren't called; functions and constants of the library are, so they are renamed wherever they stand.
  std::vector<std::string> declared;
  std::regex declaration(R"((?:^|\n)(?:fn|const) (\w+))");
  for (auto it = std::sregex_iterator(text.begin(), text.end(), declaration); it != std::sregex_iterator(); ++it) {
    declared.push_back((*it)[1]);
  }
  for (const std::string& name : declared) {
    bool upper = name[0] >= 'A' && name[0] <= 'Z';
    std::string end = upper ? "X" + suffix : "_" + suffix;
    text = std::regex_replace(text, std::regex("\\b" + name + "\\b"), name + end);
  }
  return std::regex_replace(text, std::regex(R"((^|\n)kernel (\w+))"), "$1kernel $2_" + suffix);
}

}  // namespace quern::fuzz
