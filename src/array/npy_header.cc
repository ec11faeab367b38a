#include "array/npy_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "array/file_error.h"
#include "base/text.h"

namespace quern::array {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);

uint64_t byte_at(std::string_view text, size_t i) { return static_cast<unsigned char>(text[i]); }

// Takes the dict from left to right; no recursion, since nothing that is accepted nests. `why` is the first error.
class DictParser {
 public:
  explicit DictParser(std::string_view text) : text_(text) {}

  bool parse(NpyHeader& out) {
    if (!expect('{', "the header is not a dict")) return false;
    bool seen_descr = false, seen_order = false, seen_shape = false;
    while (!take('}')) {
      std::string_view key;
      if (!string(key)) return error("a key of the header is not a plain string");
      if (!expect(':', "a key of the header has no value")) return false;
      bool* seen = key == "descr"           ? &seen_descr
                   : key == "fortran_order" ? &seen_order
                   : key == "shape"         ? &seen_shape
                                            : nullptr;
      if (!seen) return error(fmt::format("the header has an unknown key '{}'", printable(key)));
      if (*seen) return error(fmt::format("the header has '{}' twice", key));
      *seen = true;
      if (seen == &seen_descr ? !descr(out) : seen == &seen_order ? !order(out) : !shape(out)) return false;
      if (take(',')) continue;
      if (!expect('}', "the header's dict does not end")) return false;
      break;
    }
    for (auto [seen, key] : {std::pair(seen_descr, "descr"), {seen_order, "fortran_order"}, {seen_shape, "shape"}}) {
      if (!seen) return error(fmt::format("the header has no '{}'", key));
    }
    blanks();
    if (at_ != text_.size()) return error("something follows the header's dict");
    return true;
  }

  std::string why;

 private:
  bool error(std::string text) {
    if (why.empty()) why = std::move(text);
    return false;
  }

  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }

  bool take(char c) {
    blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool expect(char c, std::string_view otherwise) { return take(c) || error(std::string(otherwise)); }

  bool take(std::string_view word) {
    blanks();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  // A literal without escapes: what NumPy writes never needs one.
  bool string(std::string_view& out) {
    blanks();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return false;
    size_t close = text_.find(text_[at_], at_ + 1);
    if (close == std::string_view::npos) return false;
    out = text_.substr(at_ + 1, close - at_ - 1);
    if (out.find('\\') != std::string_view::npos) return false;
    at_ = close + 1;
    return true;
  }

  bool descr(NpyHeader& out) {
    std::string_view text;
    if (string(text)) {
      out.descr = text;
      return true;
    }
    if (at_ >= text_.size() || text_[at_] != '[') return error("'descr' is neither a string nor a list");
    // A structured type can't be read, but is told apart from rubbish: the end of its list is found by counting.
    size_t begin = at_;
    int64_t depth = 0;
    while (at_ < text_.size()) {
      char c = text_[at_];
      if (c == '\'' || c == '"') {
        if (!string(text)) break;
        continue;
      }
      ++at_;
      depth += (c == '[' || c == '(') - (c == ']' || c == ')');
      if (depth == 0) {
        out.descr = text_.substr(begin, at_ - begin);
        out.structured = true;
        return true;
      }
    }
    return error("the list of 'descr' does not end");
  }

  bool order(NpyHeader& out) {
    out.fortran = take("True");
    return out.fortran || take("False") || error("'fortran_order' is neither True nor False");
  }

  bool shape(NpyHeader& out) {
    blanks();
    size_t begin = at_;
    if (!expect('(', "'shape' is not a tuple")) return false;
    bool comma = true;
    while (!take(')')) {
      if (!comma) return error("the tuple of 'shape' does not end");
      blanks();
      bool negative = at_ < text_.size() && text_[at_] == '-';
      size_t first = at_ + negative;
      size_t last = first;
      while (last < text_.size() && text_[last] >= '0' && text_[last] <= '9') ++last;
      if (last == first || (text_[first] == '0' && last - first > 1))
        return error("'shape' holds something that is not a whole number");
      int64_t value = 0;
      auto parsed = std::from_chars(text_.data() + first, text_.data() + last, value);
      if (negative) return error("'shape' holds a negative number");
      if (parsed.ec != std::errc()) out.shape_fits = false;
      out.shape.push_back(value);
      at_ = last;
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote long integers so
      comma = take(',');
    }
    if (out.shape.size() == 1 && !comma) return error("'shape' is not a tuple");
    out.shape_literal = text_.substr(begin, at_ - begin);
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Result<int64_t> npy_data_offset(std::string_view first, int64_t file_size, const std::string& name) {
  auto have = static_cast<uint64_t>(file_size);
  size_t common = std::min(first.size(), kMagic.size());
  if (first.substr(0, common) != kMagic.substr(0, common)) {
    return not_a_file(name, ".npy", "it does not begin with \\x93NUMPY");
  }
  if (file_size < 10) return truncated(name, 10, have);
  uint64_t major = byte_at(first, 6), minor = byte_at(first, 7);
  if (major < 1 || major > 3 || minor != 0) {
    return not_a_file(name, ".npy", fmt::format("its version is {}.{}, known are 1.0, 2.0 and 3.0", major, minor));
  }
  int64_t prefix = major == 1 ? 10 : 12;
  if (file_size < prefix) return truncated(name, static_cast<uint64_t>(prefix), have);
  uint64_t length = byte_at(first, 8) | byte_at(first, 9) << 8;
  if (major > 1) length |= byte_at(first, 10) << 16 | byte_at(first, 11) << 24;
  if (length > static_cast<uint64_t>(kNpyHeaderLimit)) {
    return not_a_file(name, ".npy",
                      fmt::format("its header has {} bytes, at most {} are read", length, kNpyHeaderLimit));
  }
  int64_t offset = prefix + static_cast<int64_t>(length);
  if (file_size < offset) return truncated(name, static_cast<uint64_t>(offset), have);
  return offset;
}

Result<NpyHeader> parse_npy_header(std::string_view first, const std::string& name) {
  size_t prefix = byte_at(first, 6) == 1 ? 10 : 12;
  DictParser parser(first.substr(prefix));
  NpyHeader header;
  if (!parser.parse(header)) return not_a_file(name, ".npy", parser.why);
  return header;
}

}  // namespace quern::array
