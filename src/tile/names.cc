// What things are called in the text: words of the grammar and doubles get a number.
#include "tile/names.h"

#include <algorithm>

#include "tile/print.h"

namespace quern::tile {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string unique(const std::string& wanted, std::string_view otherwise, std::unordered_set<std::string>& taken) {
  std::string base = wanted.empty() ? std::string(otherwise) : wanted;
  for (char& c : base) {
    if (!is_letter(c) && !is_digit(c) && c != '\'') c = '_';
  }
  if (!is_letter(base[0])) base = "_" + base;
  const auto& words = keywords();
  bool reserved = std::find(words.begin(), words.end(), base) != words.end();
  std::string out = reserved ? base + "_2" : base;
  for (int i = 2; !taken.insert(out).second; ++i) out = base + "_" + std::to_string(i);
  return out;
}

}  // namespace

const std::vector<std::string_view>& keywords() {
  static const std::vector<std::string_view> words = {
      "program", "dims",    "dyn",    "in",    "out",    "inout", "tmp",   "const", "zeroed", "site",
      "kernel",  "axes",    "scalar", "grid",  "for",    "if",    "else",  "carry", "next",   "nest",
      "keep",    "near",    "far",    "store", "atomic", "when",  "block", "strip", "held",   "lanes",
      "load",    "checked", "and",    "or",    "not",    "inf",   "nan",   "true",  "false",  "all"};
  return words;
}

bool is_identifier(std::string_view text) {
  return !text.empty() && is_letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_letter(c) || is_digit(c) || c == '\''; });
}

ProgramNames::ProgramNames(const Program& program) {
  for (const Dim& d : program.dims) dims.push_back(unique(d.name.str(), "D", taken));
  std::unordered_set<std::string> own;
  for (const Parameter& p : program.parameters) parameters.push_back(unique(p.name.str(), "x", own));
}

KernelNames::KernelNames(const ProgramNames& program, const Kernel& kernel) {
  std::unordered_set<std::string> taken = program.taken;
  for (const Axis& a : kernel.axes) axes.push_back(unique(a.name.str(), "i", taken));
  for (const Name& n : kernel.names) names.push_back(unique(n.name.str(), "t", taken));
}

}  // namespace quern::tile
