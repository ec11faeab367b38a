#include "random/engine.h"

#include <array>
#include <random>
#include <utility>

#include "base/philox.h"

namespace quern::random {
namespace {

// Word i of what the seed is spread to.
uint32_t seed_word(uint64_t seed, int64_t i) { return random_bits(static_cast<int64_t>(seed), i); }

class Xorwow : public Engine {
 public:
  explicit Xorwow(uint64_t seed) {
    for (size_t i = 0; i < x_.size(); ++i) x_[i] = seed_word(seed, static_cast<int64_t>(i));
    x_[0] |= x_ == State{};  // all zeros would stay so
    counter_ = seed_word(seed, 5);
  }

  void draw(std::span<uint32_t> out) override {
    for (uint32_t& w : out) {
      x_ = next(x_);
      counter_ += kStep;
      w = x_[4] + counter_;
    }
  }

  // A step is linear over bits: its matrix is raised to the power by squaring.
  bool skip(uint64_t count) override {
    counter_ += static_cast<uint32_t>(count) * kStep;
    if (!count) return true;
    Matrix power;
    for (size_t bit = 0; bit < kBits; ++bit) power[bit] = next(unit(bit));
    for (; count; count >>= 1) {
      if (count & 1) x_ = apply(power, x_);
      if (count == 1) break;
      Matrix square;
      for (size_t bit = 0; bit < kBits; ++bit) square[bit] = apply(power, power[bit]);
      power = square;
    }
    return true;
  }

 private:
  using State = std::array<uint32_t, 5>;
  static constexpr size_t kBits = 160;
  using Matrix = std::array<State, kBits>;  // what each bit becomes
  static constexpr uint32_t kStep = 362437;

  static State next(const State& s) {
    uint32_t t = s[0] ^ s[0] >> 2;
    return {s[1], s[2], s[3], s[4], (s[4] ^ s[4] << 4) ^ (t ^ t << 1)};
  }
  static State unit(size_t bit) {
    State out{};
    out[bit / 32] = 1u << bit % 32;
    return out;
  }
  static State apply(const Matrix& m, const State& s) {
    State out{};
    for (size_t bit = 0; bit < kBits; ++bit) {
      if (!(s[bit / 32] >> bit % 32 & 1)) continue;
      for (size_t i = 0; i < out.size(); ++i) out[i] ^= m[bit][i];
    }
    return out;
  }

  State x_{};
  uint32_t counter_ = 0;
};

class Mrg32k3a : public Engine {
 public:
  explicit Mrg32k3a(uint64_t seed) {
    for (size_t i = 0; i < 3; ++i) {
      // No component may be all zeros: 1 to m - 1.
      x_[i] = 1 + seed_word(seed, static_cast<int64_t>(i)) % (kM1 - 1);
      y_[i] = 1 + seed_word(seed, static_cast<int64_t>(i) + 3) % (kM2 - 1);
    }
  }

  void draw(std::span<uint32_t> out) override {
    for (uint32_t& w : out) {
      x_ = {x_[1], x_[2], static_cast<uint64_t>(modulo(1403580 * signed_of(x_[1]) - 810728 * signed_of(x_[0]), kM1))};
      y_ = {y_[1], y_[2], static_cast<uint64_t>(modulo(527612 * signed_of(y_[2]) - 1370589 * signed_of(y_[0]), kM2))};
      // 0 to m1 - 1, which is all 32-bit words but 209 of them.
      w = static_cast<uint32_t>(modulo(signed_of(x_[2]) - signed_of(y_[2]), kM1));
    }
  }

  bool skip(uint64_t count) override {
    Matrix a = {{{0, 1, 0}, {0, 0, 1}, {kM1 - 810728, 1403580, 0}}};
    Matrix b = {{{0, 1, 0}, {0, 0, 1}, {kM2 - 1370589, 0, 527612}}};
    for (; count; count >>= 1) {
      if (count & 1) x_ = apply(a, x_, kM1), y_ = apply(b, y_, kM2);
      a = square(a, kM1);
      b = square(b, kM2);
    }
    return true;
  }

 private:
  using State = std::array<uint64_t, 3>;
  using Matrix = std::array<State, 3>;
  static constexpr uint64_t kM1 = 4294967087, kM2 = 4294944443;

  static int64_t signed_of(uint64_t v) { return static_cast<int64_t>(v); }
  static int64_t modulo(int64_t v, uint64_t m) {
    int64_t rest = v % signed_of(m);
    return rest < 0 ? rest + signed_of(m) : rest;
  }
  static State apply(const Matrix& m, const State& s, uint64_t modulus) {
    State out{};
    for (size_t i = 0; i < 3; ++i) {
      for (size_t j = 0; j < 3; ++j) out[i] = (out[i] + m[i][j] * s[j] % modulus) % modulus;
    }
    return out;
  }
  static Matrix square(const Matrix& m, uint64_t modulus) {
    Matrix out{};
    for (size_t i = 0; i < 3; ++i) {
      for (size_t j = 0; j < 3; ++j) {
        for (size_t s = 0; s < 3; ++s) out[i][j] = (out[i][j] + m[i][s] * m[s][j] % modulus) % modulus;
      }
    }
    return out;
  }

  State x_{}, y_{};
};

class Philox : public Engine {
 public:
  explicit Philox(uint64_t seed) : seed_(static_cast<int64_t>(seed)) {}

  void draw(std::span<uint32_t> out) override {
    for (uint32_t& w : out) {
      uint64_t at = position_++;
      if (at % 4 == 0 || !has_) block_ = random_block(seed_, static_cast<int64_t>(at / 4)), has_ = true;
      w = block_[at % 4];
    }
  }
  bool skip(uint64_t count) override {
    position_ += count;
    has_ = false;
    return true;
  }

 private:
  int64_t seed_;
  uint64_t position_ = 0;
  bool has_ = false;
  PhiloxBlock block_{};
};

class Twister : public Engine {
 public:
  explicit Twister(uint64_t seed) {
    std::seed_seq words = {seed_word(seed, 0), seed_word(seed, 1), seed_word(seed, 2), seed_word(seed, 3)};
    engine_.seed(words);
  }
  void draw(std::span<uint32_t> out) override {
    for (uint32_t& w : out) w = static_cast<uint32_t>(engine_());
  }
  bool skip(uint64_t) override { return false; }

 private:
  std::mt19937 engine_;
};

}  // namespace

std::unique_ptr<Engine> make_engine(Kind kind, uint64_t seed) {
  switch (kind) {
    case Kind::kXorwow: return std::make_unique<Xorwow>(seed);
    case Kind::kMrg32k3a: return std::make_unique<Mrg32k3a>(seed);
    case Kind::kPhilox: return std::make_unique<Philox>(seed);
    case Kind::kMt19937: break;
  }
  return std::make_unique<Twister>(seed);
}

}  // namespace quern::random
