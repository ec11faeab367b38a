// Calls that leave the kernel: vprintf, __assertfail, malloc, free (the CUDA programming guide's device runtime), and
// what else is no arithmetic. Arguments and results of a call lie in the lane's local memory, as .param variables.
#include <cstddef>

#include "vgpu/emit.h"

namespace quern::vgpu {

using ptx::Op;
using ptx::SymbolKind;

void Emit::call() {
  if (in->op == Op::k_brkpt) return;
  if (in->op != Op::k_call) return unsupported();
  auto results = static_cast<size_t>(in->call_results);
  const ptx::Operand& callee = in->operands[results];
  if (callee.kind != ptx::OperandKind::kSymbol || callee.symbol.kind != SymbolKind::kFunction)
    return unsupported("an indirect call");
  const ptx::Function& f = module.functions[static_cast<size_t>(callee.symbol.index)];
  struct Known {
    const char* name;
    Service service;
  };
  constexpr Known kKnown[] = {{"vprintf", Service::kPrint},
                              {"__assertfail", Service::kAssert},
                              {"malloc", Service::kMalloc},
                              {"free", Service::kFree}};
  for (const Known& k : kKnown) {
    if (f.name != k.name || f.defined) continue;
    std::string frame = ir.slot(fmt::format("[{} x i64]", sizeof(CallFrame) / 8), 64);
    Mask m = mask();
    size_t count = in->operands.size() - results - 1;
    for (size_t i = 0; i < count && i < 8; ++i) {
      const ptx::Operand& o = in->operands[results + 1 + i];
      Value v;
      if (o.kind == ptx::OperandKind::kSymbol) {
        const ptx::Variable& p = function.variables[static_cast<size_t>(o.symbol.index)];
        ptx::Operand at = o;
        at.kind = ptx::OperandKind::kAddress;
        v = load_elements(address(at, ptx::Space::kParam), static_cast<int>(p.bytes() * 8), 1, m)[0];
      } else {
        v = read_bits(o, 64);
      }
      ir.store(ir.splat(ir.resize(v, "i64", false)),
               ir.offset(frame, static_cast<int64_t>(offsetof(CallFrame, arguments) + i * 256)), 8);
    }
    service(k.service, mask_bits(m), frame);
    if (results) {
      const ptx::Operand& o = in->operands[0];
      Value r = ir.load("i64", true, ir.offset(frame, offsetof(CallFrame, result)), 8);
      if (o.kind == ptx::OperandKind::kSymbol) {
        const ptx::Variable& p = function.variables[static_cast<size_t>(o.symbol.index)];
        ptx::Operand at = o;
        at.kind = ptx::OperandKind::kAddress;
        store_elements(address(at, ptx::Space::kParam), {ir.resize(r, fmt::format("i{}", p.bytes() * 8), false)}, m);
      } else {
        write(o, r);
      }
    }
    return;
  }
  unsupported("a call of " + f.name);
}

void Emit::system() {
  if (in->op == Op::k_nanosleep) return service(Service::kYield, mask_bits(mask()));
  if (in->op == Op::k_pmevent || in->op == Op::k_setmaxnreg || in->op == Op::k_griddepcontrol) return;
  unsupported();
}

}  // namespace quern::vgpu
