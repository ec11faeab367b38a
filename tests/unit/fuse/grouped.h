// A kernel from text with its sizes, and the machine that groups are weighed for.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "expr/bind.h"
#include "lang/load.h"
#include "tile/machine.h"

namespace quern::fuse {

struct Bound {
  Bound(const std::string& text, const std::map<std::string, int64_t>& sizes) {
    unit = lang::load(Source::make("test.qn", text));
    EXPECT_TRUE(unit.errors.empty()) << render(unit.errors);
    program = &*unit.kernels.front().program;
    expr::Request request;
    for (const auto& [name, size] : sizes) request.dimensions[Symbol(name)] = size;
    auto bound = expr::bind(*program, request);
    EXPECT_TRUE(bound) << render(bound.error());
    binding = *std::move(bound);
  }

  lang::Unit unit;
  const expr::Program* program = nullptr;
  expr::Binding binding;
};

// Like two cores with AVX2.
inline tile::Machine two_units() {
  tile::Machine m;
  m.vector_bytes = 32;
  m.near_bytes = 512 << 10;
  m.units = 2;
  m.flops_per_second = 100e9;
  m.near_bytes_per_second = 100e9;
  m.far_bytes_per_second = 10e9;
  m.dots = {{ScalarType::f32, ScalarType::f32, 6, 16, 1, 2, 16}};
  return m;
}

}  // namespace quern::fuse
