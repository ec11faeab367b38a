// Reads off the subscripts how large an element of an integer tensor may be: one that is a subscript must stay in its
// dimension, one that ends a range must let the range's index stay in its dimensions.
#include "expr/draw.h"

#include <algorithm>
#include <map>

#include "expr/prove/walk.h"

namespace quern::expr {
namespace {

class Drawer : ScopeWalk {
 public:
  Drawer(const Program& program, const Binding& binding) : ScopeWalk(program, binding), seen_(program.tensors.size()) {}

  std::vector<Draw> run(const Binding& binding) {
    // Two passes: what limits an index is known only after its uses, and limits the data that ends its range.
    walk_program();
    walk_program();
    std::vector<Draw> out;
    for (size_t t = 0; t < program_.tensors.size(); ++t)
      out.push_back(draw(seen_[t], binding.type(program_.tensors[t].type)));
    return out;
  }

 private:
  struct Seen {
    Interval range;  // so that subscripts stay inside
    bool subscript = false;
    bool ends = false;      // ends a range …
    bool starts = false;    // … and starts one
    bool scatter = false;   // a left subscript of an update with '='
    bool negative = false;  // a guard asks whether it is negative
  };

  static Draw draw(const Seen& s, ScalarType type) {
    Draw d;
    if (quern::kind(type) == Kind::kReal) return d;
    if (quern::kind(type) == Kind::kBool) return {Draw::Pattern::kBool, 0, 2};
    d.pattern = Draw::Pattern::kInteger;
    bool narrow = quern::row(type).bits <= 8;
    // Plain numbers: all of a narrow type (weights), small ones of a wide type (labels, counts).
    d.lo = narrow ? least_int(type) : 0;
    d.hi = narrow ? greatest_int(type) + 1 : 8;
    if (quern::row(type).bits == 32 && least_int(type) == 0 && !s.subscript) d.hi = int64_t{1} << 32;  // packed words
    if (!s.subscript && !s.ends) return d;
    constexpr int64_t kPlenty = 64;  // where nothing limits a range
    int64_t hi = std::min({s.range.hi.value_or(kPlenty), greatest_int(type), INT64_MAX - 1});
    d.lo = std::max(s.range.lo.value_or(0), least_int(type));
    d.hi = std::max(hi, d.lo - 1) + 1;
    if (s.ends) d.pattern = s.starts ? Draw::Pattern::kSortedStarts : Draw::Pattern::kLength;
    if (s.ends) d.lo = 0;
    if (s.subscript && s.scatter) d.pattern = Draw::Pattern::kDistinct;
    if (s.subscript && s.negative && least_int(type) < 0 && d.pattern == Draw::Pattern::kInteger) d.lo = -1;
    return d;
  }

  void entered(const Binder& b) override {
    Linear index = scope_.linear(make_index(b.id, b.name));
    Atom atom = index.terms.begin()->first;
    std::string key = place(b);
    index_place_[atom] = key;
    auto ended_by = [&](const NodePtr& end, bool start) {
      Linear form = scope_.linear(end);
      for (const auto& [a, c] : form.terms) {
        int32_t tensor = scope_.info(a).tensor;
        if (tensor < 0 || c != 1 || form.terms.size() != 1) continue;
        Seen& s = seen_[static_cast<size_t>(tensor)];
        (start ? s.starts : s.ends) = true;
        auto limit = limits_.find(key);
        if (limit == limits_.end()) continue;
        // The index stays at or below its limit: hi - 1 <= limit, lo <= limit + 1.
        Interval most = add(Interval{limit->second, limit->second}, Interval{1 - form.constant, 1 - form.constant});
        s.range = intersect(s.range, {std::nullopt, most.hi});
      }
    };
    if (b.lo) ended_by(b.lo, true);
    ended_by(b.hi, false);
  }

  static std::string place(const Binder& b) {
    return std::to_string(b.id) + "@" + std::to_string(b.span.begin) + "/" +
           std::to_string(reinterpret_cast<uintptr_t>(b.hi.get()));
  }

  void subscript(const SubscriptPlace& p) override {
    if (p.local) return;
    auto size = scope_.interval(p.hi).hi;
    if (!size) return;
    limit(scope_.linear(p.subscript), 0, *size - 1, p.scatter);
  }

  // lo <= form <= hi, for every value of its other terms.
  void limit(const Linear& form, int64_t lo, int64_t hi, bool scatter) {
    for (const auto& [atom, c] : form.terms) {
      const AtomInfo& info = scope_.info(atom);
      if (info.numerator && c == 1 && form.terms.size() == 1) {
        Linear numerator = *info.numerator;
        int64_t divisor = info.divisor;
        Interval whole = scale(add(Interval{lo, hi + 1}, Interval{-form.constant, -form.constant}), divisor);
        if (whole.lo && whole.hi) limit(numerator, *whole.lo, *whole.hi - 1, scatter);
        continue;
      }
      if (c <= 0) continue;
      Linear rest = form;
      rest.terms.erase(atom);
      Interval others = scope_.interval(rest);
      // c x <= hi - others, c x >= lo - others
      Interval own, above = add(Interval{hi, hi}, scale(others, -1)), below = add(others, Interval{-lo, -lo});
      if (above.lo) own.hi = floor_divide(*above.lo, c);
      if (below.lo && *below.lo > -INT64_MAX) own.lo = -floor_divide(*below.lo, c);
      if (info.tensor >= 0) {
        Seen& s = seen_[static_cast<size_t>(info.tensor)];
        s.subscript = true;
        s.scatter |= scatter;
        s.negative |= scope_.guarded();
        s.range = intersect(s.range, own);
      } else if (info.index != kNoIndex && own.hi) {
        auto known = index_place_.find(atom);
        if (known == index_place_.end()) continue;
        auto [it, added] = limits_.emplace(known->second, *own.hi);
        if (!added) it->second = std::min(it->second, *own.hi);
      }
    }
  }

  std::vector<Seen> seen_;
  std::map<Atom, std::string> index_place_;
  std::map<std::string, int64_t> limits_;
};

}  // namespace

std::vector<Draw> draws(const Program& program, const Binding& binding) {
  return Drawer(program, binding).run(binding);
}

}  // namespace quern::expr
