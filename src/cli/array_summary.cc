#include "cli/array_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/scalar_argument.h"

namespace quern::cli {
namespace {

// Axes longer than this show so many of both ends.
constexpr int64_t kWhole = 64;  // elements that are shown without leaving any out
constexpr int64_t kEdge = 3;    // of the last axis
constexpr int64_t kOuter = 1;   // of the others

class Printer {
 public:
  Printer(const array::Array& array, size_t indent)
      : array_(array), indent_(indent), whole_(array.elements() <= kWhole) {
    visit(0, 0, [&](int64_t i) { width_ = std::max(width_, element_text(array_, i).size()); });
  }

  std::string run() {
    text_ = std::string(indent_, ' ');
    print(0, 0);
    return text_ + "\n";
  }

 private:
  bool last(size_t axis) const { return axis + 1 == array_.shape.size(); }
  int64_t edge(size_t axis) const { return last(axis) ? kEdge : kOuter; }
  bool cut(size_t axis) const { return !whole_ && array_.shape[axis] > 2 * edge(axis) + 1; }

  // Calls `each` with the shown positions along an axis, and with -1 for those left out.
  template <class F>
  void positions(size_t axis, F each) const {
    int64_t n = array_.shape[axis];
    for (int64_t i = 0; i < n; ++i) {
      if (cut(axis) && i == edge(axis)) {
        each(-1);
        i = n - edge(axis);
      }
      each(i);
    }
  }

  template <class F>
  void visit(size_t axis, int64_t offset, F each) const {
    if (axis == array_.shape.size()) return each(offset);
    positions(axis, [&](int64_t i) {
      if (i >= 0) visit(axis + 1, offset * array_.shape[axis] + i, each);
    });
  }

  void print(size_t axis, int64_t offset) {
    if (axis == array_.shape.size()) {
      text_ += fmt::format("{:>{}}", element_text(array_, offset), width_);
      return;
    }
    text_ += "[";
    bool first = true;
    positions(axis, [&](int64_t i) {
      if (!first) text_ += last(axis) ? ", " : ",\n" + std::string(indent_ + axis + 1, ' ');
      first = false;
      if (i < 0) {
        text_ += "...";
      } else {
        print(axis + 1, offset * array_.shape[axis] + i);
      }
    });
    text_ += "]";
  }

  const array::Array& array_;
  size_t indent_;
  bool whole_;
  size_t width_ = 0;
  std::string text_;
};

double value(const array::Array& array, int64_t i) {
  return kind(array.type) == Kind::kReal ? array::real_at(array, i) : static_cast<double>(array::int_at(array, i));
}

}  // namespace

ArraySummary summarise(const array::Array& array) {
  ArraySummary out;
  out.elements = array.elements();
  double sum = 0, min = 0, max = 0;
  for (int64_t i = 0; i < out.elements; ++i) {
    double x = value(array, i);
    if (std::isnan(x)) {
      ++out.nans;
      continue;
    }
    if (out.min_at < 0 || x < min) {
      out.min_at = i;
      min = x;
    }
    if (out.max_at < 0 || x > max) {
      out.max_at = i;
      max = x;
    }
    sum += x;
  }
  out.mean = sum / static_cast<double>(out.elements - out.nans);
  return out;
}

std::string summary_text(const array::Array& array, const ArraySummary& s) {
  if (s.elements == 0) return "no elements";
  std::string text;
  if (s.min_at >= 0) {
    text = fmt::format("min {}, max {}, mean {}", element_text(array, s.min_at), element_text(array, s.max_at),
                       real_text(s.mean));
  }
  if (s.nans) text += fmt::format("{}{} nan", text.empty() ? "" : ", ", s.nans);
  return text;
}

std::string elements_text(const array::Array& array, size_t indent) {
  if (array.elements() == 0) return {};
  return Printer(array, indent).run();
}

}  // namespace quern::cli
