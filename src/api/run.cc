// One run on the interpreter: bind sizes, look at every piece of memory, prove subscripts, evaluate, hand results back.
#include "quern/run.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "api/errors.h"
#include "api/notation/recording.h"
#include "api/program_state.h"
#include "api/views.h"
#include "base/text.h"
#include "expr/bind.h"
#include "expr/interpret.h"
#include "expr/prove.h"

namespace quern {
namespace {

using internal::Access;
using internal::ArgumentsState;
using internal::Strided;

std::string text(const std::vector<int64_t>& shape) {
  std::vector<std::string> sizes;
  for (int64_t n : shape) sizes.push_back(std::to_string(n));
  return "(" + join(sizes, ", ") + (shape.size() == 1 ? ",)" : ")");
}

// The number that a folded constant is: a literal, perhaps negated.
ArgumentsState::Number number(const expr::NodePtr& node) {
  switch (node->op) {
    case expr::Op::kInteger: return node->integer;
    case expr::Op::kReal: return node->real;
    case expr::Op::kInf: return INFINITY;
    case expr::Op::kNeg: {
      ArgumentsState::Number positive = number(node->args[0]);
      if (const auto* whole = std::get_if<int64_t>(&positive))
        return static_cast<int64_t>(0 - static_cast<uint64_t>(*whole));
      return -std::get<double>(positive);
    }
    default: return NAN;
  }
}

std::string text(const ArgumentsState::Number& n) {
  if (const auto* whole = std::get_if<int64_t>(&n)) return std::to_string(*whole);
  return Expr(std::get<double>(n)).text();
}

// The bits of a scalar; nullopt if its type can't hold it. Reals are rounded.
std::optional<uint64_t> encode(ScalarType type, const ArgumentsState::Number& n) {
  const auto* whole = std::get_if<int64_t>(&n);
  if (kind(type) == Kind::kReal) {
    double real = whole ? static_cast<double>(*whole) : std::get<double>(n);
    if (std::isfinite(real) && std::isinf(round_to(type, real))) return std::nullopt;
    return encode_real(type, real);
  }
  int64_t value = 0;
  if (whole) {
    value = *whole;
  } else {
    double real = std::get<double>(n);
    if (!(real == std::trunc(real)) || !(std::fabs(real) < 0x1p63)) return std::nullopt;
    value = static_cast<int64_t>(real);
  }
  if (kind(type) == Kind::kBool) return value == 0 || value == 1 ? std::optional<uint64_t>(value) : std::nullopt;
  return value < least_int(type) || value > greatest_int(type) ? std::nullopt : std::optional(encode_int(type, value));
}

// What the command line would advise is said in C++.
void advise(Diagnostics& errors) {
  for (Diagnostic& d : errors) {
    if (d.code == Code::E701)
      d.remedy = "arguments.dimension(\"" + d.message.substr(0, d.message.find(' ')) + "\", ...)";
    if (d.code == Code::E717) d.remedy = "leave the dimension out, or give an array of that size";
  }
}

class Runner {
 public:
  Runner(const expr::Program& program, const ArgumentsState& arguments) : program_(program), arguments_(arguments) {}

  std::expected<Outcome, Errors> run(const Options& options) {
    names();
    if (!errors_.empty()) return internal::refuse(errors_);
    auto binding = expr::bind(program_, request());
    if (!binding) {
      advise(binding.error());
      return internal::refuse(binding.error());
    }
    binding_ = std::move(*binding);
    for (size_t t = 0; t < program_.tensors.size(); ++t) tensor(t);
    if (errors_.empty()) overlaps();
    if (errors_.empty()) errors_ = expr::prove(program_, binding_).errors;
    if (!errors_.empty()) return internal::refuse(errors_);

    expr::InterpretOptions how;
    how.threads = options.threads;
    how.bounds = options.bounds;
    how.progress = options.progress;
    auto done = expr::interpret(program_, binding_, views_, how);
    if (!done) return internal::refuse(done.error());
    return outputs(std::move(*done));
  }

 private:
  void report(Code code, Span span, std::initializer_list<Argument> arguments) {
    errors_.push_back(diagnose(code, span, arguments));
  }

  const expr::Tensor* find(const std::string& name) const { return program_.find_tensor(Symbol(name)); }

  void unknown(const std::string& name, std::string remedy) {
    errors_.push_back(
        diagnose(Code::E712, {}, {{"kernel", program_.name.str()}, {"n", name}}).with_remedy(std::move(remedy)));
  }

  // Names that bind doesn't see: scalars and outputs; and types that are none.
  void names() {
    auto fixed = [&](const Type& type) {
      if (internal::element_type(type).variable) report(Code::E106, {}, {{"n", std::string(type.name())}});
    };
    for (const auto& [name, tensor] : arguments_.tensors) fixed(tensor.view.type);
    for (const auto& [name, out] : arguments_.outputs) fixed(out.view.type);
    for (const auto& [name, type] : arguments_.types) fixed(type);
    for (const auto& [name, value] : arguments_.scalars) {
      const expr::Tensor* t = find(name);
      if (!t || t->role == expr::Role::kResult) {
        unknown(name, "scalar() is for the kernel's scalar parameters");
      } else if (!t->scalar()) {
        errors_.push_back(
            diagnose(Code::E713, t->span, {{"n", name}}).with_remedy("arguments.tensor(\"" + name + "\", ...)"));
      }
    }
    for (const auto& [name, out] : arguments_.outputs) {
      const expr::Tensor* t = find(name);
      if (!t || t->role == expr::Role::kParameter) unknown(name, "output() is for results and inout tensors");
    }
  }

  // An inout tensor that only has an output is read there.
  std::optional<ArgumentsState::Sized> given(const expr::Tensor& t) const {
    if (auto it = arguments_.tensors.find(t.name.str()); it != arguments_.tensors.end()) return it->second;
    auto out = arguments_.outputs.find(t.name.str());
    if (t.role != expr::Role::kInout || out == arguments_.outputs.end()) return std::nullopt;
    const View& v = out->second.view;
    return ArgumentsState::Sized{{v.data, v.type, v.shape, v.strides}, out->second.elements};
  }

  expr::Request request() const {
    expr::Request out;
    for (const auto& [name, size] : arguments_.dimensions) out.dimensions[Symbol(name)] = size;
    for (const auto& [name, type] : arguments_.types) out.types[Symbol(name)] = internal::element_type(type).scalar;
    auto add = [&](const std::string& name, const ConstView& view) {
      out.arguments[Symbol(name)] = {internal::element_type(view.type).scalar, view.shape};
    };
    for (const auto& [name, tensor] : arguments_.tensors) add(name, tensor.view);
    for (const expr::Tensor& t : program_.tensors) {
      if (auto view = given(t)) add(t.name.str(), view->view);
    }
    return out;
  }

  // A copy without gaps, which may be far larger than what it repeats.
  bool copy(const expr::Tensor& tensor, size_t t) {
    auto limit = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<int64_t>(sysconf(_SC_PAGESIZE));
    int64_t bytes = byte_size(inputs_[t]->type, internal::elements(inputs_[t]->shape));
    if (bytes <= limit) {
      copies_[t] = internal::gather(*inputs_[t]);
      return true;
    }
    report(Code::E716, tensor.span,
           {{"what", tensor.name.str()},
            {"v", human_bytes(static_cast<uint64_t>(bytes))},
            {"limit", human_bytes(static_cast<uint64_t>(limit))}});
    return false;
  }

  // The memory of one argument or output, or an error.
  std::optional<Strided> look(const expr::Tensor& t, const ConstView& v, std::optional<int64_t> have) {
    const std::string& name = t.name.str();
    if (!v.strides.empty() && v.strides.size() != v.shape.size()) {
      Diagnostic d = diagnose(Code::E704, t.span);
      d.message = name + " has " + counted(v.shape.size(), "dimension") + " and " + counted(v.strides.size(), "stride");
      errors_.push_back(std::move(d));
      return std::nullopt;
    }
    int64_t count = internal::elements(v.shape);
    if (have && *have != count) {
      Diagnostic d = diagnose(Code::E705, t.span);
      d.message = name + ": shape " + text(v.shape) + " has " + std::to_string(count) + " elements, the argument has " +
                  std::to_string(*have);
      errors_.push_back(std::move(d));
      return std::nullopt;
    }
    if (!v.data && count > 0) {
      errors_.push_back(diagnose(Code::E703, t.span, {{"x", name}}).with_remedy("its address is null"));
      return std::nullopt;
    }
    // Views of parameters are read only, whatever the pointer's type.
    auto out = internal::strided(const_cast<void*>(v.data), internal::element_type(v.type).scalar, v.shape, v.strides);
    if (!out) report(Code::E710, t.span, {{"e", "the strides of " + name}});
    return out;
  }

  void tensor(size_t t) {
    const expr::Tensor& tensor = program_.tensors[t];
    views_.push_back({});
    inputs_.push_back(std::nullopt);
    copies_.emplace_back();
    if (tensor.role != expr::Role::kResult) input(tensor, t);
    targets_.push_back(std::nullopt);
    auto out = arguments_.outputs.find(tensor.name.str());
    if (out != arguments_.outputs.end()) targets_.back() = target(tensor, t, out->second);
  }

  void input(const expr::Tensor& tensor, size_t t) {
    auto view = given(tensor);
    auto scalar = arguments_.scalars.find(tensor.name.str());
    if (view) {
      inputs_[t] = look(tensor, view->view, view->elements);
      if (!inputs_[t]) return;
      if (internal::contiguous(*inputs_[t])) {
        views_[t].data = inputs_[t]->begin;
        return;
      }
      if (!copy(tensor, t)) return;
    } else if (scalar != arguments_.scalars.end() || tensor.value) {
      ArgumentsState::Number value = scalar != arguments_.scalars.end() ? scalar->second : number(tensor.value);
      ScalarType type = binding_.type(tensor.type);
      auto bits = encode(type, value);
      if (!bits) {
        report(Code::E714, tensor.span, {{"x", tensor.name.str()}, {"t", std::string(name(type))}, {"v", text(value)}});
        return;
      }
      copies_[t].resize(8);
      store_bits(type, copies_[t].data(), 0, *bits);
    } else {
      Diagnostic d = diagnose(Code::E703, tensor.span, {{"x", tensor.name.str()}});
      d.remedy =
          "arguments." + std::string(tensor.scalar() ? "scalar" : "tensor") + "(\"" + tensor.name.str() + "\", ...)";
      errors_.push_back(std::move(d));
      return;
    }
    views_[t].data = copies_[t].data();
  }

  std::optional<Strided> target(const expr::Tensor& tensor, size_t t, const ArgumentsState::SizedOutput& out) {
    const View& v = out.view;
    const std::vector<int64_t>& shape = binding_.shapes[t];
    ScalarType want = binding_.type(tensor.type), have = internal::element_type(v.type).scalar;
    const std::string& x = tensor.name.str();
    if (want != have) {
      report(Code::E709, tensor.span, {{"x", x}, {"a", std::string(name(want))}, {"b", std::string(name(have))}});
      errors_.back().remedy = "give a buffer of that type";
      return std::nullopt;
    }
    if (v.shape.size() != shape.size()) {
      report(Code::E704, tensor.span,
             {{"x", x}, {"r", counted(v.shape.size(), "dimension")}, {"k", std::to_string(shape.size())}});
      return std::nullopt;
    }
    if (v.shape != shape) {
      Diagnostic d = diagnose(Code::E705, tensor.span);
      d.message = x + ": its shape is " + text(shape) + ", the buffer has " + text(v.shape);
      errors_.push_back(std::move(d));
      return std::nullopt;
    }
    auto memory = look(tensor, {v.data, v.type, v.shape, v.strides}, out.elements);
    if (memory && internal::overlaps_itself(*memory)) {
      report(Code::E708, tensor.span, {{"y", x}, {"x", "itself"}});
      errors_.back().remedy = "give strides that keep its elements apart";
      return std::nullopt;
    }
    return memory;
  }

  // What is written may be read or written under no other name; an inout tensor's own memory only as it is read.
  void overlaps() {
    for (size_t y = 0; y < targets_.size(); ++y) {
      if (!targets_[y]) continue;
      for (size_t x = 0; x < targets_.size(); ++x) {
        bool read = x != y && inputs_[x] && internal::overlap(*targets_[y], *inputs_[x]);
        bool written = x < y && targets_[x] && internal::overlap(*targets_[y], *targets_[x]);
        if (!read && !written) continue;
        report(Code::E708, program_.tensors[y].span,
               {{"y", program_.tensors[y].name.str()}, {"x", program_.tensors[x].name.str()}});
      }
    }
  }

  Outcome outputs(expr::Interpreted done) const {
    Outcome out;
    for (expr::Output& o : done.outputs) {
      auto t = static_cast<size_t>(o.tensor);
      if (targets_[t]) internal::scatter(*targets_[t], o.data.data());
      Output result;
      result.name = program_.tensors[t].name.str();
      result.type = Type(Type::Fixed{name(binding_.type(program_.tensors[t].type))});
      result.shape = binding_.shapes[t];
      result.data = std::move(o.data);
      result.bound = std::move(o.bound);
      out.outputs.push_back(std::move(result));
    }
    out.findings = internal::errors_of(done.findings);
    out.stopped = done.stopped;
    return out;
  }

  const expr::Program& program_;
  const ArgumentsState& arguments_;
  expr::Binding binding_;
  std::vector<expr::View> views_;                // for each tensor of the program
  std::vector<std::optional<Strided>> inputs_;   // where it is read
  std::vector<std::optional<Strided>> targets_;  // where it is to be written
  std::vector<std::vector<std::byte>> copies_;   // rows without gaps, and scalars
  Diagnostics errors_;
};

}  // namespace

const std::string& Program::name() const { return state_->program->name.str(); }

std::expected<Outcome, Errors> Program::run(const Arguments& arguments) const {
  return Runner(*state_->program, Access::of(arguments)).run(state_->options);
}

}  // namespace quern
