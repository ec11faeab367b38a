// Generators and their settings; what is asked about the library; tables for programs that run Sobol's sequences in
// kernels.
#include "cuda/api/exports.h"
#include "cuda/curand/call.h"
#include "random/sobol.h"

namespace quern::cuda {
namespace {

constexpr int kVersion = 10400;

RandomStatus make(Generator** out, RandomType type, bool on_host) {
  return random_guard([&] {
    if (!out) return RandomStatus::kInitializationFailed;
    switch (type) {
      case RandomType::kDefault: type = RandomType::kXorwow; break;
      case RandomType::kQuasiDefault: type = RandomType::kSobol32; break;
      case RandomType::kXorwow:
      case RandomType::kMrg32k3a:
      case RandomType::kMtgp32:
      case RandomType::kMt19937:
      case RandomType::kPhilox:
      case RandomType::kSobol32:
      case RandomType::kScrambledSobol32:
      case RandomType::kSobol64:
      case RandomType::kScrambledSobol64: break;
      default: return RandomStatus::kTypeError;
    }
    auto g = std::make_shared<Generator>();
    g->type = type;
    g->on_host = on_host;
    Lock lock(Process::get().mutex);
    *out = Live<Generator>::all().add(std::move(g));
    return RandomStatus::kSuccess;
  });
}

RandomStatus create(Generator** out, RandomType type) { return make(out, type, false); }
RandomStatus create_host(Generator** out, RandomType type) { return make(out, type, true); }

RandomStatus destroy(Generator* handle) {
  Lock lock(Process::get().mutex);
  return Live<Generator>::all().remove(handle) ? RandomStatus::kSuccess : RandomStatus::kNotInitialized;
}

RandomStatus restart(Generator& g) {
  g.engine = nullptr;
  g.drawn = 0;
  return RandomStatus::kSuccess;
}

RandomStatus set_seed(Generator* handle, unsigned long long seed) {
  return random_call(handle, [&](const std::shared_ptr<Generator>& g) {
    if (g->is_quasi()) return RandomStatus::kTypeError;
    g->seed = seed;
    return restart(*g);
  });
}

// Mersenne twisters can't be moved ahead.
RandomStatus set_offset(Generator* handle, unsigned long long offset) {
  return random_call(handle, [&](const std::shared_ptr<Generator>& g) {
    bool twister = g->type == RandomType::kMt19937 || g->type == RandomType::kMtgp32;
    if (twister) return RandomStatus::kTypeError;
    g->offset = offset;
    return restart(*g);
  });
}

// There is one order of each kind's numbers.
RandomStatus set_ordering(Generator* handle, RandomOrdering ordering) {
  return random_call(handle, [&](const std::shared_ptr<Generator>& g) {
    bool quasi = ordering == RandomOrdering::kQuasiDefault;
    bool pseudo = ordering >= RandomOrdering::kBest && ordering <= RandomOrdering::kDynamic;
    return (g->is_quasi() ? quasi : pseudo) ? RandomStatus::kSuccess : RandomStatus::kOutOfRange;
  });
}

RandomStatus set_dimensions(Generator* handle, unsigned dimensions) {
  return random_call(handle, [&](const std::shared_ptr<Generator>& g) {
    if (!g->is_quasi()) return RandomStatus::kTypeError;
    if (dimensions < 1 || dimensions > random::kSobolDimensions) return RandomStatus::kOutOfRange;
    g->dimensions = dimensions;
    return restart(*g);
  });
}

RandomStatus set_stream(Generator* handle, Stream* stream) {
  return random_call(handle, [&](const std::shared_ptr<Generator>& g) {
    g->stream = stream;
    return RandomStatus::kSuccess;
  });
}

// States are made when numbers are asked for.
RandomStatus make_seeds(Generator* handle) {
  return random_call(handle, [](const std::shared_ptr<Generator>&) { return RandomStatus::kSuccess; });
}

RandomStatus get_version(int* out) {
  if (!out) return RandomStatus::kOutOfRange;
  *out = kVersion;
  return RandomStatus::kSuccess;
}

RandomStatus get_property(int which, int* out) {
  constexpr int kParts[] = {kVersion / 1000, kVersion / 100 % 10, kVersion % 100};
  if (!out || which < 0 || which > 2) return RandomStatus::kOutOfRange;
  *out = kParts[which];
  return RandomStatus::kSuccess;
}

template <class W>
RandomStatus directions(const W** out, DirectionSet set) {
  constexpr bool k64 = sizeof(W) == 8;
  bool plain = set == (k64 ? DirectionSet::kSobol64 : DirectionSet::kSobol32);
  bool scrambled = set == (k64 ? DirectionSet::kScrambled64 : DirectionSet::kScrambled32);
  if (!out || (!plain && !scrambled)) return RandomStatus::kOutOfRange;
  *out = random::sobol_directions<W>(scrambled).data();
  return RandomStatus::kSuccess;
}

template <class W>
RandomStatus shifts(const W** out) {
  if (!out) return RandomStatus::kOutOfRange;
  *out = random::sobol_shifts<W>().data();
  return RandomStatus::kSuccess;
}

}  // namespace

std::span<const Export> random_settings_exports() {
#define ROW(name, function) \
  Export { "curand" name, reinterpret_cast<void*>(&function) }
  static const Export rows[] = {
      ROW("CreateGenerator", create),
      ROW("CreateGeneratorHost", create_host),
      ROW("DestroyGenerator", destroy),
      ROW("SetPseudoRandomGeneratorSeed", set_seed),
      ROW("SetGeneratorOffset", set_offset),
      ROW("SetGeneratorOrdering", set_ordering),
      ROW("SetQuasiRandomGeneratorDimensions", set_dimensions),
      ROW("SetStream", set_stream),
      ROW("GenerateSeeds", make_seeds),
      ROW("GetVersion", get_version),
      ROW("GetProperty", get_property),
      ROW("GetDirectionVectors32", directions<uint32_t>),
      ROW("GetDirectionVectors64", directions<uint64_t>),
      ROW("GetScrambleConstants32", shifts<uint32_t>),
      ROW("GetScrambleConstants64", shifts<uint64_t>),
  };
#undef ROW
  return rows;
}

}  // namespace quern::cuda
