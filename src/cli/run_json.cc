// The JSON of `run`: docs/json.md has the fields.
#include <algorithm>

#include "cli/json_value.h"
#include "cli/run_report.h"

namespace quern::cli {
namespace {

constexpr int64_t kFirst = 8;  // elements shown

Json element_value(const array::Array& array, int64_t i) {
  switch (kind(array.type)) {
    case Kind::kReal: return number_value(array::real_at(array, i));
    case Kind::kBool: return array::int_at(array, i) != 0;
    default: return array::int_at(array, i);
  }
}

Json array_value(const std::string& named, const array::Array& array) {
  Json out;
  out["name"] = named;
  out["type"] = name(array.type);
  out["shape"] = array.shape;
  return out;
}

const char* origin_name(Argument::Origin origin) {
  switch (origin) {
    case Argument::kFile: return "file";
    case Argument::kNumber: return "number";
    case Argument::kDefault: return "default";
    case Argument::kRandom: return "random";
  }
  return "file";
}

Json path_value(const std::string& path) { return path.empty() ? Json(nullptr) : Json(path); }

Json argument_value(const std::string& named, const Argument& a) {
  Json out = array_value(named, a.array);
  out["origin"] = origin_name(a.origin);
  out["path"] = path_value(a.path);
  bool number = a.origin == Argument::kNumber || a.origin == Argument::kDefault;
  out["value"] = number ? element_value(a.array, 0) : Json(nullptr);
  return out;
}

Json result_value(const RunResult& r) {
  const array::Array& array = r.named.array;
  Json out = array_value(r.named.name, array);
  bool any = r.summary.min_at >= 0;
  out["min"] = any ? element_value(array, r.summary.min_at) : Json(nullptr);
  out["max"] = any ? element_value(array, r.summary.max_at) : Json(nullptr);
  out["mean"] = any ? number_value(r.summary.mean) : Json(nullptr);
  out["nan"] = r.summary.nans;
  out["first"] = Json::array();
  for (int64_t i = 0; i < std::min(kFirst, r.summary.elements); ++i) out["first"].push_back(element_value(array, i));
  out["largest_bound"] = r.largest_bound ? number_value(*r.largest_bound) : Json(nullptr);
  out["path"] = path_value(r.path);
  out["bound_path"] = path_value(r.bound_path);
  return out;
}

}  // namespace

std::string run_json(const RunReport& report) {
  Json out = begin_json("run", report.file);
  out["kernel"] = report.kernel;
  out["device"] = report.device;
  out["seed"] = report.run.random ? Json(report.run.seed) : Json(nullptr);
  for (const char* field : {"dimensions", "types"}) out[field] = Json::object();
  for (const char* field : {"arguments", "results"}) out[field] = Json::array();
  if (report.program) {
    for (const expr::Dimension& d : report.program->dimensions) {
      out["dimensions"][d.name.str()] = report.run.binding.sizes.at(d.name);
    }
    for (const expr::TypeVariable& t : report.program->types) {
      out["types"][t.name.str()] = name(report.run.binding.types.at(t.name));
    }
    for (size_t t = 0; t < report.run.arguments.size(); ++t) {
      const auto& a = report.run.arguments[t];
      if (a) out["arguments"].push_back(argument_value(report.program->tensors[t].name.str(), *a));
    }
    for (const RunResult& r : report.results) out["results"].push_back(result_value(r));
  }
  out["cached"] = report.cached ? Json(*report.cached) : Json(nullptr);
  out["compile_seconds"] = report.compile_seconds ? Json(*report.compile_seconds) : Json(nullptr);
  out["seconds"] = report.seconds ? Json(*report.seconds) : Json(nullptr);
  out["diagnostics"] = diagnostics_value(report.diagnostics);
  return line_of(out);
}

}  // namespace quern::cli
