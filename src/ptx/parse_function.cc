// Functions and kernels: their heads, launch bounds, and the statements of their bodies. (PTX ISA 9.0, sections 7, 11.2
// and 11.4)
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "ptx/parser.h"

namespace quern::ptx {

bool Parser::parameters(std::vector<Variable>& out, Named::Kind kind, bool declare) {
  if (!expect('(')) return false;
  if (accept(')')) return true;
  do {
    Variable v;
    v.line = line(here_);
    if (accept_word("param")) {
      v.space = Space::kParam;
    } else if (accept_word("reg")) {
      v.space = Space::kReg;
    } else {
      return expected("'.param'");
    }
    if (!attributes(v, true)) return false;
    Token at;
    if (!name("the name of a parameter", at)) return false;
    v.name = std::string(at.text);
    if (!dimensions(v) || !check_size(v, span(at))) return false;
    if (declare && at.text != "_") {
      Named named{.kind = kind};
      named.index[0] = static_cast<int32_t>(out.size());
      if (v.space == Space::kReg) named = {.kind = Named::Kind::kRegister, .type = v.type, .vector = v.vector};
      if (!scope_.declare(at.text, named)) return fail(diagnose(Code::E907, span(at), {{"n", printable(at.text)}}));
      v.name = v.space == Space::kReg ? v.name : scope_.unique(at.text);
      if (v.space == Space::kReg) use_register(at, *scope_.find(at.text), 0);
    }
    out.push_back(std::move(v));
  } while (accept(','));
  return expect(')');
}

bool Parser::three(int32_t (&out)[3]) {
  int at = 0;
  out[0] = out[1] = out[2] = 1;
  do {
    int64_t value = 0;
    if (at == 3) return expected("three numbers at most");
    if (!integer("a number of threads", 0, INT32_MAX, value)) return false;
    out[at++] = static_cast<int32_t>(value);
  } while (accept(','));
  return true;
}

bool Parser::function_directive(Function& f, bool& known) {
  known = true;
  auto number = [&](int32_t& out) {
    int64_t value = 0;
    if (!integer("a number", 0, INT32_MAX, value)) return false;
    out = static_cast<int32_t>(value);
    return true;
  };
  std::string_view word = here_.text;
  if (here_.kind != TokenKind::kWord) {
    known = false;
    return true;
  }
  Token at = take();
  if (word == "noreturn") return f.noreturn = true;
  if (word == "maxntid") return three(f.max_threads);
  if (word == "reqntid") return three(f.required_threads);
  if (word == "minnctapersm" || word == "maxnctapersm") return number(f.min_blocks);
  if (word == "maxnreg") return number(f.max_registers);
  if (word == "reqnctapercluster") return three(f.cluster);
  if (word == "explicitcluster") return f.explicit_cluster = true;
  if (word == "maxclusterrank") return number(f.max_cluster_rank);
  if (word == "blocksareclusters") return f.blocks_are_clusters = true;
  if (word == "abi_preserve" || word == "abi_preserve_control" || word == "local_maxnreg") {
    int32_t of_registers = 0;  // an agreement on registers of the hardware
    return number(of_registers);
  }
  if (word == "attribute") {
    bool managed = false;
    return attribute(managed, f.unified);
  }
  if (word == "pragma") return pragma(f.pragmas);
  return fail(
      diagnose(Code::E911, span(at), {{"directive", shown(at)}, {"why", "can't stand in the head of a function"}}));
}

bool Parser::function(bool entry, Linkage linkage, int32_t at_line) {
  Function f;
  f.entry = entry;
  f.linkage = linkage;
  f.line = at_line;
  scope_ = Scope();
  labels_ = Labels();
  targets_.clear();
  kept_names_.clear();
  of_module_.clear();
  scope_.open();
  function_ = &f;
  now_ = kNone;
  struct Leave {
    Function*& function;
    ~Leave() { function = nullptr; }
  } leave{function_};
  while (accept_word("attribute")) {
    bool managed = false;
    if (!attribute(managed, f.unified)) return false;
  }
  if (here_.is('(') && !parameters(f.returns, Named::Kind::kReturn, true)) return false;
  Token at;
  if (!name("the name of a function", at)) return false;
  f.name = std::string(at.text);
  if (here_.is('(') && !parameters(f.parameters, Named::Kind::kParameter, true)) return false;
  for (bool known = true; known;) {
    if (!function_directive(f, known)) return false;
  }
  f.defined = here_.is('{');
  auto [place, fresh] =
      names_.try_emplace(at.text, Symbol{SymbolKind::kFunction, static_cast<int32_t>(module_.functions.size())});
  if (place->second.kind != SymbolKind::kFunction) {
    return fail(diagnose(Code::E907, span(at), {{"n", printable(at.text)}}));
  }
  if (fresh) module_.functions.emplace_back().name = f.name;
  int32_t index = place->second.index;
  if (f.defined && module_.functions[index].defined) {
    return fail(diagnose(Code::E907, span(at), {{"n", printable(at.text)}}));
  }
  if (!f.defined) {
    if (fresh) {  // what a declaration says beyond its parameters is said again where the function is defined
      Function& declared = module_.functions[index];
      declared.entry = entry;
      declared.noreturn = f.noreturn;
      declared.linkage = linkage;
      declared.unified = f.unified;
      declared.returns = std::move(f.returns);
      declared.parameters = std::move(f.parameters);
      declared.line = at_line;
    }
    accept(';');
    return true;
  }
  Function& declared = module_.functions[index];  // the function may call itself
  declared.entry = entry;
  declared.returns = f.returns;
  declared.parameters = f.parameters;
  if (!body()) return false;
  finish_function();
  module_.functions[index] = std::move(f);
  return true;
}

// From `{` past its `}`. A statement that is wrong is skipped, and the next is read.
bool Parser::body() {
  Token open = take();
  labels_.open();
  int64_t depth = 1;
  while (depth > 0) {
    bool good = true;
    if (here_.kind == TokenKind::kEnd) {
      return fail(diagnose(Code::E901, span(open),
                           {{"expected", "'}' for this '{'"}, {"found", shown(here_)}, {"remedy", ""}}));
    }
    if (here_.is('{')) {
      take();
      scope_.open();
      labels_.open();
      ++depth;
    } else if (here_.is('}')) {
      take();
      scope_.close();
      labels_.close();
      --depth;
    } else if (here_.is(';')) {
      take();
    } else if (here_.kind == TokenKind::kName && after_.is(':')) {
      good = labelled();
    } else if (here_.kind == TokenKind::kName || here_.is('@')) {
      good = instruction();
    } else if (here_.kind == TokenKind::kWord) {
      good = statement_word();
    } else {
      good = expected("an instruction");
      take();
    }
    if (!good) {
      while (here_.kind != TokenKind::kEnd && !here_.is('}') && !take().is(';')) {
      }
    }
  }
  return true;
}

bool Parser::statement_word() {
  Token word = take();
  if (word.text == "reg") return registers();
  if (word.text == "loc") return loc();
  if (word.text == "pragma") return pragma(function_->pragmas);
  if (word.text == "file") return file();
  for (const char* space : {"shared", "local", "param", "global", "const"}) {
    if (word.text == space) return local_variable(*space_of(*find_modifier(space)));
  }
  return fail(diagnose(Code::E911, span(word), {{"directive", shown(word)}, {"why", "can't stand in a function"}}));
}

bool Parser::labelled() {
  Token label = take();
  take();
  if (accept_word("callprototype")) return call_prototype(label);
  if (accept_word("branchtargets")) return targets(label, false);
  if (accept_word("calltargets")) return targets(label, true);
  auto& labels = function_->labels;
  if (!labels_.define(label.text, static_cast<int32_t>(labels.size()))) {
    return fail(diagnose(Code::E907, span(label), {{"n", "the label " + printable(label.text)}}));
  }
  labels.push_back({scope_.unique(label.text), static_cast<int32_t>(function_->instructions.size())});
  return true;
}

// prototype_0: .callprototype (.param .b32 _) _ (.param .b64 _) .noreturn;
bool Parser::call_prototype(const Token& label) {
  Prototype out;
  if (here_.is('(') && !parameters(out.returns, Named::Kind::kReturn, false)) return false;
  Token ignored;
  if (!name("'_'", ignored)) return false;
  if (here_.is('(') && !parameters(out.parameters, Named::Kind::kParameter, false)) return false;
  Function directives;
  for (bool known = true; known;) {
    if (!function_directive(directives, known)) return false;
  }
  out.noreturn = directives.noreturn;
  Named named{.kind = Named::Kind::kPrototype};
  named.index[0] = static_cast<int32_t>(function_->prototypes.size());
  if (!scope_.declare(label.text, named))
    return fail(diagnose(Code::E907, span(label), {{"n", printable(label.text)}}));
  out.name = scope_.unique(label.text);
  function_->prototypes.push_back(std::move(out));
  return expect(';');
}

bool Parser::targets(const Token& label, bool functions) {
  Named named{.kind = Named::Kind::kTargets};
  auto list = static_cast<int32_t>(targets_.size());
  named.index[0] = list;
  if (!scope_.declare(label.text, named))
    return fail(diagnose(Code::E907, span(label), {{"n", printable(label.text)}}));
  targets_.push_back({label.text});
  auto& out = function_->target_lists.emplace_back();
  do {
    Token at;
    if (!name("a target", at)) return false;
    if (functions) {
      out.push_back(module_symbol(at).index);
    } else {
      labels_.refer(at.text, span(at), {.in_list = true, .outer = list, .inner = static_cast<int32_t>(out.size())});
      out.push_back(kNone);
    }
  } while (accept(','));
  return expect(';');
}

void Parser::finish_function() {
  for (const Labels::Reference& r : labels_.unresolved()) {
    fail(diagnose(Code::E906, r.span, {{"n", "the label " + printable(r.name)}, {"remedy", ""}}));
  }
  if (!errors_.empty()) return;
  Function& f = *function_;
  for (const Labels::Place& p : labels_.resolved()) {
    if (p.in_list) {
      f.target_lists[p.outer][p.inner] = p.label;
    } else {
      f.instructions[p.outer].operands[p.inner].value = p.label;
    }
  }
  // Lists that nothing uses are left out.
  std::vector<int32_t> to(targets_.size(), kNone);
  std::vector<std::vector<int32_t>> kept;
  for (size_t i = 0; i < targets_.size(); ++i) {
    if (!targets_[i].used) continue;
    to[i] = static_cast<int32_t>(kept.size());
    kept.push_back(std::move(f.target_lists[i]));
  }
  f.target_lists = std::move(kept);
  if (!targets_.empty()) {
    for (Instruction& i : f.instructions) {
      for (Operand& o : i.operands) {
        if (o.kind == OperandKind::kTargets) o.value = to[o.value];
      }
    }
  }
  // A block may have hidden a name of the module that the function uses elsewhere: what stands in the function yields.
  std::unordered_set<std::string_view> taken;
  for (std::string_view name : of_module_) {
    if (scope_.used(std::string(name))) taken.insert(name);
  }
  if (taken.empty()) return;
  for (std::string_view name : of_module_) {  // nor may a new name be one of them
    if (!scope_.used(name)) scope_.unique(name);
  }
  std::unordered_map<std::string_view, std::string> renamed;
  for (std::string_view name : taken) renamed[name] = "";
  auto rename = [&](auto& all) {
    for (auto& x : all) {
      auto found = renamed.find(x.name);
      if (found == renamed.end()) continue;
      if (found->second.empty()) found->second = scope_.unique(found->first);  // a parameter in a register has it twice
      x.name = found->second;
    }
  };
  rename(f.registers);
  rename(f.variables);
  rename(f.parameters);
  rename(f.returns);
  rename(f.labels);
  rename(f.prototypes);
}

}  // namespace quern::ptx
