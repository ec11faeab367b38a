// Philox-4x32-10 (base/philox.h) over 64-bit lanes that hold 32-bit words, so that a product of two words is one
// instruction (pmuludq).
#include "target/functions.h"

namespace quern::target {

Value random_bits(Writer& w, const Value& seed, const Value& index) {
  auto c = [&](uint64_t v) { return constant(seed.type, static_cast<int64_t>(v)); };
  auto low = [&](const Value& v) { return w.binary("and", v, c(0xffffffff)); };
  auto high = [&](const Value& v) { return w.binary("lshr", v, c(32)); };
  Value block = w.binary("ashr", index, c(2));
  Value counter[4] = {low(block), high(block), c(0), c(0)};
  Value key[2] = {low(seed), high(seed)};
  for (int round = 0; round < 10; ++round) {
    Value even = w.mul(counter[0], c(0xD2511F53)), odd = w.mul(counter[2], c(0xCD9E8D57));
    Value first = w.binary("xor", w.binary("xor", high(odd), counter[1]), key[0]);
    Value third = w.binary("xor", w.binary("xor", high(even), counter[3]), key[1]);
    counter[0] = first, counter[1] = low(odd), counter[2] = third, counter[3] = low(even);
    key[0] = low(w.add(key[0], c(0x9E3779B9)));
    key[1] = low(w.add(key[1], c(0xBB67AE85)));
  }
  Value word = w.binary("and", index, c(3));
  Value lower = w.select(w.compare("eq", word, c(0)), counter[0], counter[1]);
  Value upper = w.select(w.compare("eq", word, c(2)), counter[2], counter[3]);
  return w.select(w.compare("ult", word, c(2)), lower, upper);
}

}  // namespace quern::target
