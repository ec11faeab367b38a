// Whole modules that were made and not parsed: indices first, so that the checks of instructions can rely on them.
#include <algorithm>

#include "base/text.h"
#include "ptx/pattern.h"
#include "ptx/print.h"
#include "ptx/verify.h"

namespace quern::ptx {
namespace {

template <class List>
bool within(int64_t index, const List& list) {
  return index >= 0 && index < static_cast<int64_t>(list.size());
}

class ModuleChecker {
 public:
  explicit ModuleChecker(const Module& module) : m_(module) {}

  Diagnostics check() {
    for (size_t i = 0; i < m_.locations.size(); ++i) {
      int32_t at = m_.locations[i].inlined_at;
      if (at != kNone && (at < 0 || at >= static_cast<int32_t>(i))) wrong("a location", "is inlined at a later one");
    }
    for (const Variable& v : m_.variables) variable(v, nullptr);
    for (const Function& f : m_.functions) function(f);
    return std::move(out_);
  }

 private:
  void wrong(const std::string& what, const std::string& why) {
    out_.push_back(quern::diagnose(Code::E910, {}, {{"x", what}, {"why", why}, {"remedy", ""}}));
  }

  bool symbol(const Symbol& s, const Function* f) const {
    switch (s.kind) {
      case SymbolKind::kVariable: return within(s.index, m_.variables);
      case SymbolKind::kFunction: return within(s.index, m_.functions);
      case SymbolKind::kLocal: return f && within(s.index, f->variables);
      case SymbolKind::kParameter: return f && within(s.index, f->parameters);
      case SymbolKind::kReturn: return f && within(s.index, f->returns);
    }
    return false;
  }

  void variable(const Variable& v, const Function* f) {
    if (!std::ranges::all_of(v.relocations, [&](const Relocation& r) {
          return symbol(r.symbol, f) && r.offset >= 0 && r.offset + r.bytes <= static_cast<int64_t>(v.initial.size());
        })) {
      wrong(v.name, "has an initial address of nothing");
    }
    int64_t bytes = v.bytes();
    if (bytes != 0 && static_cast<int64_t>(v.initial.size()) > bytes)
      wrong(v.name, "has more initial bytes than it holds");
  }

  bool operand(const Operand& o, const Function& f, int depth) const {
    constexpr int kDeepest = 8;
    bool parts =
        depth < kDeepest && std::ranges::all_of(o.parts, [&](const Operand& p) { return operand(p, f, depth + 1); });
    if (!parts) return false;
    switch (o.kind) {
      case OperandKind::kRegister: return within(o.reg, f.registers);
      case OperandKind::kSymbol: return symbol(o.symbol, &f);
      case OperandKind::kAddress:
        return o.reg != kNone ? within(o.reg, f.registers) : o.symbol.index == kNone || symbol(o.symbol, &f);
      case OperandKind::kLabel: return within(o.value, f.labels);
      case OperandKind::kPrototype: return within(o.value, f.prototypes);
      case OperandKind::kTargets: return within(o.value, f.target_lists);
      default: return true;
    }
  }

  void function(const Function& f) {
    for (const Variable& v : f.variables) variable(v, &f);
    int32_t last = 0;
    for (const Label& l : f.labels) {
      if (l.instruction < last || l.instruction > static_cast<int32_t>(f.instructions.size())) {
        wrong(f.name, "has the label " + l.name + " out of order");
      }
      last = std::max(last, l.instruction);
    }
    for (const Instruction& i : f.instructions) instruction(f, i);
  }

  // The targets of a branch are labels, those of a call functions.
  bool targets(const Function& f, const Instruction& i) const {
    for (const Operand& o : i.operands) {
      if (o.kind != OperandKind::kTargets) continue;
      bool calls = row(i.op).operands == "c";
      bool good = std::ranges::all_of(f.target_lists[o.value],
                                      [&](int32_t t) { return calls ? within(t, m_.functions) : within(t, f.labels); });
      if (!good) return false;
    }
    return true;
  }

  void instruction(const Function& f, const Instruction& i) {
    auto all = [&](const Operand& o) { return operand(o, f, 0); };
    bool guard =
        i.guard.reg == kNone || (within(i.guard.reg, f.registers) && f.registers[i.guard.reg].type == Type::k_pred);
    bool place = i.location == kNone || within(i.location, m_.locations);
    std::string where = f.name + ", line " + std::to_string(i.line);
    if (!guard || !place || !std::ranges::all_of(i.operands, all) || !targets(f, i)) {
      return wrong(where, "refers to what is not there");
    }
    if (auto fault = ptx::check(m_, f, i)) {
      std::string which = fault->operand == kNone ? "" : "operand " + std::to_string(fault->operand + 1) + " of ";
      out_.push_back(diagnose(i, *fault, {}, where + ": " + which + print(m_, f, i)));
    }
  }

  const Module& m_;
  Diagnostics out_;
};

}  // namespace

Diagnostics verify(const Module& module) { return ModuleChecker(module).check(); }

}  // namespace quern::ptx
