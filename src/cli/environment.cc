#include "cli/environment.h"

#include <unistd.h>

namespace quern::cli {

Environment Environment::inherited() {
  Environment out;
  for (char** at = environ; *at; ++at) {
    std::string line = *at;
    size_t equals = line.find('=');
    if (equals != std::string::npos) out.variables_[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return out;
}

void Environment::prepend(const std::string& name, const std::string& value) {
  std::string& list = variables_[name];
  list = list.empty() ? value : value + ":" + list;
}

std::vector<char*> Environment::pointers() {
  lines_.clear();
  for (const auto& [name, value] : variables_) lines_.push_back(name + "=" + value);
  std::vector<char*> out;
  for (std::string& l : lines_) out.push_back(l.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace quern::cli
