// The memory of the virtual GPU: one reserved range of this process's addresses, so that a device pointer is a number
// that means the same on both sides, and a shadow of it that says of each byte whether it may be accessed and whether
// it was written.
//
// The whole range may be read by this process at any time (what nobody allocated reads as zeros), so compiled kernels
// load first and look at the shadow beside it. It may be written only where something is allocated. Addresses are not
// given out again after a release, until all have been: that makes a use after free visible for sure. What launches
// take for themselves grows down from the end of the range, so that the program's own allocations lie and are numbered
// the same whenever its kernels run.
//
// Shadow: a byte for each aligned word of four bytes; bit i: byte i of the word holds a value; bit 4 + i: byte i may be
// written. A load needs the low bits of its bytes, a store the high ones. Constants have only the low bits. Fresh
// memory has only the high ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace quern::vgpu {

// What compiled kernels know at compile time. The guards are as long as any 32-bit index times 16 bytes can reach.
struct AddressSpace {
  uint64_t first = 0;        // of the range
  uint64_t bytes = 0;        // without the guards; a power of two
  uint64_t guard = 0;        // readable addresses before and after, never allocated
  uint64_t shadow_bias = 0;  // the shadow of address a is at (a >> 2) + shadow_bias
  bool operator==(const AddressSpace&) const = default;
};

inline constexpr uint8_t kHasValue = 0x0f;
inline constexpr uint8_t kWritable = 0xf0;

enum class Holds : uint8_t {
  kGlobal,     // cudaMalloc and its kind
  kVariable,   // a __device__ variable
  kConstant,   // a __constant__ variable, read-only for kernels
  kParameter,  // arguments of a launch
  kArguments,  // those of a child, which its parent writes
  kShared,     // of a block
  kLocal,      // of a thread
  kHeap,       // malloc in a kernel
  kHost,       // pinned, mapped or managed: the host reads and writes it too, so all of it has a value
};

struct Allocation {
  uint64_t address = 0;
  int64_t bytes = 0;
  Holds holds = Holds::kGlobal;
  int device = 0;
  std::string name;     // of a variable; else who allocated it: "cudaMalloc"; may be empty
  uint64_t number = 0;  // counts allocations of this memory from 1
  bool released = false;
};

class Memory {
 public:
  // E950 where the addresses can't be had.
  static Result<std::shared_ptr<Memory>> create();
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  const AddressSpace& space() const { return space_; }

  // Zeroed pages, which count as not yet written unless `holds` says otherwise. `align`: a power of two; at least 256
  // is used for kGlobal and kHost, as CUDA promises. Zero bytes give an address that nothing may access. E951 where
  // there is no memory left. `reach`: nothing else is ever placed within so many bytes before and after its start.
  Result<uint64_t> allocate(int64_t bytes, int64_t align, Holds holds, std::string name = {}, int device = 0,
                            int64_t reach = 0);
  // False where no living allocation starts there.
  bool release(uint64_t address);
  // Gives what was released there to the same owner again, without values; true also where it wasn't.
  bool revive(uint64_t address);

  // Addresses where nothing is, until it is laid out there: for what several processes, or several places, share.
  Result<uint64_t> reserve(int64_t bytes, int64_t align);
  // Pages of a file become those of a range, or its own ones again. Whole pages; false: the system refuses.
  bool map(uint64_t address, int64_t bytes, int file, int64_t offset, bool writable);
  bool unmap(uint64_t address, int64_t bytes);
  // What lies in a reserved range from now on, with values, in place of what lay there.
  void lay_out(uint64_t first, int64_t bytes, std::vector<Allocation> parts);
  // Memory of a device that is taken, or given back, without an address.
  void charge(int device, int64_t bytes);

  // The allocation, living or released, that contains the address; null if none does. The copy stays as it is.
  std::shared_ptr<const Allocation> find(uint64_t address) const;
  // Whether [address, address + bytes) lies within one living allocation.
  bool contains(uint64_t address, int64_t bytes) const;
  // The living or released allocations next to an address in which nothing lies: before it, after it; may be null.
  std::pair<std::shared_ptr<const Allocation>, std::shared_ptr<const Allocation>> around(uint64_t address) const;

  // Host-side accesses mark and ask. All take a range inside one allocation.
  void mark_written(uint64_t address, int64_t bytes);
  void mark_unwritten(uint64_t address, int64_t bytes);
  // The first byte in the range that holds no value; address + bytes if all do.
  uint64_t first_unwritten(uint64_t address, int64_t bytes) const;
  // What was written in the one is written in the other: for copies between device addresses.
  void copy_shadow(uint64_t to, uint64_t from, int64_t bytes);

  // Bytes in living allocations of kGlobal, kHeap and kHost of a device.
  int64_t used(int device = 0) const;

 private:
  Memory() = default;
  uint8_t* shadow(uint64_t address) const;
  void set(uint64_t address, int64_t bytes, uint8_t and_bits, uint8_t or_bits);
  bool commit(uint64_t first, uint64_t last);
  std::optional<uint64_t> from_start(uint64_t size, uint64_t align);
  std::optional<uint64_t> from_end(uint64_t size, uint64_t align, uint64_t reach);
  std::optional<uint64_t> reused(int64_t bytes, Holds holds);

  AddressSpace space_;
  mutable std::mutex mutex_;
  std::map<uint64_t, std::shared_ptr<const Allocation>> all_;  // by address, released ones too
  struct Slab {
    uint64_t next = 0, end = 0;  // small ones
  };
  Slab slab_, launch_slab_;
  uint64_t fresh_ = 0;      // no page from here on was used, up to
  uint64_t fresh_end_ = 0;  // here, what comes before it reached
  uint64_t last_ = 0;       // where what lies behind that starts
  uint64_t count_ = 0, launch_count_ = 0;
  // Memory of launches that ended, by what it held and its size: launches come by the thousand.
  std::multimap<std::pair<Holds, int64_t>, uint64_t> spare_;
  std::map<int, int64_t> used_;
};

}  // namespace quern::vgpu
