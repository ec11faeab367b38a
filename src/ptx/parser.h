// The parser's state and its parts: the module (parse.cc), debug directives (parse_debug.cc), variables
// (parse_variable.cc), functions (parse_function.cc), instructions (parse_instruction.cc), operands (parse_operand.cc),
// constants (parse_constant.cc). A member that returns bool has reported the error when it returns false; the caller
// then gives up what it was reading, and whoever reads statements skips to the next.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "ptx/module.h"
#include "ptx/pattern.h"
#include "ptx/scope.h"
#include "ptx/token.h"

namespace quern::ptx {

inline constexpr int64_t kMostBytes = int64_t{1} << 40;         // of a variable
inline constexpr int64_t kMostInitialBytes = int64_t{1} << 26;  // of an initial value
inline constexpr size_t kMostDimensions = 16;
inline constexpr int kDeepest = 64;  // parentheses of a constant, braces of an operand

// The value of a constant expression. Integers wrap at 64 bits; that of a float is a binary64, or binary32 bits if
// written so.
struct Constant {
  bool real = false;
  bool single = false;
  bool is_unsigned = false;
  uint64_t bits = 0;
  double as_double() const;
};

class Parser {
 public:
  Parser(const Source& source, std::string name);
  Result<Module> run();

 private:
  // --- tokens and errors (parse.cc) ---
  Token take();
  bool accept(char sign);
  bool accept_word(std::string_view word);
  bool expect(char sign);
  Span span(const Token& t) const { return {&source_, t.begin, t.end}; }
  Span since(uint32_t begin) const { return {&source_, begin, std::max(begin + 1, last_end_)}; }
  bool adjacent() const { return here_.begin == last_end_; }
  static std::string shown(const Token& t);
  bool fail(Diagnostic diagnostic);
  bool expected(std::string_view what, std::string_view remedy = {});
  bool too_much(Span at, std::string_view what, const std::string& value, int64_t limit);
  bool name(std::string_view what, Token& out);
  bool integer(std::string_view what, int64_t low, int64_t high, int64_t& out);
  bool string(std::string& out);
  bool skip_block();      // from `{` past its `}`
  void skip_statement();  // to past `;`, or before a brace
  int32_t line(const Token& t);

  // --- module (parse.cc) ---
  void item();
  bool header();
  bool version();
  bool target();
  bool pragma(std::vector<std::string>& into);
  bool alias();
  void resolve_deferred();
  void check_calls();
  Symbol module_symbol(const Token& at);  // of the module, or to be resolved at its end

  // --- debug (parse_debug.cc) ---
  bool file();
  bool loc();
  bool section();
  int32_t location();  // index of what the last .loc said
  void name_inlined();

  // --- variables (parse_variable.cc) ---
  bool attributes(Variable& out, bool parameter);  // what stands between the space and the name
  bool dimensions(Variable& out);
  bool check_size(const Variable& v, Span at);
  bool initial(Variable& out);
  bool initial_list(Variable& out);
  bool initial_element(Variable& out, int64_t offset);
  bool opaque_properties(Variable& out);
  bool masked(Variable& out, int64_t offset, uint64_t mask);
  bool symbol_value(Relocation& out);
  bool attribute(bool& managed, bool& unified);
  bool module_variable(Space space, Linkage linkage, int32_t line);
  bool local_variable(Space space);
  bool registers();

  // --- functions (parse_function.cc) ---
  bool function(bool entry, Linkage linkage, int32_t line);
  bool parameters(std::vector<Variable>& out, Named::Kind kind, bool declare);
  bool function_directive(Function& f, bool& known);
  bool three(int32_t (&out)[3]);
  bool body();
  bool statement_word();
  bool labelled();
  bool call_prototype(const Token& label);
  bool targets(const Token& label, bool functions);
  void finish_function();

  // --- instructions (parse_instruction.cc) ---
  bool instruction();
  bool guard(Instruction& out);
  bool opcode(Instruction& out);
  bool words(Instruction& out, Span op);
  bool operands(Instruction& out);
  bool call(Instruction& out);
  bool no_word(Op op, const Token& word);

  // --- operands (parse_operand.cc) ---
  bool operand(Operand& out, int depth);
  bool named_operand(Operand& out);
  bool register_operand(Operand& out, const Token& at, Named& named);
  bool special_operand(Operand& out, const Token& at);
  bool address(Operand& out, int depth);
  bool vector(Operand& out, int depth);
  bool offset(int64_t& value);
  int32_t use_register(const Token& at, Named& named, int component);
  bool predicate(int32_t& reg);

  // --- constants (parse_constant.cc) ---
  bool starts_constant() const;
  bool constant(Constant& out);
  bool conditional(Constant& out, int depth);
  bool binary(Constant& out, int least, int depth);
  bool unary(Constant& out, int depth);
  bool primary(Constant& out, int depth);
  bool number(const Token& t, Constant& out);
  bool int_constant(int64_t& out);

  const Source& source_;
  Diagnostics errors_;
  Lexer lexer_;
  Token here_, after_;
  uint32_t last_end_ = 0;
  uint32_t line_at_ = 0;  // offset up to which lines are counted
  int32_t line_ = 1;
  Module module_;
  std::unordered_map<std::string_view, Symbol> names_;  // of the module

  // Names that the module had not declared where they were used: Symbol{kFunction, -2 - i}.
  struct Deferred {
    std::string_view name;
    Span span;
  };
  std::vector<Deferred> deferred_;
  std::unordered_map<std::string_view, int32_t> deferred_names_;

  // --- of the function that is being read ---
  Function* function_ = nullptr;
  Scope scope_;
  Labels labels_;
  struct Targets {
    std::string_view name;
    bool used = false;
  };
  std::vector<Targets> targets_;
  std::vector<std::string_view> of_module_;  // names of the module that it uses
  std::deque<std::string> kept_names_;       // names that the text does not have as such
  std::vector<Span> operand_spans_;          // of the instruction that is being read

  // --- debug ---
  std::unordered_set<int32_t> file_numbers_;
  struct RawLocation {
    int32_t file = 0, line = 0, column = 0;
    bool inlined = false;
    int32_t at_file = 0, at_line = 0, at_column = 0;
    std::string_view label;  // of the function's name
    int64_t label_offset = 0;
    int32_t index = kNone;                     // of module_.locations, once an instruction has it
    int32_t at_raw = kNone, at_index = kNone;  // where it was inlined: of raw_locations_, of module_.locations
  };
  using Position = std::tuple<int32_t, int32_t, int32_t>;
  std::vector<RawLocation> raw_locations_;
  std::map<Position, int32_t> latest_;                                 // the last .loc of a position
  int32_t now_ = kNone;                                                // of raw_locations_
  std::vector<std::pair<std::string_view, int64_t>> location_labels_;  // beside module_.locations
  std::unordered_map<std::string_view, int64_t> string_labels_;        // into strings_
  std::string strings_;                                                // .debug_str
};

}  // namespace quern::ptx
