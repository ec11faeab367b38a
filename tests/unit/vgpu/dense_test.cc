// Kernels in which lanes may wait at very many blocks: one chain of tests finds who goes on (emit_chain.cc).
#include <fmt/format.h>

#include "device.h"
#include "vgpu/compile.h"

namespace quern::vgpu {
namespace {

constexpr int kStages = 12, kTurns = 3;

// In each stage lanes part, meet at a barrier of the warp, and read what a neighbour left in shared memory. Every turn
// some lanes leave for good; the others name those that are left.
std::string text() {
  std::string out =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry f(.param .u64 p)\n{\n"
      ".shared .align 4 .b8 s[128];\n.reg .b32 %t, %x, %y, %a, %b, %n, %m;\n.reg .b64 %p;\n.reg .pred %q;\n"
      "mov.u32 %t, %tid.x; ld.param.u64 %p, [p]; mad.wide.u32 %p, %t, 4, %p; mul.lo.u32 %x, %t, 0x9e3779b9;\n"
      "mov.u32 %a, s; mad.lo.u32 %b, %t, 4, %a; add.u32 %y, %t, 1; and.b32 %y, %y, 31; mad.lo.u32 %a, %y, 4, %a;\n"
      "st.shared.u32 [%b], %x; mov.u32 %n, 0; mov.u32 %m, 0xffffffff; bar.warp.sync 0xffffffff;\nTURN:\n";
  for (int i = 0; i < kStages; ++i) {
    out += fmt::format(
        "shr.u32 %y, %x, {0}; and.b32 %y, %y, 1; setp.ne.u32 %q, %y, 0; @%q bra A{0};\n"
        "mad.lo.u32 %x, %x, 3, 1; bra.uni J{0};\nA{0}: shr.u32 %y, %x, 1; xor.b32 %x, %x, %y; add.u32 %x, %x, {0};\n"
        "J{0}: st.shared.u32 [%b], %x; bar.warp.sync %m; ld.shared.u32 %y, [%a]; add.u32 %x, %x, %y;\n"
        "bar.warp.sync %m;\n",
        i);
  }
  out +=
      "st.global.u32 [%p], %x; add.u32 %n, %n, 1; shl.b32 %y, %n, 3; sub.u32 %y, 32, %y;\n"
      "setp.ge.u32 %q, %t, %y; @%q exit; mov.u32 %m, 1; shl.b32 %m, %m, %y; sub.u32 %m, %m, 1;\n";
  return out + fmt::format("setp.lt.u32 %q, %n, {}; @%q bra TURN;\nret;\n}}\n", kTurns);
}

std::vector<uint32_t> expected(size_t threads) {
  std::vector<uint32_t> x(threads), s(threads), out(threads);
  for (uint32_t t = 0; t < threads; ++t) s[t] = x[t] = t * 0x9e3779b9u;
  for (size_t turn = 0, live = threads; turn < kTurns; ++turn, live = std::min<size_t>(live, 32 - turn * 8)) {
    for (uint32_t i = 0; i < kStages; ++i) {
      for (size_t t = 0; t < live; ++t) {
        x[t] = x[t] >> i & 1 ? (x[t] ^ x[t] >> 1) + i : x[t] * 3 + 1;
        s[t] = x[t];
      }
      for (size_t t = 0; t < live; ++t) x[t] += s[(t + 1) % 32];
    }
    for (size_t t = 0; t < live; ++t) out[t] = x[t];
  }
  return out;
}

TEST(Dense, LanesMeetAtEveryBarrier) {
  Device d(Device::Text{text()});
  for (bool lane_masks : {false, true}) {
    d.settings.machine = this_machine();
    d.settings.machine->lane_masks = lane_masks;
    uint64_t out = d.allocate(32 * 4);
    auto fault = d.run("f", {1, 1, 1}, {32, 1, 1}, Device::pack(out));
    ASSERT_FALSE(fault) << render(*fault);
    EXPECT_EQ(d.read<uint32_t>(out, 32), expected(32)) << lane_masks;
  }
}

// Its text is as long as the kernel, not its square.
TEST(Dense, HasOneChain) {
  Device d(Device::Text{text()});
  auto made =
      llvm_text(d.program().module(), *d.program().kernel("f"), d.memory().space(), class_of(32, 1, 1), d.settings);
  ASSERT_TRUE(made) << render(made.error());
  EXPECT_NE(made->find("\nfirst0:"), std::string::npos);
  EXPECT_EQ(made->find("\nchain."), std::string::npos);
  EXPECT_LT(made->size(), size_t{1} << 20);
}

}  // namespace
}  // namespace quern::vgpu
