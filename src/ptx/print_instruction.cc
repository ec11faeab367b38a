#include "ptx/print_instruction.h"

#include <fmt/format.h>

#include "ptx/print.h"

namespace quern::ptx {

const std::string& symbol_name(const Module& module, const Function* function, const Symbol& symbol) {
  switch (symbol.kind) {
    case SymbolKind::kLocal: return function->variables[symbol.index].name;
    case SymbolKind::kParameter: return function->parameters[symbol.index].name;
    case SymbolKind::kReturn: return function->returns[symbol.index].name;
    case SymbolKind::kFunction: return module.functions[symbol.index].name;
    case SymbolKind::kVariable: break;
  }
  return module.variables[symbol.index].name;
}

std::string float_text(uint64_t bits, bool single) {
  return single ? fmt::format("0f{:08X}", bits) : fmt::format("0d{:016X}", bits);
}

void InstructionPrinter::print_offset(int64_t value, std::string& out) const {
  if (value != 0) out += "+" + std::to_string(value);  // "+-4" for a negative one, as ptxas has it
}

void InstructionPrinter::print(const Operand& o, std::string& out) const {
  auto list = [&](const char* separator) {
    for (size_t i = 0; i < o.parts.size(); ++i) {
      if (i > 0) out += separator;
      print(o.parts[i], out);
    }
  };
  switch (o.kind) {
    case OperandKind::kRegister: {
      const Register& r = function_.registers[o.reg];
      if (o.negated) out += r.type == Type::k_pred ? '!' : '-';
      out += r.name;
      if (o.selector[0]) out += '.';
      for (char c : o.selector) {
        if (c) out += c;
      }
      break;
    }
    case OperandKind::kInteger: out += std::to_string(o.value); break;
    case OperandKind::kReal: out += float_text(static_cast<uint64_t>(o.value), o.single); break;
    case OperandKind::kSpecial: out += row(o.special).text; break;
    case OperandKind::kSymbol:
      out += symbol_name(module_, &function_, o.symbol);
      print_offset(o.value, out);
      break;
    case OperandKind::kAddress:
      out += '[';
      if (o.reg != kNone) {
        out += function_.registers[o.reg].name;
        print_offset(o.value, out);
      } else if (o.symbol.index != kNone) {
        out += symbol_name(module_, &function_, o.symbol);
        print_offset(o.value, out);
      } else {
        out += std::to_string(o.value);
      }
      if (!o.parts.empty()) out += ", ";
      list(", ");
      out += ']';
      break;
    case OperandKind::kVector:
      out += '{';
      list(", ");
      out += '}';
      break;
    case OperandKind::kLabel: out += function_.labels[o.value].name; break;
    case OperandKind::kSink: out += '_'; break;
    case OperandKind::kPrototype: out += function_.prototypes[o.value].name; break;
    case OperandKind::kTargets: out += targets_[o.value]; break;
  }
}

void InstructionPrinter::print_call(const Instruction& i, std::string& out) const {
  size_t results = static_cast<size_t>(i.call_results), end = i.operands.size();
  auto list = [&](size_t from, size_t to) {
    out += '(';
    for (size_t k = from; k < to; ++k) {
      if (k > from) out += ", ";
      print(i.operands[k], out);
    }
    out += ')';
  };
  if (results > 0) {
    list(0, results);
    out += ", ";
  }
  print(i.operands[results], out);
  OperandKind last = i.operands.back().kind;
  bool described = last == OperandKind::kPrototype || last == OperandKind::kTargets;
  if (described) --end;
  if (end > results + 1 || described) {
    out += ", ";
    list(results + 1, end);
  }
  if (described) {
    out += ", ";
    print(i.operands.back(), out);
  }
}

void InstructionPrinter::print(const Instruction& i, std::string& out) const {
  if (i.guard.reg != kNone) {
    out += i.guard.negated ? "@!" : "@";
    out += function_.registers[i.guard.reg].name;
    out += ' ';
  }
  out += row(i.op).name;
  auto word = [&](std::string_view text) {
    out += '.';
    out += text;
  };
  size_t leading = std::min<size_t>(i.leading_modifiers, i.modifiers.size());
  for (size_t k = 0; k < leading; ++k) word(row(i.modifiers[k]).text);
  for (Type t : i.types) word(row(t).name);
  for (size_t k = leading; k < i.modifiers.size(); ++k) word(row(i.modifiers[k]).text);
  if (i.operands.empty()) return;
  out += ' ';
  if (row(i.op).operands == "c") return print_call(i, out);
  for (size_t k = 0; k < i.operands.size(); ++k) {
    if (k > 0) out += k == 1 && i.pair_results ? "|" : ", ";
    print(i.operands[k], out);
  }
}

std::string print(const Module& module, const Function& function, const Instruction& instruction) {
  std::vector<std::string> targets(function.target_lists.size(), "targets");
  std::string out;
  InstructionPrinter(module, function, targets).print(instruction, out);
  return out;
}

}  // namespace quern::ptx
