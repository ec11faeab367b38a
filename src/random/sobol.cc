#include "random/sobol.h"

#include <array>
#include <bit>

#include "base/philox.h"

namespace quern::random {
namespace {

// Of dimensions 2 to 21; the polynomials are the first ones.
constexpr std::array<std::array<uint8_t, 7>, 20> kStarts = {{
    {1},
    {1, 3},
    {1, 3, 1},
    {1, 1, 1},
    {1, 1, 3, 3},
    {1, 3, 5, 13},
    {1, 1, 5, 5, 17},
    {1, 1, 5, 5, 5},
    {1, 1, 7, 11, 19},
    {1, 1, 5, 1, 1},
    {1, 1, 1, 3, 11},
    {1, 3, 5, 5, 31},
    {1, 3, 3, 9, 7, 49},
    {1, 1, 1, 15, 21, 21},
    {1, 3, 1, 13, 27, 49},
    {1, 1, 1, 15, 7, 5},
    {1, 3, 1, 15, 13, 25},
    {1, 1, 5, 5, 19, 61},
    {1, 3, 7, 11, 23, 15, 103},
    {1, 3, 7, 13, 13, 15, 69},
}};

// Products of polynomials modulo one of the degree: bits are coefficients.
uint64_t times(uint64_t a, uint64_t b, uint64_t polynomial, int degree) {
  uint64_t out = 0;
  for (; b; b >>= 1) {
    if (b & 1) out ^= a;
    a <<= 1;
    if (a >> degree & 1) a ^= polynomial;
  }
  return out;
}

uint64_t power(uint64_t exponent, uint64_t polynomial, int degree) {
  uint64_t out = 1, base = degree == 1 ? 1 : 2;  // x
  for (; exponent; exponent >>= 1) {
    if (exponent & 1) out = times(out, base, polynomial, degree);
    base = times(base, base, polynomial, degree);
  }
  return out;
}

// Whether the powers of x are all that there are.
bool is_primitive(uint64_t polynomial, int degree) {
  uint64_t order = (uint64_t{1} << degree) - 1, rest = order;
  if (power(order, polynomial, degree) != 1) return false;
  for (uint64_t prime = 2; prime * prime <= rest; ++prime) {
    if (rest % prime) continue;
    while (rest % prime == 0) rest /= prime;
    if (power(order / prime, polynomial, degree) == 1) return false;
  }
  return rest == 1 || rest == order || power(order / rest, polynomial, degree) != 1;
}

template <class W>
std::vector<W> make_directions() {
  constexpr int kBits = sizeof(W) * 8;
  std::vector<W> out(static_cast<size_t>(kSobolDimensions) * kBits);
  for (int bit = 0; bit < kBits; ++bit) out[static_cast<size_t>(bit)] = W{1} << (kBits - 1 - bit);
  int degree = 1;
  uint64_t polynomial = 1;
  for (int dimension = 1; dimension < kSobolDimensions; ++dimension) {
    do {
      polynomial += 2;
      if (polynomial >> (degree + 1)) polynomial = (uint64_t{1} << ++degree) + 1;
    } while (!is_primitive(polynomial, degree));
    W* v = out.data() + static_cast<size_t>(dimension) * kBits;
    auto row = static_cast<size_t>(dimension - 1);
    for (int i = 0; i < kBits; ++i) {
      if (i < degree) {
        uint32_t any = random_bits(dimension, i) & ((2u << i) - 1);
        W m = row < kStarts.size() ? kStarts[row][static_cast<size_t>(i)] : any | 1;
        v[i] = m << (kBits - 1 - i);
        continue;
      }
      v[i] = v[i - degree] ^ v[i - degree] >> degree;
      for (int k = 1; k < degree; ++k) {
        if (polynomial >> (degree - k) & 1) v[i] ^= v[i - k];
      }
    }
  }
  return out;
}

template <class W>
W random_word(int64_t seed, int64_t i) {
  uint64_t low = random_bits(seed, 2 * i), high = random_bits(seed, 2 * i + 1);
  return static_cast<W>(high << 32 | low);
}

template <class W>
std::vector<W> scramble(std::vector<W> all) {
  constexpr int kBits = sizeof(W) * 8;
  for (int dimension = 0; dimension < kSobolDimensions; ++dimension) {
    // Row r gives bit r, counted from the highest: of that bit and of higher ones at random.
    std::array<W, kBits> rows;
    for (int r = 0; r < kBits; ++r) {
      W own = W{1} << (kBits - 1 - r);
      rows[static_cast<size_t>(r)] = own | (random_word<W>(-1 - dimension, r) & ~(own | (own - 1)));
    }
    W* v = all.data() + static_cast<size_t>(dimension) * kBits;
    for (int i = 0; i < kBits; ++i) {
      W in = v[i], product = 0;
      for (int r = 0; r < kBits; ++r) {
        if (std::popcount(static_cast<W>(rows[static_cast<size_t>(r)] & in)) % 2) product |= W{1} << (kBits - 1 - r);
      }
      v[i] = product;
    }
  }
  return all;
}

}  // namespace

template <class W>
const std::vector<W>& sobol_directions(bool scrambled) {
  static const std::vector<W>& plain = *new std::vector<W>(make_directions<W>());
  if (!scrambled) return plain;
  static const std::vector<W>& other = *new std::vector<W>(scramble(plain));
  return other;
}

template <class W>
const std::vector<W>& sobol_shifts() {
  static const std::vector<W>& all = *new std::vector<W>([] {
    std::vector<W> out;
    for (int i = 0; i < kSobolDimensions; ++i) out.push_back(random_word<W>(INT64_MIN, i));
    return out;
  }());
  return all;
}

template const std::vector<uint32_t>& sobol_directions<uint32_t>(bool);
template const std::vector<uint64_t>& sobol_directions<uint64_t>(bool);
template const std::vector<uint32_t>& sobol_shifts<uint32_t>();
template const std::vector<uint64_t>& sobol_shifts<uint64_t>();

}  // namespace quern::random
