#include "vgpu/inline.h"

#include <algorithm>
#include <map>
#include <set>

namespace quern::vgpu {
namespace {

using ptx::Function;
using ptx::Instruction;
using ptx::Op;
using ptx::Operand;
using ptx::OperandKind;
using ptx::Space;
using ptx::Symbol;
using ptx::SymbolKind;

constexpr size_t kMostInstructions = 1 << 20;
constexpr size_t kDeepest = 64;

// The function that a call names directly and the module defines; null for others.
const Function* callee_of(const ptx::Module& module, const Instruction& in) {
  if (in.op != Op::k_call) return nullptr;
  const Operand& o = in.operands[static_cast<size_t>(in.call_results)];
  if (o.kind != OperandKind::kSymbol || o.symbol.kind != SymbolKind::kFunction) return nullptr;
  const Function& f = module.functions[static_cast<size_t>(o.symbol.index)];
  return f.defined ? &f : nullptr;
}

ptx::Type bits_type(int64_t bytes) {
  return bytes == 1   ? ptx::Type::k_b8
         : bytes == 2 ? ptx::Type::k_b16
         : bytes == 4 ? ptx::Type::k_b32
                      : ptx::Type::k_b64;
}

class Inliner {
 public:
  Inliner(const ptx::Module& module, const Function& kernel) : module_(module), out_(kernel) {
    out_.instructions.clear();
    for (ptx::Label& label : out_.labels) label.instruction = 0;
  }

  Result<Function> run(const Function& kernel) {
    std::vector<int32_t> labels(kernel.labels.size());
    for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int32_t>(i);
    Names names;
    names.labels = labels;
    names.identity = true;
    splice(kernel, names, ptx::kNone);
    if (problem_) return fail(std::move(*problem_));
    return std::move(out_);
  }

 private:
  // What a function's own numbers are in the result.
  struct Names {
    bool identity = false;  // the kernel itself
    int32_t registers = 0, variables = 0, prototypes = 0, targets = 0;
    std::vector<int32_t> labels;
    std::vector<Symbol> parameters, returns;
  };

  void renamed(Operand& o, const Names& n) const {
    if (n.identity) return;
    if (o.reg != ptx::kNone) o.reg += n.registers;
    if (o.kind == OperandKind::kLabel) o.value = n.labels[static_cast<size_t>(o.value)];
    if (o.kind == OperandKind::kPrototype) o.value += n.prototypes;
    if (o.kind == OperandKind::kTargets) o.value += n.targets;
    bool named = o.symbol.index != ptx::kNone && (o.kind == OperandKind::kSymbol || o.kind == OperandKind::kAddress);
    if (named) {
      if (o.symbol.kind == SymbolKind::kLocal) o.symbol.index += n.variables;
      if (o.symbol.kind == SymbolKind::kParameter) o.symbol = n.parameters[static_cast<size_t>(o.symbol.index)];
      if (o.symbol.kind == SymbolKind::kReturn) o.symbol = n.returns[static_cast<size_t>(o.symbol.index)];
    }
    for (Operand& part : o.parts) renamed(part, n);
  }

  int32_t new_label(std::string name) {
    out_.labels.push_back({std::move(name), 0});
    return static_cast<int32_t>(out_.labels.size()) - 1;
  }

  Instruction branch(const Instruction& like, int32_t label, ptx::Guard guard) const {
    Instruction bra;
    bra.op = Op::k_bra;
    bra.guard = guard;
    bra.line = like.line, bra.location = like.location;
    Operand to;
    to.kind = OperandKind::kLabel;
    to.value = label;
    bra.operands.push_back(to);
    return bra;
  }

  // A variable that stands for a parameter or a result whose argument is a register or number.
  Symbol variable_for(const ptx::Variable& like) {
    ptx::Variable v = like;
    v.space = Space::kParam;
    out_.variables.push_back(v);
    return {SymbolKind::kLocal, static_cast<int32_t>(out_.variables.size()) - 1};
  }

  Instruction access(bool store, const Instruction& like, const Symbol& symbol, const ptx::Variable& v,
                     const Operand& value) const {
    Instruction in;
    in.op = store ? Op::k_st : Op::k_ld;
    in.line = like.line, in.location = like.location;
    in.modifiers = {ptx::Modifier::kParam};
    in.types = {bits_type(v.bytes())};
    Operand at;
    at.kind = OperandKind::kAddress;
    at.symbol = symbol;
    if (store) {
      in.operands = {at, value};
    } else {
      in.operands = {value, at};
    }
    return in;
  }

  void refuse(const Instruction& in, const std::string& callee, std::string why) {
    if (problem_) return;
    problem_ = diagnose(Code::N920, {},
                        {{"instruction", "call of " + callee},
                         {"line", std::to_string(in.line)},
                         {"kernel", out_.name},
                         {"why", ": " + std::move(why)}});
  }

  void splice(const Function& f, const Names& n, int32_t after) {
    path_.push_back(&f);
    std::multimap<int32_t, int32_t> labels;  // by instruction
    for (size_t i = 0; i < f.labels.size(); ++i) labels.emplace(f.labels[i].instruction, static_cast<int32_t>(i));
    auto place = [&](int32_t at) {
      auto [first, last] = labels.equal_range(at);
      for (; first != last; ++first) {
        auto label = static_cast<size_t>(n.labels[static_cast<size_t>(first->second)]);
        out_.labels[label].instruction = static_cast<int32_t>(out_.instructions.size());
      }
    };
    for (size_t i = 0; i < f.instructions.size() && !problem_; ++i) {
      place(static_cast<int32_t>(i));
      Instruction in = f.instructions[i];
      for (Operand& o : in.operands) renamed(o, n);
      if (in.guard.reg != ptx::kNone && !n.identity) in.guard.reg += n.registers;
      if (const Function* callee = callee_of(module_, in)) {
        call(in, *callee);
      } else if (in.op == Op::k_ret && after != ptx::kNone) {
        out_.instructions.push_back(branch(in, after, in.guard));
      } else {
        out_.instructions.push_back(std::move(in));
      }
      if (out_.instructions.size() > kMostInstructions)
        refuse(f.instructions[i], f.name, "the kernel grows past a million instructions");
    }
    place(static_cast<int32_t>(f.instructions.size()));
    path_.pop_back();
  }

  void call(const Instruction& in, const Function& callee) {
    if (std::find(path_.begin(), path_.end(), &callee) != path_.end())
      return refuse(in, callee.name, "it is recursive");
    if (path_.size() > kDeepest) return refuse(in, callee.name, "calls are nested too deep");
    int32_t past = new_label(callee.name + ".past");
    if (in.guard.reg != ptx::kNone) {
      ptx::Guard other = in.guard;
      other.negated = !other.negated;
      out_.instructions.push_back(branch(in, past, other));
    }
    Names n;
    n.registers = static_cast<int32_t>(out_.registers.size());
    out_.registers.insert(out_.registers.end(), callee.registers.begin(), callee.registers.end());
    n.prototypes = static_cast<int32_t>(out_.prototypes.size());
    out_.prototypes.insert(out_.prototypes.end(), callee.prototypes.begin(), callee.prototypes.end());
    for (const ptx::Label& label : callee.labels) n.labels.push_back(new_label(callee.name + "." + label.name));
    n.targets = static_cast<int32_t>(out_.target_lists.size());
    for (std::vector<int32_t> list : callee.target_lists) {
      for (int32_t& label : list) label = n.labels[static_cast<size_t>(label)];
      out_.target_lists.push_back(std::move(list));
    }
    auto results = static_cast<size_t>(in.call_results);
    auto is_variable = [](const Operand& o) {
      return o.kind == OperandKind::kSymbol && o.symbol.kind == SymbolKind::kLocal && !o.value;
    };
    for (size_t i = 0; i < callee.parameters.size(); ++i) {
      if (results + 1 + i >= in.operands.size()) return refuse(in, callee.name, "arguments are missing");
      const Operand& o = in.operands[results + 1 + i];
      if (is_variable(o)) {
        n.parameters.push_back(o.symbol);
        continue;
      }
      n.parameters.push_back(variable_for(callee.parameters[i]));
      out_.instructions.push_back(access(true, in, n.parameters.back(), callee.parameters[i], o));
    }
    for (size_t i = 0; i < callee.returns.size(); ++i) {
      bool given = i < results && is_variable(in.operands[i]);
      n.returns.push_back(given ? in.operands[i].symbol : variable_for(callee.returns[i]));
    }
    // The callee's own variables come last, so that those above may be added first.
    n.variables = static_cast<int32_t>(out_.variables.size());
    out_.variables.insert(out_.variables.end(), callee.variables.begin(), callee.variables.end());
    // Parameters in .reg space are registers of the same name.
    auto register_named = [&](const std::string& name) -> int32_t {
      for (size_t r = 0; r < callee.registers.size(); ++r) {
        if (callee.registers[r].name == name) return n.registers + static_cast<int32_t>(r);
      }
      return ptx::kNone;
    };
    for (size_t i = 0; i < callee.parameters.size(); ++i) {
      if (callee.parameters[i].space != Space::kReg) continue;
      Operand to;
      to.kind = OperandKind::kRegister;
      to.reg = register_named(callee.parameters[i].name);
      if (to.reg != ptx::kNone)
        out_.instructions.push_back(access(false, in, n.parameters[i], callee.parameters[i], to));
    }
    splice(callee, n, past);
    out_.labels[static_cast<size_t>(past)].instruction = static_cast<int32_t>(out_.instructions.size());
    for (size_t i = 0; i < callee.returns.size() && i < results; ++i) {
      if (is_variable(in.operands[i])) continue;
      if (callee.returns[i].space == Space::kReg) {
        Operand from;
        from.kind = OperandKind::kRegister;
        from.reg = register_named(callee.returns[i].name);
        if (from.reg != ptx::kNone)
          out_.instructions.push_back(access(true, in, n.returns[i], callee.returns[i], from));
      }
      out_.instructions.push_back(access(false, in, n.returns[i], callee.returns[i], in.operands[i]));
    }
  }

  const ptx::Module& module_;
  Function out_;
  std::vector<const Function*> path_;
  std::optional<Diagnostic> problem_;
};

// --- parameters as registers ---

int count_of(const Instruction& in) {
  auto v = in.of(ptx::ModifierGroup::kVector);
  return !v ? 1 : *v == ptx::Modifier::kV2 ? 2 : *v == ptx::Modifier::kV4 ? 4 : 8;
}

void promote(Function& f) {
  // Pieces of each variable by offset and size, as far as they don't overlap.
  std::map<int32_t, std::map<int64_t, int64_t>> pieces;
  std::set<int32_t> kept;
  auto local = [&](const Operand& o) {
    return o.reg == ptx::kNone && o.symbol.index != ptx::kNone && o.symbol.kind == SymbolKind::kLocal &&
           (o.kind == OperandKind::kAddress || o.kind == OperandKind::kSymbol) &&
           f.variables[static_cast<size_t>(o.symbol.index)].space == Space::kParam;
  };
  auto keep = [&](const Operand& o, auto& self) -> void {
    if (local(o)) kept.insert(o.symbol.index);
    for (const Operand& part : o.parts) self(part, self);
  };
  auto is_access = [&](const Instruction& in) {
    size_t at = in.op == Op::k_st ? 0 : 1;
    return (in.op == Op::k_ld || in.op == Op::k_st) && in.operands[at].kind == OperandKind::kAddress &&
           local(in.operands[at]) && ptx::row(in.type()).size() <= 64;
  };
  for (const Instruction& in : f.instructions) {
    if (!is_access(in)) {
      for (const Operand& o : in.operands) keep(o, keep);
      continue;
    }
    const Operand& o = in.operands[in.op == Op::k_st ? 0 : 1];
    int64_t size = ptx::row(in.type()).size() / 8;
    for (int i = 0; i < count_of(in); ++i) {
      auto [at, fresh] = pieces[o.symbol.index].emplace(o.value + i * size, size);
      if (at->second != size) kept.insert(o.symbol.index);
    }
  }
  for (auto& [variable, list] : pieces) {
    int64_t end = 0;
    for (auto [at, size] : list) {
      if (at < end) kept.insert(variable);
      end = std::max(end, at + size);
    }
  }
  std::map<std::pair<int32_t, int64_t>, int32_t> registers;
  auto register_of = [&](int32_t variable, int64_t at, int64_t size) {
    auto [found, fresh] = registers.emplace(std::pair(variable, at), static_cast<int32_t>(f.registers.size()));
    if (fresh) f.registers.push_back({"%param" + std::to_string(f.registers.size()), bits_type(size)});
    return found->second;
  };
  std::vector<Instruction> out;
  std::vector<int32_t> moved(f.instructions.size() + 1);
  for (size_t i = 0; i < f.instructions.size(); ++i) {
    moved[i] = static_cast<int32_t>(out.size());
    Instruction& in = f.instructions[i];
    bool store = in.op == Op::k_st;
    if (!is_access(in) || kept.count(in.operands[store ? 0 : 1].symbol.index)) {
      out.push_back(std::move(in));
      continue;
    }
    const Operand& o = in.operands[store ? 0 : 1];
    const Operand& value = in.operands[store ? 1 : 0];
    int64_t size = ptx::row(in.type()).size() / 8;
    for (int k = 0; k < count_of(in); ++k) {
      const Operand& part = value.kind == OperandKind::kVector ? value.parts[static_cast<size_t>(k)] : value;
      Operand reg;
      reg.kind = OperandKind::kRegister;
      reg.reg = register_of(o.symbol.index, o.value + k * size, size);
      Instruction move;
      // A conversion where the register is wider than what is stored of it, with the sign that a load extends by.
      auto bits_of = [&](const Operand& x) {
        return x.kind == OperandKind::kRegister ? ptx::row(f.registers[static_cast<size_t>(x.reg)].type).size()
                                                : static_cast<int>(size * 8);
      };
      bool same = bits_of(part) == size * 8;
      move.op = same ? Op::k_mov : Op::k_cvt;
      move.guard = in.guard, move.line = in.line, move.location = in.location;
      ptx::Type whole = size == 1   ? ptx::Type::k_u8
                        : size == 2 ? ptx::Type::k_u16
                        : size == 4 ? ptx::Type::k_u32
                                    : ptx::Type::k_u64;
      if (same) {
        move.types = {bits_type(size)};
      } else if (store) {
        move.types = {whole, bits_of(part) == 64   ? ptx::Type::k_u64
                             : bits_of(part) == 32 ? ptx::Type::k_u32
                                                   : ptx::Type::k_u16};
      } else {
        bool sign = ptx::row(in.type()).kind == ptx::TypeKind::kSigned;
        ptx::Type from = sign ? size == 1 ? ptx::Type::k_s8 : size == 2 ? ptx::Type::k_s16 : ptx::Type::k_s32 : whole;
        ptx::Type to = bits_of(part) == 64   ? sign ? ptx::Type::k_s64 : ptx::Type::k_u64
                       : bits_of(part) == 32 ? sign ? ptx::Type::k_s32 : ptx::Type::k_u32
                       : sign                ? ptx::Type::k_s16
                                             : ptx::Type::k_u16;
        move.types = {to, from};
      }
      move.operands = store ? std::vector<Operand>{reg, part} : std::vector<Operand>{part, reg};
      out.push_back(std::move(move));
    }
  }
  moved.back() = static_cast<int32_t>(out.size());
  for (ptx::Label& label : f.labels) label.instruction = moved[static_cast<size_t>(label.instruction)];
  f.instructions = std::move(out);
  // What is a register now takes no memory.
  for (size_t v = 0; v < f.variables.size(); ++v) {
    if (f.variables[v].space == Space::kParam && !kept.count(static_cast<int32_t>(v)))
      f.variables[v].space = Space::kReg;
  }
}

}  // namespace

Result<Function> inlined(const ptx::Module& module, const Function& kernel) {
  Inliner inliner(module, kernel);
  auto out = inliner.run(kernel);
  if (out) promote(*out);
  return out;
}

}  // namespace quern::vgpu
