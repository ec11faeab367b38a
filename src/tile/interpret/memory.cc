// Every access is looked at: who wrote, who read, since which kernel.
#include "tile/interpret/memory.h"

#include <fmt/format.h>

#include "tile/interpret/element.h"
#include "tile/interpret/fault.h"

namespace quern::tile {
namespace {

constexpr int64_t kMany = INT64_MAX;

int64_t count(const std::string& name, const std::vector<int64_t>& shape) {
  int64_t n = 1;
  for (int64_t d : shape) {
    if (d < 0) fault(fmt::format("{} has a negative size", name));
    if (__builtin_mul_overflow(n, d, &n) || n > kMostElements) too_large(name);
  }
  return n;
}

}  // namespace

void fault(std::string what) { throw Fault{diagnose(Code::B002, {}, {{"what", std::move(what)}})}; }
void too_large(std::string what) {
  throw Fault{diagnose(
      Code::E716, {},
      {{"what", std::move(what)}, {"v", "too many elements"}, {"limit", fmt::format("{} elements", kMostElements)}})};
}

Tensor::Tensor(const Parameter& parameter, std::vector<int64_t> shape, const void* data)
    : parameter_(parameter), shape_(std::move(shape)) {
  int64_t n = count(parameter.name.str(), shape_);
  bool given = parameter.role == Role::kIn || parameter.role == Role::kConst || parameter.role == Role::kInout;
  writable_ = parameter.role != Role::kIn && parameter.role != Role::kConst;
  bool filled = given || parameter.zeroed;
  elements_.resize(static_cast<size_t>(n), filled ? zero_element(parameter.type) : undefined_element(parameter.type));
  if (writable_) touched_.resize(elements_.size());
  for (Touched& t : touched_) t.stored = filled;
  if (!given) return;
  if (!data && n > 0) fault(fmt::format("no argument is given for {}", parameter.name.str()));
  for (int64_t i = 0; i < n; ++i) {
    uint64_t bits = load_bits(parameter.type, data, i);
    Element& x = elements_[static_cast<size_t>(i)];
    switch (kind(parameter.type)) {
      case Kind::kReal: x = Element::of(Real{decode_real(parameter.type, bits)}); break;
      case Kind::kBool: x = Element::of(Bool{decode_int(parameter.type, bits) != 0}); break;
      default: x = Element::of(Int{decode_int(parameter.type, bits)});
    }
  }
}

Element Tensor::element(int64_t at) const {
  Element x = elements_[static_cast<size_t>(at)];
  if (!added_.empty()) {
    const Added& a = added_[static_cast<size_t>(at)];
    if (a.count > 0 && kind(parameter_.type) == Kind::kReal) {
      double u = std::max(unit(parameter_.type), unit_roundoff(parameter_.type));
      x.e += a.count * u * a.magnitude + a.count * underflow_error(parameter_.type);
      if (a.magnitude > largest(parameter_.type)) x.e = kInfinity;
    }
  }
  return x;
}

Element Tensor::read(int64_t at, Point by) {
  if (!writable_) return elements_[static_cast<size_t>(at)];
  Touched& t = touched_[static_cast<size_t>(at)];
  if (parameter_.role == Role::kOut) fault(fmt::format("{} is an out and is read", parameter_.name.str()));
  if (!t.stored) fault(fmt::format("element {} of {} is read before it is written", at, parameter_.name.str()));
  if (t.wrote >= by.first && t.wrote != by.number) {
    fault(fmt::format("element {} of {} is written and read by two grid points", at, parameter_.name.str()));
  }
  t.read = t.read >= by.first && t.read != by.number ? kMany : by.number;
  return element(at);
}

void Tensor::touch(int64_t at, Point by, bool atomic) {
  if (!writable_) fault(fmt::format("{} can't be written", parameter_.name.str()));
  Touched& t = touched_[static_cast<size_t>(at)];
  bool meets = t.wrote >= by.first && t.wrote != by.number && !(atomic && t.atomic);
  bool was_read = t.read >= by.first && t.read != by.number;
  if (meets || was_read) {
    fault(fmt::format("element {} of {} is {} by two grid points", at, parameter_.name.str(),
                      meets ? "written" : "read and written"));
  }
  t.wrote = by.number;
  t.atomic = atomic;
}

void Tensor::write(int64_t at, Element x, Mode mode, Point by) {
  touch(at, by, false);
  Touched& t = touched_[static_cast<size_t>(at)];
  if (t.stored && parameter_.role == Role::kOut) {
    fault(fmt::format("element {} of {} is stored twice", at, parameter_.name.str()));
  }
  t.stored = true;
  if (kind(parameter_.type) == Kind::kReal && mode == Mode::kRounded) x.v = round_to(parameter_.type, x.v);
  elements_[static_cast<size_t>(at)] = x;
  if (!added_.empty()) added_[static_cast<size_t>(at)] = {};
}

void Tensor::add(int64_t at, Element x, Mode mode, Point by, bool atomic) {
  touch(at, by, atomic);
  if (!touched_[static_cast<size_t>(at)].stored) {
    fault(fmt::format("element {} of {} is added to before it is written", at, parameter_.name.str()));
  }
  Element& old = elements_[static_cast<size_t>(at)];
  if (kind(parameter_.type) != Kind::kReal) {
    auto total = static_cast<int64_t>(static_cast<uint64_t>(old.i) + static_cast<uint64_t>(x.i));
    old = Element::of(wrapped(parameter_.type, {total, old.e + x.e}));
    return;
  }
  if (added_.empty()) added_.resize(elements_.size());
  Added& a = added_[static_cast<size_t>(at)];
  if (a.count == 0) a.magnitude = std::fabs(old.v) + old.e;
  a.magnitude += std::fabs(x.v) + x.e;
  a.count += 1;
  old.v += x.v;
  old.e += x.e;
  if (mode == Mode::kRounded) old.v = round_to(parameter_.type, old.v);
}

Output Tensor::output(int32_t number, Mode mode) const {
  Output out;
  out.parameter = number;
  auto n = static_cast<int64_t>(elements_.size());
  out.data.resize(static_cast<size_t>(byte_size(parameter_.type, n)));
  for (int64_t i = 0; i < n; ++i) {
    if (!touched_[static_cast<size_t>(i)].stored) {
      fault(fmt::format("element {} of {} is not stored", i, parameter_.name.str()));
    }
    Element x = element(i);
    bool is_real = kind(parameter_.type) == Kind::kReal;
    uint64_t bits = is_real ? encode_real(parameter_.type, x.v) : encode_int(parameter_.type, x.i);
    store_bits(parameter_.type, out.data.data(), i, bits);
    out.value.push_back(is_real ? x.v : static_cast<double>(x.i));
    if (mode == Mode::kBound) out.bound.push_back(x.e);
  }
  return out;
}

}  // namespace quern::tile
