#include "ptx/pattern.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace quern::ptx {
namespace {

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> out;
  for (size_t at = 0;;) {
    size_t end = text.find(by, at);
    std::string_view part = text.substr(at, end == text.npos ? text.npos : end - at);
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    if (by != ' ' || !part.empty()) out.push_back(part);
    if (end == text.npos) return out;
    at = end + 1;
  }
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

class Reader {
 public:
  Reader(const OpRow& row, std::vector<std::string>& faults) : row_(row), faults_(faults) {}

  Pattern read() {
    Pattern out;
    for (std::string_view form : split(row_.operands, '/')) out.forms.push_back(read_form(form));
    if (!row_.types.empty()) {
      for (std::string_view place : split(row_.types, ',')) out.types.push_back(read_place(place, out.more_types));
    }
    for (std::string_view word : split(row_.modifiers, ' ')) read_modifier(word, out);
    return out;
  }

 private:
  void fault(std::string_view what) { faults_.push_back(std::string(row_.name) + ": " + std::string(what)); }

  Form read_form(std::string_view text) {
    Form out;
    for (std::string_view word : split(text, ' ')) {
      bool pair = false;
      for (std::string_view part : split(word, '|')) {
        out.push_back(read_operand(part));
        out.back().pair = pair;
        pair = true;
      }
    }
    return out;
  }

  OperandPattern read_operand(std::string_view text) {
    OperandPattern out;
    std::string_view whole = text;
    if (size_t mark = text.find('?'); mark != text.npos) {
      out.optional = true;
      std::string_view with = text.substr(mark + 1);
      if (!with.empty()) out.with = find_group(with);
      if (!with.empty() && !out.with) fault("no group: " + std::string(with));
      text = text.substr(0, mark);
    }
    if (text.empty() || !std::string_view("dDsSenqpmvialtc").contains(text.front())) {
      fault("no operand: " + std::string(whole));
      return out;
    }
    out.kind = text.front();
    text.remove_prefix(1);
    if (take(text, 'w')) out.wide = true;
    if (take(text, '~')) out.relaxed = true;
    bool named = take(text, ':');
    if (named && find_type(text)) {
      out.type = find_type(text);
    } else if (!named && text.size() == 1 && std::isdigit(static_cast<unsigned char>(text[0]))) {
      out.place = text[0] - '0';
    } else if (named || !text.empty()) {
      fault("no operand: " + std::string(whole));
    }
    return out;
  }

  TypePlace read_place(std::string_view text, bool& more) {
    TypePlace out;
    auto allow = [&](std::initializer_list<std::string_view> names) {
      for (std::string_view n : names) out.allowed.set(static_cast<size_t>(*find_type(n)));
    };
    for (std::string_view word : split(text, ' ')) {
      if (word == "...") {
        more = out.optional = true;
        continue;
      }
      if (word.ends_with('?')) {
        out.optional = true;
        word.remove_suffix(1);
      }
      if (word.empty()) continue;
      if (word == "any") {
        out.allowed.set();
      } else if (word == "number") {
        for (const TypeRow& t : type_rows()) {
          bool number = t.kind == TypeKind::kUnsigned || t.kind == TypeKind::kSigned || t.kind == TypeKind::kFloat;
          if (number) out.allowed.set(static_cast<size_t>(t.type));
        }
      } else if (word == "int") {
        allow({"u16", "u32", "u64", "s16", "s32", "s64"});
      } else if (word == "bits") {
        allow({"b16", "b32", "b64"});
      } else if (word == "real") {
        allow({"f32", "f64"});
      } else if (word == "half") {
        allow({"f16", "f16x2", "bf16", "bf16x2"});
      } else if (auto type = find_type(word)) {
        out.allowed.set(static_cast<size_t>(*type));
      } else {
        fault("no type: " + std::string(word));
      }
    }
    return out;
  }

  static std::optional<ModifierGroup> find_group(std::string_view word) {
    for (size_t g = 0; g < kGroupCount; ++g) {
      std::string_view group = name(static_cast<ModifierGroup>(g)).substr(1);
      bool same = std::ranges::equal(group, word, {}, [](unsigned char c) { return std::tolower(c); });
      if (same) return static_cast<ModifierGroup>(g);
    }
    return std::nullopt;
  }

  // group, group.text or .text
  std::bitset<kModifierCount> read_choice(std::string_view word, Pattern& out, bool repeated) {
    std::bitset<kModifierCount> chosen;
    size_t dot = std::min(word.find('.'), word.size());
    std::string_view group = word.substr(0, dot), text = word.substr(std::min(dot + 1, word.size()));
    auto of = find_group(group);
    if (!group.empty() && !of) fault("no group: " + std::string(word));
    for (const ModifierRow& m : modifier_rows()) {
      if ((of && m.group != *of) || (!text.empty() && m.text != text)) continue;
      chosen.set(static_cast<size_t>(m.modifier));
      if (repeated) out.repeated.set(static_cast<size_t>(m.group));
    }
    if (chosen.none() || (group.empty() && chosen.count() != 1)) fault("no modifier, or several: " + std::string(word));
    return chosen;
  }

  void read_modifier(std::string_view word, Pattern& out) {
    size_t mark = std::min(word.find('!'), word.size());
    std::string_view when = word.substr(mark);
    std::bitset<kModifierCount> chosen;
    for (std::string_view choice : split(word.substr(0, mark), '|')) {
      bool repeated = choice.ends_with('*');
      if (repeated) choice.remove_suffix(1);
      chosen |= read_choice(choice, out, repeated);
    }
    out.modifiers |= chosen;
    if (when.empty()) return;
    if (when != "!" && when != "!int" && when != "!real") fault("no condition: " + std::string(when));
    using When = Needed::When;
    out.needed.push_back({chosen, when == "!int" ? When::kInteger : when == "!real" ? When::kFloat : When::kAlways});
  }

  const OpRow& row_;
  std::vector<std::string>& faults_;
};

struct Table {
  std::vector<Pattern> patterns;
  std::vector<std::string> faults;
};

const Table& table() {
  static const Table out = [] {
    Table t;
    for (const OpRow& r : op_rows()) t.patterns.push_back(Reader(r, t.faults).read());
    return t;
  }();
  return out;
}

std::string_view kind_name(char kind) {
  switch (kind) {
    case 'd':
    case 'D': return "a register";
    case 'q':
    case 'p': return "a predicate";
    case 'm': return "an address";
    case 'v': return "a vector";
    case 'i': return "a constant";
    case 'l': return "a label";
    case 't': return "a list of targets";
    case 'c': return "a callee";
    default: return "a value";
  }
}

}  // namespace

const Pattern& pattern(Op op) { return table().patterns[static_cast<size_t>(op)]; }

std::vector<std::string> faults_of_table() { return table().faults; }

std::string describe(const Form& form) {
  if (form.empty()) return "no operands";
  std::vector<std::string> parts;
  for (const OperandPattern& o : form) {
    std::string text(kind_name(o.kind));
    if (o.pair) {
      parts.back() += o.optional ? " (or " + parts.back() + "|" + text + ")" : "|" + text;
    } else {
      parts.push_back(o.optional ? "perhaps " + text : text);
    }
  }
  return join(parts, ", ");
}

}  // namespace quern::ptx
