// A back half whose compiled kernels are wrong: the real one, whose first f32 result has 1 added to its first element,
// in code for SSE2. What `quern check` says of it is tested. (QUERN_COMPILER names this library, QUERN_RIGHT_COMPILER
// the real one.)
#include <dlfcn.h>

#include <cstdlib>

#include "backend/backend.h"

namespace quern {
namespace {

const backend::Backend* right = nullptr;

class Wrong : public device::Executable {
 public:
  explicit Wrong(std::shared_ptr<const device::Executable> inner) : inner_(std::move(inner)) {}
  const artifact::Artifact& artifact() const override { return inner_->artifact(); }

  Result<device::Ran> run(const device::Call& call) const override {
    auto done = inner_->run(call);
    size_t argument = 0;
    for (const artifact::Parameter& p : artifact().parameters) {
      bool given = p.role == artifact::Role::kIn || p.role == artifact::Role::kOut || p.role == artifact::Role::kInout;
      if (p.role == artifact::Role::kOut && p.type == ScalarType::f32) {
        static_cast<float*>(call.arguments[argument])[0] += 1;
        break;
      }
      argument += given;
    }
    return done;
  }

 private:
  std::shared_ptr<const device::Executable> inner_;
};

Result<backend::Compiled> compile(const backend::Request& request) {
  auto out = right->compile(request);
  if (out && request.options.vectors == "sse2") out->executable = std::make_shared<Wrong>(out->executable);
  return out;
}

}  // namespace
}  // namespace quern

extern "C" __attribute__((visibility("default"))) const quern::backend::Backend* quern_backend(
    quern::SymbolPool* pool) {
  const char* path = std::getenv("QUERN_RIGHT_COMPILER");
  void* library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (!library) std::abort();
  quern::right = reinterpret_cast<quern::backend::Entry>(dlsym(library, "quern_backend"))(pool);
  static quern::backend::Backend wrong = *quern::right;
  wrong.compile = quern::compile;
  return &wrong;
}
