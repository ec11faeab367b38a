// Does what operation.h describes.
#include <csignal>
#include <cstdio>
#include <exception>
#include <mutex>
#include <new>
#include <thread>

#include "cuda/runtime/copy.h"
#include "cuda/runtime/device_memory.h"
#include "cuda/runtime/device_queries.h"
#include "cuda/runtime/fault.h"
#include "cuda/runtime/graph.h"
#include "cuda/runtime/launch.h"
#include "cuda/runtime/pool.h"
#include "cuda/runtime/stream.h"
#include "cuda/runtime/workers.h"

namespace quern::cuda {
namespace {

std::atomic<bool> stop = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void on_interrupt(int) { stop = true; }

// While kernels run, Ctrl-C asks them where they stand, unless the program has plans of its own for the signal.
class Interruptible {
 public:
  Interruptible() {
    std::lock_guard lock(mutex_);
    if (running_++) return;
    struct sigaction mine = {};
    mine.sa_handler = on_interrupt;
    ::sigemptyset(&mine.sa_mask);
    ::sigaction(SIGINT, nullptr, &before_);
    changed_ = !(before_.sa_flags & SA_SIGINFO) && before_.sa_handler == SIG_DFL;
    if (changed_) ::sigaction(SIGINT, &mine, nullptr);
  }
  ~Interruptible() {
    std::lock_guard lock(mutex_);
    if (--running_ == 0 && changed_) ::sigaction(SIGINT, &before_, nullptr);
  }

 private:
  static inline std::mutex mutex_;
  static inline int running_ = 0;
  static inline struct sigaction before_ = {};
  static inline bool changed_ = false;
};

vgpu::Settings settings_of(const vgpu::Limits& limits) {
  const Config& config = Process::get().config;
  vgpu::Settings out;
  out.checks = config.checks;
  out.limits = limits;
  out.order = config.order;
  out.threads = config.threads;
  out.timeout_s = config.timeout_s;
  out.cache_folder = config.cache_folder;
  out.stop = &stop;
  out.printed = [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); };
  return out;
}

vgpu::Launch launch_of(const KernelCall& call) {
  vgpu::Launch out;
  out.grid = {call.grid.x, call.grid.y, call.grid.z};
  out.block = {call.block.x, call.block.y, call.block.z};
  out.cluster = call.cluster;
  out.shared_bytes = static_cast<int64_t>(call.shared_bytes);
  out.arguments = call.arguments;
  out.cooperative = call.cooperative;
  return out;
}

Error run(const KernelCall& call, Work& work) {
  std::shared_ptr<vgpu::Program> program;
  {
    Lock lock(Process::get().mutex);
    if (Error e = load(*call.kernel, work.order.device, true, program); e != Error::kSuccess) return e;
  }
  vgpu::Settings settings = settings_of(work.limits);
  settings.textures = work.textures;
  settings.stands = [&work] { Workers::get().stands(work); };
  DeviceQueries queries(*call.kernel->image, work.order.device);
  settings.queries = &queries;
  vgpu::Launch launch = launch_of(call);
  Interruptible hold;
  auto ran = vgpu::run(*program, call.kernel->name, launch, settings);
  if (!ran) end_with(ran.error());
  return ran->fault ? report(*ran->fault) : Error::kSuccess;
}

// While a function of the program runs: it may take long, and must not wait for the stream that calls it.
class InHost {
 public:
  explicit InHost(Work& work) : work_(work) {
    work_.in_host = std::chrono::steady_clock::now();
    in_host_function() = true;
  }
  ~InHost() {
    in_host_function() = false;
    work_.in_host = std::chrono::steady_clock::time_point{};
  }

 private:
  Work& work_;
};

struct Execute {
  Work& work;

  Error operator()(const Nothing&) const { return Error::kSuccess; }
  Error operator()(const KernelCall& call) const { return run(call, work); }
  Error operator()(const Copy3D& copy) const { return run_copy(copy); }
  Error operator()(const MemsetParams& fill) const { return run_fill(fill); }
  Error operator()(const HostCall& call) const {
    InHost here(work);
    call.function(call.data);
    return Error::kSuccess;
  }
  Error operator()(const CallbackCall& call) const {
    InHost here(work);
    call.function(call.stream, Process::get().sticky, call.data);
    return Error::kSuccess;
  }
  Error operator()(const EventRecord& r) const {
    for (auto& [event, mark] : work.marks) {
      if (event == r.event.get() && !mark->done) mark->time = std::chrono::steady_clock::now();
    }
    if (auto& shared = r.event->shared) shared->happened(r.number ? *r.number : shared->record());
    return Error::kSuccess;
  }
  // It didn't begin before a record of this process was done; another's has to be asked for.
  Error operator()(const EventWait& w) const {
    auto& shared = w.event->shared;
    uint64_t number = w.number.value_or(shared ? shared->recorded() : 0);
    while (shared && !shared->has_happened(number)) {
      Workers::get().stands(work);
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return Error::kSuccess;
  }
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
  Error operator()(const ReleaseCall& call) const {
    Lock lock(Process::get().mutex);
    return end_release(call.address) ? Error::kSuccess : Error::kInvalidValue;
  }
  Error operator()(const ChildGraph& child) const { return all_of(*child.graph); }
  Error operator()(const Conditional& c) const {
    auto value = [&] { return *reinterpret_cast<volatile uint32_t*>(c.condition->address); };
    if (c.kind == ConditionalKind::kWhile) {
      while (value() && !stop) {
        if (Error e = all_of(*c.bodies[0]); e != Error::kSuccess) return e;
      }
      return Error::kSuccess;
    }
    size_t which = c.kind == ConditionalKind::kIf ? !value() : value();
    return which < c.bodies.size() ? all_of(*c.bodies[which]) : Error::kSuccess;
  }

  // The nodes of a graph, one after the other.
  Error all_of(const Graph& graph) const {
    for (const auto& c : graph.conditions) {
      if (c->assigned) *reinterpret_cast<uint32_t*>(c->address) = c->at_launch;
    }
    for (Node* node : graph.order()) {
      if (!node->enabled) continue;
      if (Error e = execute_one(node->operation); e != Error::kSuccess) return e;
    }
    return Error::kSuccess;
  }

  // After a fault nothing is done any more, but callbacks are told of it.
  Error execute_one(const Operation& operation) const {
    Error sticky = Process::get().sticky;
    if (sticky != Error::kSuccess && !std::holds_alternative<CallbackCall>(operation)) return sticky;
    return std::visit(*this, operation);
  }
};

}  // namespace

Error make_ready(const KernelCall& call, int device) {
  std::shared_ptr<vgpu::Program> program;
  vgpu::Limits limits;
  {
    Lock lock(Process::get().mutex);
    auto& ready = call.kernel->ready;
    if (!ready.insert({static_cast<uint32_t>(device), call.block.x, call.block.y, call.block.z}).second) {
      return Error::kSuccess;
    }
    if (Error e = load(*call.kernel, device, true, program); e != Error::kSuccess) return e;
    limits = Process::get().device(device).limits;
  }
  auto made = vgpu::make_ready(*program, call.kernel->name, launch_of(call), settings_of(limits));
  if (!made) end_with(made.error());
  // What the compiler keeps for itself is destroyed after the work that is left.
  Workers::get().drain_at_exit();
  return Error::kSuccess;
}

Error execute(Work& work) {
  try {
    return Execute{work}.execute_one(work.operation);
  } catch (const std::bad_alloc&) {
    return Error::kMemoryAllocation;
  } catch (const std::exception& e) {
    end_with({diagnose(Code::B001, {}, {{"what", e.what()}})});
  }
}

}  // namespace quern::cuda
