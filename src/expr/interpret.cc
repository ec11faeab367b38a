// Runs the updates of a plan: definitions of whole results on all cores, scatters one instance after the other.
#include "expr/interpret.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>

#include "base/text.h"
#include "expr/interpret/evaluator.h"
#include "expr/print.h"

namespace quern::expr {
namespace {

int64_t product(const std::vector<int64_t>& shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

class Run {
 public:
  Run(const Plan& plan, const std::vector<View>& arguments, const InterpretOptions& options)
      : plan_(plan), program_(*plan.program), binding_(*plan.binding), options_(options) {
    memory_.bounds = options.bounds;
    for (const View& v : arguments) memory_.arguments.push_back(v.data);
    memory_.arguments.resize(program_.tensors.size());
    memory_.stores.resize(program_.tensors.size());
    writers_.resize(program_.tensors.size());
    threads_ =
        options.threads > 0 ? options.threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }

  Result<Interpreted> go() {
    if (auto room = check_room(); !room) return fail(std::move(room.error()));
    for (size_t t = 0; t < program_.tensors.size(); ++t) start(t);
    for (const UpdatePlan& u : plan_.updates) total_ += u.update->total ? product(shape(u.update->tensor)) : 1;
    for (size_t u = 0; u < plan_.updates.size() && !stopped_; ++u) {
      update(u);
      bool last = true;
      for (size_t v = u + 1; v < plan_.updates.size(); ++v) {
        last &= plan_.updates[v].update->tensor != plan_.updates[u].update->tensor;
      }
      if (last) finish(static_cast<size_t>(plan_.updates[u].update->tensor));
    }
    Interpreted out;
    out.stopped = stopped_;
    for (size_t t = 0; t < program_.tensors.size(); ++t) {
      if (program_.tensors[t].role != Role::kParameter) out.outputs.push_back(encode(t));
    }
    collect(out);
    return out;
  }

 private:
  const std::vector<int64_t>& shape(int32_t tensor) const { return binding_.shapes[static_cast<size_t>(tensor)]; }
  ScalarType type(size_t t) const { return binding_.type(program_.tensors[t].type); }
  bool is_real(size_t t) const { return quern::kind(type(t)) == Kind::kReal; }

  // Results are kept in f64 with their bounds; refuse what can't fit instead of being killed.
  Result<void> check_room() {
    auto pages = static_cast<uint64_t>(std::max(0L, sysconf(_SC_PHYS_PAGES)));
    uint64_t limit = pages * static_cast<uint64_t>(std::max(0L, sysconf(_SC_PAGESIZE)));
    double need = 0;
    for (size_t t = 0; t < program_.tensors.size(); ++t) {
      if (program_.tensors[t].role == Role::kParameter) continue;
      need += static_cast<double>(product(binding_.shapes[t])) * (options_.bounds ? 32 : 16);
    }
    if (limit == 0 || need < static_cast<double>(limit)) return {};
    return fail(diagnose(Code::E716, program_.span,
                         {{"what", program_.name.str()},
                          {"v", human_bytes(static_cast<uint64_t>(std::min(need, 1.8e19)))},
                          {"limit", human_bytes(limit)}}));
  }

  // First values: of a result what it declares, of an inout tensor what the caller gave.
  void start(size_t t) {
    const Tensor& tensor = program_.tensors[t];
    if (tensor.role == Role::kParameter) return;
    auto n = static_cast<size_t>(product(binding_.shapes[t]));
    Store& s = memory_.stores[t];
    if (is_real(t)) {
      s.real.assign(n, 0);
    } else {
      s.integer.assign(n, 0);
    }
    if (options_.bounds) s.bound.assign(n, 0);
    bool adds = std::ranges::any_of(program_.updates,
                                    [&](const Update& u) { return u.tensor == static_cast<int32_t>(t) && u.add; });
    if (adds && is_real(t) && options_.bounds) {
      s.magnitude.assign(n, 0);
      s.count.assign(n, 0);
    }
    if (tensor.role == Role::kInout) {
      const void* data = memory_.arguments[t];
      for (size_t i = 0; i < n && data; ++i) {
        uint64_t bits = load_bits(type(t), data, static_cast<int64_t>(i));
        if (is_real(t)) {
          s.real[i] = decode_real(type(t), bits);
        } else {
          s.integer[i] = decode_int(type(t), bits);
        }
      }
    } else if (tensor.value) {
      double real = 0;
      int64_t integer = 0;
      constant(tensor.value, real, integer);
      std::ranges::fill(s.real, real);
      std::ranges::fill(s.integer, integer);
    }
    for (size_t i = 0; i < s.magnitude.size(); ++i)
      s.magnitude[i] = std::isfinite(s.real[i]) ? std::fabs(s.real[i]) : 0;
  }

  static void constant(const NodePtr& node, double& real, int64_t& integer) {
    switch (node->op) {
      case Op::kInteger:
        integer = node->integer;
        real = static_cast<double>(integer);
        return;
      case Op::kReal: real = node->real; return;
      case Op::kInf: real = kInfinity; return;
      case Op::kNan: real = std::numeric_limits<double>::quiet_NaN(); return;
      case Op::kTrue: integer = 1; return;
      case Op::kNeg:
        constant(node->args[0], real, integer);
        real = -real;
        integer = static_cast<int64_t>(-static_cast<uint64_t>(integer));
        return;
      default: return;
    }
  }

  // --- updates ---

  void update(size_t u) {
    const UpdatePlan& plan = plan_.updates[u];
    if (plan.update->total) {
      define(u);
      return;
    }
    Evaluator evaluator(plan_, memory_);
    int64_t instance = 0;
    nest(u, 0, evaluator, instance);
    merge(evaluator);
    advance(1);
  }

  // y[i, j] = e over whole dimensions: elements are independent, threads take runs of them.
  void define(size_t u) {
    const UpdatePlan& plan = plan_.updates[u];
    const std::vector<int64_t>& size = shape(plan.update->tensor);
    int64_t n = product(size);
    int64_t row = size.empty() ? 1 : std::max<int64_t>(size.back(), 1);
    int64_t run = std::max<int64_t>(1, n / (static_cast<int64_t>(threads_) * 32));
    // Whole rows, whose elements share work, if there are enough of them for all threads.
    if (n / row >= static_cast<int64_t>(threads_) * 4) run = (run + row - 1) / row * row;
    std::atomic<int64_t> next{0};
    auto work = [&] {
      Evaluator evaluator(plan_, memory_);
      for (;;) {
        int64_t begin = next.fetch_add(run);
        if (begin >= n || stopped_) break;
        int64_t end = std::min(n, begin + run);
        for (int64_t i = begin; i < end; ++i) {
          int64_t rest = i;
          for (size_t d = size.size(); d-- > 0;) {
            // Subscript d is the plain index of its binder.
            evaluator.slot(plan.subscripts[d]->target) = rest % size[d];
            rest /= size[d];
          }
          evaluator.at(static_cast<int64_t>(u), i);
          put(plan, evaluator, i, true);
        }
        advance(end - begin);
      }
      merge(evaluator);
    };
    auto count = static_cast<size_t>(std::min<int64_t>(threads_, (n + run - 1) / run));
    std::vector<std::jthread> pool;
    for (size_t t = 1; t < count; ++t) pool.emplace_back(work);
    work();
  }

  void nest(size_t u, size_t depth, Evaluator& evaluator, int64_t& instance) {
    const UpdatePlan& plan = plan_.updates[u];
    if (depth < plan.ranges.size()) {
      const Range& r = plan.ranges[depth];
      evaluator.at(static_cast<int64_t>(u), instance);
      Evaluator::Ends e = evaluator.ends(r);
      for (int64_t i = e.lo; i < e.hi && !stopped_; ++i) {
        evaluator.slot(r.slot) = i;
        nest(u, depth + 1, evaluator, instance);
      }
      return;
    }
    evaluator.at(static_cast<int64_t>(u), instance++);
    if (instance % 4096 == 0) advance(0);
    bool sure = true;
    if (plan.filter) {
      Bool keep = evaluator.boolean(*plan.filter);
      if (!keep.v) {
        if (!keep.sure && options_.bounds) instead(plan, evaluator);
        return;
      }
      sure = keep.sure;
    }
    const std::vector<int64_t>& size = shape(plan.update->tensor);
    uint64_t linear = 0;
    bool inside = true;
    for (size_t d = 0; d < plan.subscripts.size(); ++d) {
      Int at = evaluator.integer(*plan.subscripts[d]);
      if (at.e > 0) doubt_all(plan);
      if (at.v < 0 || at.v >= size[d]) {
        const Node& node = *plan.update->subscripts[d];
        evaluator.report(Code::E803, node, static_cast<int>(d),
                         {{"y", program_.tensors[static_cast<size_t>(plan.update->tensor)].name.str()},
                          {"v", fmt::format("{} = {}", print(plan.update->subscripts[d]), at.v)},
                          {"d", std::to_string(size[d])}});
        inside = false;
      }
      linear = linear * static_cast<uint64_t>(size[d]) + static_cast<uint64_t>(at.v);
    }
    if (!inside) return;
    auto element = static_cast<int64_t>(linear);
    if (!plan.update->add) once(u, evaluator, element);
    put(plan, evaluator, element, sure);
  }

  // An instance that an implementation may let pass the filter although the truth does not.
  void instead(const UpdatePlan& plan, Evaluator& evaluator) {
    const std::vector<int64_t>& size = shape(plan.update->tensor);
    Store& s = memory_.stores[static_cast<size_t>(plan.update->tensor)];
    evaluator.quietly(true);
    int64_t element = 0;
    for (size_t d = 0; d < plan.subscripts.size() && element >= 0; ++d) {
      Int at = evaluator.integer(*plan.subscripts[d]);
      if (at.e > 0) doubt_all(plan);
      element = at.v < 0 || at.v >= size[d] ? -1 : element * size[d] + at.v;
    }
    evaluator.quietly(false);
    if (element >= 0) s.bound[static_cast<size_t>(element)] = kInfinity;
  }

  // A write that may go elsewhere leaves nothing certain.
  void doubt_all(const UpdatePlan& plan) {
    std::ranges::fill(memory_.stores[static_cast<size_t>(plan.update->tensor)].bound, kInfinity);
  }

  // A scatter with '=' writes each element at most once, over all definitions of its tensor.
  void once(size_t u, Evaluator& evaluator, int64_t linear) {
    const Update& update = *plan_.updates[u].update;
    Writers& w = writers_[static_cast<size_t>(update.tensor)];
    if (w.by.empty()) w.by.assign(static_cast<size_t>(product(shape(update.tensor))), -1);
    int64_t& before = w.by[static_cast<size_t>(linear)];
    std::vector<int64_t> here;
    for (const Binder& b : update.binders) here.push_back(evaluator.slot(b.id));
    if (before >= 0) {
      const auto& [first_update, first] = w.instances[static_cast<size_t>(before)];
      std::string at;
      int64_t rest = linear;
      const std::vector<int64_t>& size = shape(update.tensor);
      for (size_t d = size.size(); d-- > 0;) {
        at = std::to_string(rest % size[d]) + (at.empty() ? "" : ", " + at);
        rest /= size[d];
      }
      evaluator.report(Code::E804, *update.value, 0,
                       {{"y", program_.tensors[static_cast<size_t>(update.tensor)].name.str()},
                        {"v", at},
                        {"i", instance_text(*first_update, first)},
                        {"j", instance_text(update, here)}});
      return;
    }
    before = static_cast<int64_t>(w.instances.size());
    w.instances.emplace_back(&update, std::move(here));
  }

  static std::string instance_text(const Update& u, const std::vector<int64_t>& values) {
    std::string out;
    for (size_t i = 0; i < values.size(); ++i) {
      out += fmt::format("{}{} = {}", i ? ", " : "", u.binders[i].name.str(), values[i]);
    }
    return out.empty() ? "the definition" : out;
  }

  void put(const UpdatePlan& plan, Evaluator& evaluator, int64_t linear, bool sure) {
    auto t = static_cast<size_t>(plan.update->tensor);
    Store& s = memory_.stores[t];
    auto at = static_cast<size_t>(linear);
    bool add = plan.update->add;
    double e = 0;
    if (!s.real.empty()) {
      Real x = evaluator.number(*plan.value);
      e = x.e;
      s.real[at] = add ? s.real[at] + x.v : x.v;
      if (add && !s.count.empty()) {
        // A term in f64 is rounded on its way into a sum in f32.
        if (plan.value->unit == kDouble && type(t) != ScalarType::f64) e = rounded(x.v, e, kSingle, true).e;
        if (std::isfinite(x.v)) s.magnitude[at] += std::fabs(x.v);
        ++s.count[at];
      }
    } else if (plan.value->kind == Kind::kBool) {
      Bool b = evaluator.boolean(*plan.value);
      s.integer[at] = b.v;
      e = b.sure ? 0 : 1;
    } else {
      Int x = evaluator.integer(*plan.value);
      s.integer[at] =
          add ? static_cast<int64_t>(static_cast<uint64_t>(s.integer[at]) + static_cast<uint64_t>(x.v)) : x.v;
      e = x.e;
    }
    if (s.bound.empty()) return;
    if (!sure) e = kInfinity;
    s.bound[at] = add || s.bound[at] == kInfinity ? s.bound[at] + e : e;
  }

  // After its last update a result is rounded to its type, once; reads see it so.
  void finish(size_t t) {
    Store& s = memory_.stores[t];
    ScalarType to = type(t);
    double unit = to == ScalarType::f64 ? kDouble : kSingle;
    for (size_t i = 0; i < s.real.size(); ++i) {
      Real x{s.real[i], s.bound.empty() ? 0 : s.bound[i]};
      if (!s.count.empty() && s.count[i] > 0) {
        double most = s.magnitude[i] + x.e;
        bool overflow = !(most < kInfinity) || (unit == kSingle && most > kLargestSingle);
        x.e = overflow ? kInfinity : std::isfinite(x.v) ? x.e + 1.01 * s.count[i] * unit * most : 0;
      }
      x = monotone(x, [&](double v) { return round_to(to, v); });
      s.real[i] = x.v;
      if (!s.bound.empty()) s.bound[i] = x.e;
    }
    for (size_t i = 0; i < s.integer.size(); ++i) {
      Int x = wrapped(to, {s.integer[i], s.bound.empty() ? 0 : s.bound[i]});
      s.integer[i] = x.v;
      if (!s.bound.empty()) s.bound[i] = x.e;
    }
  }

  Output encode(size_t t) {
    Output out;
    out.tensor = static_cast<int32_t>(t);
    Store& s = memory_.stores[t];
    auto n = static_cast<size_t>(product(binding_.shapes[t]));
    out.data.resize(static_cast<size_t>(byte_size(type(t), static_cast<int64_t>(n))));
    for (size_t i = 0; i < n; ++i) {
      uint64_t bits = is_real(t) ? encode_real(type(t), s.real[i]) : encode_int(type(t), s.integer[i]);
      store_bits(type(t), out.data.data(), static_cast<int64_t>(i), bits);
    }
    out.bound = std::move(s.bound);
    return out;
  }

  // --- progress and findings ---

  void advance(int64_t elements) {
    int64_t done = done_ += elements;
    if (!options_.progress) return;
    std::unique_lock lock(progress_, std::try_to_lock);
    if (lock && !options_.progress(done, total_)) stopped_ = true;
  }

  void merge(Evaluator& evaluator) {
    std::lock_guard lock(merging_);
    for (auto& [key, finding] : evaluator.findings()) {
      auto [it, added] = findings_.try_emplace(key, finding);
      if (!added && finding.order < it->second.order) it->second = std::move(finding);
    }
  }

  void collect(Interpreted& out) {
    std::vector<Finding> all;
    for (auto& [key, finding] : findings_) all.push_back(std::move(finding));
    std::ranges::sort(all, {}, [](const Finding& f) {
      return std::tuple(f.order, f.diagnostic.span.begin, f.diagnostic.span.end, f.diagnostic.code,
                        f.diagnostic.message);
    });
    // One place shows once, also where the checked program has several copies of it.
    for (Finding& f : all) {
      bool shown = std::ranges::any_of(out.findings, [&](const Diagnostic& d) {
        return d.code == f.diagnostic.code && d.span.source && d.span.source == f.diagnostic.span.source &&
               d.span.begin == f.diagnostic.span.begin && d.span.end == f.diagnostic.span.end;
      });
      if (!shown) out.findings.push_back(std::move(f.diagnostic));
    }
  }

  struct Writers {
    std::vector<int64_t> by;  // of each element: the instance that wrote it, or -1
    std::vector<std::pair<const Update*, std::vector<int64_t>>> instances;
  };

  const Plan& plan_;
  const Program& program_;
  const Binding& binding_;
  const InterpretOptions& options_;
  Memory memory_;
  std::vector<Writers> writers_;
  int threads_ = 1;
  int64_t total_ = 0;
  std::atomic<int64_t> done_{0};
  std::atomic<bool> stopped_{false};
  std::mutex progress_, merging_;
  std::map<std::pair<const Node*, int>, Finding> findings_;
};

}  // namespace

Result<Interpreted> interpret(const Program& program, const Binding& binding, const std::vector<View>& arguments,
                              const InterpretOptions& options) {
  Result<Plan> plan = make_plan(program, binding);
  if (!plan) return fail(std::move(plan.error()));
  return Run(*plan, arguments, options).go();
}

}  // namespace quern::expr
