// The driver's linker (cuLink…): PTX of several sources becomes one module. What real drivers give back is machine
// code; here it is the linked PTX as text, which cuModuleLoadData takes like any other.
#include "ptx/link.h"

#include <fstream>
#include <sstream>

#include "cuda/api/entry.h"
#include "cuda/runtime/live.h"
#include "fatbin/choose.h"
#include "fatbin/device_runtime.h"
#include "ptx/parse.h"
#include "ptx/print.h"

namespace quern::cuda {
namespace {

enum InputType : int { kCubin = 0, kPtx = 1, kFatbin = 2, kObject = 3, kLibrary = 4 };
enum JitOption : int { kWallTime = 2, kInfoLog = 3, kInfoLogBytes = 4, kErrorLog = 5, kErrorLogBytes = 6 };

struct Linker {
  std::vector<ptx::Module> modules;
  std::string linked;
  void** wall_time = nullptr;  // where the program looks for what linking took
  void** log_bytes[2] = {nullptr, nullptr};
};

Error refuse(const Diagnostics& why) {
  warn(why);
  return why.front().code == Code::E970 ? Error::kInvalidKernelImage : Error::kInvalidPtx;
}

// Logs stay empty: what is wrong is said on standard error.
Error cuLinkCreate_v2(unsigned count, const int* options, void** values, Linker** out) {
  return entry([&] {
    if (!out || (count && (!options || !values))) return Error::kInvalidValue;
    auto made = std::make_shared<Linker>();
    for (unsigned i = 0; i < count; ++i) {
      if (options[i] == kWallTime) made->wall_time = &values[i];
      if (options[i] == kInfoLogBytes) made->log_bytes[0] = &values[i];
      if (options[i] == kErrorLogBytes) made->log_bytes[1] = &values[i];
      bool log = options[i] == kInfoLog || options[i] == kErrorLog;
      if (log && values[i]) *static_cast<char*>(values[i]) = '\0';
    }
    *out = Live<Linker>::all().add(std::move(made));
    return Error::kSuccess;
  });
}

Result<std::string> ptx_in(std::span<const std::byte> container, const std::string& name) {
  const chip::Chip& chip = *Process::get().config.chip;
  auto entries = fatbin::read_container(container, name);
  if (!entries) return fail(std::move(entries.error()));
  if (fatbin::is_device_runtime(*entries)) return std::string();
  auto best = fatbin::choose(*entries, {chip.name, static_cast<int>(chip.gpu.compute_capability.value)}, name);
  if (!best) return fail(std::move(best.error()));
  return *best ? fatbin::unpack(**best, name) : std::string();
}

Error add_ptx(Linker& linker, const std::string& text, const std::string& name) {
  auto module = ptx::parse(text.substr(0, text.find('\0')), name);
  if (!module) return refuse(module.error());
  linker.modules.push_back(*std::move(module));
  return Error::kSuccess;
}

Error add(Linker& linker, int type, const std::string& bytes, const std::string& name) {
  if (type == kPtx) return add_ptx(linker, bytes, name);
  std::vector<std::span<const std::byte>> containers;
  if (type == kFatbin) containers = {std::as_bytes(std::span(bytes))};
  if (type == kObject || type == kLibrary) containers = fatbin::find_containers(std::as_bytes(std::span(bytes)));
  if (containers.empty()) {
    warn({diagnose(Code::E971, {}, {{"what", name}, {"have", type == kCubin ? "a cubin" : "an object or library"}})});
    return Error::kNoKernelImageForDevice;
  }
  for (std::span<const std::byte> container : containers) {
    auto text = ptx_in(container, name);
    if (!text) return refuse(text.error());
    if (text->empty()) continue;
    if (Error e = add_ptx(linker, *text, name); e != Error::kSuccess) return e;
  }
  return Error::kSuccess;
}

Error cuLinkAddData_v2(Linker* handle, int type, const void* data, size_t bytes, const char* name, unsigned, const int*,
                       void**) {
  return entry([&] {
    auto linker = Live<Linker>::all().find(handle);
    if (!linker) return Error::kInvalidResourceHandle;
    if (!data || !bytes) return Error::kInvalidValue;
    return add(*linker, type, std::string(static_cast<const char*>(data), bytes), name ? name : "linked code");
  });
}

Error cuLinkAddFile_v2(Linker* handle, int type, const char* path, unsigned, const int*, void**) {
  return entry([&] {
    auto linker = Live<Linker>::all().find(handle);
    if (!linker) return Error::kInvalidResourceHandle;
    std::ifstream file(path ? path : "", std::ios::binary);
    if (!file) return Error::kFileNotFound;
    std::ostringstream text;
    text << file.rdbuf();
    return add(*linker, type, std::move(text).str(), path);
  });
}

Error cuLinkComplete(Linker* handle, void** out, size_t* bytes) {
  return entry([&] {
    auto linker = Live<Linker>::all().find(handle);
    if (!linker) return Error::kInvalidResourceHandle;
    if (!out || linker->modules.empty()) return Error::kInvalidValue;
    auto linked = ptx::link(std::move(linker->modules));
    linker->modules.clear();
    if (!linked) return refuse(linked.error());
    linker->linked = ptx::print(*linked);
    *out = linker->linked.data();
    if (bytes) *bytes = linker->linked.size() + 1;
    for (void** log : linker->log_bytes) {
      if (log) *log = nullptr;
    }
    if (linker->wall_time) *linker->wall_time = nullptr;  // a float: 0
    return Error::kSuccess;
  });
}

Error cuLinkDestroy(Linker* handle) {
  return entry([&] { return Live<Linker>::all().remove(handle) ? Error::kSuccess : Error::kInvalidResourceHandle; });
}

}  // namespace

std::span<const Export> driver_link_exports() {
  static const Export rows[] = {
      QUERN_EXPORT(cuLinkCreate_v2), QUERN_EXPORT(cuLinkAddData_v2), QUERN_EXPORT(cuLinkAddFile_v2),
      QUERN_EXPORT(cuLinkComplete),  QUERN_EXPORT(cuLinkDestroy),
  };
  return rows;
}

}  // namespace quern::cuda
