#include "device/cpu/executable.h"

#include <fmt/format.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <new>

#include "device/cpu/workspace.h"

namespace quern::device::cpu {
namespace {

using artifact::Role;
using artifact::SiteRecord;

constexpr int64_t kChunksPerThread = 8;     // so that a thread that got the cheap points takes more
constexpr int64_t kThreadCycles = 100'000;  // less work than this isn't worth waking another thread
constexpr int64_t kMostThreads = 1024;

Diagnostic bug(std::string what) { return diagnose(Code::B001, {}, {{"what", std::move(what)}}); }

// One kernel's walk over its points, shared by the threads of a run.
struct Walk {
  artifact::Entry entry = nullptr;
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
  Meter(const Call& call, int64_t total) : call_(call), total_(total) {}

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
  int64_t total_;
  std::atomic<int64_t> done_ = 0;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
};

class CpuExecutable : public Executable {
 public:
  CpuExecutable(std::shared_ptr<const artifact::Artifact> artifact, std::vector<artifact::Entry> entries,
                std::shared_ptr<const void> code)
      : artifact_(std::move(artifact)), entries_(std::move(entries)), code_(std::move(code)) {}

  const artifact::Artifact& artifact() const override { return *artifact_; }

  Result<Ran> run(const Call& call) const override {
    std::vector<int64_t> points;
    int64_t arena = 0, total = 0;
    for (const artifact::MachineKernel& k : artifact_->kernels) {
      auto n = k.points.at(call.dims), bytes = k.arena_bytes.at(call.dims);
      if (!n || *n < 0 || !bytes || *bytes < 0 || __builtin_add_overflow(total, *n, &total)) {
        return fail(bug("no grid for " + k.entry));
      }
      points.push_back(*n);
      arena = std::max(arena, *bytes);
    }
    if (call.dims.size() != artifact_->dims.size() || entries_.size() != points.size()) {
      return fail(bug("a call that doesn't fit " + artifact_->name));
    }
    int threads =
        static_cast<int>(std::clamp<int64_t>(call.threads > 0 ? call.threads : default_threads(), 1, kMostThreads));
    auto workspace = pool_.take();
    auto addresses = bind(call, *workspace);
    if (!addresses) return fail(std::move(addresses.error()));
    if (auto room = prepare(*workspace, threads, arena); !room) return fail(std::move(room.error()));

    Ran ran;
    Meter meter(call, total);
    for (size_t k = 0; k < points.size() && !meter.stopped(); ++k) {
      if (points[k] == 0) continue;
      Walk walk;
      walk.entry = entries_[k];
      walk.points = points[k];
      walk.parameters = addresses->data();
      walk.dims = call.dims.data();
      over(walk, threads_for(artifact_->kernels[k], points[k], threads, call), *workspace, meter);
      collect(*workspace, ran);
    }
    ran.stopped = meter.stopped();
    std::ranges::sort(ran.faults, {}, &Fault::site);
    pool_.give(std::move(workspace));
    return ran;
  }

 private:
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
        out.push_back(call.arguments[given++]);
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
    artifact::Size elements(1);
    for (const artifact::Size& s : p.shape) elements = artifact::Size::apply(artifact::Size::Op::kMul, elements, s);
    auto count = elements.at(call.dims);
    int64_t bits = 0;
    if (!count || *count < 0 || __builtin_mul_overflow(*count, row(p.type).bits, &bits)) {
      return fail(diagnose(Code::E710, {}, {{"e", "a temporary buffer of " + artifact_->name}}));
    }
    int64_t bytes = byte_size(p.type, *count);
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
    return static_cast<void*>(workspace.temporaries[place].get());
  }

  Result<void> prepare(Workspace& workspace, int threads, int64_t arena) const {
    auto count = static_cast<size_t>(threads);
    if (workspace.arena_bytes < arena) {
      workspace.arenas.clear();
      workspace.arena_bytes = arena;
    }
    while (arena > 0 && workspace.arenas.size() < count) {
      auto memory = allocate(workspace.arena_bytes, "the working memory of " + artifact_->name);
      if (!memory) return fail(std::move(memory.error()));
      workspace.arenas.push_back(*std::move(memory));
    }
    if (workspace.records.size() < count) workspace.records.resize(count);
    for (auto& table : workspace.records) table.assign(artifact_->sites.size(), {});
    return {};
  }

  static void over(Walk& walk, int64_t threads, Workspace& workspace, Meter& meter) {
    // One long chunk would show no progress, and could not be stopped.
    int64_t wanted = threads > 1 ? threads * kChunksPerThread : meter.watched() ? 64 : 1;
    walk.chunks = std::min(wanted, walk.points);
    auto work = [&](int64_t thread) {
      auto t = static_cast<size_t>(thread);
      void* arena = workspace.arenas.empty() ? nullptr : workspace.arenas[t].get();
      void* report = workspace.records[t].empty() ? nullptr : workspace.records[t].data();
      for (int64_t chunk; !meter.stopped() && (chunk = walk.next++) < walk.chunks;) {
        int64_t begin = walk.begin_of(chunk), end = walk.begin_of(chunk + 1);
        walk.entry(walk.parameters, walk.dims, begin, end, arena, report);
        meter.add(end - begin);
      }
    };
    if (threads == 1) return work(0);
    // More threads than processors are as many tasks on the threads there are.
    tbb::task_arena arena(static_cast<int>(std::min<int64_t>(threads, tbb::info::default_concurrency())));
    arena.execute([&] { tbb::parallel_for(int64_t{0}, threads, work, tbb::simple_partitioner()); });
  }

  // The first failure of each site goes to the result; tables are empty again for the next kernel.
  static void collect(Workspace& workspace, Ran& ran) {
    for (size_t site = 0; site < workspace.records.front().size(); ++site) {
      SiteRecord first;
      for (auto& table : workspace.records) {
        if (table[site].point < first.point) first = table[site];
        table[site] = {};
      }
      bool known =
          std::ranges::any_of(ran.faults, [&](const Fault& f) { return f.site == static_cast<int64_t>(site); });
      if (first.point != artifact::kNoPoint && !known) ran.faults.push_back({static_cast<int64_t>(site), first});
    }
  }

  std::shared_ptr<const artifact::Artifact> artifact_;
  std::vector<artifact::Entry> entries_;
  std::shared_ptr<const void> code_;
  mutable WorkspacePool pool_;
};

}  // namespace

std::shared_ptr<const Executable> executable(std::shared_ptr<const artifact::Artifact> artifact,
                                             std::vector<artifact::Entry> entries, std::shared_ptr<const void> code) {
  return std::make_shared<CpuExecutable>(std::move(artifact), std::move(entries), std::move(code));
}

int default_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return std::max(CPU_COUNT(&set), 1);
  return 1;
}

}  // namespace quern::device::cpu
