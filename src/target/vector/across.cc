// Loads that lie across the lanes: strided along the axis in lanes, but side by side along another block axis, of which
// the register block has as many positions as a vector has lanes. A square of elements is loaded by rows and turned in
// registers, in log2(lanes) rounds of shuffles, in place of a gather (or a scalar load an element) for each vector:
// what packing a transposed operand of a product, or a transposition itself, consists of.
#include "target/vector/emitter.h"

namespace quern::target {

namespace {

bool same_terms(const Linear& a, const Linear& b) {
  if (a.terms.size() != b.terms.size() || a.lane.name != b.lane.name) return false;
  for (size_t i = 0; i < a.terms.size(); ++i) {
    if (a.terms[i].first.name != b.terms[i].first.name || a.terms[i].second.name != b.terms[i].second.name)
      return false;
  }
  return true;
}

}  // namespace

// The value at the present position; those of its neighbours are known then too.
std::optional<Value> Emitter::load_across(const Expr& e) {
  bool plain = !e.guard && e.checked == 0 && !written_[static_cast<size_t>(e.id)] && e.type != ScalarType::boolean;
  if (lane_axis_ < 0 || lanes_ < 4 || has_.threads() || !plain || row(e.type).bits < 8 || lane_mask())
    return std::nullopt;
  auto count = static_cast<size_t>(lanes_);
  for (const tile::NestAxis& n : nest_axes_) {
    if (n.axis == lane_axis_ || n.role == tile::AxisRole::kStrip || !e.axes.has(n.axis)) continue;
    int& at = at_[static_cast<size_t>(n.axis)];
    int here = at, first = here / lanes_ * lanes_;
    if (first + lanes_ > axes_[static_cast<size_t>(n.axis)].count) continue;
    at = first;
    Linear from = element(e.id, e.args);
    at = first + 1;
    Linear next = element(e.id, e.args);
    at = here;
    if (from.vector || next.vector || next.constant != from.constant + 1 || !same_terms(from, next)) continue;
    if (from.lane.is(0) || from.lane.is(1)) return std::nullopt;

    Type type{memory_base(e.type), lanes_};
    int bytes = bits(type.base) / 8;
    std::vector<Value> rows;
    for (int l = 0; l < lanes_; ++l) {
      Linear row{.terms = from.terms, .constant = from.constant};
      if (from.lane.known) {
        row.constant += l * *from.lane.known;
      } else if (l > 0) {
        row.terms.emplace_back(from.lane, i64(l));
      }
      rows.push_back(w_.load(type, pointer_to(parameter(e.id), row, bytes), bytes, true));
    }
    // Each round swaps one bit of the row's number with one of the column's.
    for (size_t s = count / 2; s > 0; s /= 2) {
      std::vector<int> low, high;
      for (size_t x = 0; x < count; ++x) {
        bool second = (x & s) != 0;
        low.push_back(static_cast<int>(second ? count + x - s : x));
        high.push_back(static_cast<int>(second ? count + x : x + s));
      }
      for (size_t i = 0; i < count; ++i) {
        if (i & s) continue;
        Value a = rows[i], b = rows[i + s];
        rows[i] = w_.shuffle(a, b, low);
        rows[i + s] = w_.shuffle(a, b, high);
      }
    }
    for (int i = 0; i < lanes_; ++i) {
      at = first + i;
      known_.back().emplace(std::pair(&e, key(e.axes)), rows[static_cast<size_t>(i)]);
    }
    at = here;
    return rows[static_cast<size_t>(here - first)];
  }
  return std::nullopt;
}

}  // namespace quern::target
