// The environment that a program is started with.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace quern::cli {

class Environment {
 public:
  static Environment inherited();

  void set(const std::string& name, std::string value) { variables_[name] = std::move(value); }
  // In front of a list with colons.
  void prepend(const std::string& name, const std::string& value);
  // For execve; they point into this object.
  std::vector<char*> pointers();

 private:
  std::map<std::string, std::string> variables_;
  std::vector<std::string> lines_;
};

}  // namespace quern::cli
