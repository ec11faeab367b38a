// The words of PTX: opcodes, types, modifiers, state spaces, special registers. Each is a table (*.def), from which the
// enums here, their text, the parser, the printer, the verifier and docs come.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace quern::ptx {

enum class TypeKind : uint8_t { kBits, kUnsigned, kSigned, kFloat, kPredicate, kOpaque };

enum class Type : uint8_t {
#define QUERN_PTX_TYPE(name, kind, bits, lanes) k_##name,
#include "ptx/type.def"
#undef QUERN_PTX_TYPE
};

struct TypeRow {
  Type type;
  std::string_view name;  // "f16x2"
  TypeKind kind;
  int bits;                                  // of one element
  int lanes;                                 // packed in it
  int size() const { return bits * lanes; }  // bits
  // Bits of the register that holds it: six-bit pairs lie in 16.
  int register_bits() const { return size() <= 8 ? 8 : size() <= 16 ? 16 : size() <= 32 ? 32 : size(); }
};

const TypeRow& row(Type type);
std::span<const TypeRow> type_rows();
std::optional<Type> find_type(std::string_view name);  // without the dot

enum class Space : uint8_t { kGeneric, kReg, kSreg, kConst, kGlobal, kLocal, kParam, kShared, kTex };
std::string_view name(Space space);  // "shared"; generic and texture have none in the text

// What modifiers speak of: at most one of a group stands in an instruction, except of kOther.
enum class ModifierGroup : uint8_t {
#define QUERN_PTX_GROUP(group) group,
#include "ptx/modifiers.def"
#undef QUERN_PTX_GROUP
};

enum class Modifier : uint16_t {
#define QUERN_PTX_MODIFIER(id, text, group) id,
#include "ptx/modifiers.def"
#undef QUERN_PTX_MODIFIER
};

struct ModifierRow {
  Modifier modifier;
  std::string_view text;  // "shared::cta", without the dot
  ModifierGroup group;
};

const ModifierRow& row(Modifier modifier);
std::span<const ModifierRow> modifier_rows();
// Every modifier of that text: `and` is one of predicates and one of memory; empty where there is none.
std::span<const Modifier> find_modifiers(std::string_view text);
std::optional<Modifier> find_modifier(std::string_view text);  // the first
std::string_view name(ModifierGroup group);                    // "kRounding"
// The state space that a modifier names, if it does: shared::cluster is kShared.
std::optional<Space> space_of(Modifier modifier);

// What instructions do, so far as passes ask: about as many as code generation has files.
enum class Family : uint8_t {
#define QUERN_PTX_FAMILY(family, about) family,
#include "ptx/families.def"
#undef QUERN_PTX_FAMILY
};

// The unit of the chip that takes an instruction.
enum class Pipe : uint8_t { kNone, kAlu, kFma, kFp64, kHalf, kXu, kTensor, kLsu, kTex, kControl, kUniform };

enum class Op : uint16_t {
#define QUERN_PTX(op, name, family, pipe, section, operands, types, modifiers) k_##op,
#include "ptx/instructions.def"
#undef QUERN_PTX
};

struct OpRow {
  Op op;
  std::string_view name;  // "add", "mad24", "cp.async"
  Family family;
  Pipe pipe;
  std::string_view section;   // of the PTX ISA 9.0 manual
  std::string_view operands;  // see instructions.def
  std::string_view types;
  std::string_view modifiers;
};

const OpRow& row(Op op);
std::span<const OpRow> op_rows();
std::optional<Op> find_op(std::string_view name);
// The most words, divided by dots, that a name of that first word has; 0 where no instruction starts so.
int longest_op(std::string_view first_word);
std::string_view about(Family family);

enum class Special : uint8_t {
#define QUERN_PTX_SPECIAL(id, text, type) id,
#include "ptx/special.def"
#undef QUERN_PTX_SPECIAL
};

struct SpecialRow {
  Special special;
  std::string_view text;  // "%tid.x"
  Type type;
};

const SpecialRow& row(Special special);
std::span<const SpecialRow> special_rows();
std::optional<Special> find_special(std::string_view text);

}  // namespace quern::ptx
