// The text of `run`: where each argument came from, and what the results look like.
#include <fmt/format.h>

#include "cli/run_report.h"
#include "cli/scalar_argument.h"

namespace quern::cli {
namespace {

// "f32[2, 3]"; a scalar's brackets are left out, as the notation does.
std::string type_of(const array::Array& array) {
  return array.shape.empty() ? std::string(name(array.type)) : array::type_text(array.type, array.shape);
}

std::string origin(const Argument& a) {
  switch (a.origin) {
    case Argument::kFile: return "from " + a.path;
    case Argument::kNumber: return element_text(a.array, 0);
    case Argument::kDefault: return element_text(a.array, 0) + ", the default";
    case Argument::kRandom: return "random";
  }
  return {};
}

}  // namespace

std::string run_text(const RunReport& report) {
  if (!report.program) return {};
  std::string out;
  if (report.run.random) out += fmt::format("seed {}\n", report.run.seed);
  for (size_t t = 0; t < report.run.arguments.size(); ++t) {
    const auto& a = report.run.arguments[t];
    if (!a) continue;
    out += fmt::format("{}: {}  {}\n", report.program->tensors[t].name.str(), type_of(a->array), origin(*a));
  }
  for (const RunResult& r : report.results) {
    const array::Array& array = r.named.array;
    out += fmt::format("{}: {}  {}", r.named.name, type_of(array), summary_text(array, r.summary));
    if (r.largest_bound && r.summary.elements) out += fmt::format(", bound {:.3g}", *r.largest_bound);
    out += "\n" + elements_text(array, 2);
    for (const std::string& path : {r.path, r.bound_path}) {
      if (!path.empty()) out += "  -> " + path + "\n";
    }
  }
  return out;
}

}  // namespace quern::cli
