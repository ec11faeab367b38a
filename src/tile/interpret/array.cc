// Row-major offsets, kept up to date step by step.
#include "tile/interpret/array.h"

namespace quern::tile {

Element zero_element(ScalarType type) { return kind(type) == Kind::kReal ? Element::of(Real{}) : Element::of(Int{}); }

Element undefined_element(ScalarType type) {
  if (kind(type) == Kind::kReal) return Element::of(Real{std::numeric_limits<double>::quiet_NaN(), 0});
  return kind(type) == Kind::kBool ? Element::of(Bool{true}) : Element::of(Int{0x5a5a5a5a5a5a5a5a, 0});
}

void Points::add(const Array& operand) {
  std::vector<int64_t> strides(axes_.size());
  int64_t offset = 0, stride = 1;
  for (size_t a = operand.axes.size(); a-- > 0;) {
    for (size_t k = 0; k < axes_.size(); ++k) {
      if (axes_[k] != operand.axes[a]) continue;
      strides[k] = stride;
      offset += (ranges_[k].lo - operand.ranges[a].lo) * stride;
    }
    stride *= operand.ranges[a].extent();
  }
  strides_.push_back(std::move(strides));
  offsets_.push_back(offset);
}

bool Points::next() {
  for (size_t k = axes_.size(); k-- > 0;) {
    bool on = ++index_[k] < ranges_[k].end;
    int64_t step = on ? 1 : 1 - ranges_[k].extent();
    for (size_t o = 0; o < offsets_.size(); ++o) offsets_[o] += step * strides_[o][k];
    if (on) return true;
    index_[k] = ranges_[k].lo;
  }
  return false;
}

bool Points::live() const {
  for (size_t k = 0; k < axes_.size(); ++k) {
    if (index_[k] >= ranges_[k].hi) return false;
  }
  return true;
}

}  // namespace quern::tile
