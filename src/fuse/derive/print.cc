// The algebra of a derivation, step by step, as `quern derive` shows it.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "fuse/derive.h"
#include "fuse/derive/print_term.h"
#include "fuse/derive/represent.h"

namespace quern::fuse {

using namespace algebra;

namespace {

class Printer {
 public:
  Printer(const Derivation& d, const Facts& facts) : d_(d), a_(*d.algebra), w_(facts) {
    w_.call = [this](const ExprPtr& e) {
      auto at = names_.find(e.get());
      return at == names_.end() ? std::string() : at->second;
    };
  }

  std::string run() {
    out_ = fmt::format("over {}: {}\n", w_.axes(d_.streamed),
                       d_.passes.size() == 1 ? "1 pass" : fmt::format("{} passes", d_.passes.size()));
    for (size_t p = 0; p < d_.passes.size(); ++p) pass(p);
    out_ += "finish\n";
    for (size_t i = 0; i < d_.outputs.size(); ++i) {
      line(fmt::format("result{}", d_.outputs.size() > 1 ? std::to_string(i + 1) : ""), w_.text(d_.outputs[i]));
    }
    for (const Diagnostic& r : d_.remarks) out_ += "remark: " + r.message + "\n";
    return out_;
  }

 private:
  void line(const std::string& name, const std::string& value) { out_ += fmt::format("  {} = {}\n", name, value); }

  std::string fresh(const std::string& word) {
    int n = ++used_[word];
    return n == 1 ? word : fmt::format("{}{}", word, n);
  }
  std::string with_axes(const std::string& word, AxisSet axes) {
    return axes.empty() ? word : fmt::format("{}[{}]", word, w_.axes(axes));
  }

  std::string wrapped(const ExprPtr& e) { return e->op == Op::kSelect ? "(" + w_.text(e) + ")" : w_.text(e); }

  static const char* word(const Accumulator& acc) {
    if (acc.op == Op::kMax) return "m";
    if (acc.op == Op::kMin) return acc.key ? "i" : "lo";
    if (acc.op == Op::kProd) return "p";
    if (acc.key) return "b";
    if (acc.type == ScalarType::i64 && acc.weights.empty()) return "count";
    return acc.gauge >= 0 && acc.weights.empty() && acc.differences.empty() ? "l" : "a";
  }

  void pass(size_t index) {
    const Pass& p = d_.passes[index];
    if (d_.passes.size() > 1) out_ += fmt::format("pass {}\n", index + 1);
    std::vector<int> order;
    std::map<const Expr*, std::pair<int, ExprPtr>> uses;
    for (size_t i = 0; i < p.accumulators.size(); ++i) {
      const Accumulator& acc = p.accumulators[i];
      if (!acc.live) continue;
      order.push_back(static_cast<int>(i));
      std::string name = with_axes(fresh(word(acc)), acc.axes);
      names_[a_.symbol(Symbols::kStored, static_cast<int32_t>(i), acc.type, acc.axes).get()] = name;
      accumulators_[static_cast<int>(i)] = name;
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return p.accumulators[a].level < p.accumulators[b].level; });
    // Elements that occur twice get a name.
    std::vector<ExprPtr> elements;
    auto use = [&](const ExprPtr& e) {
      if (!e || e->args.empty() || e->op == Op::kLoad || (e->op == Op::kCast && e->args[0]->op == Op::kLoad)) return;
      auto& u = uses[e.get()];
      if (u.first++ == 0) elements.push_back(u.second = e);
    };
    for (int i : order) {
      const Accumulator& acc = p.accumulators[i];
      for (const ExprPtr& e : acc.weights) use(e);
      for (const ExprPtr& e : acc.divisors) use(e);
      use(acc.exponent), use(acc.key);
      for (const Difference& x : acc.differences) {
        for (const ExprPtr& e : p.centres[x.centre].y) use(e);
      }
    }
    for (const ExprPtr& e : elements) {
      if (uses[e.get()].first < 2) continue;
      std::string name = with_axes(fresh("x"), e->axes);
      line(name, w_.text(e));
      names_[e.get()] = name;
    }
    std::map<int, std::string> gauges, centres;
    for (int i : order) {
      const Accumulator& acc = p.accumulators[i];
      if (acc.gauge >= 0 && gauges.find(acc.gauge) == gauges.end()) gauge(p, acc.gauge, gauges);
      for (const Difference& x : acc.differences) {
        if (centres.find(x.centre) != centres.end()) continue;
        const ExprPtr& rho = p.centres[x.centre].stored;
        std::string name = with_axes(fresh("rho"), rho->axes);
        line(name, w_.text(rho) + (d_.rules.binomials ? "" : ", not moved"));
        centres[x.centre] = name;
      }
      line(accumulators_[i], body(p, acc, gauges, centres));
    }
    if (index + 1 < d_.passes.size()) {
      for (const Answer& x : p.answers) {
        std::string name = with_axes(fresh("r"), x.reduction->axes);
        line(name, fmt::format("{}   ({})", w_.text(x.value), w_.brief(x.reduction)));
        names_[x.reduction.get()] = name;
      }
    }
  }

  void gauge(const Pass& p, int index, std::map<int, std::string>& gauges) {
    const Gauge& g = p.gauges[index];
    if (g.constant) {
      gauges[index] = g.value == 0 ? "" : number_text(g.value);
      return;
    }
    const Accumulator& m = p.accumulators[g.extremum];
    std::string follows = accumulators_[g.extremum];
    if (!g.stepped) {
      gauges[index] = follows;
      return;
    }
    std::string name = with_axes(fresh("g"), m.axes);
    line(name, fmt::format("{} in steps of 8 log 2{}", follows, g.invented ? ", invented" : ""));
    gauges[index] = name;
    names_[a_.symbol(Symbols::kGauge, index, m.type, m.axes).get()] = name;
  }

  std::string body(const Pass& p, const Accumulator& acc, const std::map<int, std::string>& gauges,
                   const std::map<int, std::string>& centres) {
    std::string product;
    auto times = [&](const std::string& f) { product += (product.empty() ? "" : " * ") + f; };
    auto factor = [&](const ExprPtr& e) {
      std::string t = w_.text(e);
      return row(*e).precedence < 10 && names_.find(e.get()) == names_.end() ? "(" + t + ")" : t;
    };
    if (acc.exponent) {
      std::string g = gauges.at(acc.gauge), h = w_.text(acc.exponent);
      std::string difference = g.empty() ? h : h + " - " + g;
      if (acc.k != 1)
        difference =
            fmt::format("{} * {}", number_text(acc.k), g.empty() ? factor(acc.exponent) : "(" + difference + ")");
      times("exp(" + difference + ")");
    }
    for (const ExprPtr& e : acc.weights)
      times(acc.weights.size() == 1 && product.empty() && acc.differences.empty() ? w_.text(e) : factor(e));
    if (acc.amplitude >= 0) {
      times(
          fmt::format("({} / {})^{}", factor(acc.amplitude_of), accumulators_.at(acc.amplitude), acc.amplitude_power));
    }
    for (const Difference& x : acc.differences) {
      std::string y;
      for (const ExprPtr& e : p.centres[x.centre].y) {
        bool minus = e->op == Op::kNeg;
        std::string t = w_.text(minus ? e->args[0] : e);
        y += y.empty() ? (minus ? "-" : "") + t : (minus ? " - " : " + ") + t;
      }
      times(fmt::format("({} + {}){}", y, centres.at(x.centre), x.power == 1 ? "" : fmt::format("^{}", x.power)));
    }
    if (product.empty()) product = "1";
    for (const ExprPtr& e : acc.divisors) product += " / " + factor(e);
    std::vector<std::string> where;
    if (acc.guard) where.push_back(w_.text(acc.guard));
    if (acc.key) where.push_back(w_.text(acc.key) + " == " + wrapped(acc.selected_stored));
    std::string out = fmt::format("{}[{}] {}", row(acc.op).text, w_.axes(d_.streamed), product);
    for (size_t i = 0; i < where.size(); ++i) out += (i == 0 ? "   where " : " and ") + where[i];
    return out;
  }

  const Derivation& d_;
  Algebra& a_;
  Writer w_;
  std::string out_;
  std::map<const Expr*, std::string> names_;
  std::map<int, std::string> accumulators_;
  std::map<std::string, int> used_;
};

}  // namespace

std::string print(const Derivation& derivation, const Facts& facts) { return Printer(derivation, facts).run(); }

}  // namespace quern::fuse
