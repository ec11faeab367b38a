// Where instructions come from: `.file`, `.loc`, and the strings of `.debug_str`, which hold the names of inlined
// functions. Other DWARF sections are skipped. (PTX ISA 9.0, section 11.5)

#include "ptx/locations.h"
#include "ptx/parser.h"

namespace quern::ptx {

namespace {
constexpr int64_t kMostLine = INT32_MAX;
}  // namespace

// .file 1 "path" [, time, size]
bool Parser::file() {
  File out;
  int64_t number = 0, ignored = 0;
  if (!integer("the number of a file", 0, kMostLine, number) || !string(out.path)) return false;
  out.number = static_cast<int32_t>(number);
  while (accept(',')) {
    if (!integer("a number", INT64_MIN, INT64_MAX, ignored)) return false;
  }
  if (file_numbers_.insert(out.number).second) module_.files.push_back(std::move(out));
  return true;
}

// .loc file line column [, function_name label [+ offset]] [, inlined_at file line column]
bool Parser::loc() {
  RawLocation out;
  auto position = [&](int32_t& file, int32_t& line, int32_t& column) {
    int64_t f = 0, l = 0, c = 0;
    if (!integer("the number of a file", 0, kMostLine, f) || !integer("a line", 0, kMostLine, l) ||
        !integer("a column", 0, kMostLine, c)) {
      return false;
    }
    file = static_cast<int32_t>(f), line = static_cast<int32_t>(l), column = static_cast<int32_t>(c);
    return true;
  };
  if (!position(out.file, out.line, out.column)) return false;
  while (accept(',')) {
    Token what;
    if (!name("'function_name' or 'inlined_at'", what)) return false;
    if (what.text == "inlined_at") {
      out.inlined = true;
      if (!position(out.at_file, out.at_line, out.at_column)) return false;
    } else if (what.text == "function_name") {
      Token label;
      if (!name("the label of a name", label)) return false;
      out.label = label.text;
      if (here_.is('+') && !offset(out.label_offset)) return false;
    } else {
      return fail(diagnose(Code::E901, span(what),
                           {{"expected", "'function_name' or 'inlined_at'"}, {"found", shown(what)}, {"remedy", ""}}));
    }
  }
  now_ = static_cast<int32_t>(raw_locations_.size());
  latest_[{out.file, out.line, out.column}] = now_;
  raw_locations_.push_back(out);
  return true;
}

// Gives the present .loc, and before it those it is inlined at, an index; what no instruction has gets none.
int32_t Parser::location() {
  if (now_ == kNone) return kNone;
  std::vector<int32_t> chain;
  for (int32_t raw = now_; raw_locations_[raw].index == kNone;) {
    chain.push_back(raw);
    RawLocation& r = raw_locations_[raw];
    if (!r.inlined) break;
    // The call site is the last .loc of that position before this one; of itself a .loc can't be the caller.
    auto found = latest_.find({r.at_file, r.at_line, r.at_column});
    if (found == latest_.end() || found->second >= raw) {
      RawLocation plain{.file = r.at_file, .line = r.at_line, .column = r.at_column};
      plain.index = static_cast<int32_t>(module_.locations.size());
      module_.locations.push_back({plain.file, plain.line, plain.column, kNone, ""});
      location_labels_.emplace_back();
      latest_.try_emplace({r.at_file, r.at_line, r.at_column}, static_cast<int32_t>(raw_locations_.size()));
      r.at_index = plain.index;
      raw_locations_.push_back(plain);
      break;
    }
    r.at_raw = found->second;
    raw = found->second;
  }
  for (; !chain.empty(); chain.pop_back()) {
    RawLocation& r = raw_locations_[chain.back()];
    if (r.at_raw != kNone) r.at_index = raw_locations_[r.at_raw].index;
    r.index = static_cast<int32_t>(module_.locations.size());
    module_.locations.push_back({r.file, r.line, r.column, r.at_index, ""});
    location_labels_.emplace_back(r.label, r.label_offset);
  }
  return raw_locations_[now_].index;
}

// .section .debug_str { label: .b8 95, 90 … }
bool Parser::section() {
  bool strings = here_.word("debug_str");
  if (here_.kind != TokenKind::kWord && here_.kind != TokenKind::kName) return expected("the name of a section");
  take();
  if (!here_.is('{')) return expected("'{'");
  if (!strings) {
    lexer_.skip_to_brace(here_.begin);
    here_ = lexer_.next();
    after_ = lexer_.next();
    return true;
  }
  take();
  while (!here_.is('}')) {
    if (here_.kind == TokenKind::kEnd) return expected("'}'");
    if (here_.kind == TokenKind::kName && after_.is(':')) {
      string_labels_[take().text] = static_cast<int64_t>(strings_.size());
      take();
    } else if (here_.kind == TokenKind::kNumber) {
      int64_t byte = 0;
      if (!integer("a byte", 0, 255, byte)) return false;
      strings_.push_back(static_cast<char>(byte));
    } else {
      take();
    }
  }
  return expect('}');
}

// Writes the names of functions into the locations, which may make some of them equal.
void Parser::name_inlined() {
  for (size_t i = 0; i < module_.locations.size(); ++i) {
    auto [label, offset] = location_labels_[i];
    auto found = string_labels_.find(label);
    if (label.empty() || found == string_labels_.end() || offset < 0) continue;
    uint64_t at = static_cast<uint64_t>(found->second) + static_cast<uint64_t>(offset);
    if (at < strings_.size()) module_.locations[i].function = strings_.c_str() + at;
  }
  number_locations(module_);
}

}  // namespace quern::ptx
