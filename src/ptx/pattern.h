// The columns of instructions.def, read: what operands, types and modifiers an instruction takes. The parser asks which
// words are meant, the verifier whether all fits.
#pragma once

#include <bitset>
#include <optional>
#include <string>
#include <vector>

#include "ptx/module.h"

namespace quern::ptx {

inline constexpr size_t kTypeCount = 0
#define QUERN_PTX_TYPE(name, kind, bits, lanes) +1
#include "ptx/type.def"
#undef QUERN_PTX_TYPE
    ;
inline constexpr size_t kModifierCount = 0
#define QUERN_PTX_MODIFIER(id, text, group) +1
#include "ptx/modifiers.def"
#undef QUERN_PTX_MODIFIER
    ;
inline constexpr size_t kGroupCount = 0
#define QUERN_PTX_GROUP(group) +1
#include "ptx/modifiers.def"
#undef QUERN_PTX_GROUP
    ;

struct OperandPattern {
  char kind = 's';  // the letters of instructions.def
  int place = -1;   // of the written types; -1: `type` if any, else anything
  std::optional<Type> type;
  bool wide = false;                  // w
  bool relaxed = false;               // ~
  bool optional = false;              // ?
  std::optional<ModifierGroup> with;  // ?group: there if and only if such a modifier is
  bool pair = false;                  // the second of x|y
};
using Form = std::vector<OperandPattern>;

struct TypePlace {
  std::bitset<kTypeCount> allowed;
  bool optional = false;
};

// Modifiers of which one has to stand: always, or where the first written type is an integer (what part of a product),
// or a float (how it is rounded).
struct Needed {
  enum class When : uint8_t { kAlways, kInteger, kFloat };
  std::bitset<kModifierCount> one_of;
  When when = When::kAlways;
};

struct Pattern {
  std::vector<Form> forms;
  std::vector<TypePlace> types;
  bool more_types = false;  // any number of the last place
  std::bitset<kModifierCount> modifiers;
  std::bitset<kGroupCount> repeated;  // groups of which several may stand
  std::vector<Needed> needed;

  bool takes(Modifier m) const { return modifiers[static_cast<size_t>(m)]; }
};

const Pattern& pattern(Op op);

// What is wrong with the columns of the table; the tests look. Empty: nothing.
std::vector<std::string> faults_of_table();

// "d, s, s or d, s": a form as messages show it.
std::string describe(const Form& form);

}  // namespace quern::ptx
