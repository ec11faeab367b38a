#include "lang/load.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <thread>
#include <unordered_map>

#include "base/text.h"
#include "lang/parse.h"
#include "lang/prelude_text.h"

namespace quern::lang {
namespace {

using expr::Constant;
using expr::Function;
using expr::Import;
using expr::Kernel;
using expr::Module;
using ModulePtr = std::shared_ptr<const Module>;

// Where a name was declared, for E608 and E510.
struct Origin {
  const Module* module;
  std::string file;
  Span span;
};

class Loader {
 public:
  explicit Loader(const LoadOptions& options) : options_(options) {}

  Unit run(SourcePtr source) {
    ModulePtr base = read(prelude());
    unit_.imported.push_back(base);
    declare(*base, true);
    for (const auto& [name, origin] : origins_) prelude_.insert(name);
    path_ = {source->name()};
    unit_.module = read(std::move(source));
    import_all(*unit_.module);
    declare(*unit_.module, true);
    kernels();
    return std::move(unit_);
  }

 private:
  ModulePtr read(SourcePtr source) {
    Parsed parsed = parse(std::move(source));
    std::ranges::move(parsed.errors, std::back_inserter(unit_.errors));
    return std::make_shared<const Module>(std::move(parsed.module));
  }

  void import_all(const Module& module) {
    for (const expr::Item& item : module.items) {
      if (const auto* import = std::get_if<Import>(&item)) import_one(*import, module);
    }
  }

  void import_one(const Import& import, const Module& from) {
    std::string file = import.name.str() + ".qn";
    std::vector<std::string> folders = {std::filesystem::path(from.source->name()).parent_path().string()};
    folders.insert(folders.end(), options_.library.begin(), options_.library.end());
    std::vector<std::string> known;
    for (const std::string& folder : folders) {
      std::filesystem::path path = std::filesystem::path(folder) / file;
      std::error_code error;
      if (std::filesystem::exists(path, error)) return load_file(path.string(), import);
      for (const auto& entry : std::filesystem::directory_iterator(folder.empty() ? "." : folder, error)) {
        if (entry.path().extension() == ".qn") known.push_back(entry.path().stem().string());
      }
    }
    std::ranges::sort(known);
    Diagnostic d = diagnose(Code::E609, import.span, {{"m", file}});
    auto near = nearest(import.name.str(), known);
    d.remedy = near ? "did you mean " + *near + "?" : "imports are searched beside the file, then in the library";
    unit_.errors.push_back(std::move(d));
    unit_.declarations.incomplete = true;
  }

  void load_file(const std::string& file, const Import& import) {
    std::error_code error;
    std::string real = std::filesystem::weakly_canonical(file, error).string();
    auto same = [&](const std::string& p) { return std::filesystem::weakly_canonical(p, error).string() == real; };
    if (auto at = std::ranges::find_if(path_, same); at != path_.end()) {
      std::vector<std::string> circle;
      for (auto p = at; p != path_.end(); ++p) circle.push_back(std::filesystem::path(*p).stem().string());
      circle.push_back(import.name.str());
      unit_.errors.push_back(diagnose(Code::E610, import.span, {{"path", join(circle, " -> ")}}));
      unit_.declarations.incomplete = true;
      return;
    }
    if (!loaded_.insert(real).second) return;
    auto source = read_source(file);
    if (!source) {
      for (Diagnostic& d : source.error()) {
        if (!d.span.source) d.span = import.span, d.source = import.span.source->shared_from_this();
        unit_.errors.push_back(std::move(d));
      }
      unit_.declarations.incomplete = true;
      return;
    }
    ModulePtr module = read(*source);
    unit_.imported.push_back(module);
    path_.push_back(file);
    import_all(*module);
    path_.pop_back();
    declare(*module, false);
  }

  // Functions and constants of a module become visible, in the order of its text. `wins`: the file's own names.
  void declare(const Module& module, bool wins) {
    std::vector<Symbol> functions;
    unit_.declarations.damaged.insert(module.damaged.begin(), module.damaged.end());
    for (const expr::Item& item : module.items) {
      if (const auto* f = std::get_if<Function>(&item)) {
        if (!claim(f->name, f->name_span, module, wins)) continue;
        unit_.declarations.functions[f->name].push_back({f, ++order_});
        functions.push_back(f->name);
      } else if (const auto* c = std::get_if<Constant>(&item)) {
        if (!claim(c->name, c->name_span, module, wins)) continue;
        if (std::ranges::find(module.damaged, c->name) != module.damaged.end()) continue;
        auto value = expr::fold_constant(c->value, unit_.declarations);
        if (value) {
          unit_.declarations.constants[c->name].push_back({*value, ++order_});
        } else {
          unit_.declarations.damaged.insert(c->name);
          std::ranges::move(value.error(), std::back_inserter(unit_.errors));
        }
      }
    }
    // With the names below known, a call of one of them gets the advice that fits.
    for (Symbol name : functions) {
      expr::Callable& f = unit_.declarations.functions[name].back();
      Diagnostics errors = expr::check(f, unit_.declarations);
      f.damaged = !errors.empty() || std::ranges::find(module.damaged, name) != module.damaged.end();
      std::ranges::move(errors, std::back_inserter(unit_.errors));
    }
  }

  bool claim(Symbol name, Span span, const Module& module, bool wins) {
    auto known = origins_.find(name);
    if (known != origins_.end() && !prelude_.contains(name)) {
      if (known->second.module == &module) {
        unit_.errors.push_back(
            diagnose(Code::E510, span, {{"n", name.str()}}).note(known->second.span, "first declared here"));
        return false;
      }
      if (!wins) {
        unit_.errors.push_back(
            diagnose(Code::E608, span, {{"n", name.str()}, {"a", known->second.file}, {"b", module.source->name()}})
                .note(known->second.span, "the other one"));
        return false;
      }
    }
    origins_[name] = {&module, module.source->name(), span};
    prelude_.erase(name);
    return true;
  }

  // Kernels don't depend on one another: big files are checked on all cores.
  void kernels() {
    std::unordered_map<Symbol, const Kernel*> seen;
    for (const expr::Item& item : unit_.module->items) {
      const auto* k = std::get_if<Kernel>(&item);
      if (!k) continue;
      auto [at, added] = seen.emplace(k->name, k);
      if (!added) {
        unit_.errors.push_back(
            diagnose(Code::E510, k->name_span, {{"n", k->name.str()}}).note(at->second->name_span, "first declared here"));
      }
      unit_.kernels.push_back({k, std::nullopt});
    }
    std::vector<expr::Checked> checked(unit_.kernels.size());
    constexpr size_t kAlone = 64;  // below this, starting a thread costs more than it saves
    size_t threads = unit_.kernels.size() < kAlone ? 1 : std::max(1u, std::thread::hardware_concurrency());
    auto part = [&](size_t first) {
      for (size_t i = first; i < checked.size(); i += threads) {
        checked[i] = expr::check(*unit_.kernels[i].kernel, unit_.declarations);
      }
    };
    {
      std::vector<std::jthread> pool;
      for (size_t t = 1; t < threads; ++t) pool.emplace_back(part, t);
      part(0);
    }
    for (size_t i = 0; i < checked.size(); ++i) {
      std::ranges::move(checked[i].errors, std::back_inserter(unit_.errors));
      if (!checked[i].program) continue;
      unit_.kernels[i].program = std::move(checked[i].program);
      unit_.kernels[i].program->sources.push_back(unit_.module->source);
      for (const ModulePtr& m : unit_.imported) unit_.kernels[i].program->sources.push_back(m->source);
    }
    report_once();
  }

  // One error a place: a function that is wrong is wrong in each of its calls. By file and position.
  void report_once() {
    auto key = [](const Diagnostic& d) { return std::tuple(d.span.source, d.span.begin, d.span.end, d.code); };
    std::set<std::tuple<const Source*, uint32_t, uint32_t, Code>> seen;
    Diagnostics once;
    for (Diagnostic& d : unit_.errors) {
      if (!d.span.source || seen.insert(key(d)).second) once.push_back(std::move(d));
    }
    const Source* own = unit_.module->source.get();
    std::ranges::stable_sort(once, {}, [&](const Diagnostic& d) {
      return std::pair(d.span.source == own ? 1 : 0, d.span.source == own ? d.span.begin : 0);
    });
    unit_.errors = std::move(once);
  }

  const LoadOptions& options_;
  Unit unit_;
  std::vector<std::string> path_;
  std::set<std::string> loaded_;
  std::unordered_map<Symbol, Origin> origins_;
  std::set<Symbol> prelude_;
  int order_ = 0;
};

}  // namespace

const CheckedKernel* Unit::find(std::string_view name) const {
  auto it = std::ranges::find_if(kernels, [&](const CheckedKernel& k) { return k.kernel->name.str() == name; });
  return it == kernels.end() ? nullptr : &*it;
}

Unit load(SourcePtr source, const LoadOptions& options) { return Loader(options).run(std::move(source)); }

SourcePtr prelude() {
  static const SourcePtr source = Source::make("prelude.qn", std::string(kPreludeText));
  return source;
}

}  // namespace quern::lang
