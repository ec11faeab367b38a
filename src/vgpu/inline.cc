#include "vgpu/inline.h"

#include <algorithm>

#include "vgpu/inliner.h"

namespace quern::vgpu {

using ptx::Function;
using ptx::Instruction;
using ptx::Modifier;
using ptx::Op;
using ptx::Operand;
using ptx::OperandKind;
using ptx::Space;
using ptx::Symbol;
using ptx::SymbolKind;
using ptx::Type;

namespace {

constexpr size_t kMostInstructions = 1 << 20;
constexpr size_t kDeepest = 64;

}  // namespace

const Function* callee_of(const ptx::Module& module, const Instruction& in) {
  if (in.op != Op::k_call) return nullptr;
  const Operand& o = in.operands[static_cast<size_t>(in.call_results)];
  if (o.kind != OperandKind::kSymbol || o.symbol.kind != SymbolKind::kFunction) return nullptr;
  const Function& f = module.functions[static_cast<size_t>(o.symbol.index)];
  return f.defined ? &f : nullptr;
}

Type bits_type(int64_t bytes) {
  return bytes == 1 ? Type::k_b8 : bytes == 2 ? Type::k_b16 : bytes == 4 ? Type::k_b32 : Type::k_b64;
}

Operand register_operand(int32_t reg) {
  Operand o;
  o.kind = OperandKind::kRegister;
  o.reg = reg;
  return o;
}

Operand integer_operand(int64_t value) {
  Operand o;
  o.kind = OperandKind::kInteger;
  o.value = value;
  return o;
}

Inliner::Inliner(const ptx::Module& module, const Function& kernel, int64_t stack_bytes)
    : module_(module), out_(kernel), stack_bytes_(stack_bytes) {
  out_.instructions.clear();
  for (ptx::Label& label : out_.labels) label.instruction = 0;
}

Result<Function> Inliner::run(const Function& kernel) {
  find_shared(kernel);
  Names names;
  names.identity = true;
  for (size_t i = 0; i < kernel.labels.size(); ++i) names.labels.push_back(static_cast<int32_t>(i));
  for (size_t i = 0; i < kernel.variables.size(); ++i)
    names.variables.push_back({{SymbolKind::kLocal, static_cast<int32_t>(i)}});
  if (stack_) start_stack();
  splice(kernel, names, ptx::kNone);
  if (!queue_.empty()) add(made({}, Op::k_exit, {}, {}, {}));
  while (!queue_.empty() && !problem_) {
    Body* body = queue_.front();
    queue_.pop_front();
    write_body(*body);
  }
  if (problem_) return fail(std::move(*problem_));
  return std::move(out_);
}

// --- small things ---

int32_t Inliner::new_label(std::string name) {
  out_.labels.push_back({std::move(name), 0});
  return static_cast<int32_t>(out_.labels.size()) - 1;
}

void Inliner::put(int32_t label) {
  out_.labels[static_cast<size_t>(label)].instruction = static_cast<int32_t>(out_.instructions.size());
}

Operand Inliner::new_register(Type type) {
  auto number = static_cast<int32_t>(out_.registers.size());
  out_.registers.push_back({"%call" + std::to_string(number), type});
  return register_operand(number);
}

Inliner::Place Inliner::new_variable(const ptx::Variable& like) {
  ptx::Variable v = like;
  v.space = Space::kParam;
  v.align = std::max<int64_t>(v.align, 8);
  out_.variables.push_back(v);
  return {{SymbolKind::kLocal, static_cast<int32_t>(out_.variables.size()) - 1}};
}

Instruction Inliner::made(const Instruction& like, Op op, std::vector<Modifier> modifiers, std::vector<Type> types,
                          std::vector<Operand> operands) const {
  Instruction in;
  in.op = op;
  in.line = like.line, in.location = like.location;
  in.modifiers = std::move(modifiers), in.types = std::move(types), in.operands = std::move(operands);
  return in;
}

void Inliner::branch(const Instruction& like, int32_t label, ptx::Guard guard) {
  Operand to;
  to.kind = OperandKind::kLabel;
  to.value = label;
  Instruction in = made(like, Op::k_bra, {}, {}, {to});
  in.guard = guard;
  add(std::move(in));
}

// Loads or stores `bytes` of a place as one number.
void Inliner::move(const Instruction& like, bool store, const Place& place, int64_t offset, int64_t bytes,
                   const Operand& value) {
  Operand at;
  at.kind = OperandKind::kAddress;
  at.value = offset;
  at.symbol = place.symbol;
  if (place.body) at = frame_address(*place.body, place.offset + offset);
  std::vector<Operand> operands = store ? std::vector<Operand>{at, value} : std::vector<Operand>{value, at};
  add(made(like, store ? Op::k_st : Op::k_ld, {place.body ? Modifier::kLocal : Modifier::kParam}, {bits_type(bytes)},
           std::move(operands)));
}

void Inliner::copy(const Instruction& like, const Place& to, const Place& from, const ptx::Variable& v) {
  int64_t piece = std::clamp<int64_t>(v.align, 1, 8);
  for (int64_t at = 0; at < v.bytes(); at += piece) {
    while (at + piece > v.bytes()) piece /= 2;
    Operand value = new_register(bits_type(std::max<int64_t>(piece, 2)));
    move(like, false, from, at, piece, value);
    move(like, true, to, at, piece, value);
  }
}

void Inliner::refuse(const Instruction& in, const std::string& callee, std::string why) {
  if (problem_) return;
  problem_ = diagnose(Code::N920, {},
                      {{"instruction", "call of " + callee},
                       {"line", std::to_string(in.line)},
                       {"kernel", out_.name},
                       {"why", ": " + std::move(why)}});
}

// --- names ---

std::optional<Inliner::Place> Inliner::place_of(const Operand& o, const Names& n) const {
  bool named = o.kind == OperandKind::kSymbol || o.kind == OperandKind::kAddress;
  if (!named || o.reg != ptx::kNone || o.symbol.index == ptx::kNone) return std::nullopt;
  auto index = static_cast<size_t>(o.symbol.index);
  if (o.symbol.kind == SymbolKind::kLocal) return n.variables[index];
  if (n.identity) return std::nullopt;
  if (o.symbol.kind == SymbolKind::kParameter) return n.parameters[index];
  if (o.symbol.kind == SymbolKind::kReturn) return n.returns[index];
  return std::nullopt;
}

// An operand as it is in the result. The address of what lies in a frame is computed before the instruction.
void Inliner::rename(Instruction& in, Operand& o, const Names& n) {
  std::optional<Place> place = place_of(o, n);
  if (o.reg != ptx::kNone) o.reg += n.registers;
  if (o.kind == OperandKind::kLabel) o.value = n.labels[static_cast<size_t>(o.value)];
  if (o.kind == OperandKind::kPrototype) o.value += n.prototypes;
  if (o.kind == OperandKind::kTargets) o.value += n.targets;
  if (place && !place->body) o.symbol = place->symbol;
  if (place && place->body) {
    int64_t offset = place->offset + o.value;
    if (o.kind == OperandKind::kAddress) {
      o = frame_address(*place->body, offset);
      for (Modifier& m : in.modifiers) {
        if (ptx::space_of(m) == Space::kParam) m = Modifier::kLocal;
      }
    } else {
      Operand address = new_register(Type::k_u64);
      add(made(in, Op::k_add, {}, {Type::k_s64},
               {address, register_operand(place->body->frame), integer_operand(offset)}));
      o = address;
    }
  }
  for (Operand& part : o.parts) rename(in, part, n);
}

int32_t Inliner::register_named(const Function& f, const Names& n, const std::string& name) const {
  for (size_t r = 0; r < f.registers.size(); ++r) {
    if (f.registers[r].name == name) return n.registers + static_cast<int32_t>(r);
  }
  return ptx::kNone;
}

Inliner::Names Inliner::names_for(const Function& f, Body* body) {
  Names n;
  n.body = body;
  n.registers = static_cast<int32_t>(out_.registers.size());
  out_.registers.insert(out_.registers.end(), f.registers.begin(), f.registers.end());
  n.prototypes = static_cast<int32_t>(out_.prototypes.size());
  out_.prototypes.insert(out_.prototypes.end(), f.prototypes.begin(), f.prototypes.end());
  for (const ptx::Label& label : f.labels) n.labels.push_back(new_label(f.name + "." + label.name));
  n.targets = static_cast<int32_t>(out_.target_lists.size());
  for (size_t i = 0; i < f.target_lists.size(); ++i) {
    std::vector<int32_t> list = f.target_lists[i];
    bool functions = false;
    for (const Instruction& in : f.instructions) {
      if (in.op != Op::k_call) continue;
      for (const Operand& o : in.operands)
        functions |= o.kind == OperandKind::kTargets && o.value == static_cast<int64_t>(i);
    }
    for (int32_t& label : list) {
      if (!functions) label = n.labels[static_cast<size_t>(label)];
    }
    out_.target_lists.push_back(std::move(list));
  }
  return n;
}

// The function's variables: in the frame of a body that may be entered again, but for what a call of the runtime names.
void Inliner::own_variables(const Function& f, Names& n) {
  std::set<int32_t> given;
  for (const Instruction& in : f.instructions) {
    if (in.op != Op::k_call || callee_of(module_, in)) continue;
    if (in.operands[static_cast<size_t>(in.call_results)].kind != OperandKind::kSymbol) continue;
    for (const Operand& o : in.operands) {
      if (o.kind == OperandKind::kSymbol && o.symbol.kind == SymbolKind::kLocal) given.insert(o.symbol.index);
    }
  }
  for (size_t i = 0; i < f.variables.size(); ++i) {
    const ptx::Variable& v = f.variables[i];
    bool own = v.space == Space::kLocal || (v.space == Space::kParam && !given.count(static_cast<int32_t>(i)));
    if (n.body && own && recursive_.count(n.body->function)) {
      int64_t align = std::max<int64_t>(v.align, 8);
      n.body->bytes = (n.body->bytes + align - 1) / align * align;
      n.variables.push_back({{}, n.body, n.body->bytes});
      n.body->bytes += v.bytes();
      if (v.space == Space::kParam) clear_unwritten(f, static_cast<int32_t>(i), n.variables.back());
      continue;
    }
    n.variables.push_back({{SymbolKind::kLocal, static_cast<int32_t>(out_.variables.size())}});
    out_.variables.push_back(v);
  }
}

// Compilers leave out the store of an argument that has no value, and the result of a function that gives none may be
// read: in a frame, whose every read asks whether anything was written, zeros stand for what `f` itself never writes.
void Inliner::clear_unwritten(const Function& f, int32_t variable, const Place& place) {
  int64_t bytes = f.variables[static_cast<size_t>(variable)].bytes();
  std::vector<bool> written(static_cast<size_t>(bytes));
  for (const Instruction& in : f.instructions) {
    if (in.op != Op::k_st || in.operands[0].kind != OperandKind::kAddress) continue;
    const Operand& to = in.operands[0];
    if (to.reg != ptx::kNone || to.symbol != ptx::Symbol{SymbolKind::kLocal, variable}) continue;
    bool vector = in.operands[1].kind == OperandKind::kVector;
    int64_t size = ptx::row(in.type()).size() / 8 * (vector ? static_cast<int64_t>(in.operands[1].parts.size()) : 1);
    for (int64_t at = std::max<int64_t>(to.value, 0); at < std::min(to.value + size, bytes); ++at) {
      written[static_cast<size_t>(at)] = true;
    }
  }
  for (int64_t at = 0, piece = 8; at < bytes; at += piece) {
    piece = 8;
    while (at + piece > bytes) piece /= 2;
    bool all = true;
    for (int64_t i = at; i < at + piece; ++i) all &= written[static_cast<size_t>(i)];
    if (!all) move(f.instructions.front(), true, place, at, piece, integer_operand(0));
  }
}

// --- calls ---

void Inliner::splice(const Function& f, const Names& n, int32_t after) {
  path_.push_back({&f, 0, n.registers});
  std::multimap<int32_t, int32_t> labels;  // by instruction
  for (size_t i = 0; i < f.labels.size(); ++i) labels.emplace(f.labels[i].instruction, static_cast<int32_t>(i));
  auto place = [&](int32_t at) {
    auto [first, last] = labels.equal_range(at);
    for (; first != last; ++first) put(n.labels[static_cast<size_t>(first->second)]);
  };
  for (size_t i = 0; i < f.instructions.size() && !problem_; ++i) {
    place(static_cast<int32_t>(i));
    const Instruction& original = f.instructions[i];
    path_.back().index = static_cast<int32_t>(i);
    Instruction in = original;
    if (in.guard.reg != ptx::kNone) in.guard.reg += n.registers;
    const Function* callee = callee_of(module_, in);
    bool pointer =
        in.op == Op::k_call && in.operands[static_cast<size_t>(in.call_results)].kind == OperandKind::kRegister;
    if (callee || pointer) {
      // Variables that are handed over stay what they are called in the caller.
      for (Operand& o : in.operands) {
        if (!place_of(o, n)) rename(in, o, n);
      }
      if (pointer || recursive_.count(callee)) {
        shared_call(in, original, callee, n);
      } else {
        inline_call(in, original, *callee, n);
      }
    } else {
      for (Operand& o : in.operands) rename(in, o, n);
      if (moves_stack(in)) {
        move_stack(in);
      } else if (in.op == Op::k_ret && after != ptx::kNone) {
        branch(in, after, in.guard);
      } else {
        add(std::move(in));
      }
    }
    if (out_.instructions.size() > kMostInstructions)
      refuse(original, f.name, "the kernel grows past a million instructions");
  }
  place(static_cast<int32_t>(f.instructions.size()));
  path_.pop_back();
}

void Inliner::inline_call(const Instruction& in, const Instruction& original, const Function& callee,
                          const Names& from) {
  if (path_.size() > kDeepest) return refuse(in, callee.name, "calls are nested too deep");
  int32_t past = new_label(callee.name + ".past");
  if (in.guard.reg != ptx::kNone) branch(in, past, {in.guard.reg, !in.guard.negated});
  Names n = names_for(callee, from.body);
  auto results = static_cast<size_t>(in.call_results);
  for (size_t i = 0; i < callee.parameters.size(); ++i) {
    if (results + 1 + i >= in.operands.size()) return refuse(in, callee.name, "arguments are missing");
    const ptx::Variable& v = callee.parameters[i];
    if (auto given = place_of(original.operands[results + 1 + i], from)) {
      n.parameters.push_back(*given);
      continue;
    }
    n.parameters.push_back(new_variable(v));
    move(in, true, n.parameters.back(), 0, v.bytes(), in.operands[results + 1 + i]);
  }
  for (size_t i = 0; i < callee.returns.size(); ++i) {
    auto given = i < results ? place_of(original.operands[i], from) : std::nullopt;
    n.returns.push_back(given ? *given : new_variable(callee.returns[i]));
  }
  own_variables(callee, n);
  // Parameters in .reg space are registers of the same name.
  for (size_t i = 0; i < callee.parameters.size(); ++i) {
    const ptx::Variable& v = callee.parameters[i];
    int32_t to = v.space == Space::kReg ? register_named(callee, n, v.name) : ptx::kNone;
    if (to != ptx::kNone) move(in, false, n.parameters[i], 0, v.bytes(), register_operand(to));
  }
  if (!moves_stack(callee)) {
    splice(callee, n, past);
    put(past);
  } else {
    int32_t end = new_label(callee.name + ".end");
    Operand before = new_register(Type::k_u64);
    add(made(in, Op::k_mov, {}, {Type::k_u64}, {before, stack_top_}));
    splice(callee, n, end);
    put(end);
    add(made(in, Op::k_mov, {}, {Type::k_u64}, {stack_top_, before}));
    put(past);
  }
  for (size_t i = 0; i < callee.returns.size() && i < results; ++i) {
    const ptx::Variable& v = callee.returns[i];
    if (place_of(original.operands[i], from)) continue;
    int32_t reg = v.space == Space::kReg ? register_named(callee, n, v.name) : ptx::kNone;
    if (reg != ptx::kNone) move(in, true, n.returns[i], 0, v.bytes(), register_operand(reg));
    move(in, false, n.returns[i], 0, v.bytes(), in.operands[i]);
  }
}

Result<Function> inlined(const ptx::Module& module, const Function& kernel, int64_t stack_bytes) {
  Inliner inliner(module, kernel, stack_bytes);
  auto out = inliner.run(kernel);
  if (out) promote(*out);
  return out;
}

}  // namespace quern::vgpu
