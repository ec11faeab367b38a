// Calls that leave the kernel: vprintf, __assertfail, malloc, free (the CUDA programming guide's device runtime), and
// what else is no arithmetic. Arguments and results of a call lie in the lane's local memory, as .param variables.
#include <algorithm>
#include <cstddef>

#include "vgpu/children/function.h"
#include "vgpu/emit.h"

namespace quern::vgpu {

using ptx::Op;
using ptx::SymbolKind;

namespace {

struct Known {
  Service service{};
  size_t words = 0;     // of arguments
  uint64_t number = 0;  // of Service::kDevice
};

std::optional<Known> known_function(std::string_view name) {
  if (name == "vprintf") return Known{Service::kPrint, 2};
  if (name == "__assertfail") return Known{Service::kAssert, 5};
  if (name == "malloc") return Known{Service::kMalloc, 1};
  if (name == "free") return Known{Service::kFree, 1};
  if (auto named = find_device_function(name))
    return Known{Service::kDevice, argument_words(named->function), named->number()};
  return std::nullopt;
}

}  // namespace

void Emit::call() {
  if (in->op == Op::k_brkpt) return;
  if (in->op != Op::k_call) return unsupported();
  auto results = static_cast<size_t>(in->call_results);
  const ptx::Operand& callee = in->operands[results];
  if (callee.kind != ptx::OperandKind::kSymbol || callee.symbol.kind != SymbolKind::kFunction)
    return unsupported("an indirect call");
  const ptx::Function& f = module.functions[static_cast<size_t>(callee.symbol.index)];
  auto known = f.defined ? std::nullopt : known_function(f.name);
  if (!known) return unsupported("a call of " + f.name);
  // Bytes of an argument or result; 0: what it can't be.
  auto bytes_of = [&](const ptx::Operand& o) {
    if (o.kind != ptx::OperandKind::kSymbol) return int64_t{8};
    if (o.symbol.kind != SymbolKind::kLocal) return int64_t{0};
    const ptx::Variable& v = function.variables[static_cast<size_t>(o.symbol.index)];
    return v.space == ptx::Space::kParam ? v.bytes() : 0;
  };
  int64_t words = 0;
  bool good = results <= 1;
  for (size_t i = 0; i < in->operands.size(); ++i) {
    if (i == results) continue;
    int64_t bytes = bytes_of(in->operands[i]);
    good &= i < results ? bytes == 4 || bytes == 8 : bytes > 0;
    if (i > results) words += (bytes + 7) / 8;
  }
  if (!good || words != static_cast<int64_t>(known->words))
    return unsupported("a call of " + f.name + " with other arguments or results than it has");
  std::string frame = ir.slot(fmt::format("[{} x i64]", sizeof(CallFrame) / 8), 64);
  Mask m = mask();
  size_t word = 0;
  auto put = [&](const Value& v) {
    ir.store(ir.splat(ir.resize(v, "i64", false)),
             ir.offset(frame, static_cast<int64_t>(offsetof(CallFrame, arguments) + word++ * 256)), 8);
  };
  for (size_t i = results + 1; i < in->operands.size(); ++i) {
    const ptx::Operand& o = in->operands[i];
    if (o.kind != ptx::OperandKind::kSymbol) {
      put(read_bits(o, 64));
      continue;
    }
    for (const Value& v : argument_words(o, m)) put(v);
  }
  if (known->service == Service::kDevice) {
    ir.store(Ir::number("i64", static_cast<int64_t>(known->number)), ir.offset(frame, offsetof(CallFrame, function)),
             8);
  }
  service(known->service, mask_bits(m), frame);
  if (!results) return;
  const ptx::Operand& o = in->operands[0];
  Value r = ir.load("i64", true, ir.offset(frame, offsetof(CallFrame, result)), 8);
  if (o.kind != ptx::OperandKind::kSymbol) return write(o, r);
  const ptx::Variable& p = function.variables[static_cast<size_t>(o.symbol.index)];
  ptx::Operand at = o;
  at.kind = ptx::OperandKind::kAddress;
  store_elements(address(at, ptx::Space::kParam), {ir.resize(r, fmt::format("i{}", p.bytes() * 8), false)}, m);
}

// A .param variable in words of eight bytes, the last of what is left; read in pieces of its alignment.
std::vector<Value> Emit::argument_words(const ptx::Operand& o, const Mask& m) {
  const ptx::Variable& p = function.variables[static_cast<size_t>(o.symbol.index)];
  int64_t piece = std::clamp<int64_t>(p.align, 1, 8);
  std::vector<Value> out;
  for (int64_t at = 0; at < p.bytes(); at += 8) {
    Value whole;
    for (int64_t part = at; part < std::min(at + 8, p.bytes()); part += piece) {
      ptx::Operand from = o;
      from.kind = ptx::OperandKind::kAddress;
      from.value += part;
      while (part + piece > p.bytes()) piece /= 2;
      Value v = load_elements(address(from, ptx::Space::kParam), static_cast<int>(piece * 8), 1, m)[0];
      v = ir.resize(v, "i64", false);
      if (part > at) v = ir.op("shl", v, Ir::number("i64", (part - at) * 8));
      whole = whole.empty() ? v : ir.op("or", whole, v);
    }
    out.push_back(whole);
  }
  return out;
}

void Emit::system() {
  if (in->op == Op::k_nanosleep) return service(Service::kYield, mask_bits(mask()));
  if (in->op == Op::k_pmevent || in->op == Op::k_setmaxnreg || in->op == Op::k_griddepcontrol) return;
  unsupported();
}

}  // namespace quern::vgpu
