// Which images, kernels and variables the program has registered, found by the addresses that its host code uses.
// Constructors of the program call this before main(), so it needs nothing of Process.
#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cuda/runtime/image.h"

namespace quern::cuda {

class Registry {
 public:
  static Registry& get();

  // A wrapper as nvcc puts it into .nvFatBinSegment. Null where it is none.
  Image* add_wrapper(const void* wrapper);
  Image* add(std::unique_ptr<Image> image);
  void remove(Image* image);

  void add_kernel(Image& image, const void* stub, const char* name);
  void add_variable(Image& image, Variable variable);

  // By the host's address, or by a handle; null: unknown.
  Kernel* kernel(const void* symbol);
  Variable* variable(const void* symbol);
  Image* image(const void* handle);
  const std::vector<std::unique_ptr<Image>>& images() const { return images_; }
  // Handles of kernels that were looked up by name.
  void add_handle(Kernel* kernel) { handles_.insert(kernel); }

 private:
  std::vector<std::unique_ptr<Image>> images_;
  std::unordered_map<const void*, Kernel*> kernels_;
  std::unordered_set<const void*> handles_;
  std::unordered_map<const void*, Variable*> variables_;
};

}  // namespace quern::cuda
