// `quern devices`: where kernels can be computed, and what these devices are.
#include <fmt/format.h>

#include "backend/open.h"
#include "cli/commands.h"
#include "cli/json_value.h"

namespace quern::cli {
namespace {

std::string size(double bytes) {
  return bytes >= 1 << 20 ? fmt::format("{:g} MiB", bytes / (1 << 20)) : fmt::format("{:g} KiB", bytes / 1024);
}

std::string text_of(const std::vector<backend::DeviceRow>& rows) {
  std::string out = fmt::format("{:<12}  {}\n", "interpreter", "float64 with error bounds: the slow truth");
  for (const backend::DeviceRow& d : rows) {
    out += fmt::format("{:<12}  {}, {:g} core{}, vectors of {:g} bits, L1 {}, L2 {}, L3 {}\n", d.name, d.description,
                       d.units, d.units == 1 ? "" : "s", d.vector_bytes * 8, size(d.l1_bytes), size(d.l2_bytes),
                       size(d.l3_bytes));
  }
  return out;
}

std::string json_of(const std::vector<backend::DeviceRow>& rows, const Diagnostics& diagnostics) {
  Json out = begin_json("devices", "");
  out["devices"] = Json::array();
  auto add = [&](const backend::DeviceRow& d) {
    Json one;
    one["name"] = d.name;
    one["description"] = d.description;
    one["cores"] = d.units;
    one["clock"] = d.clock;
    one["vector_bytes"] = d.vector_bytes;
    one["l1_bytes"] = d.l1_bytes;
    one["l2_bytes"] = d.l2_bytes;
    one["l3_bytes"] = d.l3_bytes;
    out["devices"].push_back(std::move(one));
  };
  backend::DeviceRow interpreter;
  interpreter.name = "interpreter";
  interpreter.description = "float64 with error bounds: the slow truth";
  add(interpreter);
  for (const backend::DeviceRow& d : rows) add(d);
  out["diagnostics"] = diagnostics_value(diagnostics);
  return line_of(out);
}

}  // namespace

void list_devices(const CommandLine& line, Report& report) {
  std::vector<backend::DeviceRow> rows;
  Diagnostics problems;
  if (auto backend = backend::open()) {
    rows = (*backend)->devices();
  } else {
    problems = std::move(backend.error());
  }
  report.out = line.json ? json_of(rows, problems) : text_of(rows);
  report.add(std::move(problems));
}

}  // namespace quern::cli
