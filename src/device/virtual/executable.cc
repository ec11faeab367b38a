#include "device/virtual/executable.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "artifact/cache.h"
#include "device/virtual/watch.h"
#include "jit/jit.h"
#include "jit/kernel_abi.h"
#include "ptx/parse.h"
#include "vgpu/launch.h"
#include "vgpu/memory.h"
#include "vgpu/program.h"

namespace quern::device::virtual_gpu {
namespace {

using artifact::Role;

constexpr uint32_t kThreads = 128;     // a block's, as target/nvptx emits them
constexpr int64_t kBlocksPerUnit = 2;  // enough to fill a multiprocessor while one waits
// Bytes of near memory outside of shared memory, of all blocks together, but for a block that needs more by itself.
constexpr int64_t kMostScratch = int64_t{1} << 30;

// One kernel: its code, and the functions that tell its sizes.
struct Ready {
  std::shared_ptr<vgpu::Program> program;
  std::shared_ptr<const jit::MachineCode> host;
  jit::KernelSize points = nullptr, arena = nullptr;
};

std::unexpected<Diagnostics> bug(std::string what) {
  return fail(diagnose(Code::B001, {}, {{"what", std::move(what)}}));
}

// Device memory of one run; released with it.
class Buffers {
 public:
  explicit Buffers(vgpu::Memory& memory) : memory_(memory) {}
  ~Buffers() {
    for (uint64_t address : all_) memory_.release(address);
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  Result<uint64_t> allocate(int64_t bytes, const std::string& name) {
    auto address = memory_.allocate(bytes, 256, vgpu::Holds::kGlobal, name);
    if (address) all_.push_back(*address);
    return address;
  }
  // With the bytes of `from`, or zeros.
  Result<uint64_t> filled(int64_t bytes, const void* from, int64_t given, const std::string& name) {
    auto address = allocate(bytes, name);
    if (!address || bytes == 0) return address;
    if (given > 0) std::memcpy(reinterpret_cast<void*>(*address), from, static_cast<size_t>(given));
    memory_.mark_written(*address, bytes);
    return address;
  }

 private:
  vgpu::Memory& memory_;
  std::vector<uint64_t> all_;
};

class VirtualExecutable : public Executable {
 public:
  VirtualExecutable(std::shared_ptr<const artifact::Artifact> artifact, const chip::Chip& chip,
                    std::shared_ptr<vgpu::Memory> memory, std::vector<Ready> kernels)
      : artifact_(std::move(artifact)), chip_(chip), memory_(std::move(memory)), kernels_(std::move(kernels)) {}

  const artifact::Artifact& artifact() const override { return *artifact_; }

  Result<Ran> run(const Call& call) const override {
    if (call.dims.size() != artifact_->dims.size()) return bug("a call that doesn't fit " + artifact_->name);
    Buffers buffers(*memory_);
    auto places = bind(call, buffers);
    if (!places) return fail(std::move(places.error()));
    int64_t sites = static_cast<int64_t>(artifact_->sites.size());
    std::vector<jit::Found> none(artifact_->sites.size());
    auto bytes = sites * static_cast<int64_t>(sizeof(jit::Found));
    Ran ran;
    Watch watch(call.progress, static_cast<int64_t>(kernels_.size()));
    for (size_t k = 0; k < kernels_.size() && !watch.stopped(); ++k) {
      auto report = buffers.filled(bytes, none.data(), bytes, "report");
      if (!report) return fail(std::move(report.error()));
      if (auto done = launch(k, call, *places, *report, buffers, watch); !done) return fail(std::move(done.error()));
      if (!watch.stopped()) collect(k, *report, ran);
    }
    ran.stopped = watch.stopped();
    if (!ran.stopped) give_back(call, *places);
    std::ranges::sort(ran.faults, {}, &artifact::Fault::site);
    return ran;
  }

 private:
  // Where a parameter is on the device, and how long it is.
  struct Place {
    uint64_t address = 0;
    int64_t bytes = 0;
  };

  Result<std::vector<Place>> bind(const Call& call, Buffers& buffers) const {
    std::vector<Place> out;
    size_t given = 0;
    for (const artifact::Parameter& p : artifact_->parameters) {
      auto bytes = artifact::bytes_of(p.shape, p.type, call.dims);
      if (!bytes) return fail(diagnose(Code::E710, {}, {{"e", fmt::format("{} of {}", p.name, artifact_->name)}}));
      const void* from = nullptr;
      if (p.role == Role::kConst) {
        from = p.bytes.data();
      } else if (p.role != Role::kTmp) {
        if (given == call.arguments.size()) return bug("a missing argument of " + artifact_->name);
        from = call.arguments[given++];
      }
      bool has_value = p.role == Role::kIn || p.role == Role::kInout || p.role == Role::kConst;
      // Elements of less than a word are written by reading the word around them.
      bool words = row(p.type).bits < 8;
      int64_t room = words ? (*bytes + 3) / 4 * 4 : *bytes;
      // Code may read one byte of a tensor without elements.
      if (room == 0) room = 8, words = true;
      auto address = has_value || words || p.zeroed ? buffers.filled(room, from, has_value ? *bytes : 0, p.name)
                                                    : buffers.allocate(room, p.name);
      if (!address) return fail(std::move(address.error()));
      out.push_back({*address, *bytes});
    }
    if (given != call.arguments.size()) return bug("an argument too many for " + artifact_->name);
    return out;
  }

  Result<void> launch(size_t k, const Call& call, const std::vector<Place>& places, uint64_t report, Buffers& buffers,
                      Watch& watch) const {
    const Ready& ready = kernels_[k];
    const artifact::MachineKernel& about = artifact_->kernels[k];
    std::vector<void*> parameters;
    for (const Place& p : places) parameters.push_back(reinterpret_cast<void*>(p.address));
    int64_t points = ready.points(parameters.data(), call.dims.data());
    int64_t arena = ready.arena(parameters.data(), call.dims.data());
    if (points < 0 || arena < 0) return bug("a negative size of " + about.entry);
    if (points == 0) return {};
    int64_t blocks = std::min(points, kBlocksPerUnit * static_cast<int64_t>(chip_.units.value));
    if (about.meets && call.deterministic) blocks = 1;
    uint64_t scratch = 0;
    if (about.shared_bytes == 0 && arena > 0) {
      blocks = std::clamp(kMostScratch / arena, int64_t{1}, blocks);
      auto memory = buffers.allocate(arena * blocks, "working memory");
      if (!memory) return fail(std::move(memory.error()));
      scratch = *memory;
    }
    vgpu::Launch launch;
    launch.grid[0] = static_cast<uint32_t>(blocks);
    launch.block[0] = kThreads;
    launch.shared_bytes = about.shared_bytes;
    std::vector<uint64_t> arguments;
    for (const Place& p : places) arguments.push_back(p.address);
    for (int32_t dim : about.open_dims)
      arguments.push_back(std::bit_cast<uint64_t>(call.dims[static_cast<size_t>(dim)]));
    arguments.insert(arguments.end(), {report, scratch, static_cast<uint64_t>(arena), static_cast<uint64_t>(points)});
    launch.arguments.resize(arguments.size() * sizeof(uint64_t));
    std::memcpy(launch.arguments.data(), arguments.data(), launch.arguments.size());
    vgpu::Settings settings;
    settings.limits = vgpu::limits_of(chip_);
    settings.threads = call.threads;
    settings.stop = &watch.stop();
    settings.cache_folder = artifact::Cache::default_folder();
    auto ran = vgpu::run(*ready.program, about.entry, launch, settings);
    if (!ran) return fail(std::move(ran.error()));
    if (ran->fault && !watch.stopped()) return bug("on the virtual GPU:\n" + vgpu::render(*ran->fault));
    watch.done();
    return {};
  }

  // The first fault of each site, unless an earlier kernel has one.
  void collect(size_t kernel, uint64_t report, Ran& ran) const {
    for (size_t s = 0; s < artifact_->sites.size(); ++s) {
      jit::Found found;
      std::memcpy(&found, reinterpret_cast<const void*>(report + s * sizeof found), sizeof found);
      auto site = static_cast<int32_t>(s);
      if (found.point == INT64_MAX || std::ranges::find(ran.faults, site, &artifact::Fault::site) != ran.faults.end())
        continue;
      artifact::Fault fault{.site = site,
                            .kernel = static_cast<int32_t>(kernel),
                            .point = found.point,
                            .subscript = found.subscript,
                            .value = found.value,
                            .extent = found.extent};
      for (uint64_t known = found.known; known != 0; known &= known - 1) {
        int axis = std::countr_zero(known);
        fault.indices.emplace_back(axis, found.axes[axis]);
      }
      ran.faults.push_back(std::move(fault));
    }
  }

  void give_back(const Call& call, const std::vector<Place>& places) const {
    size_t given = 0;
    for (size_t i = 0; i < places.size(); ++i) {
      const artifact::Parameter& p = artifact_->parameters[i];
      if (p.role == Role::kConst || p.role == Role::kTmp) continue;
      void* to = call.arguments[given++];
      if (p.role == Role::kIn || places[i].bytes == 0) continue;
      std::memcpy(to, reinterpret_cast<const void*>(places[i].address), static_cast<size_t>(places[i].bytes));
    }
  }

  std::shared_ptr<const artifact::Artifact> artifact_;
  const chip::Chip& chip_;
  std::shared_ptr<vgpu::Memory> memory_;
  std::vector<Ready> kernels_;
};

Result<Ready> ready(const artifact::MachineKernel& k, const std::shared_ptr<vgpu::Memory>& memory) {
  Ready out;
  auto module = ptx::parse(k.object, k.entry);
  if (!module) return fail(std::move(module.error()));
  auto program = vgpu::Program::load(memory, *std::move(module));
  if (!program) return fail(std::move(program.error()));
  out.program = *std::move(program);
  auto host = jit::load(k.host);
  if (!host) return fail(std::move(host.error()));
  out.host = *std::move(host);
  out.points = reinterpret_cast<jit::KernelSize>(out.host->entry(k.entry + "_points"));
  out.arena = reinterpret_cast<jit::KernelSize>(out.host->entry(k.entry + "_arena"));
  if (!out.points || !out.arena) return bug("code without " + k.entry);
  return out;
}

}  // namespace

Result<std::shared_ptr<const Executable>> load(std::shared_ptr<const artifact::Artifact> artifact,
                                               const chip::Chip& chip) {
  if (artifact->kind != artifact::Kind::kPtx) return bug("no PTX in " + artifact->name);
  auto memory = vgpu::Memory::create();
  if (!memory) return fail(std::move(memory.error()));
  std::vector<Ready> kernels;
  for (const artifact::MachineKernel& k : artifact->kernels) {
    auto one = ready(k, *memory);
    if (!one) return fail(std::move(one.error()));
    kernels.push_back(*std::move(one));
  }
  return std::make_shared<VirtualExecutable>(std::move(artifact), chip, *std::move(memory), std::move(kernels));
}

}  // namespace quern::device::virtual_gpu
