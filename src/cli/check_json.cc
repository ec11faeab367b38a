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

Json compiled_value(const CompiledCheck& c) {
  Json out;
  out["not_compared"] = c.not_compared.empty() ? Json(nullptr) : Json(c.not_compared);
  out["vectors"] = c.vectors;
  out["agrees"] = c.errors.empty() && c.not_compared.empty();
  out["cases"] = Json::array();
  for (const CompiledCheck::Case& one : c.cases) {
    Json value;
    value["sizes"] = Json::object();
    for (const auto& [name, size] : one.sizes) value["sizes"][name.str()] = size;
    value["types"] = Json::object();
    for (const auto& [name, type] : one.types) value["types"][name.str()] = quern::name(type);
    value["seed"] = one.seed;
    value["draws"] = one.draws;
    value["faulty"] = one.faulty;
    out["cases"].push_back(std::move(value));
  }
  out["results"] = Json::array();
  for (const CompiledCheck::Result& r : c.results) {
    Json value;
    value["name"] = r.name.str();
    value["exact"] = r.exact;
    value["error"] = number_value(r.error);
    value["bound"] = number_value(r.bound);
    out["results"].push_back(std::move(value));
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
    one["compiled"] = e.compiled ? compiled_value(*e.compiled) : Json(nullptr);
    out["kernels"].push_back(std::move(one));
  }
  out["diagnostics"] = diagnostics_value(unit.errors);
  return line_of(out);
}

}  // namespace quern::cli
