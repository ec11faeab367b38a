// Memory and addresses apart: a program reserves a range of addresses, makes pieces of memory, maps pieces into ranges
// and says who may access them. A piece is a file in memory, so it can be mapped at several places, and by several
// processes. What isn't mapped, or nobody may access, is out of bounds for kernels. All of it counts as written: who
// wrote a piece at another place isn't known here.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "cuda/abi/driver_types.h"
#include "cuda/abi/error.h"

namespace quern::cuda {

inline constexpr uint64_t kGranularity = 2 << 20;
inline constexpr int kFileHandle = 1;  // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

class VirtualMemory {
 public:
  static VirtualMemory& get();

  // Whoever calls any of this holds the process's lock, and no work uses what is taken away.
  Error reserve(uint64_t bytes, uint64_t align, uint64_t& address);
  Error free(uint64_t address, uint64_t bytes);  // with nothing mapped there
  Error make(uint64_t bytes, const PhysicalProps& props, uint64_t& handle);
  Error release(uint64_t handle);  // it stays as long as it is mapped
  Error retain(uint64_t address, uint64_t& handle);
  Error map(uint64_t address, uint64_t bytes, uint64_t offset, uint64_t handle);
  Error unmap(uint64_t address, uint64_t bytes);  // whole mappings
  Error set_access(uint64_t address, uint64_t bytes, const AccessDesc* access, size_t count);
  Error access(uint64_t address, const Location& location, unsigned long long& flags) const;
  Error properties(uint64_t handle, PhysicalProps& out) const;
  Error export_file(uint64_t handle, int& out) const;
  Error import_file(int file, int device, uint64_t& handle);

 private:
  // A piece of memory.
  struct Piece {
    int file = -1;
    uint64_t bytes = 0;
    PhysicalProps props{};
    bool own = true;  // the device's; else another process's
    ~Piece();
  };
  struct Handle {
    std::shared_ptr<Piece> piece;
    int count = 1;
  };
  struct Mapping {
    uint64_t bytes = 0;
    std::shared_ptr<Piece> piece;
    std::map<std::pair<int, int>, int> access;  // by where from; flags
    int flags() const;                          // all of them
  };
  using Mappings = std::map<uint64_t, Mapping>;

  const std::pair<const uint64_t, uint64_t>* range_of(uint64_t address, uint64_t bytes) const;
  // The mappings that a range consists of, from the first to behind the last; nothing where it isn't whole ones.
  std::optional<std::pair<Mappings::iterator, Mappings::iterator>> whole(uint64_t address, uint64_t bytes);
  uint64_t add(std::shared_ptr<Piece> piece);
  void describe(uint64_t first, uint64_t bytes) const;

  std::map<uint64_t, uint64_t> ranges_;  // bytes, by address
  Mappings mappings_;
  std::map<uint64_t, Handle> handles_;
  uint64_t next_ = 1;
};

}  // namespace quern::cuda
