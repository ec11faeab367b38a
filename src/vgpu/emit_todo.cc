// Instructions that the virtual GPU can't execute yet: a kernel that contains one is N920 when it is launched.
#include "vgpu/emit.h"
namespace quern::vgpu {
void Emit::matrix() { unsupported(); }
void Emit::async_copy() { unsupported(); }
void Emit::texture() { unsupported(); }
void Emit::video() { unsupported(); }
void Emit::half_arithmetic() { unsupported(); }
void Emit::directed() { unsupported(); }
void Emit::convert_narrow() { unsupported(); }
void Emit::atomic_packed() { unsupported(); }
void Emit::special_function() {
  Value a = float_operand(1);
  Value one = Ir::real(a.type, a.type == "float" ? 0x3f800000u : 0x3ff0000000000000u);
  switch (in->op) {
    case ptx::Op::k_rcp: return write(0, float_result(ir.op("fdiv", one, a)));
    case ptx::Op::k_sqrt: return write(0, float_result(ir.intrinsic("llvm.sqrt", {a})));
    case ptx::Op::k_rsqrt: return write(0, float_result(ir.op("fdiv", one, ir.intrinsic("llvm.sqrt", {a}))));
    default: unsupported();
  }
}
}  // namespace quern::vgpu
