// Instructions that the virtual GPU can't execute yet: a kernel that contains one is N920 when it is launched.
#include "vgpu/emit.h"
namespace quern::vgpu {
void Emit::texture() { unsupported(); }
}  // namespace quern::vgpu
