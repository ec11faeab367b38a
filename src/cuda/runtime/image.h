// The code that a program brings: one image for each fatbin that it registers or loads, with its kernels and variables.
// Nothing of an image is unpacked or parsed before something of it is needed.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cuda/abi/types.h"
#include "vgpu/program.h"

namespace quern::cuda {

class Image;

// A kernel as host code knows it: by the address of a function of its own, or by a handle (cudaKernel_t, CUfunction),
// which is this object's address.
struct Kernel {
  Image* image = nullptr;
  std::string name;            // in PTX
  const void* stub = nullptr;  // the host function that stands for it; null for those that were looked up by name
  int64_t max_dynamic_shared = 48 << 10;  // raised by cudaFuncSetAttribute
  int carveout = -1;
  int cluster[3] = {0, 0, 0};  // required, if not 0
  bool non_portable_cluster = false;
  std::set<std::array<uint32_t, 4>> ready;  // devices and blocks that there is code for
};

struct Variable {
  Image* image = nullptr;
  std::string name;
  int64_t bytes = 0;
  bool constant = false;
  const void* shadow = nullptr;      // the host's variable of that name
  void** managed_pointer = nullptr;  // where host code looks for the address of a managed one
};

class Image {
 public:
  // Containers in memory that stays: of one translation unit, or of several that are to be linked.
  Image(std::vector<const void*> containers, std::string what)
      : containers_(std::move(containers)), what_(std::move(what)) {}
  // PTX as text, or the bytes of one container, copied.
  Image(std::string bytes, std::string what) : bytes_(std::move(bytes)), what_(std::move(what)) {}

  // The program of a device, loaded when it is first asked for. Errors: of fatbins (E970 to E973), of PTX, of memory.
  Result<std::shared_ptr<vgpu::Program>> program(int device);
  // Forgets what was loaded for the device: its variables start anew when they are next needed.
  void unload(int device) { programs_.erase(device); }

  const std::string& what() const { return what_; }
  // The kernel of that name, made when first asked for; null if the program has none.
  Kernel* kernel(const std::string& name, int device);
  Kernel* add_kernel(const void* stub, std::string name);

  std::deque<Kernel> kernels;
  std::deque<Variable> variables;

 private:
  // The PTX of each container, as it was compiled or unpacked.
  Result<std::vector<std::string>> texts() const;
  // Managed variables are found through pointers of the host.
  void publish_managed(vgpu::Program& program);

  std::vector<const void*> containers_;
  std::string bytes_;
  std::string what_;
  std::map<int, std::shared_ptr<vgpu::Program>> programs_;
};

// Bytes from an address to the end of the mapped file that contains it; 0 where none does. What a container says of its
// own size is held against this.
size_t mapped_bytes(const void* address);

}  // namespace quern::cuda
