// Several modules to one, as nvlink does it: what separate compilation (nvcc -rdc=true) leaves in an executable. A name
// that is visible is defined once; .extern finds it in any module; of .weak definitions one stays, of .common ones the
// largest; internal names that clash are renamed. What nobody defines stays .extern: vprintf, malloc and their kin are
// served by whoever runs the module.
#pragma once

#include <vector>

#include "base/result.h"
#include "ptx/module.h"

namespace quern::ptx {

// E912: two definitions; E913: what two modules say about a name does not go together. Names of modules are in
// messages.
Result<Module> link(std::vector<Module> modules);

}  // namespace quern::ptx
