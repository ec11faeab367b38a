// A compiled kernel of the notation: what a target makes and a device runs, without pointers, so that it can lie in a
// file.
//
// A kernel of the notation becomes one machine kernel or several, run in order; each sees all writes of the ones before
// it. All take the same arguments (the ABI of compiled CPU code, C calling convention):
//
//   void entry(void* const* parameters, const int64_t* dims, int64_t begin, int64_t end, void* arena, void* report)
//
//   parameters  one address for each of Artifact::parameters, in order; 64-byte aligned where Quern allocated it,
//               aligned to its element otherwise; a scalar's address too. Memory is row-major without gaps
//   dims        the sizes of Artifact::dims, in order
//   begin, end  the points [begin, end) of the kernel's flattened grid [0, total) to compute. Points are independent,
//   and
//               what a point gives does not depend on where the range is cut: any split gives the same bits
//   arena       MachineKernel::arena_bytes bytes, 64-byte aligned, this thread's own, of any content
//   report      one SiteRecord for each of Artifact::sites, this thread's own; null if there are no sites
//
// It neither throws nor unwinds, calls nothing but libm, and leaves the floating-point environment as it is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "artifact/size.h"
#include "base/scalar_type.h"

namespace quern::artifact {

using Entry = void (*)(void* const* parameters, const int64_t* dims, int64_t begin, int64_t end, void* arena,
                       void* report);

enum class Kind : uint8_t { kX86Object };  // an ELF object for x86-64, not yet linked

enum class Role : uint8_t { kIn, kOut, kInout, kTmp, kConst };

struct Parameter {
  std::string name;
  Role role = Role::kIn;
  ScalarType type = ScalarType::f32;
  std::vector<Size> shape;  // row-major; empty: one element
  bool zeroed = false;      // kTmp: starts as zeros
  std::string bytes;        // kConst: what it holds
  bool operator==(const Parameter&) const = default;
};

// Bytes [begin, end) of the text `source` of the program that was compiled (expr::Program::sources); -1: nowhere.
struct Place {
  int32_t source = -1;
  uint32_t begin = 0, end = 0;
  bool operator==(const Place&) const = default;
};

// Where data may be at fault: an access whose subscripts are tested.
struct Site {
  std::string code = "E801";         // E801, E802 or E803
  std::string tensor;                // its name in the notation
  std::string subscript;             // as written
  std::vector<std::string> indices;  // names of the indices whose values a record tells
  Place place;
  bool operator==(const Site&) const = default;
};

inline constexpr int64_t kNoPoint = INT64_MAX;
inline constexpr int kRecordedIndices = 12;

// What an access that failed leaves: a record is written only where its grid point is below `point`, so that the first
// failure of the smallest grid point stays.
struct SiteRecord {
  int64_t point = kNoPoint;                // grid point; kNoPoint: nothing failed here
  int64_t value = 0;                       // of the subscript
  int64_t size = 0;                        // of the dimension
  int64_t subscript = 0;                   // which one of the access
  int64_t indices[kRecordedIndices] = {};  // values of Site::indices
};
static_assert(sizeof(SiteRecord) == 128);

struct MachineKernel {
  std::string entry;  // the function's name
  Size points;        // of the flattened grid
  Size arena_bytes;   // of each thread
  // Reals meet in `+=` from several grid points: in one thread, in order, the result is the same in every run.
  bool meets = false;
  // About how many clock cycles a point takes, so that small work stays in one thread; 0: not known.
  int64_t point_cycles = 0;
  bool operator==(const MachineKernel&) const = default;
};

// What is worth saying about how a kernel was compiled; kept, so that a cached one says it too.
struct Remark {
  std::string code;
  std::string message;
  std::string remedy;
  Place place;
  bool operator==(const Remark&) const = default;
};

struct Artifact {
  Kind kind = Kind::kX86Object;
  std::string name;               // of the kernel in the notation
  std::string object;             // machine code
  std::vector<std::string> dims;  // names; their sizes are given at launch
  std::vector<Parameter> parameters;
  std::vector<MachineKernel> kernels;  // in order
  std::vector<Site> sites;
  std::vector<Remark> remarks;
  std::string schedule;  // as text: what was chosen
  bool operator==(const Artifact&) const = default;
};

}  // namespace quern::artifact
