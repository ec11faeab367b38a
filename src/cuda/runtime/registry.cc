#include "cuda/runtime/registry.h"

#include <algorithm>
#include <cstring>

namespace quern::cuda {
namespace {

constexpr uint32_t kWrapperMagic = 0x466243b1;

// What .nvFatBinSegment holds, one for each translation unit.
struct Wrapper {
  uint32_t magic;
  uint32_t version;  // 1: `fatbin` is all; 2: code that is to be linked, a list that ends with a null
  const void* fatbin;
  const void* const* list;
};

}  // namespace

Registry& Registry::get() {
  static Registry& only = *new Registry;
  return only;
}

Image* Registry::add_wrapper(const void* address) {
  Wrapper wrapper;
  std::memcpy(&wrapper, address, sizeof wrapper);
  if (wrapper.magic != kWrapperMagic || wrapper.version < 1 || wrapper.version > 2) return nullptr;
  std::vector<const void*> containers;
  if (wrapper.version == 2 && wrapper.list) {
    for (const void* const* at = wrapper.list; *at; ++at) containers.push_back(*at);
  }
  // Linked machine code is all that the wrapper's own container holds when there is a list.
  if (containers.empty()) containers.push_back(wrapper.fatbin);
  return add(std::make_unique<Image>(std::move(containers), "the program"));
}

Image* Registry::add(std::unique_ptr<Image> image) {
  images_.push_back(std::move(image));
  return images_.back().get();
}

void Registry::remove(Image* image) {
  std::erase_if(kernels_, [&](const auto& e) { return e.second->image == image; });
  std::erase_if(variables_, [&](const auto& e) { return e.second->image == image; });
  for (Kernel& k : image->kernels) handles_.erase(&k);
  std::erase_if(images_, [&](const auto& one) { return one.get() == image; });
}

void Registry::add_kernel(Image& image, const void* stub, const char* name) {
  Kernel* kernel = image.add_kernel(stub, name);
  kernels_[stub] = kernel;
  handles_.insert(kernel);
}

void Registry::add_variable(Image& image, Variable variable) {
  variable.image = &image;
  image.variables.push_back(std::move(variable));
  variables_[image.variables.back().shadow] = &image.variables.back();
}

Kernel* Registry::kernel(const void* symbol) {
  if (auto found = kernels_.find(symbol); found != kernels_.end()) return found->second;
  if (handles_.contains(symbol)) return const_cast<Kernel*>(static_cast<const Kernel*>(symbol));
  return nullptr;
}

Variable* Registry::variable(const void* symbol) {
  auto found = variables_.find(symbol);
  return found == variables_.end() ? nullptr : found->second;
}

Image* Registry::image(const void* handle) {
  auto found = std::ranges::find_if(images_, [&](const auto& one) { return one.get() == handle; });
  return found == images_.end() ? nullptr : found->get();
}

}  // namespace quern::cuda
