#include "array/file_error.h"

#include <fmt/format.h>

#include "base/text.h"

namespace quern::array {

std::unexpected<Diagnostics> not_a_file(const std::string& path, std::string_view format, std::string why) {
  return fail(diagnose(Code::E721, {}, {{"path", path}, {"format", std::string(format)}, {"why", std::move(why)}}));
}

std::unexpected<Diagnostics> truncated(const std::string& path, uint64_t want, uint64_t have) {
  return fail(
      diagnose(Code::E722, {}, {{"path", path}, {"want", std::to_string(want)}, {"have", std::to_string(have)}}));
}

std::unexpected<Diagnostics> foreign_type(const std::string& path, std::string_view descr) {
  return fail(diagnose(Code::E725, {}, {{"path", path}, {"descr", printable(descr)}}));
}

std::unexpected<Diagnostics> overflowing(const std::string& path, std::string_view shape) {
  return fail(diagnose(Code::E726, {}, {{"path", path}, {"shape", printable(shape)}}));
}

std::unexpected<Diagnostics> hostile(const std::string& path, std::string why) {
  return fail(diagnose(Code::E728, {}, {{"path", path}, {"why", std::move(why)}}));
}

std::unexpected<Diagnostics> no_array(const std::string& path, std::string_view name,
                                      const std::vector<std::string>& have) {
  constexpr size_t kShown = 20;
  std::string list = join(std::span(have).first(std::min(kShown, have.size())), ", ");
  if (have.empty()) list = "no arrays";
  if (have.size() > kShown) list += fmt::format(" and {} more", have.size() - kShown);
  Diagnostic d = diagnose(Code::E729, {}, {{"path", path}, {"n", printable(name)}, {"have", list}});
  auto near = nearest(name, have);
  if (near) d.remedy = fmt::format("did you mean {}? it holds {}", *near, list);
  return fail(std::move(d));
}

std::unexpected<Diagnostics> unwritable(const std::string& path, std::string why) {
  return fail(diagnose(Code::E730, {}, {{"path", path}, {"why", std::move(why)}}));
}

}  // namespace quern::array
