#include "cli/json_report.h"

#include "cli/json_value.h"
#include "expr/print.h"

namespace quern::cli {

std::string list_json(const std::string& file, const std::vector<const lang::CheckedKernel*>& kernels,
                      const Diagnostics& diagnostics) {
  Json out = begin_json("list", file);
  out["kernels"] = Json::array();
  for (const lang::CheckedKernel* k : kernels) {
    Json one;
    one["name"] = k->kernel->name.str();
    one["signature"] = expr::signature(*k->kernel);
    one["documentation"] = k->kernel->comments.documentation();
    one["line"] = k->kernel->name_span.source->position(k->kernel->name_span.begin).line;
    one["parameters"] = parameters_value(k->kernel->parameters);
    one["results"] = parameters_value(k->kernel->results);
    out["kernels"].push_back(std::move(one));
  }
  out["diagnostics"] = diagnostics_value(diagnostics);
  return line_of(out);
}

std::string emit_json(const std::string& file, const std::string& kernel, const std::string& level,
                      const Result<std::string>& text) {
  Json out = begin_json("emit", file);
  out["kernel"] = kernel;
  out["level"] = level;
  out["text"] = text ? Json(*text) : Json(nullptr);
  out["diagnostics"] = diagnostics_value(text ? Diagnostics{} : text.error());
  return line_of(out);
}

std::string derive_json(const std::string& file, const std::string& kernel, const Result<std::string>& text) {
  Json out = begin_json("derive", file);
  out["kernel"] = kernel;
  out["text"] = text ? Json(*text) : Json(nullptr);
  out["diagnostics"] = diagnostics_value(text ? Diagnostics{} : text.error());
  return line_of(out);
}

}  // namespace quern::cli
