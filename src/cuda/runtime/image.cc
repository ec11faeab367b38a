#include "cuda/runtime/image.h"

#include <link.h>

#include <algorithm>
#include <cstring>

#include "cuda/runtime/process.h"
#include "cuda/runtime/registry.h"
#include "fatbin/choose.h"
#include "fatbin/device_runtime.h"
#include "ptx/link.h"
#include "ptx/parse.h"

namespace quern::cuda {
namespace {

// The handle of a graph's condition is the address of its word.
constexpr const char* kSetConditionName = "cudaGraphSetConditional";
constexpr const char* kSetCondition = R"(.version 7.0
.target sm_50
.address_size 64
.visible .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value)
{
  .reg .b32 %r;
  .reg .b64 %d;
  ld.param.u64 %d, [handle];
  ld.param.u32 %r, [value];
  st.global.u32 [%d], %r;
  ret;
}
)";

struct Mapped {
  uintptr_t address;
  size_t bytes;
};

int find_segment(dl_phdr_info* info, size_t, void* data) {
  auto* wanted = static_cast<Mapped*>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    uintptr_t first = info->dlpi_addr + segment.p_vaddr;
    if (wanted->address < first || wanted->address - first >= segment.p_memsz) continue;
    wanted->bytes = segment.p_memsz - (wanted->address - first);
    return 1;
  }
  return 0;
}

bool is_container(const std::string& bytes) {
  return bytes.size() >= fatbin::kContainerHeader &&
         fatbin::container_size(std::as_bytes(std::span(bytes)), "").has_value();
}

}  // namespace

size_t mapped_bytes(const void* address) {
  Mapped wanted{reinterpret_cast<uintptr_t>(address), 0};
  ::dl_iterate_phdr(find_segment, &wanted);
  return wanted.bytes;
}

Result<std::vector<std::string>> Image::texts() const {
  const chip::Chip& chip = *Process::get().config.chip;
  fatbin::ChipName name{chip.name, static_cast<int>(chip.gpu.compute_capability.value)};
  std::vector<std::string> out;
  if (containers_.empty() && !is_container(bytes_)) {
    if (bytes_.starts_with("\x7f"
                           "ELF")) {
      return fail(diagnose(Code::E971, {}, {{"what", what_}, {"have", "a cubin"}}));
    }
    return std::vector{bytes_.substr(0, bytes_.find('\0'))};
  }
  std::vector<std::span<const std::byte>> all;
  for (const void* at : containers_) all.emplace_back(static_cast<const std::byte*>(at), mapped_bytes(at));
  if (containers_.empty()) all.push_back(std::as_bytes(std::span(bytes_)));
  for (std::span<const std::byte> bytes : all) {
    auto entries = fatbin::read_container(bytes, what_);
    if (!entries) return fail(std::move(entries.error()));
    if (containers_.size() > 1 && fatbin::is_device_runtime(*entries)) continue;
    auto best = fatbin::choose(*entries, name, what_);
    if (!best) return fail(std::move(best.error()));
    if (!*best) continue;
    auto text = fatbin::unpack(**best, what_);
    if (!text) return fail(std::move(text.error()));
    out.push_back(*std::move(text));
  }
  return out;
}

Result<std::shared_ptr<vgpu::Program>> Image::program(int device) {
  if (auto found = programs_.find(device); found != programs_.end()) return found->second;
  auto texts = this->texts();
  if (!texts) return fail(std::move(texts.error()));
  std::vector<ptx::Module> modules;
  for (size_t i = 0; i < texts->size(); ++i) {
    std::string name = texts->size() == 1 ? what_ : what_ + ", part " + std::to_string(i + 1);
    auto module = ptx::parse((*texts)[i], name);
    if (!module) return fail(std::move(module.error()));
    modules.push_back(*std::move(module));
  }
  bool sets_conditions = std::ranges::any_of(modules, [](const ptx::Module& m) {
    return std::ranges::any_of(m.functions, [](const ptx::Function& f) { return f.name == kSetConditionName; });
  });
  if (sets_conditions) {
    auto module = ptx::parse(kSetCondition, kSetConditionName);
    if (!module) return fail(std::move(module.error()));
    modules.push_back(*std::move(module));
  }
  auto linked = ptx::link(std::move(modules));
  if (!linked) return fail(std::move(linked.error()));
  auto program = vgpu::Program::load(Process::get().memory, *std::move(linked), device);
  if (!program) return fail(std::move(program.error()));
  programs_[device] = *program;
  publish_managed(**program);
  return *program;
}

void Image::publish_managed(vgpu::Program& program) {
  for (Variable& v : variables) {
    if (!v.managed_pointer) continue;
    auto placed = program.variable(v.name);
    if (!placed) continue;
    *v.managed_pointer = reinterpret_cast<void*>(placed->address);
    Process::get().memory->mark_written(placed->address, placed->bytes);
  }
}

Kernel* Image::kernel(const std::string& name, int device) {
  for (Kernel& k : kernels) {
    if (k.name == name) return &k;
  }
  auto loaded = program(device);
  if (!loaded || !(*loaded)->kernel(name)) return nullptr;
  Kernel* made = add_kernel(nullptr, name);
  Registry::get().add_handle(made);
  return made;
}

Kernel* Image::add_kernel(const void* stub, std::string name) {
  Kernel k;
  k.image = this;
  k.name = std::move(name);
  k.stub = stub;
  kernels.push_back(std::move(k));
  return &kernels.back();
}

}  // namespace quern::cuda
