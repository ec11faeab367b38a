#include "expr/print.h"

#include <fmt/format.h>

#include "expr/print_expression.h"

namespace quern::expr {
namespace {

std::string blocks(const std::vector<std::vector<std::string>>& groups, std::string_view indent, bool attached) {
  std::string out;
  for (size_t i = 0; i < groups.size(); ++i) {
    for (const std::string& line : groups[i]) {
      out += line.empty() ? fmt::format("{}#\n", indent) : fmt::format("{}# {}\n", indent, line);
    }
    if (i + 1 < groups.size() || !attached) out += "\n";
  }
  return out;
}

std::string leading(const Comments& comments, std::string_view indent) {
  return blocks(comments.blocks, indent, comments.attached);
}

std::string trailing(const Comments& comments) {
  std::string out;
  for (const std::string& line : comments.trailing) out += out.empty() ? "  # " + line : " " + line;
  return out;
}

std::string parameter(const Parameter& p) {
  std::string out = p.inout ? "inout " : "";
  out += p.name.str() + ": " + print(p.shaped);
  if (p.value) out += " = " + print(p.value);
  return out;
}

std::string head(const Kernel& k) {
  std::string out = "kernel " + k.name.str();
  if (k.given.empty()) return out;
  out += "[";
  for (size_t i = 0; i < k.given.size(); ++i) {
    const Given& g = k.given[i];
    if (i) out += ", ";
    if (g.dynamic) out += "dyn ";
    out += g.name.str();
    if (g.value) out += " = " + print(g.value);
    if (g.type) out += fmt::format(" = {}", name(*g.type));
  }
  return out + "]";
}

std::string arrow(const Kernel& k) {
  if (k.results.empty()) return {};
  std::string out = "-> ";
  if (k.results.size() > 1) out += "(";
  for (size_t i = 0; i < k.results.size(); ++i) {
    if (i) out += ", ";
    out += parameter(k.results[i]);
  }
  if (k.results.size() > 1) out += ")";
  return out;
}

// `open` and a list of parameters aligned behind it, as many a line as fit; `reserve` columns stay free behind the last.
std::string aligned(std::string open, const std::vector<Parameter>& list, std::string_view close, size_t reserve) {
  size_t indent = open.size();
  size_t used = indent;
  for (size_t i = 0; i < list.size(); ++i) {
    bool last = i + 1 == list.size();
    std::string p = parameter(list[i]) + (last ? std::string(close) : ",");
    if (i && used + 1 + p.size() + (last ? reserve : 0) > kColumns) {
      open += "\n" + std::string(indent, ' ');
      used = indent;
    } else if (i) {
      open += " ";
      ++used;
    }
    open += p;
    used += p.size();
  }
  return list.empty() ? open + std::string(close) : open;
}

std::string first_line(const Kernel& k) {
  std::string whole = signature(k) + " {";
  if (whole.size() <= kColumns) return whole;
  std::string out = aligned(head(k) + "(", k.parameters, ")", k.results.empty() ? 2 : 0);
  std::string results = arrow(k);
  if (results.empty()) return out + " {";
  size_t last_line = out.size() - (out.rfind('\n') == std::string::npos ? 0 : out.rfind('\n') + 1);
  // A signature that fits once its results stand on a line of their own breaks there; one whose parameters fill
  // several lines keeps the results behind them where they fit.
  bool several = out.find('\n') != std::string::npos;
  if (several && last_line + 1 + results.size() + 2 <= kColumns) return out + " " + results + " {";
  if (4 + results.size() + 2 <= kColumns) return out + "\n    " + results + " {";
  return out + "\n" + aligned("    -> (", k.results, ")", 2) + " {";
}

Line definition_line(const Definition& d, std::string_view indent) {
  Line line;
  line.add(indent);
  if (!d.loops.empty()) {
    line.add("for[");
    ++line.nesting;
    print_binders(line, d.loops);
    if (d.filter) {
      line.add(" if ");
      print_condition(line, d.filter);
    }
    --line.nesting;
    line.add("] ");
  }
  line.add(d.name.str());
  if (!d.left.empty()) {
    line.add("[");
    ++line.nesting;
    for (size_t i = 0; i < d.left.size(); ++i) {
      if (i) {
        line.add(",");
        line.blank(0);
      }
      if (d.left[i].binder) {
        print_binder(line, *d.left[i].binder);
      } else {
        print_expression(line, d.left[i].value);
      }
    }
    --line.nesting;
    line.add("]");
  }
  if (d.type) line.add(fmt::format(": {}", name(*d.type)));
  line.add(d.add ? " +=" : " =");
  return line;
}

std::string definition(const Definition& d, std::string_view indent) {
  Line line = definition_line(d, indent);
  size_t left = line.text.size();
  line.blank(-1);
  print_expression(line, d.value);
  std::string out = leading(d.comments, indent);
  size_t deeper = indent.size() + 4;
  if (line.text.size() > kColumns && left <= kColumns && deeper + line.text.size() - left - 1 <= kColumns) {
    out += line.text.substr(0, left) + "\n" + std::string(deeper, ' ') + line.text.substr(left + 1);
  } else if (line.text.size() > kColumns) {
    // Breaking after `=` alone is not enough: fill the first line too, and break at the loosest operators.
    std::erase_if(line.breaks, [&](const Line::Break& b) { return b.position == left; });
    out += broken(line, deeper);
  } else {
    out += line.text;
  }
  return out + trailing(d.comments) + "\n";
}

// left = value, of a constant or a function.
std::string assignment(const std::string& left, const NodePtr& value) {
  Line line;
  line.add(left + " =");
  line.blank(-1);
  print_expression(line, value);
  if (line.text.size() > kColumns && 4 + line.text.size() - left.size() - 3 > kColumns) {
    std::erase_if(line.breaks, [&](const Line::Break& b) { return b.position == left.size() + 2; });
  }
  return broken(line, 4);
}

std::string print_item(const Import& i) { return leading(i.comments, "") + "import " + i.name.str() + trailing(i.comments) + "\n"; }

std::string print_item(const Constant& c) {
  return leading(c.comments, "") + assignment("const " + c.name.str(), c.value) + trailing(c.comments) + "\n";
}

std::string print_item(const Function& f) {
  std::string out = "fn " + f.name.str();
  for (size_t i = 0; i < f.indices.size(); ++i) out += (i ? ", " : "[") + f.indices[i].str();
  if (!f.indices.empty()) out += "]";
  out += "(";
  for (size_t i = 0; i < f.formals.size(); ++i) {
    if (i) out += ", ";
    out += f.formals[i].name.str();
    const auto& indices = f.formals[i].indices;
    for (size_t j = 0; j < indices.size(); ++j) out += (j ? ", " : "[") + indices[j].str();
    if (!indices.empty()) out += "]";
  }
  out += ")";
  if (!f.braces) return leading(f.comments, "") + assignment(out, f.value) + trailing(f.comments) + "\n";
  out += " {\n";
  for (const Definition& d : f.definitions) out += definition(d, "  ");
  Line line;
  line.add("  return ");
  print_expression(line, f.value);
  out += leading(f.return_comments, "  ") + broken(line, 6) + trailing(f.return_comments) + "\n";
  if (!f.closing_comments.empty()) out += blocks(f.closing_comments, "  ", true);
  return leading(f.comments, "") + out + "}" + trailing(f.comments) + "\n";
}

std::string print_item(const Kernel& k) {
  std::string out = leading(k.comments, "") + first_line(k) + "\n";
  for (const Definition& d : k.definitions) out += definition(d, "  ");
  if (!k.closing_comments.empty()) out += blocks(k.closing_comments, "  ", true);
  return out + "}" + trailing(k.comments) + "\n";
}

}  // namespace

std::string print(const NodePtr& expression) {
  Line line;
  print_expression(line, expression);
  return line.text;
}

std::string print(const Binder& binder) {
  Line line;
  print_binder(line, binder);
  return line.text;
}

std::string print(const Shaped& s) {
  std::string out(name(s.type));
  for (size_t i = 0; i < s.shape.size(); ++i) out += (i ? ", " : "[") + print(s.shape[i]);
  return s.shape.empty() ? out : out + "]";
}

std::string print(const Definition& d) { return definition(d, ""); }
std::string print(const Kernel& k) { return print_item(k); }

std::string print(const Module& module) {
  std::string out;
  for (const Item& item : module.items) {
    if (!out.empty()) out += "\n";
    out += std::visit([](const auto& i) { return print_item(i); }, item);
  }
  if (!module.closing_comments.empty()) {
    if (!out.empty()) out += "\n";
    out += blocks(module.closing_comments, "", true);
  }
  return out;
}

std::string signature(const Kernel& k) {
  std::string out = head(k) + "(";
  for (size_t i = 0; i < k.parameters.size(); ++i) {
    if (i) out += ", ";
    out += parameter(k.parameters[i]);
  }
  out += ")";
  std::string results = arrow(k);
  return results.empty() ? out : out + " " + results;
}

}  // namespace quern::expr
