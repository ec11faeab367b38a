#include "backend/open.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <vector>

#include "base/symbol.h"

namespace quern::backend {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "libquern_compiler.so";

std::unexpected<Diagnostics> refuse(std::string why) {
  return fail(diagnose(Code::N908, {}, {{"why", std::move(why)}}));
}

std::vector<fs::path> candidates() {
  std::vector<fs::path> out;
  std::error_code error;
  fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  if (!error) {
    out.push_back(folder / kName);
    out.push_back(folder / QUERN_LIBRARY_FROM_PROGRAM / kName);
    out.push_back(folder.parent_path() / "lib" / kName);
  }
  out.emplace_back(QUERN_COMPILER_BUILT);
  return out;
}

Result<void*> load() {
  std::string problem;
  auto attempt = [&](const char* path) {
    void* library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) problem = ::dlerror();
    return library;
  };
  if (const char* chosen = std::getenv("QUERN_COMPILER"); chosen && *chosen) {
    if (void* library = attempt(chosen)) return library;
    return refuse(problem);
  }
  std::error_code error;
  for (const fs::path& path : candidates()) {
    if (!fs::exists(path, error)) continue;
    if (void* library = attempt(path.c_str())) return library;
    return refuse(problem);
  }
  if (void* library = attempt(kName)) return library;
  return refuse(problem);
}

Result<const Backend*> opened() {
  auto library = load();
  if (!library) return fail(std::move(library.error()));
  auto entry = reinterpret_cast<Entry>(::dlsym(*library, "quern_backend"));
  if (!entry) return refuse(std::string(kName) + " is another library of that name");
  const Backend* backend = entry(symbol_pool());
  if (std::string_view(backend->version) != QUERN_VERSION) {
    return refuse(std::string(kName) + " is of version " + backend->version + ", quern is " + QUERN_VERSION);
  }
  return backend;
}

}  // namespace

Result<const Backend*> open() {
  static const Result<const Backend*> result = opened();
  return result;
}

}  // namespace quern::backend
