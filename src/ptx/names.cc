#include "ptx/names.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace quern::ptx {
namespace {

constexpr TypeRow kTypes[] = {
#define QUERN_PTX_TYPE(name, kind, bits, lanes) {Type::k_##name, #name, TypeKind::kind, bits, lanes},
#include "ptx/type.def"
#undef QUERN_PTX_TYPE
};

constexpr ModifierRow kModifiers[] = {
#define QUERN_PTX_MODIFIER(id, text, group) {Modifier::id, text, ModifierGroup::group},
#include "ptx/modifiers.def"
#undef QUERN_PTX_MODIFIER
};

constexpr std::string_view kGroups[] = {
#define QUERN_PTX_GROUP(group) #group,
#include "ptx/modifiers.def"
#undef QUERN_PTX_GROUP
};

constexpr std::string_view kFamilies[] = {
#define QUERN_PTX_FAMILY(family, about) about,
#include "ptx/families.def"
#undef QUERN_PTX_FAMILY
};

constexpr OpRow kOps[] = {
#define QUERN_PTX(op, name, family, pipe, section, operands, types, modifiers) \
  {Op::k_##op, name, Family::family, Pipe::pipe, section, operands, types, modifiers},
#include "ptx/instructions.def"
#undef QUERN_PTX
};

constexpr SpecialRow kSpecials[] = {
#define QUERN_PTX_SPECIAL(id, text, type) {Special::id, text, Type::k_##type},
#include "ptx/special.def"
#undef QUERN_PTX_SPECIAL
};

constexpr std::string_view kSpaces[] = {"", "reg", "sreg", "const", "global", "local", "param", "shared", "tex"};

template <class Value>
using ByText = std::unordered_map<std::string_view, Value>;

template <class Value>
std::optional<Value> find(const ByText<Value>& map, std::string_view text) {
  auto found = map.find(text);
  if (found == map.end()) return std::nullopt;
  return found->second;
}

}  // namespace

const TypeRow& row(Type type) { return kTypes[static_cast<size_t>(type)]; }
std::span<const TypeRow> type_rows() { return kTypes; }

std::optional<Type> find_type(std::string_view name) {
  static const ByText<Type> map = [] {
    ByText<Type> out;
    for (const TypeRow& r : kTypes) out.emplace(r.name, r.type);
    return out;
  }();
  return find(map, name);
}

std::string_view name(Space space) { return kSpaces[static_cast<size_t>(space)]; }

const ModifierRow& row(Modifier modifier) { return kModifiers[static_cast<size_t>(modifier)]; }
std::span<const ModifierRow> modifier_rows() { return kModifiers; }

std::span<const Modifier> find_modifiers(std::string_view text) {
  static const ByText<std::vector<Modifier>> map = [] {
    ByText<std::vector<Modifier>> out;
    for (const ModifierRow& r : kModifiers) out[r.text].push_back(r.modifier);
    return out;
  }();
  auto found = map.find(text);
  if (found == map.end()) return {};
  return found->second;
}

std::optional<Modifier> find_modifier(std::string_view text) {
  auto all = find_modifiers(text);
  if (all.empty()) return std::nullopt;
  return all.front();
}

std::string_view name(ModifierGroup group) { return kGroups[static_cast<size_t>(group)]; }

std::optional<Space> space_of(Modifier modifier) {
  const ModifierRow& r = row(modifier);
  if (r.group != ModifierGroup::kSpace) return std::nullopt;
  std::string_view text = r.text.substr(0, r.text.find(':'));
  auto found = std::ranges::find(kSpaces, text);
  return static_cast<Space>(found - std::begin(kSpaces));
}

const OpRow& row(Op op) { return kOps[static_cast<size_t>(op)]; }
std::span<const OpRow> op_rows() { return kOps; }

std::optional<Op> find_op(std::string_view name) {
  static const ByText<Op> map = [] {
    ByText<Op> out;
    for (const OpRow& r : kOps) out.emplace(r.name, r.op);
    return out;
  }();
  return find(map, name);
}

int longest_op(std::string_view first_word) {
  static const ByText<int> map = [] {
    ByText<int> out;
    for (const OpRow& r : kOps) {
      int& words = out[r.name.substr(0, r.name.find('.'))];
      words = std::max(words, 1 + static_cast<int>(std::ranges::count(r.name, '.')));
    }
    return out;
  }();
  return find(map, first_word).value_or(0);
}

std::string_view about(Family family) { return kFamilies[static_cast<size_t>(family)]; }

const SpecialRow& row(Special special) { return kSpecials[static_cast<size_t>(special)]; }
std::span<const SpecialRow> special_rows() { return kSpecials; }

std::optional<Special> find_special(std::string_view text) {
  static const ByText<Special> map = [] {
    ByText<Special> out;
    for (const SpecialRow& r : kSpecials) out.emplace(r.text, r.special);
    return out;
  }();
  return find(map, text);
}

}  // namespace quern::ptx
