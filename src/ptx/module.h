// A PTX module as a checked structure: what the parser makes of text, what the printer writes, what vgpu/ compiles.
//
// It is flat. Nested scopes are gone: their registers and variables stand in the function, renamed where two had one
// name, so that an instruction refers to everything by index. Names are resolved; what isn't declared is an error of
// the parser. What an instruction means depends on its row in instructions.def and on its modifiers and types, which
// stay as they were written.
//
// PTX ISA 9.0, sections 4 (syntax), 5 (state spaces, types, variables), 10 (special registers), 11 (directives).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ptx/names.h"

namespace quern::ptx {

inline constexpr int32_t kNone = -1;

// A place in the program's source, as `.loc` gives it.
struct Location {
  int32_t file = 0;  // number of a `.file`
  int32_t line = 0;
  int32_t column = 0;
  int32_t inlined_at = kNone;  // of Module::locations: where the function that this lies in was inlined
  std::string function;        // its name there; empty: not told
  bool operator==(const Location&) const = default;
};

enum class Linkage : uint8_t { kInternal, kVisible, kExtern, kWeak, kCommon };

// What a name stands for.
enum class SymbolKind : uint8_t {
  kVariable,   // of the module: global, constant, shared, texture
  kLocal,      // of the function: Function::variables (shared, local, param)
  kParameter,  // Function::parameters
  kReturn,     // Function::returns
  kFunction,   // of the module
};

struct Symbol {
  SymbolKind kind = SymbolKind::kVariable;
  int32_t index = kNone;
  bool operator==(const Symbol&) const = default;
};

enum class OperandKind : uint8_t {
  kRegister,
  kInteger,    // `value`
  kReal,       // `value` holds the bits of a binary64, or of a binary32 where `single` (0f3f800000)
  kSpecial,    // %tid.x
  kSymbol,     // the address of a variable or function, plus `value`
  kAddress,    // [register or symbol + value]; also [texture, {x, y}] (parts), and [address, mbarrier]
  kVector,     // {a, b, c, d} (parts)
  kLabel,      // `value`: index of Function::labels
  kSink,       // _
  kPrototype,  // `value`: index of Function::prototypes
  kTargets,    // `value`: index of Function::target_lists
};

struct Operand {
  OperandKind kind = OperandKind::kSink;
  bool negated = false;  // !p
  bool single = false;   // kReal was written as 0f…
  Special special = {};
  int32_t reg = kNone;  // of Function::registers
  Symbol symbol;        // kSymbol, kAddress where reg is kNone
  int64_t value = 0;
  std::vector<Operand> parts;
  std::array<char, 8> selector = {};  // of video arithmetic: bytes and halves of the register, "b3210", "h1"
  bool operator==(const Operand&) const = default;
};

struct Guard {
  int32_t reg = kNone;  // kNone: none
  bool negated = false;
  bool operator==(const Guard&) const = default;
};

struct Instruction {
  Op op = {};
  Guard guard;
  std::vector<Modifier> modifiers;  // in the order of writing, types left out
  int32_t leading_modifiers = 0;    // how many of them are written before the types
  std::vector<Type> types;          // in the order of writing: cvt.f32.s32 has two
  // Results first, as written. `d|p` is two operands; pair_results tells so. A call: results, callee, arguments (see
  // call_results), then a prototype or list of targets if any.
  std::vector<Operand> operands;
  bool pair_results = false;
  int32_t call_results = 0;
  int32_t line = 0;          // of the text, from 1
  int32_t location = kNone;  // of Module::locations

  bool has(Modifier m) const;
  // The modifier of that group, if there is one.
  std::optional<Modifier> of(ModifierGroup group) const;
  Space space() const;  // the first that is written; kGeneric where none is
  Type type(size_t i = 0) const { return i < types.size() ? types[i] : Type{}; }
  bool operator==(const Instruction&) const = default;
};

// Only registers that an instruction uses are here, in the order of their first use: `.reg .b32 %r<2000000000>` is no
// load. Vector registers are taken apart: `.reg .v4 .f32 %v` is %v_x to %v_w, `%v.x` one of them, `%v` a kVector.
struct Register {
  std::string name;  // "%r12"
  Type type = {};
  bool operator==(const Register&) const = default;
};

// A word of an initial value that is an address: `bytes` of it from bit `shift`, at `offset`.
struct Relocation {
  int64_t offset = 0;
  Symbol symbol;
  int64_t addend = 0;
  int32_t bytes = 8;
  int32_t shift = 0;
  bool generic = false;  // generic(x)
  bool operator==(const Relocation&) const = default;
};

struct Variable {
  std::string name;
  Space space = {};
  Type type = {};
  int32_t vector = 1;
  int64_t align = 1;             // bytes
  std::vector<int64_t> dims;     // empty: one element; a first 0: an array whose size is not told (extern .shared x[])
  std::vector<uint8_t> initial;  // empty: zeros, or none for .shared and .local
  std::vector<Relocation> relocations;
  Linkage linkage = Linkage::kInternal;
  bool managed = false;       // .attribute(.managed)
  bool unified = false;       // .attribute(.unified(…))
  std::string pointer_space;  // of a parameter: .ptr .global
  int64_t pointer_align = 0;
  std::vector<std::pair<std::string, std::string>> properties;  // of a samplerref and its kin: addr_mode_0 = wrap
  int32_t line = 0;

  int64_t elements() const;  // 1 where dims is empty
  int64_t bytes() const;     // 0 where the size is not told
  bool operator==(const Variable&) const = default;
};

struct Prototype {
  std::string name;
  std::vector<Variable> returns, parameters;
  bool noreturn = false;
  bool operator==(const Prototype&) const = default;
};

struct Label {
  std::string name;
  int32_t instruction = 0;  // it stands before this one; may be instructions.size()
  bool operator==(const Label&) const = default;
};

struct Function {
  std::string name;
  bool entry = false;
  bool defined = false;
  bool noreturn = false;
  Linkage linkage = Linkage::kInternal;
  std::vector<Variable> returns, parameters;
  std::vector<Register> registers;
  std::vector<Variable> variables;
  std::vector<Instruction> instructions;
  std::vector<Label> labels;
  std::vector<Prototype> prototypes;
  std::vector<std::vector<int32_t>> target_lists;  // .branchtargets: labels; .calltargets: functions
  // Launch bounds; 0: not told.
  int32_t max_threads[3] = {0, 0, 0};       // .maxntid
  int32_t required_threads[3] = {0, 0, 0};  // .reqntid
  int32_t min_blocks = 0;                   // .minnctapersm
  int32_t max_registers = 0;                // .maxnreg
  int32_t cluster[3] = {0, 0, 0};           // .reqnctapercluster
  bool explicit_cluster = false;            // .explicitcluster
  int32_t max_cluster_rank = 0;             // .maxclusterrank
  bool blocks_are_clusters = false;         // .blocksareclusters
  bool unified = false;                     // .attribute(.unified(…))
  std::vector<std::string> pragmas;
  std::string alias_of;  // .alias
  int32_t line = 0;
  bool operator==(const Function&) const = default;
};

struct File {
  int32_t number = 0;
  std::string path;
  bool operator==(const File&) const = default;
};

struct Module {
  std::string name;                         // for messages: a path, or what the loader calls it
  int32_t version = 0;                      // 90: PTX 9.0
  std::string target;                       // "sm_80"
  std::vector<std::string> target_options;  // "debug", "texmode_independent"
  int32_t address_bits = 64;
  std::vector<File> files;
  std::vector<Location> locations;
  std::vector<Variable> variables;
  std::vector<Function> functions;
  std::vector<std::string> pragmas;
  bool operator==(const Module&) const = default;
};

// The unit that takes the instruction, by its row and its types.
Pipe pipe(const Instruction& instruction);

}  // namespace quern::ptx
