// The error of everything that reads fatbins and programs: E970, with why.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace quern::fatbin {

std::unexpected<Diagnostics> damaged(std::string_view what, std::string why);

}  // namespace quern::fatbin
