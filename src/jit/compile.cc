// Text -> object file or assembly, by LLVM's code generator.
#include <llvm/AsmParser/Parser.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Triple.h>

#include <mutex>

#include "jit/jit.h"

namespace quern::jit {
namespace {

// What LLVM is told of a processor.
struct Processor {
  std::string triple, cpu, features;
};

std::unexpected<Diagnostics> bug(std::string what) {
  return fail(diagnose(Code::B001, {}, {{"what", "LLVM: " + std::move(what)}}));
}

const llvm::Target* isa_of(const Processor& processor, std::string& error) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  return llvm::TargetRegistry::lookupTarget(llvm::Triple(processor.triple), error);
}

// Empty, or what is wrong with the pipeline's text.
std::string optimised(llvm::Module& module, llvm::TargetMachine& machine, const std::string& passes) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager pipeline;
  if (auto error = builder.parsePassPipeline(pipeline, passes)) return llvm::toString(std::move(error));
  pipeline.run(module, modules);
  return {};
}

Result<std::string> generated(std::string_view text, const Processor& target, const Optimise& how,
                              llvm::CodeGenFileType type) {
  std::string error;
  const llvm::Target* isa = isa_of(target, error);
  if (!isa) return bug(error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;  // fma only where the text says so
  std::unique_ptr<llvm::TargetMachine> machine(isa->createTargetMachine(
      llvm::Triple(target.triple), target.cpu, target.features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small,
      how.quick ? llvm::CodeGenOptLevel::Less : llvm::CodeGenOptLevel::Default));
  if (!machine) return bug("no such processor: " + target.cpu);

  llvm::LLVMContext context;
  std::string complaint;
  // The default prints and exits.
  context.setDiagnosticHandlerCallBack(
      [](const llvm::DiagnosticInfo* info, void* into) {
        if (info->getSeverity() != llvm::DS_Error) return;
        llvm::raw_string_ostream out(*static_cast<std::string*>(into));
        llvm::DiagnosticPrinterRawOStream printer(out);
        info->print(printer);
      },
      &complaint);
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> module = llvm::parseAssembly(
      llvm::MemoryBufferRef(llvm::StringRef(text.data(), text.size()), "kernel"), diagnostic, context);
  if (!module) {
    llvm::raw_string_ostream out(error);
    diagnostic.print("", out, false, false);
    return bug(error);
  }
  module->setTargetTriple(llvm::Triple(target.triple));
  module->setDataLayout(machine->createDataLayout());
  llvm::raw_string_ostream why(error);
  if (llvm::verifyModule(*module, &why)) return bug(error);

  if (!how.passes.empty()) {
    if (std::string wrong = optimised(*module, *machine, how.passes); !wrong.empty()) return bug(wrong);
  }

  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, out, nullptr, type, true)) return bug("no such kind of file");
  passes.run(*module);
  if (!complaint.empty()) return bug(complaint);
  return std::string(bytes.data(), bytes.size());
}

Processor x86(const CpuTarget& target) { return {"x86_64-unknown-linux-gnu", target.cpu, target.features}; }

}  // namespace

Result<std::string> compile(std::string_view text, const CpuTarget& target, const Optimise& how) {
  return generated(text, x86(target), how, llvm::CodeGenFileType::ObjectFile);
}

Result<std::string> assembly(std::string_view text, const CpuTarget& target, const Optimise& how) {
  return generated(text, x86(target), how, llvm::CodeGenFileType::AssemblyFile);
}

Result<std::string> ptx(std::string_view text, const GpuTarget& target) {
  Optimise how{.passes = "function(instcombine<no-verify-fixpoint>,early-cse<memssa>,loop-mssa(licm),simplifycfg)"};
  return generated(text, {"nvptx64-nvidia-cuda", target.cpu, target.features}, how,
                   llvm::CodeGenFileType::AssemblyFile);
}

std::string_view llvm_version() { return LLVM_VERSION_STRING; }

}  // namespace quern::jit
