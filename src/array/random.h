// Arrays from a seed, the same on every machine: element i of an array comes from words of Philox-4x32-10
// (base/philox.h) under a key that is drawn from seed and name, so adding an argument to a kernel changes none of the
// others. No library function whose last bit depends on the machine is used; normals are the inverse of the normal
// distribution at a uniform number (array/normal.h).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "array/array.h"

namespace quern::array {

struct Fill {
  enum Pattern : uint8_t {
    kNormal,        // standard deviation `scale` about `mean`, rounded to the type; f8e8m0: 2^round(that), so near 1
    kMasked,        // reals: as kNormal, and three in ten are -inf
    kSpecial,       // reals: as kNormal, and three in ten are zeros of both signs, ones, a half, infinities, NaN, the
                    // smallest of f32, and 1e34 (larger ones overflow where a sum is scaled before it is divided)
    kUniformInt,    // whole numbers in [lo, hi), as far as the type has them
    kLengths,       // in [lo, hi]; with two entries or more, one is lo and one is hi (an empty row, a full row)
    kSortedStarts,  // along the last dimension: lo, then never falling, hi at last; with three or more entries some
                    // neighbours are equal (an empty range)
    kDistinct,  // whole numbers in [lo, hi), each at most once, in random order and at random places; where there are
                // more entries than numbers the rest is -1 (slot maps)
    kBool,      // 0 or 1, evenly
    kConstant,  // reals: `scale`; integers and bools: lo
  };
  Pattern pattern = kNormal;
  int64_t lo = 0;
  int64_t hi = 0;
  double scale = 1;
  double mean = 0;
};

// What suits a type if nothing else is known: normals for reals; all values for bools and for integers of up to 8 bits,
// [-128, 128) or [0, 256) for wider ones.
Fill default_fill(ScalarType type);

// Errors of `make` (with `name`), and E732 if the bounds leave no value for an element, or -1 is needed and the type
// has none. Integer patterns also fill real types, rounded. Bounds are cut to what an integer type holds.
Result<Array> random_array(ScalarType type, std::vector<int64_t> shape, uint64_t seed, std::string_view name,
                           const Fill& fill);

}  // namespace quern::array
