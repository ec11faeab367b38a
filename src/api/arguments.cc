// Devices, arguments and outputs: what a run is given, and how its results are read.
#include <algorithm>

#include "api/notation/recording.h"
#include "api/program_state.h"
#include "quern/run.h"

namespace quern {

Device Device::interpreter() { return Device("interpreter"); }
Device Device::named(std::string_view name) { return Device(std::string(name)); }

Arguments::Arguments() : state_(std::make_unique<internal::ArgumentsState>()) {}
Arguments::Arguments(const Arguments& other) : state_(std::make_unique<internal::ArgumentsState>(*other.state_)) {}
Arguments::~Arguments() = default;

Arguments& Arguments::operator=(const Arguments& other) {
  *state_ = *other.state_;
  return *this;
}

Arguments& Arguments::tensor(std::string_view name, const ConstView& view) {
  state_->tensors.insert_or_assign(std::string(name), internal::ArgumentsState::Sized{view, std::nullopt});
  return *this;
}

Arguments& Arguments::sized(std::string_view name, const ConstView& view, int64_t elements) {
  state_->tensors.insert_or_assign(std::string(name), internal::ArgumentsState::Sized{view, elements});
  return *this;
}

Arguments& Arguments::output(std::string_view name, const View& view) {
  state_->outputs.insert_or_assign(std::string(name), internal::ArgumentsState::SizedOutput{view, std::nullopt});
  return *this;
}

Arguments& Arguments::sized_output(std::string_view name, const View& view, int64_t elements) {
  state_->outputs.insert_or_assign(std::string(name), internal::ArgumentsState::SizedOutput{view, elements});
  return *this;
}

Arguments& Arguments::scalar(std::string_view name, double value) {
  state_->scalars.insert_or_assign(std::string(name), value);
  return *this;
}

Arguments& Arguments::whole(std::string_view name, int64_t value) {
  state_->scalars.insert_or_assign(std::string(name), value);
  return *this;
}

Arguments& Arguments::dimension(std::string_view name, int64_t size) {
  state_->dimensions.insert_or_assign(std::string(name), size);
  return *this;
}

Arguments& Arguments::type(std::string_view name, const Type& type) {
  state_->types.insert_or_assign(std::string(name), type);
  return *this;
}

int64_t Output::size() const {
  int64_t count = 1;
  for (int64_t n : shape) count *= n;
  return count;
}

double Output::real(int64_t i) const {
  ScalarType element = internal::element_type(type).scalar;
  uint64_t bits = load_bits(element, data.data(), i);
  return kind(element) == Kind::kReal ? decode_real(element, bits) : static_cast<double>(integer(i));
}

int64_t Output::integer(int64_t i) const {
  ScalarType element = internal::element_type(type).scalar;
  uint64_t bits = load_bits(element, data.data(), i);
  if (kind(element) == Kind::kReal) return truncate_to(ScalarType::i64, decode_real(element, bits));
  return kind(element) == Kind::kBool ? bits != 0 : decode_int(element, bits);
}

const Output* Outcome::find(std::string_view name) const {
  auto it = std::ranges::find_if(outputs, [&](const Output& o) { return o.name == name; });
  return it == outputs.end() ? nullptr : &*it;
}

}  // namespace quern
