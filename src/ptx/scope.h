// Names inside a function while it is parsed: nested blocks hide the names outside, and all end up side by side in the
// flat function, renamed where two had one name. Nothing here recurses, and closing a block costs what was declared in
// it, so a hundred thousand nested braces are no load.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/source.h"
#include "ptx/module.h"

namespace quern::ptx {

// What a name stands for. Registers get an index when they are first used.
struct Named {
  enum class Kind : uint8_t { kRegister, kVariable, kParameter, kReturn, kPrototype, kTargets };
  Kind kind = Kind::kRegister;
  Type type = {};
  int32_t vector = 1;
  int32_t index[4] = {kNone, kNone, kNone, kNone};  // a vector register has one for each component
};

class Scope {
 public:
  void open();
  void close();
  int64_t depth() const { return static_cast<int64_t>(blocks_.size()); }

  // False: this block has the name already. Names are views into the text, which outlives the scope.
  bool declare(std::string_view name, Named named);
  bool declare_range(std::string_view prefix, int64_t count, Named named);  // %r<100>
  // Stays where it is until the next call.
  Named* find(std::string_view name);
  // A name that nothing else of the function has: `wanted`, a view into the text, or that with a number.
  std::string unique(std::string_view wanted);
  bool used(std::string_view name) const { return used_.contains(name); }

 private:
  struct Entry {
    Named named;
    int64_t depth = 0;
    int64_t count = 0;                           // of a range
    std::vector<Named> low;                      // members by number, where most of them are used
    std::unordered_map<int64_t, Named> members;  // the others
    Entry* hidden = nullptr;
  };
  using Map = std::unordered_map<std::string_view, Entry*>;
  struct Undo {
    Map* map;
    std::string_view name;
  };
  bool add(Map& map, std::string_view name, Entry entry);

  Map names_, ranges_;
  std::deque<Entry> entries_;
  std::vector<Undo> undo_;
  std::vector<size_t> blocks_;  // the length of undo_ where each began
  std::unordered_set<std::string_view> used_;
  std::deque<std::string> made_;  // names of used_ that the text does not have
  std::unordered_map<std::string_view, int64_t> renamed_;
  bool ends_in_digit_ = false;  // some range's prefix does: %r1<10>
};

// Labels are known in their block, before and after they stand there.
class Labels {
 public:
  // Where the index of a label is to be written: an operand of an instruction, or an entry of a list of targets.
  struct Place {
    bool in_list = false;
    int32_t outer = 0;
    int32_t inner = 0;
    int32_t label = kNone;
  };
  struct Reference {
    std::string_view name;
    Span span;
    Place place;
    int64_t order = 0;
  };

  void open();
  void close();
  bool define(std::string_view name, int32_t index);
  void refer(std::string_view name, Span span, Place place);
  // Of closed blocks; to be written at the end of the function.
  const std::vector<Place>& resolved() const { return resolved_; }
  std::vector<Reference> unresolved() const;  // in the order of the text

 private:
  struct Entry {
    std::vector<std::pair<int64_t, int32_t>> defined;  // block, index
    std::vector<Reference> pending;
  };
  struct Block {
    int64_t serial;
    int64_t order;  // of the next reference when it began
    std::vector<std::string_view> names;
  };
  std::unordered_map<std::string_view, Entry> names_;
  std::vector<Block> blocks_;
  std::vector<Place> resolved_;
  int64_t serial_ = 0;
  int64_t order_ = 0;
};

}  // namespace quern::ptx
