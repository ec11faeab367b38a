// Functions whose bodies stand once: what calls itself, and what is called through a pointer.
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
using ptx::SymbolKind;
using ptx::Type;

namespace {

bool through_pointer(const Instruction& in) {
  return in.op == Op::k_call && in.operands[static_cast<size_t>(in.call_results)].kind == OperandKind::kRegister;
}

std::vector<int64_t> signature(const std::vector<ptx::Variable>& returns,
                               const std::vector<ptx::Variable>& parameters) {
  std::vector<int64_t> out;
  for (const ptx::Variable& v : returns) out.push_back(v.bytes());
  out.push_back(-1);
  for (const ptx::Variable& v : parameters) out.push_back(v.bytes());
  return out;
}

// All functions whose address is a value somewhere in the module.
std::vector<const Function*> addressed(const ptx::Module& module) {
  std::set<int32_t> found;
  auto look = [&](const Operand& o, auto& self) -> void {
    if (o.kind == OperandKind::kSymbol && o.symbol.kind == SymbolKind::kFunction) found.insert(o.symbol.index);
    for (const Operand& part : o.parts) self(part, self);
  };
  for (const Function& f : module.functions) {
    for (const Instruction& in : f.instructions) {
      for (size_t i = 0; i < in.operands.size(); ++i) {
        bool called = in.op == Op::k_call && i == static_cast<size_t>(in.call_results);
        if (!called) look(in.operands[i], look);
      }
    }
  }
  for (const ptx::Variable& v : module.variables) {
    for (const ptx::Relocation& r : v.relocations) {
      if (r.symbol.kind == SymbolKind::kFunction) found.insert(r.symbol.index);
    }
  }
  std::vector<const Function*> out;
  for (int32_t i : found) {
    const Function& f = module.functions[static_cast<size_t>(i)];
    if (f.defined && !f.entry) out.push_back(&f);
  }
  return out;
}

}  // namespace

// Fills recursive_ and pointed_ with what the kernel may get to.
void Inliner::find_shared(const Function& kernel) {
  std::vector<const Function*> pointed = addressed(module_);
  std::map<const Function*, std::set<const Function*>> calls;
  std::vector<const Function*> work = {&kernel};
  std::set<const Function*> seen = {&kernel};
  while (!work.empty()) {
    const Function* f = work.back();
    work.pop_back();
    for (const Instruction& in : f->instructions) {
      if (const Function* callee = callee_of(module_, in)) calls[f].insert(callee);
      if (!through_pointer(in)) continue;
      pointed_ = pointed;
      calls[f].insert(pointed.begin(), pointed.end());
    }
    for (const Function* callee : calls[f]) {
      if (seen.insert(callee).second) work.push_back(callee);
    }
  }
  stack_ = !pointed_.empty();
  for (const Function* f : seen) {
    stack_ |= moves_stack(*f);
    std::set<const Function*> reached;
    std::vector<const Function*> next(calls[f].begin(), calls[f].end());
    while (!next.empty()) {
      const Function* g = next.back();
      next.pop_back();
      if (!reached.insert(g).second) continue;
      next.insert(next.end(), calls[g].begin(), calls[g].end());
    }
    if (reached.count(f)) recursive_.insert(f);
  }
  stack_ |= !recursive_.empty();
}

Inliner::Class& Inliner::class_of(const std::vector<ptx::Variable>& returns,
                                  const std::vector<ptx::Variable>& parameters) {
  auto [at, fresh] = classes_.try_emplace(signature(returns, parameters));
  Class& c = at->second;
  if (!fresh) return c;
  for (const ptx::Variable& v : returns) c.results.push_back(new_variable(v));
  for (const ptx::Variable& v : parameters) c.arguments.push_back(new_variable(v));
  c.way_back = new_register(Type::k_u32).reg;
  c.table = static_cast<int32_t>(out_.target_lists.size());
  out_.target_lists.emplace_back();
  return c;
}

Inliner::Body& Inliner::body_of(const Function& f) {
  auto [at, fresh] = bodies_.try_emplace(&f);
  Body& b = at->second;
  if (!fresh) return b;
  b.function = &f;
  b.signature = &class_of(f.returns, f.parameters);
  b.label = new_label(f.name);
  b.frame = new_register(Type::k_u64).reg;
  queue_.push_back(&b);
  return b;
}

Operand Inliner::frame_address(const Body& body, int64_t offset) const {
  Operand at;
  at.kind = OperandKind::kAddress;
  at.reg = body.frame;
  at.value = offset;
  return at;
}

void Inliner::start_stack() {
  ptx::Variable stack;
  stack.name = "the stack";
  stack.space = Space::kLocal;
  stack.type = Type::k_b8;
  stack.align = 16;
  stack.dims = {stack_bytes_ + 16};  // room for a frame's address (shared_call)
  out_.variables.push_back(stack);
  Operand base;
  base.kind = OperandKind::kSymbol;
  base.symbol = {SymbolKind::kLocal, static_cast<int32_t>(out_.variables.size()) - 1};
  stack_top_ = new_register(Type::k_u64), stack_end_ = new_register(Type::k_u64);
  add(made({}, Op::k_mov, {}, {Type::k_u64}, {stack_top_, base}));
  base.value = stack_bytes_;
  add(made({}, Op::k_mov, {}, {Type::k_u64}, {stack_end_, base}));
}

void Inliner::write_body(Body& body) {
  const Function& f = *body.function;
  Class& c = *body.signature;
  const Instruction like = f.instructions.empty() ? Instruction{} : f.instructions.front();
  Operand frame = register_operand(body.frame);
  put(body.label);
  add(made(like, Op::k_mov, {}, {Type::k_u64}, {frame, stack_top_}));
  body.sized.push_back(out_.instructions.size());
  add(made(like, Op::k_add, {}, {Type::k_s64}, {stack_top_, frame, integer_operand(1)}));
  Operand full = new_register(Type::k_pred);
  add(made(like, Op::k_setp, {Modifier::kGt}, {Type::k_u64}, {full, stack_top_, stack_end_}));
  Instruction trap = made(like, Op::k_trap, {}, {}, {integer_operand(kStackIsFull)});
  trap.guard.reg = full.reg;
  add(std::move(trap));
  Place first{{}, &body, 0};
  move(like, true, first, 0, 4, register_operand(c.way_back));
  Names n = names_for(f, &body);
  for (size_t i = 0; i < f.parameters.size(); ++i) {
    const ptx::Variable& v = f.parameters[i];
    int32_t to = v.space == Space::kReg ? register_named(f, n, v.name) : ptx::kNone;
    if (to != ptx::kNone) move(like, false, c.arguments[i], 0, v.bytes(), register_operand(to));
    body.bytes = (body.bytes + 15) / 16 * 16;
    n.parameters.push_back({{}, &body, body.bytes});
    body.bytes += v.bytes();
    if (v.space != Space::kReg) copy(like, n.parameters.back(), c.arguments[i], v);
  }
  n.returns = c.results;
  own_variables(f, n);
  int32_t end = new_label(f.name + ".end");
  std::vector<Step> path = std::exchange(path_, {});
  splice(f, n, end);
  path_ = std::move(path);
  put(end);
  for (size_t i = 0; i < f.returns.size(); ++i) {
    int32_t from = f.returns[i].space == Space::kReg ? register_named(f, n, f.returns[i].name) : ptx::kNone;
    if (from != ptx::kNone) move(like, true, c.results[i], 0, f.returns[i].bytes(), register_operand(from));
  }
  Operand back = new_register(Type::k_u32), table;
  move(like, false, first, 0, 4, back);
  add(made(like, Op::k_mov, {}, {Type::k_u64}, {stack_top_, frame}));
  table.kind = OperandKind::kTargets;
  table.value = c.table;
  add(made(like, Op::k_brx_idx, {}, {}, {back, table}));
  body.bytes = (body.bytes + 15) / 16 * 16;
  for (size_t i : body.sized) out_.instructions[i].operands.back().value *= body.bytes;
}

void Inliner::shared_call(const Instruction& in, const Instruction& original, const Function* callee,
                          const Names& from) {
  auto results = static_cast<size_t>(in.call_results);
  const Operand& pointer = in.operands[results];
  std::string name = callee ? callee->name : "a function through a pointer";
  // What it is called with: the callee's own parameters, or what the call says of them.
  const std::vector<ptx::Variable>*returns = nullptr, *parameters = nullptr;
  if (callee) returns = &callee->returns, parameters = &callee->parameters;
  const Operand& last = original.operands.back();
  if (!callee && last.kind == OperandKind::kPrototype) {
    const ptx::Prototype& p = path_.back().function->prototypes[static_cast<size_t>(last.value)];
    returns = &p.returns, parameters = &p.parameters;
  }
  if (!callee && last.kind == OperandKind::kTargets) {
    const auto& list = path_.back().function->target_lists[static_cast<size_t>(last.value)];
    if (!list.empty()) {
      const Function& f = module_.functions[static_cast<size_t>(list[0])];
      returns = &f.returns, parameters = &f.parameters;
    }
  }
  if (!returns) return refuse(in, name, "nothing tells its parameters");
  if (in.operands.size() < results + 1 + parameters->size() || results > returns->size())
    return refuse(in, name, "arguments are missing");
  Class& c = class_of(*returns, *parameters);
  int32_t past = new_label(name + ".past");
  if (in.guard.reg != ptx::kNone) branch(in, past, {in.guard.reg, !in.guard.negated});
  for (size_t i = 0; i < parameters->size(); ++i) {
    const ptx::Variable& v = (*parameters)[i];
    if (auto given = place_of(original.operands[results + 1 + i], from)) {
      copy(in, c.arguments[i], *given, v);
    } else {
      move(in, true, c.arguments[i], 0, v.bytes(), in.operands[results + 1 + i]);
    }
  }
  // A body that may be entered again before this call is over gives up its registers.
  bool again = from.body && recursive_.count(from.body->function);
  std::set<int32_t> needed = again ? needed_after_call() : std::set<int32_t>{};
  if (again) save(in, *from.body, needed, false);
  // Where the frame starts is found from its end, unless the function has taken memory behind that.
  bool pushed = again && moves_stack(*from.body->function);
  auto top = [&] {
    Operand at;
    at.kind = OperandKind::kAddress;
    at.reg = stack_top_.reg;
    return at;
  };
  if (pushed) {
    add(made(in, Op::k_st, {Modifier::kLocal}, {Type::k_b64}, {top(), register_operand(from.body->frame)}));
    add(made(in, Op::k_add, {}, {Type::k_s64}, {stack_top_, stack_top_, integer_operand(16)}));
  }
  auto& table = out_.target_lists[static_cast<size_t>(c.table)];
  int32_t back = new_label(name + ".back");
  add(made(in, Op::k_mov, {}, {Type::k_u32},
           {register_operand(c.way_back), integer_operand(static_cast<int64_t>(table.size()))}));
  table.push_back(back);
  if (callee) {
    branch(in, body_of(*callee).label);
  } else {
    for (const Function* f : pointed_) {
      if (signature(f->returns, f->parameters) != signature(*returns, *parameters)) continue;
      Operand is = new_register(Type::k_pred);
      auto number = f - module_.functions.data();
      add(made(in, Op::k_setp, {Modifier::kEq}, {Type::k_u64}, {is, pointer, integer_operand(number + 1)}));
      branch(in, body_of(*f).label, {is.reg, false});
    }
    add(made(in, Op::k_trap, {}, {}, {integer_operand(kNoSuchFunction)}));
  }
  put(back);
  if (again) {
    Body& body = *from.body;
    if (pushed) {
      add(made(in, Op::k_sub, {}, {Type::k_s64}, {stack_top_, stack_top_, integer_operand(16)}));
      add(made(in, Op::k_ld, {Modifier::kLocal}, {Type::k_b64}, {register_operand(body.frame), top()}));
    } else {
      body.sized.push_back(out_.instructions.size());
      add(made(in, Op::k_add, {}, {Type::k_s64}, {register_operand(body.frame), stack_top_, integer_operand(-1)}));
    }
    save(in, body, needed, true);
  }
  for (size_t i = 0; i < results; ++i) {
    if (auto given = place_of(original.operands[i], from)) {
      copy(in, *given, c.results[i], (*returns)[i]);
    } else {
      move(in, false, c.results[i], 0, (*returns)[i].bytes(), in.operands[i]);
    }
  }
  put(past);
}

void Inliner::save(const Instruction& like, Body& body, const std::set<int32_t>& registers, bool restore) {
  for (int32_t r : registers) {
    Type type = out_.registers[static_cast<size_t>(r)].type;
    int bits = ptx::row(type).size();
    auto [at, fresh] = body.saved.try_emplace(r, (body.bytes + 15) / 16 * 16);
    if (fresh) body.bytes = at->second + std::max(bits / 8, 4);
    Place place{{}, &body, at->second};
    Operand value = register_operand(r);
    if (type == Type::k_pred) {
      Operand number = new_register(Type::k_b32);
      if (restore) {
        move(like, false, place, 0, 4, number);
        add(made(like, Op::k_setp, {Modifier::kNe}, {Type::k_u32}, {value, number, integer_operand(0)}));
      } else {
        add(made(like, Op::k_selp, {}, {Type::k_u32}, {number, integer_operand(1), integer_operand(0), value}));
        move(like, true, place, 0, 4, number);
      }
    } else if (bits == 128) {
      Operand at_frame = frame_address(body, at->second);
      std::vector<Operand> operands =
          restore ? std::vector<Operand>{value, at_frame} : std::vector<Operand>{at_frame, value};
      add(made(like, restore ? Op::k_ld : Op::k_st, {Modifier::kLocal}, {Type::k_b128}, std::move(operands)));
    } else {
      move(like, !restore, place, 0, bits / 8, value);
    }
  }
}

// The registers, in the result, of all functions that the call lies in, as far as they are read after it.
std::set<int32_t> Inliner::needed_after_call() {
  std::set<int32_t> out;
  for (const Step& step : path_) {
    auto [at, fresh] = flows_.try_emplace(step.function);
    if (fresh) at->second = flow_of(*step.function);
    const Flow& flow = at->second;
    int32_t b = flow.block_of[static_cast<size_t>(step.index)];
    const Block& block = flow.blocks[static_cast<size_t>(b)];
    std::set<int32_t> live;
    auto count = static_cast<int32_t>(step.function->registers.size());
    for (int32_t next : block.next) {
      if (next >= flow.exit()) continue;
      for (int32_t r = 0; r < count; ++r) {
        if (has(flow.live_in[static_cast<size_t>(next)], r)) live.insert(r);
      }
    }
    for (int32_t i = block.end - 1; i > step.index; --i) {
      const Instruction& in = step.function->instructions[static_cast<size_t>(i)];
      Uses u = uses(in, count);
      if (in.guard.reg == ptx::kNone) {
        for (int32_t r : u.writes) live.erase(r);
      }
      live.insert(u.reads.begin(), u.reads.end());
    }
    for (int32_t r : live) {
      if (r < count) out.insert(r + step.registers);
    }
  }
  return out;
}

}  // namespace quern::vgpu
