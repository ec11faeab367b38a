// Sizes that fit each kernel of the library: what a kernel needs beside its text (heads in whole groups, blocks that
// divide rows, an image no smaller than the window) stands here, a line each.
#pragma once

#include "call.h"

namespace quern::expr::test {

// Random sizes up to `most`, small ones and now and then 0.
Dims library_sizes(const std::string& kernel, Random& random, int64_t most, bool zeros = true);

}  // namespace quern::expr::test
