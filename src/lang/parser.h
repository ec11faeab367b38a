// The parser's state and its two halves: expressions (parse_expression.cc) and items (parse_items.cc).
#pragma once

#include <string>

#include "expr/module.h"
#include "lang/token.h"

namespace quern::lang {

// Thrown inside the parser only, caught where a definition or an item can be given up; never leaves lang/.
struct GivenUp {};

class Parser {
 public:
  Parser(const Source& source, Tokens tokens, Diagnostics& errors)
      : source_(source), tokens_(std::move(tokens)), errors_(errors) {}

  expr::Module module();
  expr::NodePtr whole_expression();

 private:
  // --- tokens ---
  const Token& here() const { return tokens_.tokens[at_]; }
  const Token& after() const { return tokens_.tokens[std::min(at_ + 1, tokens_.tokens.size() - 1)]; }
  const Token& before() const { return tokens_.tokens[at_ ? at_ - 1 : 0]; }
  Token take();
  bool accept_sign(std::string_view text);
  bool accept_keyword(std::string_view text);
  void expect_sign(std::string_view text);
  void expect_close(std::string_view text, const Token& open);
  Span span(const Token& t) const { return {&source_, t.begin, t.end}; }
  Span since(const Token& first) const { return {&source_, first.begin, std::max(first.end, before().end)}; }
  static std::string shown(const Token& t);
  static bool reserved(const Token& t);
  [[noreturn]] void give_up(Diagnostic diagnostic);
  bool lexical_error(uint32_t from, uint32_t to) const;  // the lexer has complained about something there
  [[noreturn]] void expected(std::string what, std::string remedy = {});

  // --- expressions ---
  expr::NodePtr expression();
  expr::NodePtr binary(int level);
  expr::NodePtr comparison();
  expr::NodePtr negation();
  expr::NodePtr unary();
  expr::NodePtr reduction();
  expr::NodePtr primary();
  expr::NodePtr number();
  expr::NodePtr named();
  [[noreturn]] void no_value(const Token& found);
  std::vector<expr::NodePtr> list(std::string_view close);
  expr::NodePtr make(expr::Op op, std::vector<expr::NodePtr> args, const Token& first);
  expr::NodePtr finished(expr::Node node, const Token& first);
  std::vector<expr::Binder> binders();  // between `[` and `]`, both taken
  expr::Binder binder();
  std::optional<expr::Binder> as_binder(const expr::NodePtr& node) const;
  [[noreturn]] void not_a_binder(const expr::NodePtr& node);
  void no_value_follows(std::string_view remedy = {});
  void deeper(const Token& first);

  // --- items ---
  void item(expr::Module& module);
  expr::Import import_item();
  expr::Constant constant_item();
  expr::Function function_item();
  expr::Kernel kernel_item();
  std::vector<expr::Given> given();
  expr::Parameter parameter(bool result);
  expr::Shaped shaped();
  expr::ElementType element_type();
  expr::Definition definition();
  void definitions(std::vector<expr::Definition>& into, bool function, bool& damaged);
  Symbol lower(std::string_view what, Span& where);
  Symbol upper(std::string_view what, Span& where);
  void skip_to_definition();
  void skip_to_item();
  bool starts_item() const;
  bool starts_definition() const;

  // --- comments ---
  expr::Comments comments_above();
  void comments_on_line(expr::Comments& into);
  std::vector<std::vector<std::string>> comments_left();

  const Source& source_;
  Tokens tokens_;
  Diagnostics& errors_;
  size_t at_ = 0;
  size_t next_comment_ = 0;
  int depth_ = 0;
  uint32_t statement_ = 0;  // where the item or definition at hand begins
};

}  // namespace quern::lang
