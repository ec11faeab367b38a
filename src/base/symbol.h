// Interned names: two equal names are one pointer, so comparing and hashing cost nothing. The pool lives as long as
// the process and is safe to use from several threads.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace quern {

// The pool. A library that is opened while the program runs has a copy of this code: before it makes its first symbol
// it takes over the pool of whoever opened it, so that a name is one pointer on both sides.
struct SymbolPool;
SymbolPool* symbol_pool();
void use_symbol_pool(SymbolPool* pool);

class Symbol {
 public:
  Symbol() = default;  // the empty name
  explicit Symbol(std::string_view text);

  const std::string& str() const;
  bool empty() const { return !text_; }
  explicit operator bool() const { return text_ != nullptr; }
  bool operator==(const Symbol&) const = default;
  // By text, so that what is sorted by it is the same in every run.
  bool operator<(const Symbol& other) const { return text_ != other.text_ && str() < other.str(); }

 private:
  friend struct std::hash<Symbol>;
  const std::string* text_ = nullptr;
};

}  // namespace quern

template <>
struct std::hash<quern::Symbol> {
  size_t operator()(const quern::Symbol& s) const { return std::hash<const void*>()(s.text_); }
};
