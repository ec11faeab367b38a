// The parser's state and its two halves: expressions (parse_expression.cc), statements and programs (parse.cc).
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "tile/program.h"
#include "tile/token.h"

namespace quern::tile {

// Thrown inside the parser only; never leaves parse().
struct GivenUp {
  Diagnostic diagnostic;
};

// The binary operators, and functions by what stands before their arguments (ops.def); null: none.
const OpRow* binary_operator(std::string_view sign);
const OpRow* function_called(std::string_view word);

class Parser {
 public:
  Parser(const Source& source, std::vector<Token> tokens) : source_(source), tokens_(std::move(tokens)) {}
  Program program();

 private:
  // --- tokens ---
  const Token& here() const { return tokens_[at_]; }
  const Token& after() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  // On the line of the statement at hand; what follows on the next line is another statement.
  bool on_line() const { return !here().first_of_line; }
  bool sees(std::string_view text) const;
  bool accept(std::string_view text);
  void expect(std::string_view text);
  Token take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  Token word(std::string_view what);
  int64_t integer(std::string_view what, int64_t least = INT64_MIN);
  int64_t integer_of(const Token& t, bool negative);
  void end_of_line();
  Span span(const Token& t) const { return {&source_, t.begin, t.end}; }
  [[noreturn]] void expected(std::string_view what) const;
  [[noreturn]] void expected(std::string_view what, const Token& found) const;
  void deeper();

  // --- expressions ---
  ExprPtr expression();
  ExprPtr binary(int level);
  ExprPtr unary();
  ExprPtr primary();
  ExprPtr number(bool negative);
  ExprPtr named();
  ExprPtr load_expression();
  ExprPtr called(const OpRow& r, bool nan_ignored);
  std::vector<ExprPtr> arguments();
  AxisSet axis_list();
  ExprPtr checked_depth(ExprPtr e);
  // name[subscripts] @site
  struct Reference {
    int32_t parameter = -1;
    std::vector<ExprPtr> subscripts;
    uint32_t checked = 0;
    int32_t site = -1;
  };
  Reference reference();
  int32_t site_number();
  AxisId axis_name();
  std::optional<ScalarType> type_word(const Token& t) const;

  // --- statements and programs ---
  bool begins_statement(uint32_t column) const;  // the line at hand stands deeper than `column`
  Block block(uint32_t column);
  Statement statement();
  Statement loop();
  Statement store();
  Statement nest();
  Statement keep();
  Let let();
  int32_t define(const Token& t, ExprPtr value);
  std::vector<Walk> walks();
  Kernel kernel();
  void axes();
  void dims();
  void parameter(Role role);
  void site();
  std::string text();

  const Source& source_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
  Program program_;
  Kernel kernel_;
  std::unordered_map<std::string_view, int32_t> dim_ids_, parameter_ids_, axis_ids_, name_ids_;
  std::unordered_set<int32_t> kept_first_;       // named by a keep, not yet defined
  std::unordered_map<const Expr*, int> depths_;  // of the expressions of the statement at hand
};

}  // namespace quern::tile
