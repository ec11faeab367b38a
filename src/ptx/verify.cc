#include "ptx/verify.h"

#include <algorithm>

#include "base/text.h"
#include "ptx/pattern.h"

namespace quern::ptx {
namespace {

bool is_float(Type t) { return row(t).kind == TypeKind::kFloat; }
bool is_bits(Type t) { return row(t).kind == TypeKind::kBits; }
bool is_integer(Type t) { return row(t).kind == TypeKind::kUnsigned || row(t).kind == TypeKind::kSigned; }
std::string dotted(Type t) { return "." + std::string(row(t).name); }

int vector_width(const Instruction& i) {
  auto width = i.of(ModifierGroup::kVector);
  return width ? row(*width).text[1] - '0' : 1;
}

class Checker {
 public:
  Checker(const Module& module, const Function& function, const Instruction& instruction)
      : module_(module), function_(function), i_(instruction), pattern_(pattern(instruction.op)) {}

  std::optional<Fault> check() {
    if (auto fault = check_modifiers()) return fault;
    if (pattern_.forms[0].size() == 1 && pattern_.forms[0][0].kind == 'c') return check_call();
    for (bool typed : {true, false}) {
      for (const Form& form : pattern_.forms) {
        places_.assign(i_.operands.size(), nullptr);
        if (!fits(form, 0, 0, typed)) continue;
        return typed ? std::nullopt : wrong_type();
      }
    }
    std::string forms;
    for (const Form& form : pattern_.forms) forms += (forms.empty() ? "" : "; or ") + ptx::describe(form);
    return Fault{Code::E909, kNone, forms};
  }

 private:
  std::optional<Fault> check_modifiers() const {
    bool typed = !i_.types.empty();
    for (const Needed& n : pattern_.needed) {
      if (n.when == Needed::When::kInteger && !(typed && is_integer(i_.types[0]))) continue;
      if (n.when == Needed::When::kFloat && !(typed && is_float(i_.types[0]))) continue;
      auto one = [&](Modifier m) { return n.one_of[static_cast<size_t>(m)]; };
      if (std::ranges::any_of(i_.modifiers, one)) continue;
      std::vector<std::string> names;
      for (const ModifierRow& m : modifier_rows()) {
        if (one(m.modifier)) names.push_back("." + std::string(m.text));
      }
      if (names.size() > 6) names.resize(6), names.push_back("...");
      return Fault{Code::E905, kNone, (names.size() == 1 ? "needs " : "needs one of ") + join(names, " ")};
    }
    return std::nullopt;
  }

  const Register* reg(const Operand& o) const {
    return o.kind == OperandKind::kRegister ? &function_.registers[o.reg] : nullptr;
  }
  bool is_predicate(const Operand& o) const { return reg(o) && reg(o)->type == Type::k_pred; }
  static bool is_value(const Operand& o) {
    return (o.kind == OperandKind::kRegister && !o.negated) || o.kind == OperandKind::kInteger ||
           o.kind == OperandKind::kReal || o.kind == OperandKind::kSpecial;
  }
  static bool is_result(const Operand& o) {
    return (o.kind == OperandKind::kRegister && !o.negated) || o.kind == OperandKind::kSink;
  }

  // Whether the operand is of the kind, whatever its type.
  bool fits(const OperandPattern& p, const Operand& o) const {
    auto all = [&](auto test) {
      return o.kind == OperandKind::kVector && static_cast<int>(o.parts.size()) == vector_width(i_) &&
             std::ranges::all_of(o.parts, test);
    };
    switch (p.kind) {
      case 'd': return is_result(o);
      case 'D': return (vector_width(i_) == 1 && is_result(o)) || all(is_result);  // {x} may stand for x
      case 'S': return (vector_width(i_) == 1 && is_value(o)) || all(is_element);
      case 's': return is_value(o) && (o.kind != OperandKind::kSpecial || p.relaxed);
      case 'e': return is_value(o) || (reg(o) && !is_predicate(o));
      case 'n': return is_value(o) || o.kind == OperandKind::kSymbol;
      case 'q': return o.kind == OperandKind::kSink || (is_predicate(o) && !o.negated);
      case 'p': return is_predicate(o) || o.kind == OperandKind::kInteger || is_predicate_special(o);
      case 'm': return o.kind == OperandKind::kAddress;
      case 'v': return o.kind == OperandKind::kVector ? std::ranges::all_of(o.parts, is_element) : false;
      case 'i': return o.kind == OperandKind::kInteger;
      case 'a':
        return is_value(o) || is_predicate(o) || o.kind == OperandKind::kAddress || o.kind == OperandKind::kVector;
      case 'l': return o.kind == OperandKind::kLabel;
      case 't': return o.kind == OperandKind::kTargets;
      default: return false;
    }
  }
  static bool is_predicate_special(const Operand& o) {
    return o.kind == OperandKind::kSpecial && row(o.special).type == Type::k_pred;
  }
  static bool is_element(const Operand& o) { return is_value(o) || o.kind == OperandKind::kSink; }

  // Operands from `at` fit the form from `from`, by their kinds or by their types as well; places_ then says which is
  // which. A form has at most ten parts.
  bool fits(const Form& form, size_t from, size_t at, bool typed) {
    if (from == form.size()) return at == i_.operands.size();
    const OperandPattern& p = form[from];
    bool second_of_pair = i_.pair_results && at == 1;
    bool asked = !p.with || i_.of(*p.with);
    if (asked && at < i_.operands.size() && p.pair == second_of_pair && fits(p, i_.operands[at]) &&
        !(typed && wrong(p, i_.operands[at]))) {
      places_[at] = &p;
      if (fits(form, from + 1, at + 1, typed)) return true;
    }
    return p.optional && !(p.with && asked) && fits(form, from + 1, at, typed);
  }

  std::optional<Type> type_of(const OperandPattern& p) const {
    if (p.type) return p.type;
    if (p.place < 0 || i_.types.empty()) return std::nullopt;
    return i_.types[std::min<size_t>(p.place, i_.types.size() - 1)];
  }

  std::optional<Fault> wrong_type() const {
    for (size_t k = 0; k < i_.operands.size(); ++k) {
      if (auto why = wrong(*places_[k], i_.operands[k])) {
        return Fault{Code::E910, static_cast<int32_t>(k), std::move(*why)};
      }
    }
    return std::nullopt;
  }

  std::optional<std::string> wrong(const OperandPattern& p, const Operand& o) const {
    if (o.kind == OperandKind::kAddress) return wrong_address(o);
    if (p.kind == 'q' || p.kind == 'p' || p.kind == 'a' || p.kind == 'l' || p.kind == 't') return std::nullopt;
    auto type = type_of(p);
    if (!type || p.kind == 'v') return std::nullopt;
    if (o.kind == OperandKind::kVector) {
      for (const Operand& part : o.parts) {
        if (auto why = wrong_value(p, *type, part)) return why;
      }
      return std::nullopt;
    }
    return wrong_value(p, *type, o);
  }

  std::optional<std::string> wrong_address(const Operand& o) const {
    if (o.reg == kNone) return std::nullopt;
    Type t = function_.registers[o.reg].type;
    if (is_integer(t) || is_bits(t)) return std::nullopt;
    return "holds " + dotted(t) + ", which is no address";
  }

  std::optional<std::string> wrong_value(const OperandPattern& p, Type type, const Operand& o) const {
    int bits = row(type).register_bits();
    bool wide = p.wide && i_.has(Modifier::kWide);
    if (wide) bits *= 2;
    auto mismatch = [&](const std::string& has) {
      std::string wanted = wide ? std::to_string(bits) + " bits" : dotted(type);
      return std::optional(has + ", " + std::string(row(i_.op).name) + " takes " + wanted + " there");
    };
    switch (o.kind) {
      case OperandKind::kRegister: {
        Type has = function_.registers[o.reg].type;
        return fits_register(has, type, bits, p.relaxed) ? std::nullopt : mismatch("is " + dotted(has));
      }
      case OperandKind::kReal: {
        bool as_bits = is_bits(type) && bits == (o.single ? 32 : 64);
        return is_float(type) || as_bits ? std::nullopt : mismatch("is a float");
      }
      case OperandKind::kInteger:
        return is_float(type) && bits >= 32 && row(type).lanes == 1 ? mismatch("is an integer") : std::nullopt;
      case OperandKind::kSpecial: {
        int has = row(row(o.special).type).bits;
        bool fit = has == bits || p.relaxed || (has >= 32 && bits < has && bits >= 16);
        return fit && !is_float(type) ? std::nullopt : mismatch("is " + dotted(row(o.special).type));
      }
      case OperandKind::kSymbol: return bits >= 32 && !is_float(type) ? std::nullopt : mismatch("is an address");
      default: return std::nullopt;
    }
  }

  static bool fits_register(Type has, Type type, int bits, bool relaxed) {
    if (has == Type::k_pred || type == Type::k_pred) return has == type;
    int width = row(has).register_bits();
    if (relaxed && width > bits) return is_bits(has) || is_bits(type) || (is_integer(has) && is_integer(type));
    if (width != bits) return false;
    if (is_bits(has) || is_bits(type)) return true;
    if (is_float(has) || is_float(type)) return has == type;
    return true;
  }

  // Callee, results and arguments against the function or the prototype that is called.
  std::optional<Fault> check_call() const {
    size_t results = static_cast<size_t>(i_.call_results);
    size_t end = i_.operands.size();
    if (end <= results) return Fault{Code::E909, kNone, "results, a function, arguments"};
    const Prototype* prototype = nullptr;
    const Operand& last = i_.operands.back();
    if (last.kind == OperandKind::kPrototype || last.kind == OperandKind::kTargets) --end;
    if (last.kind == OperandKind::kPrototype) prototype = &function_.prototypes[last.value];
    const Operand& callee = i_.operands[results];
    const std::vector<Variable>*returns = nullptr, *parameters = nullptr;
    if (callee.kind == OperandKind::kSymbol && callee.symbol.kind == SymbolKind::kFunction) {
      if (callee.symbol.index < 0) return std::nullopt;  // declared further on: checked then
      const Function& f = module_.functions[callee.symbol.index];
      returns = &f.returns, parameters = &f.parameters;
    } else if (reg(callee) && (is_integer(reg(callee)->type) || is_bits(reg(callee)->type))) {
      if (prototype) returns = &prototype->returns, parameters = &prototype->parameters;
      if (last.kind == OperandKind::kTargets) {
        const std::vector<int32_t>& list = function_.target_lists[last.value];
        if (list.empty() || list[0] < 0) return std::nullopt;
        const Function& f = module_.functions[list[0]];
        returns = &f.returns, parameters = &f.parameters;
      }
      if (!returns) return Fault{Code::E909, kNone, "a prototype or list of targets, since the callee is a register"};
    } else {
      return Fault{Code::E910, static_cast<int32_t>(results), "can't be called"};
    }
    if (end <= results) return Fault{Code::E909, kNone, "results, a function, arguments"};
    size_t arguments = end - results - 1;
    auto open = [](const std::vector<Variable>& p) { return !p.empty() && p.back().bytes() == 0; };
    bool count_fits = open(*parameters) ? arguments + 1 >= parameters->size() : arguments == parameters->size();
    if (results != returns->size() || !count_fits) {
      return Fault{Code::E909, kNone,
                   counted(returns->size(), "result") + " and " + counted(parameters->size(), "argument")};
    }
    for (size_t k = 0; k < results; ++k) {
      if (auto fault = wrong_argument((*returns)[k], k, true)) return fault;
    }
    for (size_t k = 0; k < std::min(arguments, parameters->size()); ++k) {
      if (auto fault = wrong_argument((*parameters)[k], results + 1 + k, false)) return fault;
    }
    return std::nullopt;
  }

  std::optional<Fault> wrong_argument(const Variable& parameter, size_t at, bool result) const {
    const Operand& o = i_.operands[at];
    auto fault = [&](std::string why) { return Fault{Code::E910, static_cast<int32_t>(at), std::move(why)}; };
    int64_t want = parameter.bytes(), have = want;
    if (const Register* r = reg(o)) {
      have = row(r->type).register_bits() / 8;
    } else if (o.kind == OperandKind::kSymbol) {
      const Variable* v = variable(o.symbol);
      if (!v || v->space != Space::kParam) return fault("is no parameter");
      have = v->bytes();
    } else if (result ? o.kind != OperandKind::kSink : !is_value(o)) {
      return fault("can't be passed");
    }
    if (want == 0 || have == 0 || have == want) return std::nullopt;
    return fault("has " + counted(have, "byte") + ", the parameter " + counted(want, "byte"));
  }

  const Variable* variable(const Symbol& s) const {
    switch (s.kind) {
      case SymbolKind::kLocal: return &function_.variables[s.index];
      case SymbolKind::kParameter: return &function_.parameters[s.index];
      case SymbolKind::kReturn: return &function_.returns[s.index];
      default: return nullptr;
    }
  }

  const Module& module_;
  const Function& function_;
  const Instruction& i_;
  const Pattern& pattern_;
  std::vector<const OperandPattern*> places_;
};

std::string describe(const Function& f, const Operand& o) {
  switch (o.kind) {
    case OperandKind::kRegister: return "a register of " + dotted(f.registers[o.reg].type);
    case OperandKind::kInteger: return "a constant";
    case OperandKind::kReal: return "a float";
    case OperandKind::kSpecial: return std::string(row(o.special).text);
    case OperandKind::kSymbol: return "a name";
    case OperandKind::kAddress: return "an address";
    case OperandKind::kVector: return "a vector of " + std::to_string(o.parts.size());
    case OperandKind::kLabel: return "a label";
    case OperandKind::kSink: return "_";
    case OperandKind::kPrototype: return "a prototype";
    case OperandKind::kTargets: return "a list of targets";
  }
  return "?";
}

}  // namespace

std::string describe(const Function& function, const Instruction& instruction) {
  std::vector<std::string> parts;
  for (const Operand& o : instruction.operands) parts.push_back(describe(function, o));
  return parts.empty() ? "none" : join(parts, ", ");
}

std::optional<Fault> check(const Module& module, const Function& function, const Instruction& instruction) {
  return Checker(module, function, instruction).check();
}

Diagnostic diagnose(const Instruction& instruction, const Fault& fault, Span span, std::string shown) {
  std::string op(row(instruction.op).name);
  switch (fault.code) {
    case Code::E905: return quern::diagnose(Code::E905, span, {{"op", op}, {"why", fault.what}, {"remedy", ""}});
    case Code::E909: return quern::diagnose(Code::E909, span, {{"op", op}, {"have", shown}, {"want", fault.what}});
    default: return quern::diagnose(Code::E910, span, {{"x", shown}, {"why", fault.what}, {"remedy", ""}});
  }
}

}  // namespace quern::ptx
