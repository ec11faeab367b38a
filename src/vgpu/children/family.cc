#include "vgpu/children/family.h"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <thread>

#include "vgpu/children/transfer.h"
#include "vgpu/service.h"

namespace quern::vgpu {
namespace {

using Outcome = Result<std::optional<Fault>>;

// What cooperative_groups finds through %envreg1 (high) and %envreg2: two words, the size of this and the count of
// those who came to the grid's barrier. A grid that isn't cooperative has none.
Result<uint64_t> make_workspace(Memory& memory) {
  constexpr uint32_t kWords[2] = {sizeof kWords, 0};
  auto at = memory.allocate(sizeof kWords, 64, Holds::kGlobal, "grid workspace");
  if (!at) return fail(at.error());
  std::memcpy(reinterpret_cast<void*>(*at), kWords, sizeof kWords);
  memory.mark_written(*at, sizeof kWords);
  return *at;
}

// Memory that goes back with its owner; 0: none.
struct Held {
  Memory& memory;
  uint64_t at = 0;
  ~Held() {
    if (at) memory.release(at);
  }
};

// Unless it has been told whose it is.
void add_launchers(Fault& fault, const Chain* up) {
  if (!fault.launched_by.empty()) return;
  for (; up; up = up->up) {
    Fault at = up->grid->located(FaultKind::kLaunch, up->place);
    Launcher l;
    l.kernel = at.kernel;
    // The toolkit's header, in which the call is, was inlined there.
    l.place = at.source.empty() ? fmt::format("{}:{}", at.module, at.ptx_line) : at.source.back();
    l.block = at.block, l.thread = at.thread;
    fault.launched_by.push_back(std::move(l));
  }
}

}  // namespace

Family::~Family() {
  for (const auto& [address, buffer] : buffers_) program_.memory().release(address);
  for (const auto& [text, address] : texts_) program_.memory().release(address);
}

Outcome Family::run(const ptx::Function& kernel, const Launch& launch) {
  std::jthread watchdog;
  if (settings_.timeout_s > 0 || settings_.stop) watchdog = std::jthread([this](std::stop_token t) { watch(t); });
  return run_grid(kernel, launch, 0, threads_of(settings_), nullptr);
}

Outcome Family::run_child(const Child& child, int depth, int threads, const Chain* up) {
  Outcome out =
      child.kernel ? run_grid(*child.kernel, child.launch, depth, threads, up) : run_transfer(child.transfer, *up);
  release();
  if (!out || *out) abandon();
  if (out && *out) add_launchers(**out, child.kernel ? up : up->up);
  return out;
}

Outcome Family::run_grid(const ptx::Function& kernel, const Launch& launch, int depth, int threads, const Chain* up) {
  Memory& memory = program_.memory();
  double seconds = 0;
  auto code =
      compiled(program_, kernel, class_of(launch.block[0], launch.block[1], launch.block[2]), settings_, &seconds);
  if (!code) return fail(code.error());
  if (auto d = beyond_limits(kernel, launch, settings_.limits, (*code)->shared_bytes)) return fail(std::move(*d));
  Held bank{memory}, workspace{memory};
  auto size = static_cast<int64_t>(launch.arguments.size());
  auto at = memory.allocate(std::max<int64_t>(size, 1), 64, Holds::kParameter, "arguments");
  if (!at) return fail(at.error());
  bank.at = *at;
  if (size) std::memcpy(reinterpret_cast<void*>(*at), launch.arguments.data(), launch.arguments.size());
  if (launch.cooperative) {
    auto made = make_workspace(memory);
    if (!made) return fail(made.error());
    workspace.at = *made;
  }
  Settings settings = settings_;
  settings.threads = threads;
  Children children(*this, depth, up);
  Grid grid(program_, **code, launch, settings, bank.at, workspace.at, children);
  Outcome out = run_alone(grid);
  {
    std::lock_guard lock(mutex_);
    compile_s_ += seconds;
    warp_instructions_ += grid.warp_instructions();
  }
  if (!out || *out) return out;
  return children.run_rest(grid, threads);
}

Outcome Family::run_alone(Grid& grid) {
  {
    std::lock_guard lock(mutex_);
    running_.insert(&grid);
    if (interrupted_) grid.interrupt(*interrupted_);
    if (abandoned_) grid.stop();
  }
  Outcome out = grid.run();
  std::lock_guard lock(mutex_);
  running_.erase(&grid);
  return out;
}

Outcome Family::run_transfer(const Transfer& transfer, const Chain& by) {
  auto wrong = do_transfer(program_.memory(), transfer);
  if (!wrong) return std::nullopt;
  Fault f = by.grid->located(wrong->kind, by.place);
  f.access = wrong->write ? Access::kStore : Access::kLoad;
  f.space = ptx::Space::kGlobal;
  f.bytes = wrong->bytes;
  f.address = wrong->address;
  f.memory = neighbourhood(program_.memory(), wrong->address);
  f.detail = fmt::format("{} in a kernel", name(transfer.what));
  return f;
}

void Family::abandon() {
  std::lock_guard lock(mutex_);
  abandoned_ = true;
  for (Grid* grid : running_) grid->stop();
}

void Family::watch(std::stop_token done) {
  auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(settings_.timeout_s);
  std::mutex m;
  std::condition_variable_any wake;
  std::unique_lock lock(m);
  while (!done.stop_requested()) {
    wake.wait_for(lock, done, std::chrono::milliseconds(20), [] { return false; });
    bool late = settings_.timeout_s > 0 && std::chrono::steady_clock::now() > until;
    bool asked = settings_.stop && *settings_.stop;
    if (done.stop_requested() || (!late && !asked)) continue;
    std::lock_guard family(mutex_);
    interrupted_ = late ? FaultKind::kTimeout : FaultKind::kStopped;
    for (Grid* grid : running_) grid->interrupt(*interrupted_);
    return;
  }
}

bool Family::reserve() {
  if (++pending_ <= settings_.limits.pending_launches) return true;
  --pending_;
  return false;
}

Result<uint64_t> Family::make_buffer(Buffer buffer) {
  auto at =
      program_.memory().allocate(std::max<int64_t>(buffer.bytes, 1), 64, Holds::kArguments, "a child's arguments");
  if (!at) return fail(at.error());
  std::lock_guard lock(mutex_);
  buffers_[*at] = std::move(buffer);
  return *at;
}

std::optional<Family::Buffer> Family::take_buffer(uint64_t address, const ptx::Function* kernel) {
  Buffer out;
  {
    std::lock_guard lock(mutex_);
    auto found = buffers_.find(address);
    if (found == buffers_.end() || (!found->second.kernel && !kernel)) return std::nullopt;
    out = std::move(found->second);
    buffers_.erase(found);
  }
  if (!out.kernel) out.kernel = kernel;
  out.launch.arguments.resize(static_cast<size_t>(out.bytes));
  if (out.bytes)
    std::memcpy(out.launch.arguments.data(), reinterpret_cast<const void*>(address), out.launch.arguments.size());
  program_.memory().release(address);
  return out;
}

Result<uint64_t> Family::text(const std::string& text) {
  std::lock_guard lock(mutex_);
  auto [at, fresh] = texts_.try_emplace(text, 0);
  if (!fresh) return at->second;
  auto bytes = static_cast<int64_t>(text.size()) + 1;
  auto made = program_.memory().allocate(bytes, 1, Holds::kConstant, "a text of the device runtime");
  if (!made) {
    texts_.erase(at);
    return fail(made.error());
  }
  std::memcpy(reinterpret_cast<void*>(*made), text.c_str(), static_cast<size_t>(bytes));
  program_.memory().mark_written(*made, bytes);
  return at->second = *made;
}

}  // namespace quern::vgpu
