#include "cli/formatting_fault.h"

#include <algorithm>
#include <vector>

#include "lang/parse.h"
#include "lang/token.h"

namespace quern::cli {
namespace {

std::vector<std::string> comments(const Source& source) {
  Diagnostics ignored;
  std::vector<std::string> out;
  for (const lang::Comment& c : lang::tokenize(source, ignored).comments) {
    size_t end = c.text.find_last_not_of(" \t\r");
    size_t begin = c.text.find_first_not_of(" \t\r");
    // A line with nothing but `#` says nothing that could be lost.
    if (end != std::string::npos) out.push_back(c.text.substr(begin, end + 1 - begin));
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace

std::optional<Diagnostic> formatting_fault(const expr::Module& module, const SourcePtr& before,
                                           const std::string& text) {
  auto bug = [&](const std::string& what) {
    return diagnose(Code::B001, {}, {{"what", "formatting " + before->name() + " would " + what}});
  };
  SourcePtr after = Source::make(before->name(), text);
  lang::Parsed again = lang::parse(after);
  if (!again.errors.empty() || !equal(module, again.module)) return bug("change its meaning");
  if (comments(*before) != comments(*after)) return bug("lose a comment");
  return std::nullopt;
}

}  // namespace quern::cli
