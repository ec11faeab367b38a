#include "cli/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace quern::cli {
namespace {

struct Setting {
  std::string name;
  std::string value;
};

template <class T>
bool parse_whole(std::string_view text, T& out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

class Reader {
 public:
  explicit Reader(const CommandLine& line) : line_(line) {}

  Result<expr::Request> run() {
    for (const std::string& text : line_.dimensions) dimension(text);
    for (const std::string& text : line_.types) type(text);
    if (!errors_.empty()) return fail(std::move(errors_));
    return std::move(out_);
  }

 private:
  void refuse(std::string what, std::string remedy = {}) {
    errors_.push_back(usage_error(line_.command, std::move(what)));
    if (!remedy.empty()) errors_.back().remedy = std::move(remedy);
  }

  std::optional<Setting> split(const std::string& text, const char* option, const char* what) {
    size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      refuse(fmt::format("{} {}: expected NAME={}", option, text, what));
      return std::nullopt;
    }
    return Setting{text.substr(0, equals), text.substr(equals + 1)};
  }

  void dimension(const std::string& text) {
    auto s = split(text, "--dim", "size");
    if (!s) return;
    int64_t size = 0;
    if (!parse_whole(s->value, size)) {
      return refuse(fmt::format("--dim {}: '{}' is not a whole number up to {}", text, s->value, INT64_MAX));
    }
    if (size < 0) {
      errors_.push_back(diagnose(Code::E711, {}, {{"e", s->name}, {"v", s->value}}));
      errors_.back().remedy = fmt::format("--dim {} takes a whole number, 0 or more", s->name);
    } else if (!out_.dimensions.emplace(Symbol(s->name), size).second) {
      refuse("--dim " + s->name + " is given twice");
    }
  }

  void type(const std::string& text) {
    auto s = split(text, "--type", "type");
    if (!s) return;
    auto type = parse_type(s->value);
    if (!type) {
      std::vector<std::string> all;
      for (const TypeRow& r : type_rows()) all.emplace_back(r.name);
      auto near = nearest(s->value, all);
      return refuse(fmt::format("--type {}: '{}' is not a type", text, s->value),
                    near ? "did you mean `" + *near + "`?" : "types are " + join(all, " "));
    }
    if (!out_.types.emplace(Symbol(s->name), *type).second) refuse("--type " + s->name + " is given twice");
  }

  const CommandLine& line_;
  expr::Request out_;
  Diagnostics errors_;
};

bool has_type(const expr::Program& program, Symbol name) {
  return std::ranges::any_of(program.types, [&](const expr::TypeVariable& t) { return t.name == name; });
}

}  // namespace

Result<expr::Request> parse_settings(const CommandLine& line) { return Reader(line).run(); }

Diagnostics unknown_settings(const expr::Request& settings, const std::vector<const expr::Program*>& programs,
                             const std::string& whose) {
  std::vector<std::string> dimensions, types;
  for (const expr::Program* p : programs) {
    for (const expr::Dimension& d : p->dimensions) dimensions.push_back(d.name.str());
    for (const expr::TypeVariable& t : p->types) types.push_back(t.name.str());
  }
  Diagnostics errors;
  auto look = [&](Symbol name, std::vector<std::string>& known, const char* none) {
    if (std::ranges::find(known, name.str()) != known.end()) return;
    Diagnostic d = diagnose(Code::E712, {}, {{"kernel", whose}, {"n", name.str()}});
    auto near = nearest(name.str(), known);
    std::ranges::sort(known);
    known.erase(std::ranges::unique(known).begin(), known.end());
    d.remedy = near ? "did you mean " + *near + "?" : known.empty() ? none : "it has " + join(known, ", ");
    errors.push_back(std::move(d));
  };
  for (const auto& [name, size] : settings.dimensions) look(name, dimensions, "it has no dimensions");
  for (const auto& [name, type] : settings.types) look(name, types, "it has no type variables");
  return errors;
}

expr::Request settings_for(const expr::Request& settings, const expr::Program& program) {
  expr::Request out = settings;
  std::erase_if(out.dimensions, [&](const auto& d) { return !program.find_dimension(d.first); });
  std::erase_if(out.types, [&](const auto& t) { return !has_type(program, t.first); });
  return out;
}

Result<std::optional<uint64_t>> parse_count(const CommandLine& line, const char* option,
                                            const std::optional<std::string>& text, uint64_t least, uint64_t greatest) {
  if (!text) return std::nullopt;
  uint64_t value = 0;
  if (!parse_whole(*text, value) || value < least || value > greatest) {
    return fail(usage_error(
        line.command, fmt::format("{} {}: expected a whole number from {} to {}", option, *text, least, greatest)));
  }
  return value;
}

}  // namespace quern::cli
