// Numbers in the distributions that cuRAND has.
#include <cmath>

#include "cuda/api/exports.h"
#include "cuda/curand/call.h"
#include "cuda/runtime/library_access.h"
#include "random/distribution.h"

namespace quern::cuda {
namespace {

// So many words are drawn at once.
constexpr size_t kPiece = 1 << 12;

// Puts work into the generator's stream: fill(generator, the n numbers).
template <class T, class F>
RandomStatus generate(Generator* handle, const char* function, T* out, size_t n, F fill) {
  return random_call(handle, [&](const std::shared_ptr<Generator>& g) {
    if (g->is_quasi() && n % g->dimensions) return RandomStatus::kLengthNotMultiple;
    if (!n) return RandomStatus::kSuccess;
    LibraryCall call;
    call.run = [=] {
      LibraryAccess access(function);
      int64_t bytes = sizeof(T), count = static_cast<int64_t>(n);
      bool good = g->on_host ? access.is_on_host("out", out, bytes, true) : access.writes({"out", out, bytes, count});
      if (good) fill(*g, std::span(out, n));
      return access.finish();
    };
    switch (submit(g->stream, std::move(call))) {
      case Error::kSuccess: return RandomStatus::kSuccess;
      case Error::kMemoryAllocation: return RandomStatus::kAllocationFailed;
      default: return RandomStatus::kLaunchFailure;
    }
  });
}

// Each number from a word of its own: 64 bits for f64.
template <class T, class F>
void each(Generator& g, std::span<T> out, F f) {
  using W = std::conditional_t<std::is_same_v<T, double>, uint64_t, uint32_t>;
  // What is quasi-random goes dimension by dimension, so it has to be drawn whole.
  size_t piece = g.is_quasi() ? out.size() : kPiece;
  std::vector<W> words(std::min(piece, out.size()));
  for (size_t first = 0; first < out.size(); first += piece) {
    std::span<W> here(words.data(), std::min(piece, out.size() - first));
    g.words(here);
    for (size_t i = 0; i < here.size(); ++i) out[first + i] = f(here[i]);
  }
}

double unit(uint32_t w) { return (static_cast<double>(w) + 0.5) * 0x1p-32; }
double unit(uint64_t w) { return random::uniform_double(w); }

template <class T>
void uniform(Generator& g, std::span<T> out) {
  each(g, out, [](auto w) {
    if constexpr (sizeof w == 4) {
      return random::uniform(w);
    } else {
      return random::uniform_double(w);
    }
  });
}

// f turns a normal number into one of T. Pairs come from two words, an odd one at the end from a pair too.
template <class T, class F>
void normal(Generator& g, std::span<T> out, F f) {
  if (g.is_quasi()) return each(g, out, [&](auto w) { return static_cast<T>(f(random::normal_quantile(unit(w)))); });
  for (size_t i = 0; i < out.size(); i += 2) {
    std::conditional_t<std::is_same_v<T, double>, uint64_t, uint32_t> two[2];
    g.words(std::span(two));
    random::Pair pair = random::normal_pair(unit(two[0]), unit(two[1]));
    out[i] = static_cast<T>(f(pair.first));
    if (i + 1 < out.size()) out[i + 1] = static_cast<T>(f(pair.second));
  }
}

template <class T>
RandomStatus generate_uniform(Generator* g, T* out, size_t n) {
  return generate(g, "curandGenerateUniform", out, n, &uniform<T>);
}

// Of pseudorandom numbers only an even count can be had, as with cuRAND.
template <class T, class F>
RandomStatus generate_normal(Generator* handle, const char* function, T* out, size_t n, F f) {
  bool odd = n % 2 != 0;
  RandomStatus fits = random_call(handle, [&](const std::shared_ptr<Generator>& g) {
    return odd && !g->is_quasi() ? RandomStatus::kLengthNotMultiple : RandomStatus::kSuccess;
  });
  if (fits != RandomStatus::kSuccess) return fits;
  return generate(handle, function, out, n, [f](Generator& g, std::span<T> all) { normal<T>(g, all, f); });
}

template <class T>
RandomStatus gaussian(Generator* g, T* out, size_t n, T mean, T deviation) {
  return generate_normal(g, "curandGenerateNormal", out, n, [=](double v) { return mean + deviation * v; });
}

template <class T>
RandomStatus log_normal(Generator* g, T* out, size_t n, T mean, T deviation) {
  return generate_normal(g, "curandGenerateLogNormal", out, n,
                         [=](double v) { return std::exp(static_cast<double>(mean) + deviation * v); });
}

RandomStatus poisson(Generator* handle, uint32_t* out, size_t n, double mean) {
  constexpr double kMostMean = 400000;
  if (!(mean > 0) || mean > kMostMean) return RandomStatus::kOutOfRange;
  return generate(handle, "curandGeneratePoisson", out, n, [mean](Generator& g, std::span<uint32_t> all) {
    random::Poisson table(mean);
    if (g.is_quasi()) return each(g, all, [&](uint32_t w) { return table.at(unit(w)); });
    for (uint32_t& v : all) {
      uint64_t word;
      g.words(std::span(&word, 1));
      v = table.at(unit(word));
    }
  });
}
// The last argument chooses an algorithm, of which there is one.
RandomStatus poisson_by(Generator* handle, uint32_t* out, size_t n, double mean, int) {
  return poisson(handle, out, n, mean);
}

// Words: 64 bits of those generators that have as many, 32 of the others.
template <class W>
RandomStatus plain(Generator* handle, W* out, size_t n) {
  RandomStatus fits = random_call(handle, [&](const std::shared_ptr<Generator>& g) {
    return g->is_64() == (sizeof(W) == 8) ? RandomStatus::kSuccess : RandomStatus::kTypeError;
  });
  if (fits != RandomStatus::kSuccess) return fits;
  return generate(handle, "curandGenerate", out, n, [](Generator& g, std::span<W> all) { g.words(all); });
}

}  // namespace

std::span<const Export> random_generate_exports() {
#define ROW(name, function) \
  Export { "curand" name, reinterpret_cast<void*>(&function) }
  static const Export rows[] = {
      ROW("Generate", plain<uint32_t>),
      ROW("GenerateLongLong", plain<uint64_t>),
      ROW("GenerateUniform", generate_uniform<float>),
      ROW("GenerateUniformDouble", generate_uniform<double>),
      ROW("GenerateNormal", gaussian<float>),
      ROW("GenerateNormalDouble", gaussian<double>),
      ROW("GenerateLogNormal", log_normal<float>),
      ROW("GenerateLogNormalDouble", log_normal<double>),
      ROW("GeneratePoisson", poisson),
      ROW("GeneratePoissonMethod", poisson_by),
  };
#undef ROW
  return rows;
}

}  // namespace quern::cuda
