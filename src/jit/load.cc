// Object file -> addresses, by ORC's LLJIT: one instance a piece of code (about 1 ms), so that code can be freed.
#include <llvm/ExecutionEngine/Orc/AbsoluteSymbols.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>

#include <cmath>
#include <cstring>
#include <mutex>

#include "jit/jit.h"

namespace quern::jit {
namespace {

std::unexpected<Diagnostics> bug(llvm::Error error) {
  return fail(diagnose(Code::B001, {}, {{"what", "LLVM: " + llvm::toString(std::move(error))}}));
}

class Linked final : public MachineCode {
 public:
  explicit Linked(std::unique_ptr<llvm::orc::LLJIT> jit) : jit_(std::move(jit)) {}

  void* entry(std::string_view name) const override {
    auto address = jit_->lookup(llvm::StringRef(name.data(), name.size()));
    if (!address) {
      llvm::consumeError(address.takeError());
      return nullptr;
    }
    return address->toPtr<void*>();
  }

  llvm::Error link(std::string_view object) {
    // JITLink asserts rather than complains about bytes that are no object at all.
    llvm::MemoryBufferRef bytes(llvm::StringRef(object.data(), object.size()), "kernel");
    auto file = llvm::object::ObjectFile::createObjectFile(bytes);
    if (!file) return file.takeError();
    std::string first;
    for (const llvm::object::SymbolRef& symbol : (*file)->symbols()) {
      auto flags = symbol.getFlags();
      auto name = symbol.getName();
      auto type = symbol.getType();
      if (!flags) return flags.takeError();
      if (!name) return name.takeError();
      if (!type) return type.takeError();
      bool defined = !(*flags & llvm::object::SymbolRef::SF_Undefined);
      if (defined && (*flags & llvm::object::SymbolRef::SF_Global) && *type == llvm::object::SymbolRef::ST_Function) {
        first = name->str();
      }
    }
    if (first.empty()) return llvm::createStringError("an object file without functions");
    if (auto error = jit_->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(bytes.getBuffer(), "kernel")))
      return error;
    // Links all of it: what is missing shows here and not at a later look-up.
    auto address = jit_->lookup(first);
    return address ? llvm::Error::success() : address.takeError();
  }

 private:
  std::unique_ptr<llvm::orc::LLJIT> jit_;
};

llvm::orc::SymbolMap symbols(llvm::orc::LLJIT& jit) {
  llvm::orc::SymbolMap out;
  auto add = [&](const char* name, void* address) {
    out[jit.mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported};
  };
  static double (*const fma)(double, double, double) = std::fma;
  static float (*const fmaf)(float, float, float) = std::fma;
  static double (*const trunc)(double) = std::trunc;
  static float (*const truncf)(float) = std::trunc;
  static double (*const floor)(double) = std::floor;
  static float (*const floorf)(float) = std::floor;
  static double (*const ceil)(double) = std::ceil;
  static float (*const ceilf)(float) = std::ceil;
  using std::memcpy, std::memmove, std::memset;
#define QUERN_JIT_SYMBOL(name) add(#name, reinterpret_cast<void*>(+name));
#include "jit/symbols.def"
#undef QUERN_JIT_SYMBOL
  return out;
}

}  // namespace

Result<std::shared_ptr<const MachineCode>> load(std::string_view object) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  auto builder = llvm::orc::LLJITBuilder();
  builder.setLinkProcessSymbolsByDefault(false);
  builder.setJITTargetMachineBuilder(llvm::orc::JITTargetMachineBuilder(llvm::Triple("x86_64-unknown-linux-gnu")));
  // Nothing here has initialisers or thread-local data, and setting up a platform takes longer than linking.
  builder.setPlatformSetUp(llvm::orc::setUpInactivePlatform);
  auto jit = builder.create();
  if (!jit) return bug(jit.takeError());
  (*jit)->getExecutionSession().setErrorReporter([](llvm::Error e) { llvm::consumeError(std::move(e)); });
  if (auto error = (*jit)->getMainJITDylib().define(llvm::orc::absoluteSymbols(symbols(**jit)))) {
    return bug(std::move(error));
  }
  auto linked = std::make_shared<Linked>(std::move(*jit));
  if (auto error = linked->link(object)) return bug(std::move(error));
  return linked;
}

}  // namespace quern::jit
