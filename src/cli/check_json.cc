// The JSON of `check`: docs/json.md has the fields.
#include "cli/check_report.h"
#include "cli/json_value.h"
#include "expr/print.h"

namespace quern::cli {
namespace {

const char* status_name(Status status) {
  switch (status) {
    case Status::kProved: return "proved";
    case Status::kSized: return "sized";
    case Status::kChecked: return "checked";
    case Status::kRefused: return "refused";
  }
  return "refused";
}

Json subscript_value(const ProvedSubscript& s, const KernelProofs& proofs) {
  Json out;
  const Source* source = s.proof.span.source;
  out["file"] = source ? Json(source->name()) : Json(nullptr);
  out["line"] = source ? Json(source->position(s.proof.span.begin).line) : Json(nullptr);
  out["column"] = source ? Json(source->position(s.proof.span.begin).column) : Json(nullptr);
  out["tensor"] = s.proof.tensor.str();
  out["axis"] = s.proof.axis;
  out["text"] = s.proof.text;
  out["status"] = status_name(s.status);
  out["data"] = s.proof.data;
  out["write"] = s.proof.write;
  out["local"] = s.proof.local;
  out["sizes"] = nullptr;
  if (s.status == Status::kSized) {
    out["sizes"] = Json::object();
    for (const auto& [name, size] : proofs.samples[s.sample]) out["sizes"][name.str()] = size;
  }
  return out;
}

}  // namespace

std::string check_json(const CheckedUnit& unit) {
  Json out = begin_json("check", unit.file);
  out["kernels"] = Json::array();
  for (const CheckedUnit::Entry& e : unit.kernels) {
    Json one;
    one["name"] = e.kernel->name.str();
    one["signature"] = expr::signature(*e.kernel);
    one["refused"] = e.refused;
    one["all_sizes_given"] = e.proofs.complete;
    one["subscripts"] = Json::array();
    for (const ProvedSubscript& s : e.proofs.subscripts) one["subscripts"].push_back(subscript_value(s, e.proofs));
    one["remarks"] = diagnostics_value(e.proofs.remarks);
    out["kernels"].push_back(std::move(one));
  }
  out["diagnostics"] = diagnostics_value(unit.errors);
  return line_of(out);
}

}  // namespace quern::cli
