// What the tests of ptx/ share: modules from text, kernels from tests/ptx/kernels, one instruction in its frame.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ptx/module.h"

namespace quern::ptx {

inline constexpr std::string_view kHead = ".version 9.0\n.target sm_90a\n.address_size 64\n";

std::string read(const std::string& path);
// Lines of a file of tests/unit/ptx that are no comments.
std::vector<std::string> lines(const std::string& name);
// The .ptx files of tests/ptx/kernels, in order of name.
std::vector<std::string> kernel_files();

// A module in which the names of examples.txt are declared, with `line` in its kernel `k`.
std::string in_frame(std::string_view line);
// A kernel `k` of this body, `a` its parameter.
std::string kernel(const std::string& body);

// Parses what has to be right; a failure fails the test and gives an empty module.
Module parsed(const std::string& text);
// All messages about text that has to be wrong.
std::string errors(const std::string& text);
// The same module as if all of it stood in line 0: where text stood is no part of what it says.
Module without_lines(Module module);

}  // namespace quern::ptx
