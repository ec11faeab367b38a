// Puts calls in place: what inline.cc, shared_call.cc and promote.cc share.
//
// A function that calls itself, or that is called through a pointer, can't be put in place. Its body stands once,
// behind the kernel, and is jumped to: arguments and results lie in variables that all functions of one signature
// share, a register holds the number of the place to return to, and the way back is a jump through a table. Lanes part
// and meet in such a body as in any code, whoever called it.
//
// What must outlive a call that may come back to the same body lies in a frame on a stack in local memory: the place to
// return to, parameters, variables, and the registers that are needed afterwards.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "vgpu/flow.h"

namespace quern::vgpu {

class Inliner {
 public:
  Inliner(const ptx::Module& module, const ptx::Function& kernel, int64_t stack_bytes);
  Result<ptx::Function> run(const ptx::Function& kernel);

 private:
  struct Body;
  // Where a variable of a function lies in the result: a variable there, or in the frame of a body.
  struct Place {
    ptx::Symbol symbol;
    const Body* body = nullptr;  // whose frame; null: symbol
    int64_t offset = 0;
  };
  // What a function's own numbers are in the result.
  struct Names {
    bool identity = false;  // the kernel itself
    int32_t registers = 0, prototypes = 0, targets = 0;
    std::vector<int32_t> labels;
    std::vector<Place> parameters, returns, variables;
    Body* body = nullptr;  // that the instructions become part of; null: the kernel
  };
  // The signature of functions that are jumped to: bytes of results and parameters.
  struct Class {
    std::vector<Place> arguments, results;
    int32_t way_back = ptx::kNone;  // the register that holds where to return to
    int32_t table = 0;              // of the places, in Function::target_lists
  };
  // A function whose body stands once.
  struct Body {
    const ptx::Function* function = nullptr;
    Class* signature = nullptr;
    int32_t label = 0;
    int32_t frame = ptx::kNone;        // the register of its frame's address
    int64_t bytes = 16;                // of the frame; the place to return to comes first
    std::map<int32_t, int64_t> saved;  // registers, and where they lie in the frame
    std::vector<size_t> sized;         // instructions whose last operand is `bytes`, with the sign that it has
  };
  // The calls that lead to where we are: a function, the call in it, and its first register in the result.
  struct Step {
    const ptx::Function* function = nullptr;
    int32_t index = 0;
    int32_t registers = 0;
  };

  // --- inline.cc ---
  void rename(ptx::Instruction& in, ptx::Operand& operand, const Names& n);
  std::optional<Place> place_of(const ptx::Operand& operand, const Names& n) const;
  int32_t new_label(std::string name);
  ptx::Operand new_register(ptx::Type type);
  Place new_variable(const ptx::Variable& like);
  ptx::Instruction made(const ptx::Instruction& like, ptx::Op op, std::vector<ptx::Modifier> modifiers,
                        std::vector<ptx::Type> types, std::vector<ptx::Operand> operands) const;
  void branch(const ptx::Instruction& like, int32_t label, ptx::Guard guard = {});
  void put(int32_t label);  // here
  void move(const ptx::Instruction& like, bool store, const Place& place, int64_t offset, int64_t bytes,
            const ptx::Operand& value);
  void copy(const ptx::Instruction& like, const Place& to, const Place& from, const ptx::Variable& v);
  void refuse(const ptx::Instruction& in, const std::string& callee, std::string why);
  void splice(const ptx::Function& f, const Names& n, int32_t after);
  void inline_call(const ptx::Instruction& in, const ptx::Instruction& original, const ptx::Function& callee,
                   const Names& from);
  Names names_for(const ptx::Function& f, Body* body);
  void own_variables(const ptx::Function& f, Names& n);
  void clear_unwritten(const ptx::Function& f, int32_t variable, const Place& place);
  int32_t register_named(const ptx::Function& f, const Names& n, const std::string& name) const;
  void add(ptx::Instruction in) { out_.instructions.push_back(std::move(in)); }

  // --- shared_call.cc ---
  void find_shared(const ptx::Function& kernel);
  Class& class_of(const std::vector<ptx::Variable>& returns, const std::vector<ptx::Variable>& parameters);
  Body& body_of(const ptx::Function& f);
  void start_stack();
  void write_body(Body& body);
  // `callee`: null for a call through a pointer.
  void shared_call(const ptx::Instruction& in, const ptx::Instruction& original, const ptx::Function* callee,
                   const Names& from);
  void save(const ptx::Instruction& like, Body& body, const std::set<int32_t>& registers, bool restore);
  std::set<int32_t> needed_after_call();
  ptx::Operand frame_address(const Body& body, int64_t offset) const;

  // --- stack.cc ---
  void move_stack(const ptx::Instruction& in);

  const ptx::Module& module_;
  ptx::Function out_;
  std::vector<Step> path_;
  std::optional<Diagnostic> problem_;
  int64_t stack_bytes_;
  std::set<const ptx::Function*> recursive_;
  std::vector<const ptx::Function*> pointed_;  // may be called through a pointer
  std::map<std::vector<int64_t>, Class> classes_;
  std::map<const ptx::Function*, Body> bodies_;
  std::deque<Body*> queue_;
  bool stack_ = false;                  // something needs one
  ptx::Operand stack_top_, stack_end_;  // registers
  std::map<const ptx::Function*, Flow> flows_;
};

// alloca and its kin.
bool moves_stack(const ptx::Instruction& in);
bool moves_stack(const ptx::Function& f);
// The function that a call names directly and the module defines; null for others.
const ptx::Function* callee_of(const ptx::Module& module, const ptx::Instruction& in);
ptx::Type bits_type(int64_t bytes);
ptx::Operand register_operand(int32_t reg);
ptx::Operand integer_operand(int64_t value);
// `trap` with one of these says why: there is no such operand in PTX.
inline constexpr int64_t kStackIsFull = 1, kNoSuchFunction = 2, kNoRoom = 3;  // for a call's frame; for alloca

void promote(ptx::Function& f);

}  // namespace quern::vgpu
