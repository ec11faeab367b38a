#include "cli/target.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "cli/command_line.h"
#include "cli/library_path.h"

namespace quern::cli {
namespace {

bool is_name(std::string_view text) {
  if (text.empty()) return false;
  for (char c : text) {
    if (!(c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))) return false;
  }
  return true;
}

std::vector<std::string> names(const lang::Unit& unit) {
  std::vector<std::string> all;
  for (const lang::CheckedKernel& k : unit.kernels) all.push_back(k.kernel->name.str());
  return all;
}

Diagnostic no_kernel(const lang::Unit& unit, const Target& target) {
  constexpr size_t kNamed = 8;
  std::vector<std::string> all = names(unit);
  std::vector<std::string> some(all.begin(), all.begin() + std::min(all.size(), kNamed));
  if (all.size() > kNamed) some.push_back("…");
  Diagnostic d = diagnose(Code::E741, {}, {{"file", target.file}, {"n", target.kernel}, {"have", join(some, ", ")}});
  if (all.empty()) d.remedy = "it holds none";
  if (auto near = nearest(target.kernel, all)) d.remedy = "did you mean " + target.file + ":" + *near + "?";
  return d;
}

}  // namespace

Target parse_target(const std::string& text) {
  std::error_code error;
  size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0 || std::filesystem::exists(text, error)) return {text, {}};
  std::string kernel = text.substr(colon + 1);
  if (!is_name(kernel)) return {text, {}};
  return {text.substr(0, colon), std::move(kernel)};
}

Result<SourcePtr> read_target(const std::string& file) {
  if (file != "-") return read_source(file);
  if (::fcntl(STDIN_FILENO, F_GETFD) < 0) {
    Diagnostic d = diagnose(Code::E117, {});
    d.message = "can't read standard input: it is closed";
    return fail(std::move(d));
  }
  auto source = read_source("/dev/stdin");
  if (source) return Source::make("-", std::string((*source)->text()));
  for (Diagnostic& d : source.error()) {
    if (d.code == Code::E117) d.message = "can't read standard input" + d.message.substr(d.message.find("': ") + 1);
  }
  return source;
}

Result<lang::Unit> load_target(const Target& target) {
  auto source = read_target(target.file);
  if (!source) return fail(std::move(source.error()));
  return lang::load(*std::move(source), {library_folders()});
}

Result<std::vector<const lang::CheckedKernel*>> select(const lang::Unit& unit, const Target& target) {
  std::vector<const lang::CheckedKernel*> out;
  for (const lang::CheckedKernel& k : unit.kernels) {
    if (target.kernel.empty() || k.kernel->name.str() == target.kernel) out.push_back(&k);
  }
  if (out.empty() && !target.kernel.empty()) return fail(no_kernel(unit, target));
  return out;
}

Diagnostics errors_of(const lang::Unit& unit, const Target& target) {
  Diagnostics out = unit.errors;
  if (target.kernel.empty()) return out;
  // An item goes as far as the next one begins.
  auto other_kernel = [&](const Diagnostic& d) {
    if (!unit.module || d.span.source != unit.module->source.get()) return false;
    const expr::Item* owner = nullptr;
    for (const expr::Item& item : unit.module->items) {
      auto begin = std::visit([](const auto& i) { return i.span.begin; }, item);
      if (begin <= d.span.begin) owner = &item;
    }
    const auto* kernel = owner ? std::get_if<expr::Kernel>(owner) : nullptr;
    return kernel && kernel->name.str() != target.kernel;
  };
  std::erase_if(out, other_kernel);
  return out;
}

Result<const lang::CheckedKernel*> select_one(const lang::Unit& unit, const Target& target) {
  auto found = select(unit, target);
  if (!found) return fail(std::move(found.error()));
  if (target.kernel.empty() && found->size() > 1) {
    return fail(diagnose(
        Code::E742, {},
        {{"file", target.file}, {"k", std::to_string(found->size())}, {"n", found->front()->kernel->name.str()}}));
  }
  Diagnostics errors = errors_of(unit, target);
  if (!errors.empty()) return fail(std::move(errors));
  if (found->empty())
    return fail(usage_error("", target.file + " holds no kernel").with_remedy("see docs/notation.md"));
  return found->front();
}

}  // namespace quern::cli
