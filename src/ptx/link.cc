#include "ptx/link.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "ptx/locations.h"

namespace quern::ptx {
namespace {

// One name of one module that others may see.
struct Entry {
  size_t module = 0;
  Symbol symbol;
};

int target_number(const std::string& target) {
  size_t at = target.find_first_of("0123456789");
  return at == target.npos ? 0 : std::atoi(target.c_str() + at);
}

class Linker {
 public:
  explicit Linker(std::vector<Module> modules) : modules_(std::move(modules)) {}

  Result<Module> link() {
    if (modules_.empty()) return Module{};
    heads();
    collect();
    for (auto& [name, entries] : seen_) choose(name, entries);
    if (!errors_.empty()) return std::unexpected(std::move(errors_));
    place();
    for (size_t m = 0; m < modules_.size(); ++m) move_in(m);
    number_locations(out_);
    return std::move(out_);
  }

 private:
  std::string_view module_name(size_t m) const { return modules_[m].name; }

  void disagree(const std::string& n, size_t a, std::string x, size_t b, std::string y) {
    errors_.push_back(diagnose(Code::E913, {},
                               {{"n", printable(n)},
                                {"x", std::move(x)},
                                {"a", std::string(module_name(a))},
                                {"y", std::move(y)},
                                {"b", std::string(module_name(b))}}));
  }

  void heads() {
    out_.name = modules_[0].name;
    out_.address_bits = modules_[0].address_bits;
    for (size_t m = 0; m < modules_.size(); ++m) {
      const Module& in = modules_[m];
      out_.version = std::max(out_.version, in.version);
      if (target_number(in.target) > target_number(out_.target)) out_.target = in.target;
      if (in.address_bits != out_.address_bits) {
        disagree("the size of an address", 0, std::to_string(out_.address_bits) + " bits", m,
                 std::to_string(in.address_bits) + " bits");
      }
      auto join_lists = [](std::vector<std::string>& to, const std::vector<std::string>& from) {
        for (const std::string& s : from) {
          if (std::ranges::find(to, s) == to.end()) to.push_back(s);
        }
      };
      join_lists(out_.target_options, in.target_options);
      join_lists(out_.pragmas, in.pragmas);
    }
  }

  const Variable& variable(const Entry& e) const { return modules_[e.module].variables[e.symbol.index]; }
  const Function& function(const Entry& e) const { return modules_[e.module].functions[e.symbol.index]; }
  bool is_function(const Entry& e) const { return e.symbol.kind == SymbolKind::kFunction; }
  Linkage linkage(const Entry& e) const { return is_function(e) ? function(e).linkage : variable(e).linkage; }
  bool defined(const Entry& e) const {
    if (is_function(e)) return function(e).defined || !function(e).alias_of.empty();
    return variable(e).linkage != Linkage::kExtern;
  }

  // What every module shows to others, and every name that is taken.
  void collect() {
    for (size_t m = 0; m < modules_.size(); ++m) {
      auto add = [&](const std::string& name, Linkage linkage, bool outside, Symbol symbol) {
        taken_.insert(name);
        if (linkage != Linkage::kInternal || outside) seen_[name].push_back({m, symbol});
      };
      const Module& in = modules_[m];
      for (size_t i = 0; i < in.variables.size(); ++i) {
        add(in.variables[i].name, in.variables[i].linkage, false, {SymbolKind::kVariable, static_cast<int32_t>(i)});
      }
      for (size_t i = 0; i < in.functions.size(); ++i) {
        const Function& f = in.functions[i];
        // A function without a body comes from elsewhere, whatever it is called.
        add(f.name, f.linkage, !f.defined && f.alias_of.empty(), {SymbolKind::kFunction, static_cast<int32_t>(i)});
        auto names = [&](const auto& all) {
          for (const auto& x : all) taken_.insert(x.name);
        };
        names(f.registers), names(f.variables), names(f.parameters), names(f.returns), names(f.labels);
        names(f.prototypes);
      }
    }
  }

  static std::string signature(const Function& f) {
    auto list = [](const std::vector<Variable>& all) {
      std::vector<std::string> sizes;
      for (const Variable& v : all) sizes.push_back(counted(v.bytes(), "byte"));
      return "(" + join(sizes, ", ") + ")";
    };
    return (f.entry ? "a kernel of " : "a function of ") + list(f.parameters) + " giving " + list(f.returns);
  }
  static std::string shape(const Variable& v) {
    return "." + std::string(name(v.space)) + " of " + counted(static_cast<size_t>(v.bytes()), "byte");
  }
  std::string what(const Entry& e) const { return is_function(e) ? signature(function(e)) : shape(variable(e)); }

  bool agree(const Entry& a, const Entry& b) const {
    if (is_function(a) != is_function(b)) return false;
    if (is_function(a)) return signature(function(a)) == signature(function(b));
    const Variable &x = variable(a), &y = variable(b);
    bool common = x.linkage == Linkage::kCommon && y.linkage == Linkage::kCommon;
    bool told = x.bytes() != 0 && y.bytes() != 0;
    return x.space == y.space && (!told || common || x.bytes() == y.bytes());
  }

  // The one of equally named entries that stays.
  void choose(const std::string& name, const std::vector<Entry>& entries) {
    const Entry* best = nullptr;
    auto rank = [&](const Entry& e) {
      if (!defined(e)) return 0;
      return linkage(e) == Linkage::kWeak ? 2 : linkage(e) == Linkage::kCommon ? 1 : 3;
    };
    for (const Entry& e : entries) {
      if (best && !agree(*best, e)) return disagree(name, best->module, what(*best), e.module, what(e));
      if (!best || rank(e) > rank(*best)) {
        best = &e;
      } else if (rank(e) == 3 && rank(*best) == 3) {
        errors_.push_back(diagnose(Code::E912, {},
                                   {{"n", printable(name)},
                                    {"a", std::string(module_name(best->module))},
                                    {"b", std::string(module_name(e.module))}}));
        return;
      } else if (rank(e) == 1 && rank(*best) == 1 && variable(e).bytes() > variable(*best).bytes()) {
        best = &e;
      }
    }
    chosen_[name] = *best;
    // Who asks for more is given more: dynamic shared memory is declared by all and defined by none.
    for (const Entry& e : entries) {
      if (!is_function(e)) align_[name] = std::max(align_[name], variable(e).align);
    }
  }

  std::string unique(const std::string& wanted) {
    for (int64_t number = 1;; ++number) {
      std::string name = wanted + "_" + std::to_string(number);
      if (taken_.insert(name).second) return name;
    }
  }

  // Gives every symbol of every module its place in the result.
  void place() {
    variables_.resize(modules_.size());
    functions_.resize(modules_.size());
    std::unordered_map<std::string, Symbol> placed;  // names that are seen by others
    std::unordered_set<std::string> internal;
    int32_t variables = 0, functions = 0;
    for (size_t m = 0; m < modules_.size(); ++m) {
      auto place_all = [&](auto& all, SymbolKind kind, std::vector<int32_t>& to, int32_t& next) {
        for (auto& x : all) {
          auto seen = chosen_.find(x.name);
          bool outside = seen != chosen_.end() && in_entries(x.name, m, kind, static_cast<int32_t>(to.size()));
          if (outside) {
            auto [entry, fresh] = placed.try_emplace(x.name, Symbol{kind, next});
            if (fresh) ++next;
            to.push_back(entry->second.index);
            continue;
          }
          if (seen != chosen_.end() || !internal.insert(x.name).second) renamed_[{m, x.name}] = x.name = unique(x.name);
          to.push_back(next++);
        }
      };
      place_all(modules_[m].variables, SymbolKind::kVariable, variables_[m], variables);
      place_all(modules_[m].functions, SymbolKind::kFunction, functions_[m], functions);
    }
    out_.variables.resize(static_cast<size_t>(variables));
    out_.functions.resize(static_cast<size_t>(functions));
  }

  bool in_entries(const std::string& name, size_t module, SymbolKind kind, int32_t index) const {
    return std::ranges::any_of(seen_.at(name), [&](const Entry& e) {
      return e.module == module && e.symbol == Symbol{kind, index};
    });
  }

  bool stays(const std::string& name, size_t m, SymbolKind kind, int32_t index) const {
    auto seen = chosen_.find(name);
    return seen == chosen_.end() || (seen->second.module == m && seen->second.symbol == Symbol{kind, index});
  }

  void move_in(size_t m) {
    Module& in = modules_[m];
    std::unordered_map<int32_t, int32_t> files;
    for (const File& f : in.files) files[f.number] = file_number(f.path);
    auto first = static_cast<int32_t>(out_.locations.size());
    for (Location& l : in.locations) {
      auto file = files.find(l.file);
      if (file != files.end()) l.file = file->second;
      if (l.inlined_at != kNone) l.inlined_at += first;
      out_.locations.push_back(std::move(l));
    }
    for (size_t i = 0; i < in.variables.size(); ++i) {
      if (!stays(in.variables[i].name, m, SymbolKind::kVariable, static_cast<int32_t>(i))) continue;
      for (Relocation& r : in.variables[i].relocations) move(r.symbol, m);
      Variable& v = out_.variables[variables_[m][i]] = std::move(in.variables[i]);
      if (auto align = align_.find(v.name); align != align_.end()) v.align = std::max(v.align, align->second);
    }
    for (size_t i = 0; i < in.functions.size(); ++i) {
      if (!stays(in.functions[i].name, m, SymbolKind::kFunction, static_cast<int32_t>(i))) continue;
      move_function(in.functions[i], m, first);
      out_.functions[functions_[m][i]] = std::move(in.functions[i]);
    }
  }

  int32_t file_number(const std::string& path) {
    auto [entry, fresh] = files_.try_emplace(path, static_cast<int32_t>(files_.size()) + 1);
    if (fresh) out_.files.push_back({entry->second, path});
    return entry->second;
  }

  void move(Symbol& s, size_t m) const {
    if (s.index < 0) return;
    if (s.kind == SymbolKind::kVariable) s.index = variables_[m][s.index];
    if (s.kind == SymbolKind::kFunction) s.index = functions_[m][s.index];
  }
  void move(std::vector<Operand>& operands, size_t m) const {
    for (Operand& o : operands) {
      move(o.symbol, m);
      move(o.parts, m);
    }
  }

  void move_function(Function& f, size_t m, int32_t first_location) {
    for (Variable& v : f.variables) {
      for (Relocation& r : v.relocations) move(r.symbol, m);
    }
    std::unordered_set<int64_t> call_lists;
    for (Instruction& i : f.instructions) {
      move(i.operands, m);
      if (i.location != kNone) i.location += first_location;
      bool calls = row(i.op).operands == "c" && i.operands.back().kind == OperandKind::kTargets;
      if (calls) call_lists.insert(i.operands.back().value);
    }
    for (int64_t list : call_lists) {
      for (int32_t& target : f.target_lists[list]) target = functions_[m][target];
    }
    auto renamed = renamed_.find({m, f.alias_of});
    if (renamed != renamed_.end()) f.alias_of = renamed->second;
  }

  std::vector<Module> modules_;
  Module out_;
  Diagnostics errors_;
  std::map<std::string, std::vector<Entry>> seen_;  // in order of name, so that messages have one
  std::unordered_map<std::string, Entry> chosen_;
  std::unordered_map<std::string, int64_t> align_;
  std::unordered_set<std::string> taken_;
  std::map<std::pair<size_t, std::string>, std::string> renamed_;
  std::vector<std::vector<int32_t>> variables_, functions_;  // module → index there → index in the result
  std::unordered_map<std::string, int32_t> files_;
};

}  // namespace

Result<Module> link(std::vector<Module> modules) { return Linker(std::move(modules)).link(); }

}  // namespace quern::ptx
