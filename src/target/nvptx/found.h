// The function by which kernels on a GPU report a fault of the data.
#pragma once

#include <string>

namespace quern::target {

// As text: void @found(report, point, site, subscript, value, extent, axes, known), as jit::Report::found but for many
// threads at once. A site's jit::Found keeps the fault of the least point, and there the one whose axes come first, so
// what is found does not depend on the order of threads.
std::string found_function();

}  // namespace quern::target
