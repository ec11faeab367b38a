// The lowered programs of tests/golden/place/, at the sizes written there and at small odd ones, and how to run them.
#pragma once

#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "tile/interpret.h"
#include "tile/machine.h"
#include "tile/schedule.h"

namespace quern::place {

std::vector<std::string> case_names();  // without ending, sorted
// The file's text up to its expectations.
std::string case_text(const std::string& name);
tile::Program parsed(const std::string& text);
// The same program with dims over 16 replaced by small ones, mostly odd.
tile::Program small_case(const std::string& name, std::mt19937_64& random);

// An AVX-512 core with 1 MiB of L2; and one with vectors of 16 bytes and hardly any memory, where much goes wrong.
tile::Machine wide_machine();
tile::Machine small_machine();

// Any steps that the program allows.
tile::Schedule random_schedule(const tile::Program& lowered, std::mt19937_64& random);

// Contents of every in, const and inout; empty for the others.
using Contents = std::vector<std::vector<std::byte>>;
Contents random_contents(const tile::Program& program, std::mt19937_64& random);
// Runs it, in f64 with bounds unless another mode is given. A fault fails the test.
tile::Interpreted run(const tile::Program& program, const Contents& contents, tile::Mode mode = tile::Mode::kBound);
// Does it run without a fault?
bool runs(const tile::Program& program, const Contents& contents);
// The results agree within the bounds of both, and so do the findings.
void expect_same(const tile::Interpreted& a, const tile::Interpreted& b, const std::string& what);

}  // namespace quern::place
