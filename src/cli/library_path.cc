#include "cli/library_path.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace quern::cli {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    size_t end = std::min(list.find(':'), list.size());
    if (end) parts.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return parts;
}

}  // namespace

std::vector<std::string> library_folders() {
  const char* chosen = std::getenv("QUERN_LIBRARY");
  if (chosen && *chosen) return split(chosen);
  std::error_code error;
  fs::path program = fs::read_symlink("/proc/self/exe", error);
  for (const fs::path& folder :
       {program.parent_path().parent_path() / "share/quern/kernels", fs::path(QUERN_KERNELS)}) {
    if (fs::is_directory(folder, error)) return {folder.string()};
  }
  return {};
}

Result<std::vector<std::string>> library_files() {
  std::vector<std::string> folders = library_folders();
  auto refuse = [](const std::string& path, std::string why) {
    return fail(diagnose(Code::E117, {}, {{"path", path}, {"why", std::move(why)}})
                    .with_remedy("set QUERN_LIBRARY to the folder that holds the library"));
  };
  if (folders.empty()) return refuse("kernels", "the library is not installed");
  std::vector<std::string> files;
  for (const std::string& folder : folders) {
    std::error_code error;
    std::vector<std::string> here;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
      if (at->path().extension() == ".qn") here.push_back(at->path().string());
    }
    if (error) return refuse(folder, error.message());
    std::ranges::sort(here);
    files.insert(files.end(), here.begin(), here.end());
  }
  return files;
}

}  // namespace quern::cli
