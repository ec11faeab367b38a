// Runs a tile program of any stage on arrays: the slow truth of this level. Ranges are exact, so the last tile is just
// a smaller array; a value that is narrowed by a loop or a nest is looked up by absolute index.
//
// In every mode all that the level promises is tested: subscripts that are not checked stay inside, loads happen only
// under their guard, walked ranges lie in their axis's range, each element of an `out` is stored exactly once, grid
// points do not meet in an element unless both are atomic, nothing is read that nobody wrote. What breaks a promise is
// our fault (B002) and ends the run; checked accesses that leave their tensor are findings of the data (E801 to E803).
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "tile/program.h"

namespace quern::tile {

enum class Mode : uint8_t {
  kBound,    // in f64, and beside each value how far an f32 implementation may be off
  kRounded,  // every operation rounded to its type; sums and dots one term after another
  kPadded,   // in f64; tiles (before `placed`) and lanes (`laid`) are full: what is absent holds what its operation
             // makes of absent operands, a load 0, and what was kept NaN, so that a missing selection shows
};

struct Launch {
  std::vector<int64_t> dims;           // of every dim; those with a value must have it
  std::vector<const void*> arguments;  // one a parameter, row-major; null for `out` and `tmp`
  Mode mode = Mode::kBound;
};

// An `out` or `inout` after the run.
struct Output {
  int32_t parameter = -1;
  std::vector<std::byte> data;  // of the parameter's type
  std::vector<double> value;    // before that rounding; of an f32 or f64 parameter in mode kBound not rounded at all
  std::vector<double> bound;    // kBound: absolute, one an element; infinite: anything is right
};

struct Interpreted {
  std::vector<Output> outputs;
  Diagnostics findings;  // one a site, the first
};

// The program must have passed tile/verify.h. B002 as above; E716 if an array would be too large.
Result<Interpreted> interpret(const Program& program, const Launch& launch);

}  // namespace quern::tile
