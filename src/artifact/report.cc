#include "artifact/report.h"

#include <fmt/format.h>

#include <algorithm>

namespace quern::artifact {
namespace {

Span span_of(const Place& place, const std::vector<SourcePtr>& sources) {
  if (place.source < 0 || place.source >= static_cast<int64_t>(sources.size())) return {};
  const Source* source = sources[static_cast<size_t>(place.source)].get();
  auto size = static_cast<uint32_t>(source->text().size());
  return {source, std::min(place.begin, size), std::clamp(place.end, std::min(place.begin, size), size)};
}

Code code_of(const std::string& name) {
  for (const CodeRow& r : code_rows()) {
    if (r.name == name) return r.code;
  }
  return Code::B001;
}

// "n = 0, d = 3"
std::string where(const Artifact& artifact, const Fault& fault) {
  const std::vector<std::string>& names = artifact.kernels[static_cast<size_t>(fault.kernel)].axes;
  std::string out;
  for (const auto& [axis, value] : fault.indices) {
    if (static_cast<size_t>(axis) >= names.size()) continue;
    out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", names[static_cast<size_t>(axis)], value);
  }
  return out.empty() ? "every instance" : out;
}

// A range that data end, said of the first index beyond the dimension: as the interpreter has it.
Diagnostic outside_its_dimension(const Site& site, Code code, Span span, int64_t end) {
  std::string index = std::to_string(site.last ? end - 1 : end), limit = std::to_string(site.limit);
  std::string why = fmt::format("the {} of its range {} = {}", site.last ? "end" : "start", site.end, end);
  if (code == Code::E803) {
    std::string at = fmt::format("{} = {}, {}", site.subscript, index, why);
    return diagnose(code, span, {{"y", site.tensor}, {"v", at}, {"d", limit}});
  }
  return diagnose(code, span,
                  {{"x", site.tensor}, {"e", site.subscript}, {"v", index}, {"indices", why}, {"d", limit}});
}

}  // namespace

Diagnostics findings(const Artifact& artifact, const std::vector<Fault>& faults,
                     const std::vector<SourcePtr>& sources) {
  Diagnostics out;
  for (const Fault& f : faults) {
    const Site& site = artifact.sites[static_cast<size_t>(f.site)];
    Code code = code_of(site.code);
    Span span = span_of(site.place, sources);
    std::string value = std::to_string(f.value), size = std::to_string(f.extent);
    if (!site.end.empty()) {
      out.push_back(outside_its_dimension(site, code, span, f.value));
    } else if (code == Code::E801) {
      out.push_back(diagnose(
          code, span,
          {{"x", site.tensor}, {"e", site.subscript}, {"v", value}, {"indices", where(artifact, f)}, {"d", size}}));
    } else if (code == Code::E802) {
      std::string at = site.subscript + " = " + value;
      std::string last = std::to_string(f.extent - 1);
      out.push_back(diagnose(code, span, {{"t", site.tensor}, {"e", at}, {"lo", "0"}, {"hi", last}}));
    } else if (code == Code::E803) {
      out.push_back(diagnose(code, span, {{"y", site.tensor}, {"v", site.subscript + " = " + value}, {"d", size}}));
    } else {
      out.push_back(diagnose(Code::B001, span, {{"what", "a kernel reports " + site.code}}));
    }
  }
  return out;
}

Diagnostics remarks(const Artifact& artifact, const std::vector<SourcePtr>& sources) {
  Diagnostics out;
  for (const Remark& r : artifact.remarks) {
    Diagnostic d = diagnose(code_of(r.code), span_of(r.place, sources));
    d.message = r.message;
    d.remedy = r.remedy;
    out.push_back(std::move(d));
  }
  return out;
}

}  // namespace quern::artifact
