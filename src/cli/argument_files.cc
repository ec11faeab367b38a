#include "cli/argument_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>

#include "array/files.h"
#include "base/text.h"
#include "cli/command_line.h"
#include "cli/scalar_argument.h"

namespace quern::cli {
namespace {

bool is_parameter_name(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  return std::ranges::all_of(text, [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  });
}

bool is_archive(std::string_view path) { return path.ends_with(".npz") || path.ends_with(".safetensors"); }

struct Place {
  std::string path;
  std::string member;  // empty: the parameter's own name, or the only one

  std::string text() const { return member.empty() ? path : path + ":" + member; }
};

// archive.npz:member; nullopt if `text` names no array file.
std::optional<Place> file_place(const std::string& text) {
  if (text.ends_with(".npy") || is_archive(text)) return Place{text, {}};
  for (std::string_view ending : {".npz:", ".safetensors:"}) {
    size_t at = text.find(ending);
    if (at == std::string::npos) continue;
    size_t colon = at + ending.size() - 1;
    return Place{text.substr(0, colon), text.substr(colon + 1)};
  }
  return std::nullopt;
}

class Reader {
 public:
  Reader(const expr::Program& program, const expr::Request& request) : program_(program), request_(request) {}

  Result<Arguments> run(const std::vector<std::string>& words) {
    std::vector<std::string> archives;
    for (const std::string& word : words) {
      size_t equals = word.find('=');
      std::string name = word.substr(0, equals == std::string::npos ? 0 : equals);
      if (is_parameter_name(name)) {
        assignment(name, word.substr(equals + 1), word);
      } else if (file_place(word) && file_place(word)->member.empty()) {
        archives.push_back(word);
      } else {
        Diagnostic d = usage_error("run", "'" + word + "' is no argument");
        d.remedy = "arguments are name=array.npy, name=archive.npz:member, name=number, or an archive";
        errors_.push_back(std::move(d));
      }
    }
    for (const std::string& path : archives) {
      path.ends_with(".npy") ? bare_array(path) : archive(path);
    }
    read_untyped();
    read_numbers();
    if (!errors_.empty()) return fail(std::move(errors_));
    return std::move(out_);
  }

 private:
  // What is wrong with an archive is said once, however many of its arrays were asked for.
  void fault(Diagnostics more) {
    for (Diagnostic& d : more) {
      auto same = [&](const Diagnostic& e) { return e.code == d.code && e.message == d.message; };
      if (std::ranges::none_of(errors_, same)) errors_.push_back(std::move(d));
    }
  }

  void assignment(const std::string& name, const std::string& value, const std::string& word) {
    const expr::Tensor* tensor = program_.find_tensor(Symbol(name));
    if (!tensor || tensor->role == expr::Role::kResult) return unknown(name, word, tensor != nullptr);
    if (!given_.emplace(tensor->name, word).second) return fault({usage_error("run", name + " is given twice")});
    if (auto place = file_place(value)) {
      file(*tensor, *place, true);
    } else if (tensor->shape.empty()) {
      numbers_.emplace_back(tensor, value);
    } else if (is_number(value)) {
      fault({diagnose(Code::E713, tensor->span, {{"n", name}})});
    } else {
      fault({diagnose(Code::E731, {}, {{"path", value}})});
    }
  }

  void unknown(const std::string& name, const std::string& word, bool result) {
    Diagnostic d = diagnose(Code::E712, {}, {{"kernel", program_.name.str()}, {"n", name}});
    std::vector<std::string> known = parameter_names();
    auto near = nearest(name, known);
    d.remedy = near            ? "did you mean " + *near + "?"
               : known.empty() ? "it takes no arguments"
                               : "it has " + join(known, ", ");
    if (result) d.remedy = name + " is a result: -o writes it";
    if (program_.find_dimension(Symbol(name))) {
      d = usage_error("run", "'" + word + "' is no argument");
      d.remedy = "--dim " + word;
    }
    errors_.push_back(std::move(d));
  }

  // What the parameter's elements are, if that is known before its array is read.
  std::optional<ScalarType> known_type(const expr::Tensor& t) const {
    if (!t.type.variable) return t.type.scalar;
    if (auto it = request_.types.find(t.type.variable); it != request_.types.end()) return it->second;
    for (const expr::Tensor& other : program_.tensors) {
      auto read = out_.find(other.name);
      if (other.type.variable == t.type.variable && read != out_.end() && read->second.origin == Argument::kFile) {
        return read->second.array.type;
      }
    }
    return std::nullopt;
  }

  // As bind will have it.
  ScalarType final_type(const expr::Tensor& t) const {
    if (auto known = known_type(t)) return *known;
    for (const expr::TypeVariable& v : program_.types) {
      if (v.name == t.type.variable && v.value) return v.value->scalar;
    }
    return request_.default_type;
  }

  Result<array::Array> read(const expr::Tensor& t, const Place& place) const { return read(t, place, known_type(t)); }

  Result<array::Array> read(const expr::Tensor& t, const Place& place, std::optional<ScalarType> as) const {
    // Types that NumPy has are read as they are, so that a wrong one is E709, which names the parameter.
    if (as && !row(*as).npy.empty()) as.reset();
    bool implied = is_archive(place.path) && place.member.empty();
    return array::read_array(place.path, implied ? t.name.str() : place.member, as);
  }

  // `named`: the parameter was named, so the array must be there.
  bool file(const expr::Tensor& t, const Place& place, bool named) {
    auto array = read(t, place);
    if (!array && named && place.member.empty() && array.error()[0].code == Code::E729) {
      // An archive of one array needs no name.
      auto all = array::read_arrays(place.path);
      if (all && all->size() == 1) array = read(t, {place.path, all->front().name});
    }
    if (array) {
      out_[t.name] = {*std::move(array), Argument::kFile, place.text()};
      return true;
    }
    bool untyped = t.type.variable && !known_type(t);
    if (!named && array.error()[0].code == Code::E729) return false;
    if (untyped && array.error()[0].code == Code::E725) {
      untyped_.emplace_back(&t, place);
      return true;
    }
    fault(std::move(array.error()));
    return true;
  }

  void archive(const std::string& path) {
    bool any = false;
    for (const expr::Tensor& t : program_.tensors) {
      auto earlier = given_.find(t.name);
      // What is named with `=` is taken from there.
      bool named = earlier != given_.end() && earlier->second != archive_of_[t.name];
      if (t.role == expr::Role::kResult || named) continue;
      size_t before = errors_.size();
      if (!file(t, {path, t.name.str()}, false)) continue;
      any = true;
      if (errors_.size() > before && errors_[before].code != Code::E725) return;  // the file itself: once is enough
      if (earlier != given_.end())
        fault({usage_error("run", t.name.str() + " is in " + earlier->second + " and in " + path)});
      given_[t.name] = archive_of_[t.name] = path;
    }
    if (!any) nothing_for(path);
  }

  void bare_array(const std::string& path) {
    std::string name = std::filesystem::path(path).stem().string();
    const expr::Tensor* t = program_.find_tensor(Symbol(name));
    if (!t || t->role == expr::Role::kResult) return nothing_for(path);
    assignment(name, path, path);
  }

  void nothing_for(const std::string& path) {
    Diagnostic d = usage_error("run", "'" + path + "' holds no parameter of " + program_.name.str());
    std::vector<std::string> known = parameter_names();
    d.remedy = known.empty() ? "it has none" : "it has " + join(known, ", ") + "; say which: " + known[0] + "=" + path;
    errors_.push_back(std::move(d));
  }

  std::vector<std::string> parameter_names() const {
    std::vector<std::string> known;
    for (const expr::Tensor& t : program_.tensors) {
      if (t.role != expr::Role::kResult) known.push_back(t.name.str());
    }
    return known;
  }

  void read_numbers() {
    for (const auto& [tensor, text] : numbers_) {
      auto scalar = scalar_from_text(*tensor, final_type(*tensor), text);
      if (scalar) {
        out_[tensor->name] = {*std::move(scalar), Argument::kNumber, {}};
      } else {
        fault(std::move(scalar.error()));
      }
    }
  }

  // Raw bits for a type variable: by now another array may have said what it is.
  void read_untyped() {
    for (const auto& [tensor, place] : untyped_) {
      bool known = known_type(*tensor).has_value();
      auto array = read(*tensor, place);
      if (array) {
        out_[tensor->name] = {*std::move(array), Argument::kFile, place.text()};
        continue;
      }
      for (ScalarType raw : {ScalarType::bf16, ScalarType::f8e4m3}) {
        if (known || !read(*tensor, place, raw)) continue;
        array.error()[0].remedy = fmt::format("if it holds raw bits, say of which type: --type {}={}",
                                              tensor->type.variable.str(), name(raw));
        break;
      }
      fault(std::move(array.error()));
    }
  }

  const expr::Program& program_;
  const expr::Request& request_;
  Arguments out_;
  std::map<Symbol, std::string> given_;       // the word that gave it
  std::map<Symbol, std::string> archive_of_;  // the bare archive that did
  std::vector<std::pair<const expr::Tensor*, std::string>> numbers_;
  std::vector<std::pair<const expr::Tensor*, Place>> untyped_;
  Diagnostics errors_;
};

}  // namespace

Result<Arguments> read_arguments(const expr::Program& program, const expr::Request& request,
                                 const std::vector<std::string>& words) {
  return Reader(program, request).run(words);
}

}  // namespace quern::cli
