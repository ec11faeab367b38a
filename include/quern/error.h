// What Quern has to say against a kernel or a call, as values: nothing is printed, thrown or ended by the library.
// Codes and texts are those of the text notation and of the command line (docs/errors.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern {

struct Error {
  std::string code;     // "E302": E yours, N not supported yet, R a remark, B a bug of Quern's
  std::string message;  // "k ranges over K of a and over J of b"
  std::string remedy;   // what to do; may be empty
  // Where: the name of the text, line and column from 1. An embedded kernel's places are in its canonical text, and
  // the name is "<kernel NAME>". Line 0: nowhere.
  std::string file;
  int64_t line = 0;
  int64_t column = 0;
  std::string text;  // all of it with the source line and a caret, as the command line shows it
};

// One or more, in the order of the text. Every independent error is there, not only the first.
class Errors {
 public:
  Errors() = default;
  explicit Errors(std::vector<Error> list) : list_(std::move(list)) {}

  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }
  size_t size() const { return list_.size(); }
  bool empty() const { return list_.empty(); }
  const Error& operator[](size_t i) const { return list_[i]; }
  const Error& front() const { return list_.front(); }

  // Is one of them of this code?
  bool has(std::string_view code) const {
    for (const Error& e : list_) {
      if (e.code == code) return true;
    }
    return false;
  }
  // The texts of all, for a terminal or a log.
  std::string text() const {
    std::string out;
    for (const Error& e : list_) out += e.text;
    return out;
  }

 private:
  std::vector<Error> list_;
};

}  // namespace quern
