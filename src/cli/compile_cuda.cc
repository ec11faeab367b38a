#include "cli/compile_cuda.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/text.h"
#include "chip/chip.h"

namespace quern::cli {
namespace {

namespace fs = std::filesystem;

std::unexpected<Diagnostics> refuse(const std::string& path, std::string why) {
  return fail(diagnose(Code::N921, {}, {{"path", path}, {"why", std::move(why)}}));
}

std::string find_nvcc() {
  if (const char* chosen = std::getenv("NVCC"); chosen && *chosen) return chosen;
  std::vector<std::string> folders;
  const char* path = std::getenv("PATH");
  for (std::string_view rest = path ? path : ""; !rest.empty();) {
    size_t end = std::min(rest.find(':'), rest.size());
    folders.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (const char* home = std::getenv("CUDA_HOME"); home && *home) folders.push_back(std::string(home) + "/bin");
  for (const std::string& folder : folders) {
    std::string candidate = folder + "/nvcc";
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

// Its exit code; -1: it can't be started.
int run(const std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (const std::string& w : words) argv.push_back(const_cast<char*>(w.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  if (::posix_spawnp(&child, argv[0], nullptr, nullptr, argv.data(), environ) != 0) return -1;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// A folder of its own, gone with the object.
struct Scratch {
  fs::path path;
  ~Scratch() {
    std::error_code error;
    if (!path.empty()) fs::remove_all(path, error);
  }
};

Result<std::string> compile(const std::string& path, std::string_view source, const std::string& chip) {
  std::string nvcc = find_nvcc();
  if (nvcc.empty()) return refuse(path, "nvcc isn't found");
  std::error_code error;
  std::string pattern = (fs::temp_directory_path(error) / "quern-XXXXXX").string();
  if (error || !::mkdtemp(pattern.data())) return refuse(path, std::strerror(errno));
  Scratch scratch{pattern};
  std::string out = (scratch.path / "kernel.ptx").string();
  int capability = static_cast<int>(chip::find(chip)->gpu.compute_capability.value);
  std::vector<std::string> words = {nvcc, "--ptx", "-lineinfo", fmt::format("-arch=compute_{}", capability),
                                    "-o", out,     path};
  // nvcc lets kernels launch kernels only in code that is to be linked.
  if (source.find("<<<") != source.npos) words.emplace_back("-rdc=true");
  int code = run(words);
  if (code != 0) return refuse(path, code < 0 ? nvcc + " can't be started" : "nvcc refuses it");
  auto text = read_source(out);
  if (!text) return fail(std::move(text.error()));
  return std::string((*text)->text());
}

}  // namespace

Result<std::string> ptx_of(const std::string& path, const std::string& chip) {
  auto text = read_source(path);
  if (!text) return fail(std::move(text.error()));
  return path.ends_with(".cu") ? compile(path, (*text)->text(), chip) : std::string((*text)->text());
}

}  // namespace quern::cli
