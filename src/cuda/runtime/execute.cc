// Does what operation.h describes, at once.
#include <csignal>
#include <cstdio>

#include "cuda/runtime/copy.h"
#include "cuda/runtime/device_memory.h"
#include "cuda/runtime/device_queries.h"
#include "cuda/runtime/fault.h"
#include "cuda/runtime/graph.h"
#include "cuda/runtime/launch.h"
#include "cuda/runtime/stream.h"
#include "cuda/runtime/texture.h"

namespace quern::cuda {
namespace {

std::atomic<bool> stop = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void on_interrupt(int) { stop = true; }

// While a kernel runs, Ctrl-C asks it where it stands, unless the program has plans of its own for the signal.
class Interruptible {
 public:
  Interruptible() {
    struct sigaction mine = {};
    mine.sa_handler = on_interrupt;
    ::sigemptyset(&mine.sa_mask);
    ::sigaction(SIGINT, nullptr, &before_);
    changed_ = !(before_.sa_flags & SA_SIGINFO) && before_.sa_handler == SIG_DFL;
    if (changed_) ::sigaction(SIGINT, &mine, nullptr);
  }
  ~Interruptible() {
    if (changed_) ::sigaction(SIGINT, &before_, nullptr);
  }

 private:
  struct sigaction before_ = {};
  bool changed_ = false;
};

Error run(const KernelCall& call, int device) {
  Process& p = Process::get();
  std::shared_ptr<vgpu::Program> program;
  vgpu::Settings settings;
  {
    Lock lock(p.mutex);
    if (Error e = load(*call.kernel, device, true, program); e != Error::kSuccess) return e;
    settings.limits = p.device(device).limits;
    settings.textures = TextureTable::get().described();
  }
  settings.checks = p.config.checks;
  settings.order = p.config.order;
  settings.threads = p.config.threads;
  settings.timeout_s = p.config.timeout_s;
  settings.cache_folder = p.config.cache_folder;
  settings.stop = &stop;
  settings.printed = [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); };
  vgpu::Launch launch;
  launch.grid = {call.grid.x, call.grid.y, call.grid.z};
  launch.block = {call.block.x, call.block.y, call.block.z};
  launch.cluster = call.cluster;
  launch.shared_bytes = static_cast<int64_t>(call.shared_bytes);
  launch.arguments = call.arguments;
  launch.cooperative = call.cooperative;
  DeviceQueries queries(*call.kernel->image, device);
  settings.queries = &queries;
  Interruptible hold;
  auto ran = vgpu::run(*program, call.kernel->name, launch, settings);
  if (!ran) end_with(ran.error());
  return ran->fault ? report(*ran->fault) : Error::kSuccess;
}

struct Execute {
  int device;

  Error operator()(const Nothing&) const { return Error::kSuccess; }
  Error operator()(const KernelCall& call) const { return run(call, device); }
  Error operator()(const Copy3D& copy) const { return run_copy(copy); }
  Error operator()(const MemsetParams& fill) const { return run_fill(fill); }
  Error operator()(const HostCall& call) const {
    call.function(call.data);
    return Error::kSuccess;
  }
  Error operator()(const CallbackCall& call) const {
    call.function(call.stream, Error::kSuccess, call.data);
    return Error::kSuccess;
  }
  Error operator()(const EventRecord& r) const {
    Lock lock(Process::get().mutex);
    r.event->capture = nullptr;
    r.event->after.clear();
    r.event->recorded = true;
    r.event->time = std::chrono::steady_clock::now();
    return Error::kSuccess;
  }
  Error operator()(const EventWait&) const { return Error::kSuccess; }
  Error operator()(const AllocCall& a) const {
    // What a graph allocates it has had since its node was made; each launch finds it anew.
    auto address = reinterpret_cast<uint64_t>(a.address);
    // The program may have freed it outside the graph.
    if (!Process::get().memory->revive(address)) return Error::kInvalidValue;
    if (!Process::get().memory->contains(address, static_cast<int64_t>(a.bytes))) return Error::kInvalidValue;
    Process::get().memory->mark_unwritten(address, static_cast<int64_t>(a.bytes));
    return Error::kSuccess;
  }
  Error operator()(const FreeCall& f) const {
    return allocation_of(f.address) ? Error::kSuccess : Error::kInvalidValue;
  }
  Error operator()(const LibraryCall& call) const { return call.run(); }
  Error operator()(const ChildGraph& child) const {
    for (Node* node : child.graph->order()) {
      if (!node->enabled) continue;
      if (Error e = execute(node->operation, device); e != Error::kSuccess) return e;
    }
    return Error::kSuccess;
  }
};

}  // namespace

Error execute(const Operation& operation, int device) { return std::visit(Execute{device}, operation); }

}  // namespace quern::cuda
