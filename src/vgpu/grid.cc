#include "vgpu/grid.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <thread>

#include "vgpu/service.h"
#include "vgpu/wild_store.h"

namespace quern::vgpu {
namespace {

constexpr int64_t kSharedReach = int64_t{1} << 32;  // a 32-bit address can't leave it
constexpr uint64_t kMostBlocks = 4096;              // under way at once on a thread
// After so long without progress a thread of this machine sleeps between turns, and the caller is told.
constexpr auto kPatience = std::chrono::milliseconds(5);
constexpr auto kNap = std::chrono::microseconds(50);

uint64_t product(const Extent& e) { return uint64_t{e[0]} * e[1] * e[2]; }

}  // namespace

int threads_of(const Settings& settings) {
  if (settings.threads > 0) return settings.threads;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

Grid::Grid(Program& program, const Compiled& compiled, const Launch& launch, const Settings& settings,
           uint64_t parameters, uint64_t workspace, Children& children)
    : program_(program),
      compiled_(compiled),
      launch_(launch),
      settings_(settings),
      ground_{program.memory().space(), settings.checks.memory, settings.checks.init},
      parameters_(parameters),
      workspace_(workspace),
      children_(children) {
  blocks_ = product(launch.grid);
  threads_per_block_ = static_cast<uint32_t>(product(launch.block));
  warps_ = (threads_per_block_ + 31) / 32;
  for (size_t i = 0; i < program.module().variables.size(); ++i)
    variables_.push_back(program.address(static_cast<int32_t>(i)));
}

Grid::~Grid() = default;

void Grid::stop() {
  stopped_ = true;
  std::lock_guard lock(mutex_);
  for (Warp* w : running_) w->stop = 1;
}

void Grid::keep(Fault fault) {
  {
    std::lock_guard lock(mutex_);
    if (!fault_) fault_ = std::move(fault);
  }
  stop();
}

void Grid::problem(Diagnostics d) {
  {
    std::lock_guard lock(mutex_);
    if (problems_.empty()) problems_ = std::move(d);
  }
  stop();
}

// A permutation of the grid for every seed: steps of a number that shares no factor with the count.
uint64_t Grid::permuted(uint64_t index) const {
  if (!settings_.order || blocks_ < 2) return index;
  uint64_t step = settings_.order * 0x9e3779b97f4a7c15u % blocks_;
  while (step == 0 || std::gcd(step, blocks_) != 1) step = (step + 1) % blocks_;
  // Counts fit 63 bits and less by far; the product is taken in parts so that it never wraps.
  uint64_t at = settings_.order % blocks_;
  for (uint64_t bit = index; bit; bit >>= 1) {
    if (bit & 1) at = (at + step) % blocks_;
    step = step * 2 % blocks_;
  }
  return at;
}

bool Grid::next(uint64_t& first, uint64_t& last, uint64_t most) {
  first = next_.fetch_add(most);
  if (first >= blocks_ || stopped_) return false;
  last = std::min(blocks_, first + most);
  return true;
}

void Grid::prepare(WarpRun& run, BlockRun& block, uint32_t index) {
  Warp& w = run.warp;
  run.block = &block;
  for (size_t i = 0; i < 3; ++i) w.ntid[i] = launch_.block[i], w.nctaid[i] = launch_.grid[i];
  w.index = index;
  w.warps = warps_;
  uint32_t left = threads_per_block_ - index * 32;
  w.lanes = left >= 32 ? 0xffffffff : (1u << left) - 1;
  w.parameters = parameters_;
  w.shared = block.shared;
  w.local = block.local + uint64_t{index} * 32 * static_cast<uint64_t>(compiled_.local_bytes);
  w.variables = variables_.data();
  w.service = &Services::enter;
  w.multiply = compiled_.multipliers;
  w.move_fragment = &move_fragment;
  w.move_fragment_of_lanes = &move_fragment_of_lanes;
  w.ground = &ground_;
  w.dynamic_shared = static_cast<uint32_t>(launch_.shared_bytes);
  w.total_shared = static_cast<uint32_t>(compiled_.shared_bytes + launch_.shared_bytes);
  w.nsmid = static_cast<uint32_t>(settings_.limits.multiprocessors);
  w.envreg[0] = static_cast<uint32_t>(workspace_ >> 32);
  w.envreg[1] = static_cast<uint32_t>(workspace_);
  w.owner = &run;
}

Result<std::unique_ptr<BlockRun>> Grid::make_block(bool fibers) {
  auto block = std::make_unique<BlockRun>();
  block->grid = this;
  int64_t shared = compiled_.shared_bytes + launch_.shared_bytes;
  Memory& memory = program_.memory();
  auto at = memory.allocate(shared, 1024, Holds::kShared, "shared memory", 0, kSharedReach);
  if (!at) return fail(at.error());
  block->shared = *at;
  if (shared && settings_.checks.memory && !settings_.checks.shared_init) memory.mark_written(*at, shared);
  if (compiled_.local_bytes) {
    auto local = memory.allocate(compiled_.local_bytes * 32 * warps_, 1024, Holds::kLocal, "local memory");
    if (!local) return fail(local.error());
    block->local = *local;
  }
  block->warps.resize(warps_);
  auto counters = std::make_unique<std::vector<uint64_t>>(compiled_.block_instructions.size() + 1);
  for (uint32_t i = 0; i < warps_; ++i) {
    WarpRun& run = block->warps[i];
    prepare(run, *block, i);
    run.warp.counters = counters->data();
    if (fibers) {
      run.fiber = std::make_unique<Fiber>();
      if (!run.fiber->usable()) return fail(diagnose(Code::E951, {}, {{"bytes", std::to_string(Fiber::kStack)}}));
    }
  }
  std::lock_guard lock(mutex_);
  counters_.push_back(std::move(counters));
  for (WarpRun& run : block->warps) {
    run.warp.stop = stopped_;
    running_.push_back(&run.warp);
  }
  return block;
}

void Grid::start(BlockRun& block, uint64_t at) {
  uint64_t index = permuted(at);
  block.index = index;
  block.live = warps_;
  for (Barrier& b : block.barriers) b = {};
  Memory& memory = program_.memory();
  int64_t shared = compiled_.shared_bytes + launch_.shared_bytes;
  bool asked = settings_.checks.memory && settings_.checks.shared_init;
  if (shared && asked) memory.mark_unwritten(block.shared, shared);
  if (block.local && settings_.checks.memory) memory.mark_unwritten(block.local, compiled_.local_bytes * 32 * warps_);
  auto x = static_cast<uint32_t>(index % launch_.grid[0]);
  uint64_t row = index / launch_.grid[0];
  for (WarpRun& run : block.warps) {
    run.warp.ctaid[0] = x;
    run.warp.ctaid[1] = static_cast<uint32_t>(row % launch_.grid[1]);
    run.warp.ctaid[2] = static_cast<uint32_t>(row / launch_.grid[1]);
    run.warp.smid = static_cast<uint32_t>(index % static_cast<uint64_t>(settings_.limits.multiprocessors));
    run.waits = Waits::kReady;
    run.yielded = false;
    if (run.fiber) {
      run.fiber->start(
          [](void* p) {
            auto* r = static_cast<WarpRun*>(p);
            BlockRun& b = *r->block;
            b.grid->compiled_.warp(&r->warp);
            r->waits = Waits::kEnded;
            --b.live;
            for (int32_t i = 0; i < 16; ++i) b.grid->release_barrier(b, i);
            b.grid->rest(*r);
          },
          &run);
    }
  }
}

// Warps that wait for nobody: loops over them are in the code, or here where they have memory of their own.
void Grid::work_simple(Warp& warp) {
  uint64_t first, last;
  uint64_t share = std::clamp<uint64_t>(blocks_ / static_cast<uint64_t>(threads_of(settings_)) / 8, 1, 1024);
  while (next(first, last, share)) {
    if (!settings_.order) {
      if (compiled_.blocks(&warp, first, last)) return;
      continue;
    }
    for (uint64_t i = first; i < last; ++i) {
      uint64_t p = permuted(i);
      if (compiled_.blocks(&warp, p, p + 1)) return;
    }
  }
}

void Grid::run_block(BlockRun& block) {
  size_t turn = settings_.order % block.warps.size();
  for (size_t i = 0; i < block.warps.size() && !stopped_; ++i) {
    WarpRun& run = block.warps[(i + turn) % block.warps.size()];
    if (compiled_.warp(&run.warp)) return;
  }
}

void Grid::release_barrier(BlockRun& block, int32_t number) {
  Barrier& b = block.barriers[number];
  uint32_t all = b.expected ? b.expected : block.live * 32;
  if (!b.arrived || b.arrived < all) return;
  uint32_t turn = b.turn + 1;
  Barrier fresh;
  fresh.turn = turn;
  fresh.result[0] = b.count, fresh.result[1] = b.all, fresh.result[2] = b.any;
  b = fresh;
}

WarpRun* Grid::ready(BlockRun& block, size_t after) {
  size_t count = block.warps.size();
  for (size_t i = 0, at = after; i < count; ++i) {
    at = at + 1 == count ? 0 : at + 1;
    WarpRun& run = block.warps[at];
    if (run.waits == Waits::kReady) return &run;
    if (run.waits == Waits::kBarrier && run.turn != block.barriers[run.barrier].turn) {
      run.waits = Waits::kReady;
      return &run;
    }
  }
  return nullptr;
}

// Warps that yield in a loop go back to the scheduler, which may start other blocks.
void Grid::rest(WarpRun& run) {
  WarpRun* next = stopped_ ? nullptr : ready(*run.block, run.warp.index);
  if (next == &run) return;
  if (!next || next->yielded) return run.fiber->leave();
  run.fiber->pass_to(*next->fiber);
}

bool Grid::turn(BlockRun& block) {
  uint32_t live = block.live;
  uint64_t phases = block.phases;
  uint32_t before[16];
  for (size_t b = 0; b < 16; ++b) before[b] = block.barriers[b].turn;
  for (WarpRun& run : block.warps) run.yielded = false;
  size_t from = settings_.order % block.warps.size();
  for (size_t i = 0; i < block.warps.size() && !stopped_; ++i) {
    WarpRun& run = block.warps[(i + from) % block.warps.size()];
    if (run.waits == Waits::kBarrier && run.turn != block.barriers[run.barrier].turn) run.waits = Waits::kReady;
    if (run.waits != Waits::kReady || run.yielded) continue;
    run.fiber->enter();
  }
  bool moved = block.live != live || block.phases != phases;
  for (size_t b = 0; b < 16; ++b) moved |= before[b] != block.barriers[b].turn;
  return moved;
}

// What the blocks wait for is another thread's to write: of this grid, of the host, of another grid.
void Grid::let_others(std::chrono::steady_clock::time_point since) {
  if (std::chrono::steady_clock::now() - since < kPatience) return std::this_thread::yield();
  if (settings_.stands) settings_.stands();
  std::this_thread::sleep_for(kNap);
}

void Grid::work_waiting() {
  std::vector<std::unique_ptr<BlockRun>> active, spare;
  auto begin = [&]() -> bool {
    uint64_t first, last;
    if (active.size() >= kMostBlocks || !next(first, last, 1)) return false;
    if (spare.empty()) {
      auto made = make_block(true);
      if (!made) {
        problem(made.error());
        return false;
      }
      spare.push_back(std::move(*made));
    }
    start(*spare.back(), first);
    active.push_back(std::move(spare.back()));
    spare.pop_back();
    return true;
  };
  // All blocks of a cooperative grid are there at once.
  if (launch_.cooperative) {
    while (begin()) {
    }
  }
  auto progress = std::chrono::steady_clock::now();
  while (!stopped_ && (!active.empty() || begin())) {
    bool moved = false;
    for (size_t i = 0; i < active.size() && !stopped_;) {
      BlockRun& block = *active[i];
      bool here = turn(block);
      moved |= here;
      if (!block.live) {
        spare.push_back(std::move(active[i]));
        active.erase(active.begin() + static_cast<std::ptrdiff_t>(i));
        continue;
      }
      if (!stopped_ && !ready(block, 0)) return keep(stuck(block));
      if (!here || launch_.cooperative) ++i;  // a block that gets on is run to its end
    }
    if (moved || active.empty() || begin()) {
      progress = std::chrono::steady_clock::now();
    } else {
      let_others(progress);
    }
  }
  if (stopped_) {  // stacks of warps that were left in the middle are dropped with the block
    std::lock_guard lock(mutex_);
    if (fault_ && (fault_->kind == FaultKind::kTimeout || fault_->kind == FaultKind::kStopped)) {
      for (const auto& block : active) {
        for (const WarpRun& run : block->warps) {
          if (run.waits == Waits::kEnded) continue;
          Standing s;
          for (size_t i = 0; i < 3; ++i) s.block[i] = run.warp.ctaid[i];
          s.warp = run.warp.index;
          s.lanes = run.lanes;
          s.instruction = run.instruction;
          if (run.waits == Waits::kBarrier) s.waits_for = fmt::format("barrier {}", run.barrier);
          fault_->standing.push_back(std::move(s));
        }
      }
    }
  }
  for (auto* list : {&active, &spare}) {
    for (auto& block : *list) forget(*block);
  }
}

// The block's memory goes back, and nobody sets its warps' flags any more.
void Grid::forget(BlockRun& block) {
  {
    std::lock_guard lock(mutex_);
    std::erase_if(running_, [&](Warp* w) { return static_cast<WarpRun*>(w->owner)->block == &block; });
  }
  if (block.shared) program_.memory().release(block.shared);
  if (block.local) program_.memory().release(block.local);
}

Fault Grid::stuck(BlockRun& block) {
  const WarpRun* first = nullptr;
  std::string who;
  for (int32_t b = 0; b < 16; ++b) {
    uint32_t waiting = 0;
    for (const WarpRun& run : block.warps) {
      if (run.waits != Waits::kBarrier || run.barrier != b) continue;
      if (!first) first = &run;
      ++waiting;
    }
    if (!waiting) continue;
    const Barrier& barrier = block.barriers[b];
    uint32_t all = barrier.expected ? barrier.expected / 32 : block.live;
    who += fmt::format("{}{} of {} warps are at barrier {}", who.empty() ? "" : "; ", waiting, all, b);
  }
  Fault f = located(FaultKind::kDeadlock, first->warp, first->instruction, first->lanes);
  f.detail = who + fmt::format("; {} of {} warps have ended", block.warps.size() - block.live, block.warps.size());
  return f;
}

void Grid::work() {
  if (settings_.checks.memory) return work_on();
  auto wild = stopped_by_wild_store(program_.memory().space(), [this] { work_on(); });
  if (!wild) return;
  Fault f;
  f.kind = FaultKind::kOutOfBounds;
  f.access = Access::kStore;
  f.kernel = f.function = compiled_.function->name;
  f.module = program_.module().name;
  f.space = ptx::Space::kGlobal;
  f.address = *wild;
  f.memory = neighbourhood(program_.memory(), *wild);
  f.detail = "checks are off; with them the report says where";
  keep(std::move(f));
}

void Grid::work_on() {
  if (compiled_.waits) return work_waiting();
  auto block = make_block(false);
  if (!block) return problem(block.error());
  if (compiled_.blocks) {
    work_simple((*block)->warps[0].warp);
  } else {
    uint64_t first, last;
    while (next(first, last, 1)) {
      start(**block, first);
      run_block(**block);
    }
  }
  forget(**block);
}

void Grid::interrupt(FaultKind kind) {
  Fault f;
  f.kind = kind;
  f.kernel = compiled_.function->name;
  f.module = program_.module().name;
  keep(std::move(f));
}

Result<std::optional<Fault>> Grid::run() {
  auto count = static_cast<size_t>(std::min<uint64_t>(static_cast<uint64_t>(threads_of(settings_)), blocks_));
  std::vector<std::jthread> others;
  for (size_t i = 1; i < count; ++i) others.emplace_back([this] { work(); });
  work();
  others.clear();
  if (!problems_.empty()) return fail(problems_);
  return fault_;
}

int64_t Grid::warp_instructions() const {
  int64_t out = 0;
  for (const auto& c : counters_) {
    for (size_t b = 0; b < compiled_.block_instructions.size(); ++b) {
      out += static_cast<int64_t>((*c)[b]) * compiled_.block_instructions[b];
    }
  }
  return out;
}

}  // namespace quern::vgpu
