#include "cli/kernel_proofs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "cli/samples.h"
#include "expr/contraction.h"

namespace quern::cli {
namespace {

// The same place in two proofs of one program.
using Key = std::tuple<const Source*, uint32_t, uint32_t, std::string, int, bool>;

Key key(const expr::SubscriptProof& p) {
  return {p.span.source, p.span.begin, p.span.end, p.span.source ? p.tensor.str() : p.tensor.str() + p.text,
          p.axis,        p.write};
}

// Types as bind would give them, sizes as far as they are given.
expr::Binding partial_binding(const expr::Program& program, const expr::Request& request) {
  expr::Binding out;
  for (const auto& [name, size] : request.dimensions) out.sizes[name] = size;
  for (const expr::TypeVariable& t : program.types) {
    auto given = request.types.find(t.name);
    out.types[t.name] = given != request.types.end() ? given->second : t.value ? t.value->scalar : request.default_type;
  }
  return out;
}

// What the samples said about the subscripts that are open.
struct Evidence {
  std::map<Key, size_t> proved;     // the first sample that proves it
  std::map<Key, size_t> refused;    // how many refuse it
  std::map<Key, Diagnostic> error;  // E306 of the first that does
};

std::optional<Diagnostic> error_at(const expr::Proofs& proofs, const Span& span) {
  for (const Diagnostic& d : proofs.errors) {
    if (d.span.source == span.source && d.span.begin == span.begin && d.span.end == span.end) return d;
  }
  return std::nullopt;
}

void try_samples(const expr::Program& program, const expr::Request& request, KernelProofs& out) {
  constexpr size_t kSamples = 8;
  std::vector<ProvedSubscript*> open;
  for (ProvedSubscript& s : out.subscripts) {
    if (s.status == Status::kChecked && !s.proof.data) open.push_back(&s);
  }
  if (open.empty()) return;
  Evidence evidence;
  size_t tried = 0;
  for (Sample& sample : samples(program, request, kSamples)) {
    expr::Proofs at = expr::prove(program, sample.binding);
    for (const expr::SubscriptProof& p : at.subscripts) {
      if (p.proof == expr::Proof::kProved) evidence.proved.emplace(key(p), tried);
      if (p.proof != expr::Proof::kRefused) continue;
      ++evidence.refused[key(p)];
      if (auto d = error_at(at, p.span)) {
        evidence.error.emplace(key(p), std::move(*d).note({}, "with " + sizes_text(sample.chosen)));
      }
    }
    out.samples.push_back(std::move(sample.chosen));
    ++tried;
    if (std::ranges::all_of(open, [&](ProvedSubscript* s) { return evidence.proved.contains(key(s->proof)); })) break;
  }
  for (ProvedSubscript* s : open) {
    Key k = key(s->proof);
    if (auto at = evidence.proved.find(k); at != evidence.proved.end()) {
      s->status = Status::kSized;
      s->sample = at->second;
    } else if (tried && evidence.refused[k] == tried) {
      s->status = Status::kRefused;
      if (auto d = evidence.error.find(k); d != evidence.error.end()) out.errors.push_back(d->second);
    }
  }
}

}  // namespace

KernelProofs kernel_proofs(const expr::Program& program, const expr::Request& request) {
  KernelProofs out;
  auto bound = expr::bind(program, request);
  if (!bound) {
    // A size that is missing is no mistake here: it is a symbol.
    out.errors = std::move(bound.error());
    std::erase_if(out.errors, [](const Diagnostic& d) { return d.code == Code::E701; });
    if (!out.errors.empty()) return out;
  }
  out.complete = bound.has_value();
  expr::Binding binding = bound ? *std::move(bound) : partial_binding(program, request);
  expr::Proofs proofs = expr::prove(program, binding);
  out.errors = std::move(proofs.errors);
  constexpr Status kStatus[] = {Status::kProved, Status::kChecked, Status::kRefused};
  for (expr::SubscriptProof& p : proofs.subscripts) {
    Status status = kStatus[static_cast<size_t>(p.proof)];
    out.subscripts.push_back({std::move(p), status, 0});
  }
  if (!out.complete) try_samples(program, request, out);

  for (Diagnostic& r : proofs.remarks) {
    auto checked = [&](const ProvedSubscript& s) {
      return s.status == Status::kChecked && s.proof.span.source == r.span.source && s.proof.span.begin == r.span.begin;
    };
    if (std::ranges::any_of(out.subscripts, checked)) out.remarks.push_back(std::move(r));
  }
  std::ranges::move(expr::rounding_remarks(program, binding), std::back_inserter(out.remarks));
  return out;
}

std::string sizes_text(const std::vector<std::pair<Symbol, int64_t>>& sizes) {
  std::string out;
  for (const auto& [name, size] : sizes) out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", name.str(), size);
  return out;
}

}  // namespace quern::cli
