#include "device/cpu/executable.h"

#include <fmt/format.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <mutex>
#include <new>

#include "device/cpu/hand_over.h"
#include "device/cpu/workspace.h"
#include "jit/jit.h"

namespace quern::device::cpu {
namespace {

using artifact::Fault;
using artifact::Role;

constexpr int64_t kChunksPerThread = 8;     // so that a thread that got the cheap points takes more
constexpr int64_t kThreadCycles = 100'000;  // less work than this isn't worth waking another thread
constexpr int64_t kMostThreads = 1024;

Diagnostic bug(std::string what) { return diagnose(Code::B001, {}, {{"what", std::move(what)}}); }

// One kernel's walk over its points, shared by the threads of a run.
struct Walk {
  jit::Kernel entry = nullptr;
  int64_t points = 0;
  int64_t chunks = 1;
  void* const* parameters = nullptr;
  const int64_t* dims = nullptr;
  std::atomic<int64_t> next = 0;

  int64_t begin_of(int64_t chunk) const {
    // points / chunks each, the first points % chunks one more; no product that could overflow.
    return points / chunks * chunk + std::min(chunk, points % chunks);
  }
};

// Counts points of all kernels and asks the caller whether to go on.
class Meter {
 public:
  explicit Meter(const Call& call) : call_(call) {}

  void expect(int64_t points) { total_ += points; }

  void add(int64_t points) {
    done_ += points;
    if (!call_.progress) return;
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock && !stopped_ && !call_.progress(done_, total_)) stopped_ = true;
  }
  bool stopped() const { return stopped_; }
  bool watched() const { return static_cast<bool>(call_.progress); }

 private:
  const Call& call_;
  int64_t total_ = 0;
  std::atomic<int64_t> done_ = 0;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
};

// What one thread found: the fault of the smallest grid point, site by site.
struct Found : jit::Report {
  std::vector<Fault> faults;

  Found() { found = &note; }
  static void note(jit::Report* self, int64_t point, int32_t site, int32_t subscript, int64_t value, int64_t extent,
                   const int64_t* axes, uint64_t known) {
    std::vector<Fault>& faults = static_cast<Found*>(self)->faults;
    auto at = std::ranges::find(faults, site, &Fault::site);
    if (at == faults.end()) at = faults.insert(at, Fault{.site = site});
    if (point >= at->point) return;  // the same point again: what came first stays
    *at = {.site = site, .point = point, .subscript = subscript, .value = value, .extent = extent};
    for (; known != 0; known &= known - 1) {
      int axis = std::countr_zero(known);
      at->indices.emplace_back(axis, axes[axis]);
    }
  }
};

class CpuExecutable : public Executable {
 public:
  CpuExecutable(std::shared_ptr<const artifact::Artifact> artifact, std::vector<Functions> functions,
                std::shared_ptr<const void> code)
      : artifact_(std::move(artifact)), functions_(std::move(functions)), code_(std::move(code)) {}

  const artifact::Artifact& artifact() const override { return *artifact_; }

  Result<Ran> run(const Call& call) const override {
    if (call.dims.size() != artifact_->dims.size() || functions_.size() != artifact_->kernels.size()) {
      return fail(bug("a call that doesn't fit " + artifact_->name));
    }
    int threads =
        static_cast<int>(std::clamp<int64_t>(call.threads > 0 ? call.threads : default_threads(), 1, kMostThreads));
    auto workspace = pool_.take();
    auto addresses = bind(call, *workspace);
    if (!addresses) return fail(std::move(addresses.error()));
    Ran ran;
    Meter meter(call);
    for (size_t k = 0; k < functions_.size() && !meter.stopped(); ++k) {
      if (auto done = kernel(k, call, *addresses, threads, *workspace, meter, ran); !done) return fail(done.error());
    }
    ran.stopped = meter.stopped();
    std::ranges::sort(ran.faults, {}, &Fault::site);
    pool_.give(std::move(workspace));
    return ran;
  }

 private:
  Result<void> kernel(size_t k, const Call& call, const std::vector<void*>& parameters, int threads,
                      Workspace& workspace, Meter& meter, Ran& ran) const {
    const Functions& functions = functions_[k];
    const artifact::MachineKernel& about = artifact_->kernels[k];
    Walk walk;
    walk.entry = functions.run;
    walk.parameters = parameters.data();
    walk.dims = call.dims.data();
    walk.points = functions.points(walk.parameters, walk.dims);
    int64_t arena = functions.arena(walk.parameters, walk.dims);
    if (walk.points < 0 || arena < 0) return fail(bug("a negative size of " + about.entry));
    if (walk.points == 0) return {};
    int64_t used = threads_for(about, walk.points, threads, call);
    if (auto room = prepare(workspace, used, arena); !room) return room;
    std::vector<Found> found(static_cast<size_t>(used));
    meter.expect(walk.points);
    over(walk, used, workspace, found, meter);
    collect(static_cast<int32_t>(k), found, ran);
    return {};
  }

  static int64_t threads_for(const artifact::MachineKernel& k, int64_t points, int threads, const Call& call) {
    if (k.meets && call.deterministic) return 1;
    int64_t most = std::min<int64_t>(threads, points);
    int64_t work = 0;
    if (k.point_cycles <= 0 || __builtin_mul_overflow(points, k.point_cycles, &work)) return most;
    return std::clamp<int64_t>(work / kThreadCycles, 1, most);
  }

  // Addresses of all parameters: the caller's, temporary buffers, constants.
  Result<std::vector<void*>> bind(const Call& call, Workspace& workspace) const {
    std::vector<void*> out;
    size_t given = 0, temporary = 0;
    for (const artifact::Parameter& p : artifact_->parameters) {
      if (p.role == Role::kConst) {
        out.push_back(const_cast<char*>(p.bytes.data()));
      } else if (p.role != Role::kTmp) {
        if (given == call.arguments.size()) return fail(bug("a missing argument of " + artifact_->name));
        // Code may read one byte of a tensor without elements.
        static std::byte nothing{};
        void* address = call.arguments[given++];
        out.push_back(address ? address : &nothing);
      } else {
        auto memory = temporary_buffer(p, call, workspace, temporary++);
        if (!memory) return fail(std::move(memory.error()));
        out.push_back(*memory);
      }
    }
    if (given != call.arguments.size()) return fail(bug("an argument too many for " + artifact_->name));
    return out;
  }

  Result<void*> temporary_buffer(const artifact::Parameter& p, const Call& call, Workspace& workspace,
                                 size_t place) const {
    auto needed = artifact::bytes_of(p.shape, p.type, call.dims);
    if (!needed) return fail(diagnose(Code::E710, {}, {{"e", "a temporary buffer of " + artifact_->name}}));
    int64_t bytes = *needed;
    if (workspace.temporaries.size() <= place) {
      workspace.temporaries.resize(place + 1);
      workspace.temporary_bytes.resize(place + 1, 0);
    }
    if (workspace.temporary_bytes[place] >= bytes) {
      if (p.zeroed && bytes) std::memset(workspace.temporaries[place].get(), 0, static_cast<size_t>(bytes));
    } else {
      workspace.temporaries[place] = nullptr;
      workspace.temporary_bytes[place] = 0;
      auto memory = allocate(bytes, "a temporary buffer of " + artifact_->name);
      if (!memory) return fail(std::move(memory.error()));
      workspace.temporaries[place] = *std::move(memory);
      workspace.temporary_bytes[place] = bytes;
    }
    static std::byte nothing[64];
    return static_cast<void*>(bytes ? workspace.temporaries[place].get() : nothing);
  }

  Result<void> prepare(Workspace& workspace, int64_t threads, int64_t arena) const {
    if (workspace.arena_bytes < arena) {
      workspace.arenas.clear();
      workspace.arena_bytes = arena;
    }
    while (arena > 0 && static_cast<int64_t>(workspace.arenas.size()) < threads) {
      auto memory = allocate(workspace.arena_bytes, "the working memory of " + artifact_->name);
      if (!memory) return fail(std::move(memory.error()));
      workspace.arenas.push_back(*std::move(memory));
    }
    return {};
  }

  static void over(Walk& walk, int64_t threads, Workspace& workspace, std::vector<Found>& found, Meter& meter) {
    // One long chunk would show no progress, and could not be stopped.
    int64_t wanted = threads > 1 ? threads * kChunksPerThread : meter.watched() ? 64 : 1;
    walk.chunks = std::min(wanted, walk.points);
    auto work = [&](int64_t thread) {
      auto t = static_cast<size_t>(thread);
      void* arena = t < workspace.arenas.size() ? workspace.arenas[t].get() : nullptr;
      for (int64_t chunk; !meter.stopped() && (chunk = walk.next++) < walk.chunks;) {
        int64_t begin = walk.begin_of(chunk), end = walk.begin_of(chunk + 1);
        walk.entry(walk.parameters, walk.dims, begin, end, arena, &found[t]);
        meter.add(end - begin);
      }
    };
    if (threads == 1) return work(0);
    // More threads than processors are as many tasks on the threads there are.
    tbb::task_arena arena(static_cast<int>(std::min<int64_t>(threads, tbb::info::default_concurrency())));
    auto task = [&](int64_t thread) {
      take_over();
      work(thread);
      hand_over();
    };
    hand_over();
    arena.execute([&] { tbb::parallel_for(int64_t{0}, threads, task, tbb::simple_partitioner()); });
    take_over();
  }

  // The first fault of each site goes to the result, unless an earlier kernel has one.
  static void collect(int32_t kernel, std::vector<Found>& found, Ran& ran) {
    size_t before = ran.faults.size();
    for (Found& thread : found) {
      for (Fault& f : thread.faults) {
        f.kernel = kernel;
        auto at = std::ranges::find(ran.faults, f.site, &Fault::site);
        if (at == ran.faults.end()) {
          ran.faults.push_back(std::move(f));
        } else if (at - ran.faults.begin() >= static_cast<std::ptrdiff_t>(before) && f.point < at->point) {
          *at = std::move(f);
        }
      }
    }
  }

  std::shared_ptr<const artifact::Artifact> artifact_;
  std::vector<Functions> functions_;
  std::shared_ptr<const void> code_;
  mutable WorkspacePool pool_;
};

}  // namespace

std::shared_ptr<const Executable> executable(std::shared_ptr<const artifact::Artifact> artifact,
                                             std::vector<Functions> functions, std::shared_ptr<const void> code) {
  return std::make_shared<CpuExecutable>(std::move(artifact), std::move(functions), std::move(code));
}

Result<std::shared_ptr<const Executable>> load(std::shared_ptr<const artifact::Artifact> artifact) {
  std::vector<Functions> functions;
  auto all = std::make_shared<std::vector<std::shared_ptr<const jit::MachineCode>>>();
  for (const artifact::MachineKernel& k : artifact->kernels) {
    auto code = jit::load(k.object);
    if (!code) return fail(std::move(code.error()));
    Functions f;
    f.run = reinterpret_cast<jit::Kernel>((*code)->entry(k.entry));
    f.points = reinterpret_cast<jit::KernelSize>((*code)->entry(k.entry + "_points"));
    f.arena = reinterpret_cast<jit::KernelSize>((*code)->entry(k.entry + "_arena"));
    if (!f.run || !f.points || !f.arena) return fail(bug("code without " + k.entry));
    functions.push_back(f);
    all->push_back(*std::move(code));
  }
  return executable(std::move(artifact), std::move(functions), std::move(all));
}

int default_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return std::max(CPU_COUNT(&set), 1);
  return 1;
}

}  // namespace quern::device::cpu
