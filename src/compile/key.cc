#include "compile/key.h"

#include <fmt/format.h>

#include "compile/build_id.h"
#include "jit/jit.h"

namespace quern::compile {

std::string key_of(const backend::Request& request, const TargetDevice& device, const tile::Machine& m) {
  const backend::Options& o = request.options;
  std::string out = fmt::format("quern {} {}\nllvm {}\ncpu {}\n", QUERN_VERSION, build_id(), jit::llvm_version(),
                                jit::key(device.cpu));
  if (device.gpu) out += fmt::format("gpu {}\n", jit::key(*device.gpu));
  out += fmt::format("machine {} {} {} {} {} {} {} {}", m.vector_bytes, m.registers, m.near_bytes, m.line_bytes,
                     m.units, m.flops_per_second, m.near_bytes_per_second, m.far_bytes_per_second);
  for (const tile::DotRule& d : m.dots) {
    out +=
        fmt::format(" {}x{}:{}x{}x{}:{}:{}", name(d.operand), name(d.result), d.m, d.n, d.k, d.min_rows, d.per_cycle);
  }
  out += fmt::format("\noptions {}{}{}{}\nschedule {}\n", o.trust ? "trust " : "", o.exact ? "exact " : "",
                     o.deterministic ? "deterministic " : "", o.store ? "store " : "", o.schedule);
  out += fmt::format("kernel {}\n", request.program.name.str());
  for (const expr::Dimension& d : request.program.dimensions) {
    out += fmt::format("{} = {}\n", d.name.str(), request.binding.sizes.at(d.name));
  }
  for (const expr::TypeVariable& t : request.program.types) {
    out += fmt::format("{} = {}\n", t.name.str(), name(request.binding.types.at(t.name)));
  }
  // A source has more than one program: `bench` also stores each local in a tensor of its own.
  for (const expr::Tensor& t : request.program.tensors) {
    out += fmt::format("tensor {} {}\n", t.name.str(), static_cast<int>(t.role));
  }
  for (const SourcePtr& s : request.program.sources) {
    out += fmt::format("source {}\n", s->text().size());
    out += s->text();
  }
  return out;
}

}  // namespace quern::compile
