// Instructions: a guard, the mnemonic with its types and modifiers, operands. What an instruction takes stands in its
// row; here only what decides how the text is read: labels, targets, calls.
#include <algorithm>

#include "base/text.h"
#include "ptx/parser.h"
#include "ptx/verify.h"

namespace quern::ptx {

bool Parser::guard(Instruction& out) {
  if (!accept('@')) return true;
  out.guard.negated = accept('!');
  return predicate(out.guard.reg);
}

// The longest name of the table that the text begins with.
bool Parser::opcode(Instruction& out) {
  Token first;
  if (!name("an instruction", first)) return false;
  int most = longest_op(first.text);
  auto op = most > 0 ? find_op(first.text) : std::nullopt;
  if (most > 1) {
    // Words are looked at before they are taken: the lexer goes ahead on a copy.
    Lexer ahead = lexer_;
    Token words[8] = {here_, after_};
    std::string text(first.text);
    int taken = 0;
    for (int i = 0; i + 1 < most && i < 8; ++i) {
      if (i >= 2) words[i] = ahead.next();
      if (words[i].kind != TokenKind::kWord) break;
      text += '.';
      text += words[i].text;
      if (auto longer = find_op(text)) op = longer, taken = i + 1;
    }
    for (int i = 0; i < taken; ++i) take();
  }
  if (op) {
    out.op = *op;
    return true;
  }
  std::vector<std::string> known;
  for (const OpRow& r : op_rows()) known.emplace_back(r.name);
  auto near = nearest(first.text, known);
  return fail(diagnose(Code::E904, span(first),
                       {{"op", printable(first.text, 60)}, {"remedy", near ? "do you mean " + *near + "?" : ""}}));
}

bool Parser::no_word(Op op, const Token& word) {
  const Pattern& p = pattern(op);
  std::vector<std::string> known;
  for (const ModifierRow& m : modifier_rows()) {
    if (p.takes(m.modifier)) known.emplace_back(m.text);
  }
  auto near = nearest(word.text, known);
  return fail(diagnose(Code::E905, span(word),
                       {{"op", std::string(row(op).name)},
                        {"why", "takes no ." + printable(word.text, 60)},
                        {"remedy", near ? "do you mean ." + *near + "?" : ""}}));
}

bool Parser::words(Instruction& out, Span op) {
  const Pattern& p = pattern(out.op);
  while (here_.kind == TokenKind::kWord) {
    Token word = take();
    if (auto type = find_type(word.text)) {
      size_t place = out.types.size();
      bool more = place >= p.types.size();
      if (more && !p.more_types) return no_word(out.op, word);
      if (!p.types[more ? p.types.size() - 1 : place].allowed[static_cast<size_t>(*type)]) return no_word(out.op, word);
      if (out.types.empty()) out.leading_modifiers = static_cast<int32_t>(out.modifiers.size());
      out.types.push_back(*type);
      continue;
    }
    auto candidates = find_modifiers(word.text);
    auto found = std::ranges::find_if(candidates, [&](Modifier m) { return p.takes(m); });
    if (found == candidates.end()) return no_word(out.op, word);
    ModifierGroup group = row(*found).group;
    bool again = group == ModifierGroup::kOther ? out.has(*found) : out.of(group).has_value();
    if (again && !p.repeated[static_cast<size_t>(group)]) {
      return fail(diagnose(Code::E905, span(word),
                           {{"op", std::string(row(out.op).name)},
                            {"why", "takes no ." + std::string(word.text) + " beside the words before it"},
                            {"remedy", ""}}));
    }
    out.modifiers.push_back(*found);
  }
  if (out.types.empty()) out.leading_modifiers = static_cast<int32_t>(out.modifiers.size());
  if (out.types.size() < p.types.size() && !p.types[out.types.size()].optional) {
    return fail(diagnose(Code::E905, since(op.begin),
                         {{"op", std::string(row(out.op).name)}, {"why", "needs a type"}, {"remedy", ""}}));
  }
  // Processors before sm_20 rounded the product of mad.f32 in a way of their own; code for them runs on all later ones
  // as if it said mad.rn.ftz (PTX ISA 9.7.3.7).
  bool oldest = module_.target.size() == 5 && module_.target.starts_with("sm_1");
  if (oldest && out.op == Op::k_mad && out.types.front() == Type::k_f32 && !out.of(ModifierGroup::kRounding)) {
    bool flushes = out.has(Modifier::kFtz);
    out.modifiers.insert(out.modifiers.begin(), Modifier::kRn);
    if (!flushes) out.modifiers.insert(out.modifiers.begin() + 1, Modifier::kFtz);
    out.leading_modifiers += flushes ? 1 : 2;
  }
  return true;
}

// Labels and targets are names of their own kind; all else is an operand by its looks.
bool Parser::operands(Instruction& out) {
  const Form& form = pattern(out.op).forms.front();
  if (here_.is(';')) return true;
  if (here_.is('}')) return expected("';'");
  do {
    size_t at = out.operands.size();
    uint32_t begin = here_.begin;
    char kind = at < form.size() ? form[at].kind : 's';
    Operand& o = out.operands.emplace_back();
    if (kind == 'l' && here_.kind == TokenKind::kName) {
      Token label = take();
      o.kind = OperandKind::kLabel;
      labels_.refer(label.text, span(label),
                    {.outer = static_cast<int32_t>(function_->instructions.size()), .inner = static_cast<int32_t>(at)});
    } else if (!operand(o, 0)) {
      return false;
    }
    operand_spans_.push_back(since(begin));
    if (at == 0 && here_.is('|')) {
      take();
      begin = here_.begin;
      out.pair_results = true;
      if (!operand(out.operands.emplace_back(), 0)) return false;
      operand_spans_.push_back(since(begin));
    }
  } while (accept(','));
  return true;
}

// call (results), callee, (arguments), targets;
bool Parser::call(Instruction& out) {
  auto one = [&] {
    uint32_t begin = here_.begin;
    bool good = operand(out.operands.emplace_back(), 0);
    operand_spans_.push_back(since(begin));
    return good;
  };
  auto list = [&] {
    take();
    if (accept(')')) return true;
    do {
      if (!one()) return false;
    } while (accept(','));
    return expect(')');
  };
  if (here_.is('(')) {
    if (!list() || !expect(',')) return false;
    out.call_results = static_cast<int32_t>(out.operands.size());
  }
  if (!one()) return false;
  if (!accept(',')) return true;
  if (here_.is('(')) {
    if (!list()) return false;
    if (!accept(',')) return true;
  }
  return one();
}

bool Parser::instruction() {
  Instruction out;
  out.line = line(here_);
  operand_spans_.clear();
  if (!guard(out)) return false;
  Span op = span(here_);
  if (!opcode(out) || !words(out, op)) return false;
  bool calls = pattern(out.op).forms.front().size() == 1 && pattern(out.op).forms.front()[0].kind == 'c';
  if (!(calls ? call(out) : operands(out))) return false;
  if (!here_.is(';')) return expected("',' or ';'");
  if (auto fault = check(module_, *function_, out)) {
    bool whole = fault->operand == kNone;
    Span at = whole ? since(op.begin) : operand_spans_[fault->operand];
    return fail(diagnose(out, *fault, at, whole ? describe(*function_, out) : printable(at.text(), 60)));
  }
  out.location = location();
  function_->instructions.push_back(std::move(out));
  take();
  return true;
}

}  // namespace quern::ptx
