#include "backend/run.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "artifact/report.h"

namespace quern::backend {
namespace {

constexpr size_t kAligned = 64;

struct Free {
  void operator()(std::byte* p) const { std::free(p); }
};
using Buffer = std::unique_ptr<std::byte, Free>;

Result<Buffer> buffer(int64_t bytes, const std::string& what) {
  size_t size = (static_cast<size_t>(bytes) + kAligned - 1) / kAligned * kAligned;
  Buffer out(static_cast<std::byte*>(std::aligned_alloc(kAligned, std::max(size, kAligned))));
  if (out) return out;
  return fail(diagnose(
      Code::E716, {}, {{"what", "a copy of " + what}, {"v", std::to_string(bytes) + " B"}, {"limit", "what is free"}}));
}

class Runner {
 public:
  Runner(const expr::Program& program, const expr::Binding& binding) : program_(program), binding_(binding) {}

  // The address for one parameter of the code.
  Result<void*> address(const artifact::Parameter& p, const std::vector<Tensor>& tensors) {
    auto at = std::ranges::find(program_.tensors, p.name, [](const expr::Tensor& t) { return t.name.str(); });
    if (at == program_.tensors.end()) return fail(diagnose(Code::B001, {}, {{"what", "no tensor " + p.name}}));
    auto t = static_cast<size_t>(at - program_.tensors.begin());
    const Tensor& memory = tensors[t];
    int64_t elements = 1;
    for (int64_t n : binding_.shapes[t]) elements *= n;
    int64_t bytes = byte_size(p.type, elements);
    auto step = static_cast<size_t>(std::max(row(p.type).bits / 8, 1));
    auto aligned = [&](const void* m) { return reinterpret_cast<uintptr_t>(m) % step == 0; };
    if (p.role == artifact::Role::kIn) {
      if (bytes == 0 || aligned(memory.input)) return const_cast<void*>(memory.input);
      return copied(memory.input, bytes, p.name);
    }
    void* target = memory.output;
    if (bytes == 0) return target;
    if (!aligned(target)) {
      auto own = buffer(bytes, p.name);
      if (!own) return fail(std::move(own.error()));
      target = own->get();
      back_.push_back({memory.output, *std::move(own), bytes});
    }
    if (p.role == artifact::Role::kInout && memory.input && memory.input != target) {
      std::memmove(target, memory.input, static_cast<size_t>(bytes));
    }
    return target;
  }

  void hand_back() const {
    for (const Back& b : back_) std::memcpy(b.target, b.memory.get(), static_cast<size_t>(b.bytes));
  }

 private:
  struct Back {
    void* target;
    Buffer memory;
    int64_t bytes;
  };

  Result<void*> copied(const void* from, int64_t bytes, const std::string& name) {
    auto own = buffer(bytes, name);
    if (!own) return fail(std::move(own.error()));
    std::memcpy(own->get(), from, static_cast<size_t>(bytes));
    inputs_.push_back(*std::move(own));
    return static_cast<void*>(inputs_.back().get());
  }

  const expr::Program& program_;
  const expr::Binding& binding_;
  std::vector<Buffer> inputs_;
  std::vector<Back> back_;
};

}  // namespace

Result<Done> run(const Compiled& compiled, const expr::Program& program, const expr::Binding& binding,
                 const std::vector<Tensor>& tensors, const RunOptions& options) {
  const artifact::Artifact& artifact = compiled.executable->artifact();
  device::Call call;
  call.threads = options.threads;
  call.deterministic = options.deterministic;
  call.progress = options.progress;
  for (const std::string& d : artifact.dims) {
    auto size = binding.sizes.find(Symbol(d));
    if (size == binding.sizes.end()) return fail(diagnose(Code::B001, {}, {{"what", "no dimension " + d}}));
    call.dims.push_back(size->second);
  }
  Runner runner(program, binding);
  for (const artifact::Parameter& p : artifact.parameters) {
    if (p.role == artifact::Role::kTmp || p.role == artifact::Role::kConst) continue;
    auto address = runner.address(p, tensors);
    if (!address) return fail(std::move(address.error()));
    call.arguments.push_back(*address);
  }
  auto ran = compiled.executable->run(call);
  if (!ran) return fail(std::move(ran.error()));
  runner.hand_back();
  return Done{artifact::findings(artifact, ran->faults, program.sources), ran->stopped};
}

}  // namespace quern::backend
