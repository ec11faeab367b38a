#include "cuda/kernel/run_kernel.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "artifact/cache.h"
#include "base/text.h"
#include "cuda/kernel/parameter.h"
#include "cuda/runtime/config.h"
#include "cuda/runtime/fault.h"
#include "ptx/parse.h"

namespace quern::cuda {
namespace {

std::string demangled(const std::string& name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string out = status == 0 && text ? text : name;
  std::free(text);
  return out;
}

// "saxpy" for "void saxpy<float>(float*)": what stands before the first parenthesis, without result and template.
std::string short_name(const std::string& name) {
  std::string text = demangled(name);
  text = text.substr(0, text.find('('));
  text = text.substr(0, text.find('<'));
  size_t space = text.rfind(' ');
  return space == std::string::npos ? text : text.substr(space + 1);
}

Result<std::string> find_kernel(const ptx::Module& module, const std::string& wanted) {
  std::vector<std::string> names, same;
  for (const ptx::Function& f : module.functions) {
    if (!f.entry) continue;
    if (f.name == wanted) return f.name;
    names.push_back(f.name);
    if (short_name(f.name) == wanted || demangled(f.name) == wanted) same.push_back(f.name);
  }
  if (same.size() == 1) return same[0];
  const std::vector<std::string>& show = same.empty() ? names : same;
  std::string remedy = show.empty() ? "the file holds none" : "it holds " + join(show, ", ");
  return fail(diagnose(Code::E962, {}, {{"name", printable(wanted)}, {"remedy", remedy}}));
}

class Run {
 public:
  Run(const backend::KernelRun& run, const Config& config) : run_(run), config_(config) {}

  Result<backend::KernelOutcome> operator()() {
    auto module = ptx::parse(run_.ptx, run_.file);
    if (!module) return fail(std::move(module.error()));
    auto name = find_kernel(*module, run_.kernel);
    if (!name) return fail(std::move(name.error()));
    auto memory = vgpu::Memory::create();
    if (!memory) return fail(std::move(memory.error()));
    memory_ = *std::move(memory);
    auto program = vgpu::Program::load(memory_, *std::move(module));
    if (!program) return fail(std::move(program.error()));
    auto arguments = bind(*(*program)->kernel(*name));
    if (!arguments) return fail(std::move(arguments.error()));
    vgpu::Launch launch;
    std::memcpy(launch.grid.data(), run_.grid, sizeof run_.grid);
    std::memcpy(launch.block.data(), run_.block, sizeof run_.block);
    launch.shared_bytes = run_.shared_bytes;
    launch.arguments = *std::move(arguments);
    auto ran = vgpu::run(**program, *name, launch, settings());
    if (!ran) return fail(std::move(ran.error()));
    return finish(*ran);
  }

 private:
  vgpu::Settings settings() const {
    vgpu::Settings out;
    out.checks = config_.checks;
    out.limits = limits_of(*config_.chip);
    out.order = config_.order;
    out.threads = config_.threads;
    out.timeout_s = config_.timeout_s;
    out.cache_folder = artifact::Cache::default_folder();
    return out;
  }

  // Each argument's bytes at its place; arrays go to device memory.
  Result<std::vector<std::byte>> bind(const ptx::Function& kernel) {
    vgpu::ParameterLayout layout = vgpu::parameter_layout(kernel);
    if (run_.arguments.size() != layout.offsets.size()) {
      return fail(diagnose(Code::E961, {},
                           {{"kernel", kernel.name},
                            {"want", counted(layout.offsets.size(), "argument")},
                            {"have", std::to_string(run_.arguments.size())}}));
    }
    std::vector<std::byte> out(layout.bytes);
    for (size_t i = 0; i < run_.arguments.size(); ++i) {
      const backend::KernelArgument& a = run_.arguments[i];
      std::span<std::byte> place(out.data() + layout.offsets[i], static_cast<size_t>(layout.sizes[i]));
      if (!a.data && a.bytes == 0 && !a.text.empty()) {
        auto put = put_number(kernel.parameters[i], a.text, place, kernel.name, i + 1);
        if (!put) return fail(std::move(put.error()));
        addresses_.push_back(0);
        continue;
      }
      if (place.size() != sizeof(uint64_t)) {
        return fail(diagnose(
            Code::E976, {},
            {{"kernel", kernel.name},
             {"why", fmt::format("argument {} has {} bytes, an array's address has 8", i + 1, place.size())}}));
      }
      auto address = memory_->allocate(a.bytes, 256, vgpu::Holds::kGlobal, a.name);
      if (!address) return fail(std::move(address.error()));
      if (a.bytes) {
        std::memcpy(reinterpret_cast<void*>(*address), a.data, static_cast<size_t>(a.bytes));
        memory_->mark_written(*address, a.bytes);
      }
      std::memcpy(place.data(), &*address, sizeof *address);
      addresses_.push_back(*address);
    }
    return out;
  }

  backend::KernelOutcome finish(const vgpu::Ran& ran) {
    backend::KernelOutcome out;
    out.compile_s = ran.compile_s;
    out.run_s = ran.run_s;
    if (ran.fault) {
      out.fault = vgpu::render(*ran.fault);
      out.fault_json = json_of(*ran.fault);
      return out;
    }
    for (size_t i = 0; i < run_.arguments.size(); ++i) {
      const backend::KernelArgument& a = run_.arguments[i];
      if (!a.written || !a.bytes) continue;
      std::memcpy(a.data, reinterpret_cast<const void*>(addresses_[i]), static_cast<size_t>(a.bytes));
    }
    return out;
  }

  const backend::KernelRun& run_;
  const Config& config_;
  std::shared_ptr<vgpu::Memory> memory_;
  std::vector<uint64_t> addresses_;
};

}  // namespace

Result<backend::KernelOutcome> run_kernel(const backend::KernelRun& run, const backend::GpuSettings& settings) {
  Config config;
  auto chip = find_gpu(settings.chip.empty() ? kDefaultChip : settings.chip);
  if (!chip) return fail(std::move(chip.error()));
  config.chip = *chip;
  if (auto good = parse_checks(settings.checks, config); !good) return fail(std::move(good.error()));
  config.order = settings.order;
  config.threads = settings.threads;
  config.timeout_s = settings.timeout_s;
  return Run(run, config)();
}

}  // namespace quern::cuda
