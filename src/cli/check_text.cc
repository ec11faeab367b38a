// The text of `check`: what is proved, of how many subscripts, and at which sizes.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/check_report.h"

namespace quern::cli {
namespace {

std::string counted(size_t n) { return n == 1 ? "1 subscript" : fmt::format("{} subscripts", n); }

std::string proved(bool complete) { return complete ? "proved" : "proved for all sizes"; }

std::string summary(const KernelProofs& proofs) {
  size_t total = proofs.subscripts.size();
  if (total == 0) return "no subscripts";
  auto count = [&](auto&& which) { return static_cast<size_t>(std::ranges::count_if(proofs.subscripts, which)); };
  using S = const ProvedSubscript&;
  std::string text;
  auto part = [&](size_t n, const std::string& what) {
    if (n) text += fmt::format("{}{}{}", text.empty() ? "" : ", ", n == total ? "" : fmt::format("{} ", n), what);
  };
  part(count([](S s) { return s.status == Status::kProved; }), proved(proofs.complete));
  for (size_t i = 0; i < proofs.samples.size(); ++i) {
    part(count([&](S s) { return s.status == Status::kSized && s.sample == i; }),
         "proved at " + sizes_text(proofs.samples[i]));
  }
  part(count([](S s) { return s.status == Status::kChecked && s.proof.data; }), "checked (data)");
  part(count([](S s) { return s.status == Status::kChecked && !s.proof.data; }), "checked");
  part(count([](S s) { return s.status == Status::kRefused; }), "refused");
  return counted(total) + ": " + text;
}

std::string status_text(const ProvedSubscript& s, const KernelProofs& proofs) {
  switch (s.status) {
    case Status::kProved: return proved(proofs.complete);
    case Status::kSized: return "proved at " + sizes_text(proofs.samples[s.sample]);
    case Status::kChecked: return s.proof.data ? "checked (data)" : "checked";
    case Status::kRefused: return "refused";
  }
  return {};
}

std::string details(const KernelProofs& proofs) {
  std::string out;
  for (const ProvedSubscript& s : proofs.subscripts) {
    std::string place = "-";
    if (s.proof.span.source) {
      auto at = s.proof.span.source->position(s.proof.span.begin);
      place = fmt::format("{}:{}:{}", s.proof.span.source->name(), at.line, at.column);
    }
    out += fmt::format("  {}: {} axis {}{}: {}: {}\n", place, s.proof.tensor.str(), s.proof.axis + 1,
                       s.proof.write ? ", written" : "", s.proof.text, status_text(s, proofs));
  }
  return out;
}

std::string compared(const CompiledCheck& c) {
  if (!c.not_compared.empty()) return fmt::format("  not compared with compiled code: {}\n", c.not_compared);
  int64_t draws = 0, faulty = 0;
  for (const CompiledCheck::Case& one : c.cases) draws += one.draws, faulty += one.faulty;
  std::string out = fmt::format("  compiled for {}: {} {}, seed {}: {}\n", join(c.vectors, ", "), draws,
                                draws == 1 ? "set of arguments" : "sets of arguments", c.cases.front().seed,
                                c.errors.empty() ? "as the interpreter" : "differs from the interpreter");
  if (faulty) out += fmt::format("    in {} of them faults in the data, and only these are compared\n", faulty);
  for (const CompiledCheck::Result& r : c.results) {
    if (faulty == draws) break;
    out += r.exact ? fmt::format("    {}: exact\n", r.name.str())
                   : fmt::format("    {}: error {:.3g}, bound {:.3g}: {:.1f} %\n", r.name.str(), r.error, r.bound,
                                 100 * r.error / r.bound);
  }
  return out;
}

std::string case_text(const CompiledCheck::Case& c) {
  std::string text = sizes_text(c.sizes);
  for (const auto& [name, type] : c.types) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name.str(), quern::name(type));
  }
  return fmt::format("    {}{}seed {}, {} sets of arguments\n", text, text.empty() ? "" : ": ", c.seed, c.draws);
}

}  // namespace

std::string check_text(const CheckedUnit& unit, bool verbose) {
  if (unit.kernels.empty() && unit.errors.empty()) return unit.file + ": no kernel\n";
  std::string out;
  for (const CheckedUnit::Entry& e : unit.kernels) {
    std::string what = e.refused                                                 ? "refused"
                       : e.proofs.subscripts.empty() && !e.proofs.errors.empty() ? "these sizes or types don't fit"
                                                                                 : summary(e.proofs);
    out += fmt::format("{}:{}: {}\n", unit.file, e.kernel->name.str(), what);
    if (verbose) out += details(e.proofs);
    if (!e.compiled) continue;
    out += compared(*e.compiled);
    for (const CompiledCheck::Case& c : e.compiled->cases) out += verbose ? case_text(c) : "";
  }
  return out;
}

}  // namespace quern::cli
