#include "ptx/print.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "ptx/print_instruction.h"

namespace quern::ptx {
namespace {

std::string_view linkage_text(Linkage linkage) {
  switch (linkage) {
    case Linkage::kInternal: return "";
    case Linkage::kVisible: return ".visible ";
    case Linkage::kExtern: return ".extern ";
    case Linkage::kWeak: return ".weak ";
    case Linkage::kCommon: return ".common ";
  }
  return "";
}

// A name as prefix and number, where it ends in one that `%r<100>` can make.
std::pair<std::string_view, int64_t> divided(std::string_view name) {
  size_t at = name.find_last_not_of("0123456789") + 1;
  std::string_view digits = name.substr(at);
  bool number = !digits.empty() && at > 0 && digits.size() < 10 && (digits[0] != '0' || digits.size() == 1);
  if (!number) return {name, -1};
  return {name.substr(0, at), std::stoll(std::string(digits))};
}

class Printer {
 public:
  explicit Printer(const Module& module) : m_(module) {}

  std::string print() {
    out_ += fmt::format(".version {}.{}\n.target {}", m_.version / 10, m_.version % 10, m_.target);
    for (const std::string& option : m_.target_options) out_ += ", " + option;
    out_ += fmt::format("\n.address_size {}\n", m_.address_bits);
    for (const File& f : m_.files) out_ += fmt::format(".file {} \"{}\"\n", f.number, f.path);
    for (const std::string& p : m_.pragmas) out_ += ".pragma \"" + p + "\";\n";
    bool declared = needs_declarations();
    if (declared) {
      for (const Function& f : m_.functions) function(f, false);
    }
    if (!m_.variables.empty()) out_ += '\n';
    for (const Variable& v : m_.variables) {
      out_ += linkage_text(v.linkage);
      variable(v, nullptr);
      out_ += ";\n";
    }
    for (const Function& f : m_.functions) {
      if (f.defined || !declared) function(f, f.defined);
    }
    for (const Function& f : m_.functions) {
      if (!f.alias_of.empty()) out_ += fmt::format(".alias {}, {};\n", f.name, f.alias_of);
    }
    strings();
    return std::move(out_);
  }

 private:
  // --- variables ---
  void variable(const Variable& v, const Function* f) {
    out_ += "." + std::string(name(v.space));
    if (v.managed && v.unified) {
      out_ += " .attribute(.managed, .unified)";
    } else if (v.managed || v.unified) {
      out_ += v.managed ? " .attribute(.managed)" : " .attribute(.unified)";
    }
    const TypeRow& type = row(v.type);
    if (v.align > type.register_bits() / 8 * v.vector) out_ += " .align " + std::to_string(v.align);
    if (v.vector > 1) out_ += " .v" + std::to_string(v.vector);
    out_ += fmt::format(" .{}", type.name);
    if (!v.pointer_space.empty()) {
      out_ += " .ptr";
      if (v.pointer_space != "generic") out_ += " ." + v.pointer_space;
      if (v.pointer_align > 0) out_ += " .align " + std::to_string(v.pointer_align);
    }
    out_ += ' ' + v.name;
    for (int64_t d : v.dims) out_ += d == 0 ? "[]" : "[" + std::to_string(d) + "]";
    if (!v.properties.empty()) properties(v);
    if (!v.initial.empty()) initial(v, f);
  }

  void properties(const Variable& v) {
    out_ += " = {";
    for (size_t i = 0; i < v.properties.size(); ++i) {
      out_ += fmt::format("{}{} = {}", i > 0 ? ", " : "", v.properties[i].first, v.properties[i].second);
    }
    out_ += '}';
  }

  void initial(const Variable& v, const Function* f) {
    const TypeRow& type = row(v.type);
    size_t size = static_cast<size_t>(type.register_bits() / 8);
    bool list = !v.dims.empty() || v.vector > 1;
    out_ += list ? " = {" : " = ";
    std::unordered_map<int64_t, const Relocation*> relocations;
    for (const Relocation& r : v.relocations) relocations[r.offset] = &r;
    for (size_t at = 0; at < v.initial.size(); at += size) {
      if (at > 0) out_ += ", ";
      auto found = relocations.find(static_cast<int64_t>(at));
      if (found != relocations.end()) {
        relocation(*found->second, static_cast<int>(size), f);
        continue;
      }
      uint64_t bits = 0;
      for (size_t i = 0; i < std::min<size_t>(size, 8); ++i) bits |= uint64_t{v.initial[at + i]} << (8 * i);
      bool real = type.kind == TypeKind::kFloat && type.bits >= 32;
      out_ += real ? float_text(bits, type.bits == 32) : std::to_string(bits);
    }
    if (list) out_ += '}';
  }

  void relocation(const Relocation& r, int size, const Function* f) {
    bool masked = r.bytes != size || r.shift != 0 || size < 4;
    if (masked) {
      uint64_t low = r.bytes >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * r.bytes)) - 1;
      out_ += fmt::format("0x{:X}(", low << r.shift);
    }
    std::string name = symbol_name(m_, f, r.symbol);
    out_ += r.generic ? "generic(" + name + ")" : name;
    if (r.addend != 0) out_ += "+" + std::to_string(r.addend);
    if (masked) out_ += ')';
  }

  // --- functions ---
  void parameters(const std::vector<Variable>& all) {
    out_ += '(';
    for (size_t i = 0; i < all.size(); ++i) {
      if (i > 0) out_ += ", ";
      variable(all[i], nullptr);
    }
    out_ += ')';
  }

  void three(const char* directive, const int32_t (&n)[3]) {
    if (n[0] || n[1] || n[2]) out_ += fmt::format("\n.{} {}, {}, {}", directive, n[0], n[1], n[2]);
  }
  void number(const char* directive, int32_t n) {
    if (n) out_ += fmt::format("\n.{} {}", directive, n);
  }

  // Whether something refers to a function that comes after it: then all are declared first, in their order.
  bool needs_declarations() const {
    auto to_function = [](const Relocation& r) { return r.symbol.kind == SymbolKind::kFunction; };
    for (const Variable& v : m_.variables) {
      if (std::ranges::any_of(v.relocations, to_function)) return true;
    }
    for (size_t k = 0; k < m_.functions.size(); ++k) {
      const Function& f = m_.functions[k];
      auto later = [&](const Operand& o) {
        return o.symbol.kind == SymbolKind::kFunction && o.symbol.index > static_cast<int32_t>(k);
      };
      for (const Instruction& i : f.instructions) {
        if (std::ranges::any_of(i.operands, later)) return true;
      }
      for (const Variable& v : f.variables) {
        if (std::ranges::any_of(v.relocations, to_function)) return true;
      }
      if (!f.target_lists.empty()) return true;
    }
    return false;
  }

  void function(const Function& f, bool with_body) {
    out_ += '\n';
    out_ += linkage_text(f.linkage);
    out_ += f.entry ? ".entry " : ".func ";
    if (f.unified) out_ += ".attribute(.unified) ";
    if (!f.returns.empty()) {
      parameters(f.returns);
      out_ += ' ';
    }
    out_ += f.name;
    parameters(f.parameters);
    if (f.noreturn) out_ += "\n.noreturn";
    if (!with_body) {
      out_ += ";\n";
      return;
    }
    three("maxntid", f.max_threads);
    three("reqntid", f.required_threads);
    number("minnctapersm", f.min_blocks);
    number("maxnreg", f.max_registers);
    three("reqnctapercluster", f.cluster);
    if (f.explicit_cluster) out_ += "\n.explicitcluster";
    number("maxclusterrank", f.max_cluster_rank);
    if (f.blocks_are_clusters) out_ += "\n.blocksareclusters";
    out_ += "\n{\n";
    body(f);
    out_ += "}\n";
  }

  void body(const Function& f) {
    for (const std::string& p : f.pragmas) out_ += "  .pragma \"" + p + "\";\n";
    registers(f);
    for (const Variable& v : f.variables) {
      out_ += "  ";
      variable(v, &f);
      out_ += ";\n";
    }
    for (const Prototype& p : f.prototypes) {
      out_ += "  " + p.name + ": .callprototype ";
      if (!p.returns.empty()) parameters(p.returns);
      out_ += " _ ";
      parameters(p.parameters);
      out_ += p.noreturn ? " .noreturn;\n" : ";\n";
    }
    std::vector<std::string> targets = target_names(f);
    InstructionPrinter printer(m_, f, targets);
    size_t label = 0;
    location_ = kNone;
    for (size_t i = 0; i <= f.instructions.size(); ++i) {
      for (; label < f.labels.size() && f.labels[label].instruction == static_cast<int32_t>(i); ++label) {
        out_ += f.labels[label].name + ":\n";
      }
      if (i == f.instructions.size()) break;
      location(f.instructions[i].location);
      out_ += "  ";
      printer.print(f.instructions[i], out_);
      out_ += ";\n";
    }
  }

  // Those whose names are a prefix and a number, all of one type, as `%r<12>`; the others one by one.
  void registers(const Function& f) {
    std::unordered_set<std::string_view> declared;
    for (const auto* all : {&f.returns, &f.parameters}) {
      for (const Variable& v : *all) {
        if (v.space == Space::kReg) declared.insert(v.name);
      }
    }
    struct Group {
      Type type;
      int64_t most = 0;
      bool one_type = true;
      std::vector<const Register*> all;
    };
    std::map<std::string_view, Group> groups;
    std::vector<const Register*> single;
    for (const Register& r : f.registers) {
      if (declared.contains(r.name)) continue;
      auto [prefix, n] = divided(r.name);
      if (n < 0) {
        single.push_back(&r);
        continue;
      }
      Group& g = groups.try_emplace(prefix, Group{r.type}).first->second;
      g.one_type &= g.type == r.type;
      g.most = std::max(g.most, n);
      g.all.push_back(&r);
    }
    for (const auto& [prefix, g] : groups) {
      if (g.one_type) {
        out_ += fmt::format("  .reg .{} {}<{}>;\n", row(g.type).name, prefix, g.most + 1);
      } else {
        single.insert(single.end(), g.all.begin(), g.all.end());
      }
    }
    for (const Register* r : single) out_ += fmt::format("  .reg .{} {};\n", row(r->type).name, r->name);
  }

  // Lists of targets have no name in the module: one is made that nothing of the function has.
  std::vector<std::string> target_names(const Function& f) {
    std::vector<std::string> out;
    if (f.target_lists.empty()) return out;
    std::unordered_set<std::string_view> taken;
    auto take = [&](const auto& all) {
      for (const auto& x : all) taken.insert(x.name);
    };
    take(f.registers), take(f.variables), take(f.parameters), take(f.returns), take(f.labels), take(f.prototypes);
    take(m_.functions), take(m_.variables);
    std::vector<bool> functions(f.target_lists.size());
    for (const Instruction& i : f.instructions) {
      if (i.operands.empty() || i.operands.back().kind != OperandKind::kTargets) continue;
      functions[i.operands.back().value] = row(i.op).operands == "c";
    }
    for (size_t k = 0; k < f.target_lists.size(); ++k) {
      std::string name = "$targets_" + std::to_string(k);
      while (taken.contains(name)) name += '_';
      out_ += fmt::format("  {}: .{} ", name, functions[k] ? "calltargets" : "branchtargets");
      for (size_t t = 0; t < f.target_lists[k].size(); ++t) {
        if (t > 0) out_ += ", ";
        int32_t target = f.target_lists[k][t];
        out_ += functions[k] ? m_.functions[target].name : f.labels[target].name;
      }
      out_ += ";\n";
      out.push_back(std::move(name));
    }
    return out;
  }

  // --- places in the source ---
  using Position = std::tuple<int32_t, int32_t, int32_t>;
  Position position(int32_t index) const {
    const Location& l = m_.locations[index];
    return {l.file, l.line, l.column};
  }

  // `.loc` where the place changes. What a function was inlined at is the last .loc of that position, so that comes
  // before it where it isn't that.
  void location(int32_t index) {
    if (index == kNone || index == location_) return;
    location_ = index;
    std::vector<int32_t> chain;
    for (int32_t at = index; at != kNone; at = m_.locations[at].inlined_at) {
      if (at != index) {
        auto last = latest_.find(position(at));
        if (last != latest_.end() && last->second == at) break;
      }
      chain.push_back(at);
    }
    for (; !chain.empty(); chain.pop_back()) {
      int32_t at = chain.back();
      const Location& l = m_.locations[at];
      out_ += fmt::format("  .loc {} {} {}", l.file, l.line, l.column);
      if (!l.function.empty()) {
        auto label = strings_.try_emplace(l.function, strings_.size()).first->second;
        out_ += fmt::format(", function_name $L__name{}", label);
      }
      if (l.inlined_at != kNone) {
        auto [file, line, column] = position(l.inlined_at);
        out_ += fmt::format(", inlined_at {} {} {}", file, line, column);
      }
      out_ += '\n';
      latest_[position(at)] = at;
    }
  }

  void strings() {
    if (strings_.empty()) return;
    std::vector<const std::string*> in_order(strings_.size());
    for (const auto& [text, at] : strings_) in_order[at] = &text;
    out_ += "\n.section .debug_str\n{\n";
    for (size_t i = 0; i < in_order.size(); ++i) {
      out_ += fmt::format("$L__name{}:\n  .b8 ", i);
      for (unsigned char c : *in_order[i]) out_ += std::to_string(c) + ", ";
      out_ += "0\n";
    }
    out_ += "}\n";
  }

  const Module& m_;
  std::string out_;
  int32_t location_ = kNone;
  std::map<Position, int32_t> latest_;
  std::map<std::string, size_t> strings_;
};

}  // namespace

std::string print(const Module& module) { return Printer(module).print(); }

}  // namespace quern::ptx
