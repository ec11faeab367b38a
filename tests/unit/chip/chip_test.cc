// Every number of a row has a source, and the host's row is one that a machine can have.
#include <gtest/gtest.h>

#include "chip/host.h"

namespace quern::chip {
namespace {

std::vector<Figure> figures(const Chip& c) {
  return {c.units,    c.vector_bytes, c.registers, c.line_bytes,    c.l1_bytes, c.l2_bytes,
          c.l3_bytes, c.clock,        c.flops,     c.fma_per_cycle, c.bandwidth};
}

TEST(Chip, EveryNumberHasASource) {
  for (const Chip& c : chips()) {
    for (const Figure& f : figures(c)) EXPECT_EQ(f.known(), !f.source.empty()) << c.name;
    EXPECT_EQ(find(c.name), &c);
  }
  EXPECT_EQ(find("x86-65"), nullptr);
}

TEST(Chip, EveryNumberOfAGpuHasASource) {
  EXPECT_GE(gpus().size(), 8u);
  for (const Chip& c : gpus()) {
    const Gpu& g = c.gpu;
    EXPECT_EQ(c.kind, Kind::kGpu);
    EXPECT_EQ(find(c.name), &c);
    for (const Figure& f : {c.units, c.l2_bytes, c.clock, g.compute_capability, g.registers, g.threads, g.blocks,
                            g.shared_bytes, g.shared_block_bytes, g.memory_bytes, g.memory_clock, g.memory_bits}) {
      EXPECT_TRUE(f.known()) << c.name;
      EXPECT_FALSE(f.source.empty()) << c.name;
    }
    // A block's share is the multiprocessor's without what the driver takes of each.
    EXPECT_EQ(g.shared_bytes.value - g.shared_block_bytes.value, 1024) << c.name;
  }
}

TEST(Chip, HostIsAMachine) {
  Chip h = host();
  EXPECT_EQ(h.name, "cpu");
  for (const Figure& f : figures(h)) EXPECT_EQ(f.known(), !f.source.empty());
  EXPECT_GE(h.units.value, 1);
  EXPECT_GE(h.l1_bytes.value, 8 << 10);
  EXPECT_LT(h.l1_bytes.value, h.l2_bytes.value);
  EXPECT_EQ(h.line_bytes.value, 64);
  EXPECT_TRUE(h.vector_bytes.value == 16 || h.vector_bytes.value == 32 || h.vector_bytes.value == 64);
  EXPECT_GT(h.clock.value, 2e8);
  EXPECT_LT(h.clock.value, 1e10);
  EXPECT_FALSE(h.bandwidth.known());
}

}  // namespace
}  // namespace quern::chip
