// A compiled kernel of the notation: what a target makes and a device runs, without pointers, so that it can lie in a
// file.
//
// A kernel of the notation becomes one machine kernel or several, run in order; each sees all writes of the ones before
// it, and all take the same parameters. How code is called stands in jit/kernel_abi.h. What a device promises it:
// memory is row-major without gaps, 64-byte aligned where Quern allocated it and aligned to its element otherwise; the
// points of a grid are independent, and what a point gives does not depend on where ranges of points are cut, so that
// any split gives the same bits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "artifact/size.h"
#include "base/scalar_type.h"

namespace quern::artifact {

enum class Kind : uint8_t {
  kX86Object,  // an ELF object for x86-64, not yet linked
  kPtx,        // text; beside it an ELF object of the host's functions (target/nvptx/emit.h)
};

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
  std::string code = "E801";  // E801, E802 or E803
  std::string tensor;         // its name in the notation
  std::string subscript;      // as written
  Place place;
  // Of a range that data end: the end as written, and the dimension that its index, `subscript`, must not leave. What
  // is reported is the end: the first index, or one past the last.
  std::string end = {};
  bool last = false;
  int64_t limit = 0;
  bool operator==(const Site&) const = default;
};

struct MachineKernel {
  std::string entry;              // the function's name; those of its sizes follow from it
  std::string object;             // its machine code, an object file; or PTX
  std::vector<std::string> axes;  // names of the indices whose values a report tells
  // Reals meet in `+=` from several grid points: in one thread, in order, the result is the same in every run.
  bool meets = false;
  // About how many clock cycles a point takes, so that small work stays in one thread; 0: not known.
  int64_t point_cycles = 0;
  // Of kPtx:
  std::string host;                // an object file with the functions of its sizes
  int64_t shared_bytes = 0;        // dynamic, of a block; 0: near memory, if any, is in device memory
  std::vector<int32_t> open_dims;  // which of Artifact::dims the code takes as arguments
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
  std::vector<std::string> dims;  // names; their sizes are given at launch
  std::vector<Parameter> parameters;
  std::vector<MachineKernel> kernels;  // in order
  std::vector<Site> sites;
  std::vector<Remark> remarks;
  std::string schedule;  // as text: what was chosen
  bool operator==(const Artifact&) const = default;
};

}  // namespace quern::artifact
