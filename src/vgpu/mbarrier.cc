#include "vgpu/mbarrier.h"

#include <atomic>

namespace quern::vgpu {
namespace {

constexpr uint64_t kField = kMbarrierMost, kBytes = (1 << 21) - 1, kPhase = uint64_t{1} << 63;

uint64_t with_bytes(uint64_t state, uint64_t more) {
  uint64_t bytes = ((state >> 40) + more) & kBytes;
  return (state & ~(kBytes << 40)) | bytes << 40;
}

uint64_t without(uint64_t state, int shift, uint64_t count) {
  uint64_t left = ((state >> shift) - count) & kField;
  return (state & ~(kField << shift)) | left << shift;
}

bool over(uint64_t state) { return !(state & kField) && !(state >> 40 & kBytes); }

uint64_t next_phase(uint64_t state) { return ((state ^ kPhase) & ~kField) | (state >> 20 & kField); }

uint64_t changed(const MbarrierCall& call, uint64_t state, uint32_t lane) {
  uint64_t operand = call.operand[lane];
  switch (static_cast<Mbarrier>(call.operation)) {
    case Mbarrier::kInit: return (operand & kField) | (operand & kField) << 20;
    case Mbarrier::kExpect: return with_bytes(state, operand);
    case Mbarrier::kComplete: return with_bytes(state, 0 - operand);
    case Mbarrier::kArrive: return without(with_bytes(state, call.bytes[lane]), 0, operand);
    case Mbarrier::kDrop: return without(without(with_bytes(state, call.bytes[lane]), 0, operand), 20, operand);
    case Mbarrier::kTest: break;
  }
  return state;
}

}  // namespace

bool run(MbarrierCall& call, uint32_t lanes) {
  bool ended = false;
  auto what = static_cast<Mbarrier>(call.operation);
  for (uint32_t l = 0; l < 32; ++l) {
    if (!(lanes >> l & 1)) continue;
    std::atomic_ref<uint64_t> object(*reinterpret_cast<uint64_t*>(call.address[l]));
    uint64_t before = object.load();
    if (what == Mbarrier::kTest) {
      bool parity = call.parity ? call.operand[l] & 1 : call.operand[l] >> 63;
      call.result[l] = parity != before >> 63;
      continue;
    }
    uint64_t after = 0;
    bool ends = false;
    do {
      after = changed(call, before, l);
      ends = what != Mbarrier::kInit && what != Mbarrier::kExpect && over(after);
      if (ends) after = next_phase(after);
    } while (!object.compare_exchange_weak(before, after));
    ended |= ends;
    call.result[l] = before;
  }
  return ended;
}

}  // namespace quern::vgpu
