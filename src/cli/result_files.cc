#include "cli/result_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "array/files.h"
#include "cli/command_line.h"
#include "cli/interrupt.h"

namespace quern::cli {
namespace {

namespace fs = std::filesystem;

std::unexpected<Diagnostics> unwritable(const std::string& path, const std::string& why) {
  return fail(diagnose(Code::E730, {}, {{"path", path}, {"why", why}}));
}

std::string folder_of(const std::string& path) {
  std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

// A name beside `path`, with its ending, that nothing else has.
std::string beside(const std::string& path) {
  return (fs::path(folder_of(path)) / fmt::format(".quern-{}-{}", ::getpid(), fs::path(path).filename().string()))
      .string();
}

// Can a file be made there? The only sure way to know is to make one.
Result<void> probe(const std::string& folder, const std::string& path) {
  std::string name = (fs::path(folder) / fmt::format(".quern-{}", ::getpid())).string();
  Uninterrupted hold;
  int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return unwritable(path, std::strerror(errno));
  ::close(file);
  ::unlink(name.c_str());
  return {};
}

Result<void> probe_file(const std::string& path) {
  std::error_code error;
  fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) return unwritable(path, "it is a folder");
  if (fs::exists(status) && !fs::is_regular_file(status)) return unwritable(path, "it is not a regular file");
  return probe(folder_of(path), path);
}

// Through symbolic links, so that a link stays one.
std::string resolved(const std::string& path) {
  std::error_code error;
  if (!fs::is_symlink(path, error)) return path;
  fs::path real = fs::canonical(path, error);
  return error ? path : real.string();
}

class Writer {
 public:
  ~Writer() {
    for (const auto& [temporary, path] : moves_) ::unlink(temporary.c_str());
    for (; !made_.empty(); made_.pop_back()) ::rmdir(made_.back().c_str());
  }

  Result<void> make_folder(const std::string& path) {
    if (::mkdir(path.c_str(), 0777) != 0) return unwritable(path, std::strerror(errno));
    made_.push_back(path);
    return {};
  }

  Result<void> write(const ResultFiles::File& file, const std::vector<array::Named>& arrays) {
    std::string temporary = beside(file.place);
    auto written = array::write_arrays(temporary, arrays);
    if (!written) {
      // The user knows the place by its own name.
      for (Diagnostic& d : written.error()) {
        size_t at = d.message.find(temporary);
        if (at != std::string::npos) d.message.replace(at, temporary.size(), file.path);
      }
      return written;
    }
    moves_.emplace_back(std::move(temporary), file.place);
    return {};
  }

  Result<void> finish() {
    while (!moves_.empty()) {
      auto& [temporary, path] = moves_.front();
      if (::rename(temporary.c_str(), path.c_str()) != 0) return unwritable(path, std::strerror(errno));
      moves_.erase(moves_.begin());
    }
    made_.clear();
    return {};
  }

 private:
  std::vector<std::pair<std::string, std::string>> moves_;
  std::vector<std::string> made_;
};

}  // namespace

Result<ResultFiles> plan_result_files(const std::string& path, const std::vector<std::string>& names,
                                      size_t bounds_from) {
  ResultFiles plan;
  auto file = [&](std::string place, size_t i) {
    plan.path_of.push_back(place);
    plan.files.push_back({place, {i}, place});
  };
  if (path.empty()) return fail(usage_error("run", "-o needs a path"));
  if (path.ends_with(".npy")) {
    if (bounds_from != 1) {
      auto d = usage_error("run", fmt::format("-o {}: a .npy file holds one array, there are {}", path, bounds_from));
      d.remedy = "give a folder, an .npz or a .safetensors file";
      return fail(std::move(d));
    }
    for (size_t i = 0; i < names.size(); ++i) {
      file(i < bounds_from ? path : path.substr(0, path.size() - 4) + ".bound.npy", i);
    }
  } else if (path.ends_with(".npz") || path.ends_with(".safetensors")) {
    plan.files.push_back({path, {}, path});
    for (size_t i = 0; i < names.size(); ++i) {
      plan.files[0].arrays.push_back(i);
      plan.path_of.push_back(path + ":" + names[i]);
    }
  } else {
    std::error_code error;
    fs::file_status status = fs::status(path, error);
    if (fs::exists(status) && !fs::is_directory(status)) {
      return unwritable(path, "it is a file; a folder, or a name ending in .npy, .npz or .safetensors, is expected");
    }
    for (size_t i = 0; i < names.size(); ++i) file((fs::path(path) / (names[i] + ".npy")).string(), i);
    // A name with an ending is meant to be a file.
    if (!fs::exists(status) && fs::path(path).has_extension()) {
      auto d = usage_error("run", fmt::format("-o {}: there is no such kind of file", path));
      d.remedy = fmt::format("give a name ending in .npy, .npz or .safetensors, or a folder: `{}/`", path);
      return fail(std::move(d));
    }
    if (!fs::exists(status)) {
      fs::path at = fs::path(path).lexically_normal();
      if (!at.has_filename()) at = at.parent_path();
      for (; !at.empty() && !fs::exists(at, error); at = at.parent_path())
        plan.folders.insert(plan.folders.begin(), at);
      if (auto good = probe(at.empty() ? "." : at.string(), path); !good) return fail(std::move(good.error()));
      return plan;
    }
  }
  for (ResultFiles::File& f : plan.files) {
    if (auto good = probe_file(f.path); !good) return fail(std::move(good.error()));
    f.place = resolved(f.path);
  }
  return plan;
}

Result<void> write_result_files(const ResultFiles& plan, const std::vector<array::Named>& arrays) {
  Uninterrupted hold;
  Writer writer;
  for (const std::string& folder : plan.folders) {
    if (auto made = writer.make_folder(folder); !made) return made;
  }
  for (const ResultFiles::File& f : plan.files) {
    std::vector<array::Named> some;
    for (size_t i : f.arrays) some.push_back(arrays[i]);
    if (auto written = writer.write(f, some); !written) return written;
    if (Uninterrupted::wanted()) return {};  // the program ends as soon as what was written is gone again
  }
  return writer.finish();
}

}  // namespace quern::cli
