// `quern exec`: runs CUDA code on the virtual GPU. A program is started with libraries of Quern's in place of NVIDIA's
// runtime and driver, and this process becomes it; PTX, or a .cu file that nvcc makes PTX of, runs one kernel here.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "backend/open_gpu.h"
#include "chip/chip.h"
#include "cli/commands.h"
#include "cli/environment.h"
#include "cli/exec_kernel.h"
#include "cli/gpu_settings.h"
#include "cli/json_value.h"
#include "cli/vendor_libraries.h"
#include "fatbin/program_file.h"

namespace quern::cli {
namespace {

// As a shell finds it: a name without a slash is looked for on the PATH.
std::string locate(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  std::string_view rest = path ? path : "";
  while (!rest.empty()) {
    size_t end = std::min(rest.find(':'), rest.size());
    std::string candidate = std::string(rest.substr(0, end)) + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return name;
}

Environment environment_of(const GpuOptions& options, const fatbin::ProgramFile& program, const std::string& folder) {
  Environment out = Environment::inherited();
  out.set("QUERN_CHIP", options.settings.chip);
  out.set("QUERN_DEVICES", std::to_string(options.devices));
  out.set("QUERN_CHECK", options.settings.checks);
  out.set("QUERN_ORDER", std::to_string(options.settings.order));
  out.set("QUERN_THREADS", std::to_string(options.settings.threads));
  out.set("QUERN_TIMEOUT", std::to_string(options.settings.timeout_s));
  out.set("QUERN_JSON", options.json ? "1" : "0");
  out.prepend("LD_LIBRARY_PATH", folder);
  out.prepend("LD_PRELOAD", folder + "/libquern_preload.so");
  // A program may say itself where its libraries are, which goes before LD_LIBRARY_PATH; what is loaded already it
  // takes.
  for (std::string_view name : replaced_libraries()) {
    if (std::ranges::find(program.libraries, name) != program.libraries.end()) {
      out.prepend("LD_PRELOAD", folder + "/" + std::string(name));
    }
  }
  return out;
}

Result<void> start(const CommandLine& line, const GpuOptions& options) {
  const chip::Chip& chip = *chip::find(options.settings.chip);
  std::string path = locate(line.targets[0]);
  auto program = fatbin::look_into(path, {chip.name, static_cast<int>(chip.gpu.compute_capability.value)});
  if (!program) return fail(std::move(program.error()));
  if (auto good = check_libraries(path, program->libraries); !good) return good;
  auto folder = backend::gpu_folder();
  if (!folder) return fail(std::move(folder.error()));
  Environment environment = environment_of(options, *program, *folder);
  std::vector<std::string> words = {line.targets[0]};
  words.insert(words.end(), line.arguments.begin(), line.arguments.end());
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  ::execve(path.c_str(), argv.data(), environment.pointers().data());
  return fail(diagnose(Code::E974, {}, {{"path", path}, {"why", std::strerror(errno)}}));
}

}  // namespace

void exec_cuda(const CommandLine& line, Report& report) {
  const std::string& target = line.targets[0];
  auto run = [&]() -> Result<void> {
    auto options = parse_gpu_options(line);
    if (!options) return fail(std::move(options.error()));
    bool one_kernel = target.ends_with(".ptx") || target.ends_with(".cu");
    return one_kernel ? exec_kernel(line, *options, report) : start(line, *options);
  };
  auto done = run();
  if (done) return;
  if (line.json) {
    // Standard output is the program's.
    Json out = begin_json("exec", target);
    out["diagnostics"] = diagnostics_value(done.error());
    report.found = line_of(out);
  }
  report.add(std::move(done.error()));
}

}  // namespace quern::cli
