#include "compile/package.h"

#include <algorithm>

namespace quern::compile {
namespace {

using artifact::Size;

artifact::Place place_of(const Span& span, const std::vector<SourcePtr>& sources) {
  auto at = std::ranges::find(sources, span.source, [](const SourcePtr& s) { return s.get(); });
  if (!span.source || at == sources.end()) return {};
  return {static_cast<int32_t>(at - sources.begin()), span.begin, span.end};
}

std::optional<Size::Op> operation(tile::Op op) {
  switch (op) {
    case tile::Op::kAdd: return Size::Op::kAdd;
    case tile::Op::kSub: return Size::Op::kSub;
    case tile::Op::kMul: return Size::Op::kMul;
    case tile::Op::kFloorDiv: return Size::Op::kFloorDiv;
    case tile::Op::kMod: return Size::Op::kMod;
    case tile::Op::kMin: return Size::Op::kMin;
    case tile::Op::kMax: return Size::Op::kMax;
    default: return std::nullopt;
  }
}

Result<Size> size_of(const tile::Expr& e, const tile::Program& program) {
  if (e.op == tile::Op::kInteger) return Size(e.integer);
  if (e.op == tile::Op::kDim) {
    const tile::Dim& d = program.dims[static_cast<size_t>(e.id)];
    return d.value ? Size(*d.value) : Size::dim(e.id);
  }
  auto op = operation(e.op);
  if (!op || e.args.size() != 2) return fail(diagnose(Code::B001, {}, {{"what", "a shape that is no formula"}}));
  auto a = size_of(*e.args[0], program), b = size_of(*e.args[1], program);
  if (!a) return a;
  if (!b) return b;
  return Size::apply(*op, *a, *b);
}

bool meets(const tile::Block& block) {
  return std::ranges::any_of(block, [](const tile::Statement& s) {
    if (const auto* store = std::get_if<tile::Store>(&s.is)) return store->atomic;
    if (const auto* loop = std::get_if<tile::Loop>(&s.is)) return meets(loop->body);
    if (const auto* branch = std::get_if<tile::If>(&s.is)) return meets(branch->body);
    if (const auto* nest = std::get_if<tile::Nest>(&s.is)) return meets(nest->body);
    return false;
  });
}

artifact::Role role_of(tile::Role role) {
  switch (role) {
    case tile::Role::kIn: return artifact::Role::kIn;
    case tile::Role::kOut: return artifact::Role::kOut;
    case tile::Role::kInout: return artifact::Role::kInout;
    case tile::Role::kTmp: return artifact::Role::kTmp;
    case tile::Role::kConst: return artifact::Role::kConst;
  }
  return artifact::Role::kIn;
}

}  // namespace

Result<artifact::Artifact> package(const State& state) {
  const std::vector<SourcePtr>& sources = state.request.program.sources;
  artifact::Artifact out;
  if (state.gpu) out.kind = artifact::Kind::kPtx;
  out.name = state.request.program.name.str();
  for (const tile::Dim& d : state.program.dims) out.dims.push_back(d.name.str());
  for (const tile::Parameter& p : state.program.parameters) {
    artifact::Parameter parameter{p.name.str(), role_of(p.role), p.type, {}, p.zeroed, {}};
    for (const tile::ExprPtr& e : p.shape) {
      auto size = size_of(*e, state.program);
      if (!size) return fail(std::move(size.error()));
      parameter.shape.push_back(*std::move(size));
    }
    out.parameters.push_back(std::move(parameter));
  }
  for (size_t i = 0; i < state.program.kernels.size(); ++i) {
    const tile::Kernel& k = state.program.kernels[i];
    artifact::MachineKernel kernel{.entry = state.llvm[i].entry, .object = state.objects[i], .meets = meets(k.body)};
    if (state.gpu) {
      kernel.host = state.hosts[i], kernel.shared_bytes = state.llvm[i].shared_bytes;
      for (size_t d = 0; d < state.program.dims.size(); ++d) {
        if (!state.program.dims[d].value) kernel.open_dims.push_back(static_cast<int32_t>(d));
      }
    }
    for (const tile::Axis& a : k.axes) kernel.axes.push_back(a.name.str());
    out.kernels.push_back(std::move(kernel));
  }
  for (const tile::Site& s : state.program.sites) {
    artifact::Site site{std::string(row(s.code).name), s.tensor, s.subscript, place_of(s.span, sources)};
    if (s.end) site.end = s.end->text, site.last = s.end->last, site.limit = s.end->limit;
    out.sites.push_back(std::move(site));
  }
  for (const Diagnostic& d : state.remarks) {
    out.remarks.push_back({std::string(row(d.code).name), d.message, d.remedy, place_of(d.span, sources)});
  }
  out.schedule = tile::print(state.schedule);
  return out;
}

}  // namespace quern::compile
