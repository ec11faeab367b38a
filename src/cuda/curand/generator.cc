#include "cuda/curand/generator.h"

#include "random/sobol.h"

namespace quern::cuda {
namespace {

random::Kind kind_of(RandomType type) {
  switch (type) {
    case RandomType::kMrg32k3a: return random::Kind::kMrg32k3a;
    case RandomType::kPhilox: return random::Kind::kPhilox;
    // The Mersenne twister for GPUs differs from it in how many run side by side.
    case RandomType::kMtgp32:
    case RandomType::kMt19937: return random::Kind::kMt19937;
    default: return random::Kind::kXorwow;
  }
}

template <class W, class Out>
void quasi(Generator& g, std::span<Out> out) {
  constexpr size_t kBits = sizeof(W) * 8;
  size_t each = out.size() / g.dimensions;
  const std::vector<W>& directions = random::sobol_directions<W>(g.is_scrambled());
  for (size_t d = 0; d < g.dimensions; ++d) {
    W shift = g.is_scrambled() ? random::sobol_shifts<W>()[d] : W{0};
    for (size_t i = 0; i < each; ++i) {
      W word = shift ^ random::sobol_at(directions.data() + d * kBits, g.offset + g.drawn + i);
      if constexpr (sizeof(W) > sizeof(Out)) {
        out[d * each + i] = static_cast<Out>(word >> 32);
      } else {
        out[d * each + i] = static_cast<Out>(word) << (sizeof(Out) - sizeof(W)) * 8;
      }
    }
  }
  g.drawn += each;
}

}  // namespace

void Generator::words(std::span<uint32_t> out) {
  if (is_quasi()) return is_64() ? quasi<uint64_t>(*this, out) : quasi<uint32_t>(*this, out);
  if (!engine) {
    engine = random::make_engine(kind_of(type), seed);
    engine->skip(offset);
  }
  engine->draw(out);
}

void Generator::words(std::span<uint64_t> out) {
  if (is_quasi()) return is_64() ? quasi<uint64_t>(*this, out) : quasi<uint32_t>(*this, out);
  for (uint64_t& w : out) {
    uint32_t two[2];
    words(std::span<uint32_t>(two));
    w = uint64_t{two[1]} << 32 | two[0];
  }
}

}  // namespace quern::cuda
