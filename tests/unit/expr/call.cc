#include "call.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <set>
#include <stdexcept>

#include "base/text.h"

namespace quern::expr::test {

int64_t between(Random& random, int64_t lo, int64_t hi) {
  auto width = static_cast<uint64_t>(hi) - static_cast<uint64_t>(lo);
  uint64_t at = width == UINT64_MAX ? random() : random() % (width + 1);
  return static_cast<int64_t>(static_cast<uint64_t>(lo) + at);
}

bool chance(Random& random, double p) { return static_cast<double>(random() >> 11) * 0x1p-53 < p; }

double normal(Random& random) {
  double sum = -6;  // Irwin-Hall: the same on every library
  for (int i = 0; i < 12; ++i) sum += static_cast<double>(random() >> 11) * 0x1p-53;
  return sum;
}

Text::Text(const std::string& text, const std::string& name) : unit_(lang::load(Source::make(name, text))) {
  EXPECT_EQ(render(unit_.errors), "") << text;
}

const Program& Text::program(const std::string& kernel) const {
  const lang::CheckedKernel* found =
      kernel.empty() && !unit_.kernels.empty() ? &unit_.kernels.back() : unit_.find(kernel);
  if (found && found->program) return *found->program;
  throw std::invalid_argument("no kernel " + kernel);
}

const std::vector<LibraryKernel>& library() {
  static const std::vector<LibraryKernel> all = [] {
    static std::vector<lang::Unit> units;
    std::set<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator("kernels")) {
      if (entry.path().extension() == ".qn") files.insert(entry.path());
    }
    units.reserve(files.size());
    std::vector<LibraryKernel> out;
    for (const auto& path : files) {
      units.push_back(lang::load(read_source(path.string()).value()));
      EXPECT_EQ(render(units.back().errors), "");
      for (const auto& k : units.back().kernels) out.push_back({k.program->name.str(), &*k.program});
    }
    return out;
  }();
  return all;
}

const Program& library_kernel(const std::string& name) {
  for (const LibraryKernel& k : library()) {
    if (k.name == name) return *k.program;
  }
  throw std::invalid_argument("no kernel " + name);
}

Request request(const Dims& dims, const Types& types) {
  Request out;
  for (const auto& [name, size] : dims) out.dimensions[Symbol(name)] = size;
  for (const auto& [name, type] : types) out.types[Symbol(name)] = type;
  return out;
}

std::string codes(const Diagnostics& diagnostics) {
  std::string out;
  for (const Diagnostic& d : diagnostics) out += (out.empty() ? "" : " ") + std::string(row(d.code).name);
  return out;
}

// --- arguments ---

Arguments::Arguments(const Program& program, const Binding& binding) : program_(&program), binding_(&binding) {
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    data_.emplace_back(static_cast<size_t>(byte_size(type(t), elements(t))) + 8);
    const NodePtr& value = program.tensors[t].value;
    if (!value || !program.tensors[t].scalar()) continue;
    double sign = value->op == Op::kNeg ? -1 : 1;
    const Node& number = value->op == Op::kNeg ? *value->args[0] : *value;
    put(t, 0, sign * (number.op == Op::kReal ? number.real : static_cast<double>(number.integer)));
  }
}

int64_t Arguments::elements(size_t tensor) const {
  const auto& shape = binding_->shapes[tensor];
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

void Arguments::put(size_t tensor, int64_t element, double value) {
  ScalarType t = type(tensor);
  uint64_t bits = quern::kind(t) == Kind::kReal ? encode_real(t, value) : encode_int(t, static_cast<int64_t>(value));
  store_bits(t, data_[tensor].data(), element, bits);
}

void Arguments::put_whole(size_t tensor, int64_t element, int64_t value) {
  store_bits(type(tensor), data_[tensor].data(), element, encode_int(type(tensor), value));
}

size_t Arguments::index(const std::string& name) const {
  const Tensor* t = program_->find_tensor(Symbol(name));
  if (!t) throw std::invalid_argument("no tensor " + name);
  return static_cast<size_t>(t - program_->tensors.data());
}

void Arguments::set(const std::string& name, const std::vector<double>& values) {
  size_t t = index(name);
  ASSERT_EQ(static_cast<int64_t>(values.size()), elements(t)) << name;
  for (size_t i = 0; i < values.size(); ++i) put(t, static_cast<int64_t>(i), values[i]);
}

void Arguments::set_whole(const std::string& name, const std::vector<int64_t>& values) {
  size_t t = index(name);
  ASSERT_EQ(static_cast<int64_t>(values.size()), elements(t)) << name;
  for (size_t i = 0; i < values.size(); ++i) put_whole(t, static_cast<int64_t>(i), values[i]);
}

std::vector<View> Arguments::views() const {
  std::vector<View> out;
  for (const auto& d : data_) out.push_back({d.data()});
  return out;
}

namespace {

std::vector<int64_t> drawn(const Draw& draw, int64_t n, int64_t row, Random& random) {
  std::vector<int64_t> out(static_cast<size_t>(n));
  int64_t last = std::max(draw.lo, draw.hi - 1);
  switch (draw.pattern) {
    case Draw::Pattern::kSortedStarts:
      for (int64_t& v : out)
        v = chance(random, 0.2) ? draw.lo : chance(random, 0.2) ? last : between(random, draw.lo, last);
      for (int64_t i = 0; i < n; i += std::max<int64_t>(row, 1)) {
        std::sort(out.begin() + i, out.begin() + std::min(n, i + std::max<int64_t>(row, 1)));
      }
      break;
    case Draw::Pattern::kDistinct: {
      std::vector<int64_t> places;
      for (int64_t v = draw.lo; v < draw.hi && std::ssize(places) < 4096; ++v) places.push_back(v);
      std::ranges::shuffle(places, random);
      EXPECT_GE(std::ssize(places), n) << "too few places for distinct values";
      for (size_t i = 0; i < out.size() && i < places.size(); ++i) out[i] = places[i];
      break;
    }
    default:
      for (int64_t& v : out)
        v = chance(random, 0.15) ? draw.lo : chance(random, 0.15) ? last : between(random, draw.lo, last);
  }
  return out;
}

}  // namespace

void fill(Arguments& arguments, const Program& program, const Binding& binding, Random& random,
          const std::function<double(Random&)>& real) {
  std::vector<Draw> how = draws(program, binding);
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const Tensor& tensor = program.tensors[t];
    if (tensor.role == Role::kResult || (tensor.scalar() && tensor.value)) continue;
    int64_t n = arguments.elements(t);
    if (how[t].pattern == Draw::Pattern::kReal) {
      for (int64_t i = 0; i < n; ++i) arguments.put(t, i, real(random));
      continue;
    }
    auto values = drawn(how[t], n, binding.shapes[t].empty() ? 1 : binding.shapes[t].back(), random);
    for (int64_t i = 0; i < n; ++i) arguments.put_whole(t, i, values[static_cast<size_t>(i)]);
  }
}

// --- calls ---

Call::Call(const std::string& text, const Dims& dims, const Types& types) : text_(text) {
  auto binding = bind(program(), request(dims, types));
  EXPECT_TRUE(binding) << (binding ? "" : render(binding.error()));
  if (binding) binding_ = *std::move(binding);
  binding_.shapes.resize(program().tensors.size());
  arguments_ = std::make_unique<Arguments>(program(), binding_);
}

Call& Call::set(const std::string& name, const std::vector<double>& values) {
  arguments_->set(name, values);
  return *this;
}

Call& Call::set_whole(const std::string& name, const std::vector<int64_t>& values) {
  arguments_->set_whole(name, values);
  return *this;
}

Interpreted Call::run(InterpretOptions options) {
  auto out = interpret(program(), binding_, arguments_->views(), options);
  EXPECT_TRUE(out) << (out ? "" : render(out.error()));
  out_ = out ? *std::move(out) : Interpreted{};
  return out_;
}

const Output& Call::output(const std::string& name) const {
  for (const Output& o : out_.outputs) {
    if (name.empty() || program().tensors[static_cast<size_t>(o.tensor)].name.str() == name) return o;
  }
  throw std::invalid_argument("no output " + name);
}

std::vector<double> Call::reals(const std::string& name) const {
  const Output& o = output(name);
  std::vector<double> out;
  auto t = static_cast<size_t>(o.tensor);
  for (int64_t i = 0; i < arguments_->elements(t); ++i) {
    uint64_t bits = load_bits(arguments_->type(t), o.data.data(), i);
    bool real = quern::kind(arguments_->type(t)) == Kind::kReal;
    out.push_back(real ? decode_real(arguments_->type(t), bits)
                       : static_cast<double>(decode_int(arguments_->type(t), bits)));
  }
  return out;
}

std::vector<int64_t> Call::wholes(const std::string& name) const {
  const Output& o = output(name);
  std::vector<int64_t> out;
  auto t = static_cast<size_t>(o.tensor);
  for (int64_t i = 0; i < arguments_->elements(t); ++i) {
    out.push_back(decode_int(arguments_->type(t), load_bits(arguments_->type(t), o.data.data(), i)));
  }
  return out;
}

std::vector<double> Call::bounds(const std::string& name) const { return output(name).bound; }

std::string Call::findings() const {
  std::string out;
  for (const Diagnostic& d : out_.findings) out += std::string(row(d.code).name) + " " + d.message + "\n";
  return out;
}

}  // namespace quern::expr::test
