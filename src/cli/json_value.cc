#include "cli/json_value.h"

#include <cmath>

#include "cli/json_report.h"
#include "expr/print.h"

namespace quern::cli {
namespace {

void add_place(Json& out, const SourcePtr& source, const Span& span) {
  if (!source) return;
  auto begin = source->position(span.begin);
  auto end = source->position(span.end);
  out["file"] = source->name();
  out["line"] = begin.line;
  out["column"] = begin.column;
  out["end_line"] = end.line;
  out["end_column"] = end.column;
}

const char* severity(Code code) {
  switch (blame(code)) {
    case Blame::kYours: return is_data_check(code) ? "data" : "error";
    case Blame::kNotYet: return "unsupported";
    case Blame::kRemark: return "remark";
    case Blame::kOurs: return "bug";
  }
  return "bug";
}

}  // namespace

Json begin_json(const char* command, const std::string& file) {
  Json out;
  out["version"] = kJsonVersion;
  out["command"] = command;
  out["file"] = file;
  return out;
}

Json diagnostics_value(const Diagnostics& diagnostics) {
  Json all = Json::array();
  for (const Diagnostic& d : diagnostics) {
    Json one;
    one["code"] = row(d.code).name;
    one["severity"] = severity(d.code);
    one["message"] = d.message;
    one["remedy"] = d.remedy;
    add_place(one, d.source, d.span);
    one["notes"] = Json::array();
    for (const Note& n : d.notes) {
      Json note;
      note["text"] = n.text;
      add_place(note, n.source, n.span);
      one["notes"].push_back(std::move(note));
    }
    all.push_back(std::move(one));
  }
  return all;
}

Json parameters_value(const std::vector<expr::Parameter>& parameters) {
  Json all = Json::array();
  for (const expr::Parameter& p : parameters) {
    Json one;
    one["name"] = p.name.str();
    one["type"] = name(p.shaped.type);
    one["shape"] = Json::array();
    for (const expr::NodePtr& size : p.shaped.shape) one["shape"].push_back(expr::print(size));
    one["inout"] = p.inout;
    one["value"] = p.value ? Json(expr::print(p.value)) : Json(nullptr);
    all.push_back(std::move(one));
  }
  return all;
}

Json number_value(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

std::string line_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace quern::cli
