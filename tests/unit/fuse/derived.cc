#include "derived.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

#include "fuse/expand.h"
#include "fuse/merge_step.h"
#include "lang/load.h"

namespace quern::fuse {

Derived::Derived(const Program& program) {
  std::string text = program.text, name;
  if (text.starts_with("kernels/")) {  // path:kernel
    size_t colon = text.find(':');
    name = text.substr(colon + 1);
    std::ifstream file(text.substr(0, colon));
    std::stringstream whole;
    whole << file.rdbuf();
    text = whole.str();
  }
  SourcePtr source = Source::make("test.qn", text);
  sources_.push_back(source);
  auto unit = std::make_shared<lang::Unit>(lang::load(source));
  const lang::CheckedKernel* kernel = name.empty() && !unit->kernels.empty() ? unit->kernels.data() : unit->find(name);
  if (!unit->errors.empty() || !kernel || !kernel->program) {
    error = render(unit->errors);
    return;
  }
  expr::Request request;
  request.default_type = ScalarType::f64;
  for (const auto& [dimension, size] : program.sizes) {
    if (kernel->program->find_dimension(Symbol(dimension))) request.dimensions[Symbol(dimension)] = size;
  }
  Result<expr::Binding> binding = bind(*kernel->program, request);
  if (!binding) {
    error = render(binding.error());
    return;
  }
  Result<Graph> expanded = expand(*kernel->program, *binding);
  if (!expanded) {
    error = render(expanded.error());
    return;
  }
  graph = std::move(*expanded);
  for (const Definition& d : graph.definitions) outputs_.push_back(d.store.value);
  for (size_t i = 0; i < graph.axes.size(); ++i) {
    if (graph.axes[i].name.str() == program.axis) streamed = static_cast<tile::AxisId>(i);
  }
  if (streamed < 0) {
    error = "no axis " + program.axis;
    return;
  }
  world_.axes = graph.axes;
  world_.axes.push_back({Symbol("part"), nullptr, tile::integer(0)});
  for (const tile::Dim& d : graph.program.dims) world_.dims.push_back(d.value.value_or(0));
  for (const auto& shape : binding->shapes) {
    int64_t n = 1;
    for (int64_t s : shape) n *= s;
    world_.tensors.push_back({shape, std::vector<double>(static_cast<size_t>(n), 0)});
  }
  facts = {&graph.program, &graph.axes};
  Result<Derivation> d = derive(outputs_, tile::AxisSet::of(streamed), facts, program.rules);
  if (!d) {
    error = d.error()[0].message;
    return;
  }
  derivation = std::move(*d);
  Result<void> sound = verify(derivation);
  if (!sound) error = render(sound.error());
  namer_ = std::make_unique<Namer>(names_);
  lowered = lower_derivation(derivation, *namer_);
  draw(1);
}

Tensor& Derived::tensor(const std::string& name) {
  for (size_t i = 0; i < graph.program.parameters.size(); ++i) {
    if (graph.program.parameters[i].name.str() == name) return world_.tensors[i];
  }
  std::abort();
}

void Derived::draw(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  for (size_t i = 0; i < world_.tensors.size(); ++i) {
    ScalarType type = graph.program.parameters[i].type;
    int64_t top = 4;
    for (double& x : world_.tensors[i].data) {
      x = kind(type) == Kind::kReal ? normal(random) : static_cast<double>(static_cast<int64_t>(random() % top));
    }
  }
  Evaluator<double> ranges(world_);
  extent = ranges.range(streamed).second;
}

Outputs Derived::written(bool exact) {
  Outputs out;
  if (exact) {
    Evaluator<long double> e(world_);
    for (const tile::ExprPtr& o : outputs_) {
      out.emplace_back();
      for (long double x : e.all(o).data) out.back().push_back(static_cast<double>(x));
    }
  } else {
    Evaluator<double> e(world_);
    for (const tile::ExprPtr& o : outputs_) out.push_back(e.all(o).data);
  }
  return out;
}

Outputs Derived::serial(int64_t tile) {
  Evaluator<double> e(world_);
  e.run(block_of(lowered), tile);
  Outputs out;
  for (const tile::ExprPtr& o : lowered.outputs) out.push_back(e.all(o).data);
  return out;
}

tile::Program Derived::program() const {
  tile::Program p = graph.program;
  tile::Kernel k;
  k.name = Symbol("derived");
  k.axes = graph.axes;
  k.names = names_;
  k.body = block_of(lowered);
  for (size_t i = 0; i < graph.definitions.size(); ++i) {
    tile::Store s = graph.definitions[i].store;
    s.value = lowered.outputs[i];
    k.body.push_back({std::move(s)});
  }
  p.kernels.push_back(std::move(k));
  return p;
}

std::vector<Derived::Value> Derived::part(int64_t lo, int64_t hi, int64_t tile, const std::vector<Value>* from) {
  Evaluator<double> e(world_);
  e.range(streamed, lo, hi);
  const LoweredPass& p = lowered.passes.back();
  if (from) {
    for (size_t i = 0; i < p.state.size(); ++i) e.set(p.state[i], (*from)[i]);
  }
  e.loop(p.loop, tile, !from);
  std::vector<Value> state;
  for (int32_t id : p.state) state.push_back(e.name(id));
  return state;
}

std::vector<Derived::Value> Derived::merge(const std::vector<std::vector<Value>>& parts) {
  auto axis = static_cast<tile::AxisId>(world_.axes.size() - 1);
  const LoweredPass& p = lowered.passes.back();
  std::vector<tile::Name> names = names_;
  Namer namer(names);
  std::vector<tile::ExprPtr> states;
  Evaluator<double> e(world_);
  e.range(axis, 0, static_cast<int64_t>(parts.size()));
  for (size_t i = 0; i < p.state.size(); ++i) {
    const tile::Name& n = names_[static_cast<size_t>(p.state[i])];
    int32_t id = namer.add("part", n.type, n.axes | tile::AxisSet::of(axis));
    states.push_back(tile::name(id, n.type, n.axes | tile::AxisSet::of(axis)));
    // The parts' axis has the largest number, so it lies innermost.
    Value v = parts[0][i];
    v.axes.push_back(axis), v.lo.push_back(0), v.extent.push_back(static_cast<int64_t>(parts.size()));
    v.data.clear();
    for (size_t at = 0; at < parts[0][i].data.size(); ++at) {
      for (const auto& part : parts) v.data.push_back(part[i].data[at]);
    }
    e.set(id, v);
  }
  Merged m = merge_parts(derivation, static_cast<int>(derivation.passes.size()) - 1, states, axis, namer);
  e.run(m.body, 1);
  std::vector<Value> out;
  for (const tile::ExprPtr& s : m.state) out.push_back(e.all(s));
  compare_with_step(e, states, axis, names, out);
  return out;
}

// The merge that is read off the step is the same, bit for bit.
void Derived::compare_with_step(Evaluator<double>& e, const std::vector<tile::ExprPtr>& states, tile::AxisId axis,
                                const std::vector<tile::Name>& names, const std::vector<Value>& merged) {
  tile::Kernel kernel;
  kernel.axes = world_.axes;
  kernel.names = names;
  const tile::Loop& loop = lowered.passes.back().loop;
  auto block = merge_step(kernel, loop, states, axis);
  if (!block) {
    other_merge = block.error();
    return;
  }
  e.run(*block, 1);
  for (size_t i = 0; i < merged.size(); ++i) {
    const std::vector<double>& a = merged[i].data;
    const std::vector<double>& b = e.name(loop.carries[i].name).data;
    bool same = std::ranges::equal(a, b, [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); });
    if (!same) other_merge = kernel.names[static_cast<size_t>(loop.carries[i].name)].name.str();
  }
}

Outputs Derived::finish(const std::vector<Value>& state) {
  const LoweredPass& p = lowered.passes.back();
  Evaluator<double> e(world_);
  for (size_t i = 0; i < p.state.size(); ++i) e.set(p.state[i], state[i]);
  e.run(lowered.finish, 1);
  Outputs out;
  for (const tile::ExprPtr& o : lowered.outputs) out.push_back(e.all(o).data);
  return out;
}

Outputs Derived::split(const std::vector<int64_t>& cuts, uint64_t order) {
  std::vector<std::vector<Value>> parts;
  int64_t from = 0;
  for (int64_t c : cuts) parts.push_back(part(from, c, 3, nullptr)), from = c;
  parts.push_back(part(from, extent, 3, nullptr));
  std::mt19937_64 random(order);
  // Any two or three at a time, until one is left.
  while (parts.size() > 1) {
    std::shuffle(parts.begin(), parts.end(), random);
    size_t take = std::min<size_t>(parts.size(), 2 + random() % 2);
    std::vector<std::vector<Value>> some(parts.end() - static_cast<long>(take), parts.end());
    parts.resize(parts.size() - take);
    parts.push_back(merge(some));
  }
  return finish(parts[0]);
}

Outputs Derived::cascade(int64_t prefix, int64_t tile) {
  std::vector<Value> before = part(0, prefix, tile, nullptr);
  return finish(part(prefix, extent, tile, &before));
}

bool Derived::identity_merges() {
  std::vector<Value> nothing = part(0, 0, 1, nullptr), all = part(0, extent, 4, nullptr);
  std::vector<Value> merged = merge({nothing, all});
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = 0; j < all[i].data.size(); ++j) {
      double a = all[i].data[j], b = merged[i].data[j];
      if (!(a == b || (std::isnan(a) && std::isnan(b)))) return false;
    }
  }
  return true;
}

}  // namespace quern::fuse
