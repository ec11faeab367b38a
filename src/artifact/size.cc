#include "artifact/size.h"

#include <algorithm>

namespace quern::artifact {
namespace {

std::optional<int64_t> compute(Size::Op op, int64_t a, int64_t b) {
  int64_t out = 0;
  switch (op) {
    case Size::Op::kNumber:
    case Size::Op::kDim: return std::nullopt;
    case Size::Op::kAdd: return __builtin_add_overflow(a, b, &out) ? std::nullopt : std::optional(out);
    case Size::Op::kSub: return __builtin_sub_overflow(a, b, &out) ? std::nullopt : std::optional(out);
    case Size::Op::kMul: return __builtin_mul_overflow(a, b, &out) ? std::nullopt : std::optional(out);
    case Size::Op::kMin: return std::min(a, b);
    case Size::Op::kMax: return std::max(a, b);
    case Size::Op::kFloorDiv:
    case Size::Op::kCeilDiv:
    case Size::Op::kMod: break;
  }
  if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
  int64_t quotient = a / b, rest = a % b;
  bool same_sign = (rest < 0) == (b < 0);
  if (op == Size::Op::kFloorDiv) return quotient - (rest != 0 && !same_sign);
  if (op == Size::Op::kCeilDiv) return quotient + (rest != 0 && same_sign);
  return rest != 0 && !same_sign ? rest + b : rest;
}

}  // namespace

Size Size::apply(Op op, const Size& a, const Size& b) {
  std::vector<Step> steps = a.steps_;
  steps.insert(steps.end(), b.steps_.begin(), b.steps_.end());
  steps.push_back({op, 0});
  Size out(std::move(steps));
  // What needs no dimension is a number at once.
  if (auto value = out.at({})) return Size(*value);
  return out;
}

std::optional<int64_t> Size::at(std::span<const int64_t> dims) const {
  std::vector<int64_t> stack;
  for (const Step& s : steps_) {
    if (s.op == Op::kNumber) {
      stack.push_back(s.value);
    } else if (s.op == Op::kDim) {
      if (s.value < 0 || s.value >= static_cast<int64_t>(dims.size())) return std::nullopt;
      stack.push_back(dims[static_cast<size_t>(s.value)]);
    } else {
      if (stack.size() < 2) return std::nullopt;
      auto value = compute(s.op, stack[stack.size() - 2], stack.back());
      if (!value) return std::nullopt;
      stack.pop_back();
      stack.back() = *value;
    }
  }
  if (stack.size() != 1) return std::nullopt;
  return stack.back();
}

std::optional<int64_t> bytes_of(std::span<const Size> shape, ScalarType type, std::span<const int64_t> dims) {
  Size elements(1);
  for (const Size& s : shape) elements = Size::apply(Size::Op::kMul, elements, s);
  auto count = elements.at(dims);
  int64_t bits = 0;
  if (!count || *count < 0 || __builtin_mul_overflow(*count, row(type).bits, &bits)) return std::nullopt;
  return byte_size(type, *count);
}

}  // namespace quern::artifact
