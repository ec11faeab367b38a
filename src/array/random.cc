#include "array/random.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <unordered_map>

#include "array/normal.h"
#include "base/philox.h"

namespace quern::array {
namespace {

__extension__ typedef unsigned __int128 Wide;

uint64_t fnv1a(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}

// The words of one array. Blocks of four are kept, since most patterns go through them in order.
class Stream {
 public:
  Stream(uint64_t seed, std::string_view name) {
    uint64_t hash = fnv1a(name);
    // The upper half of the counter is not zero as it is for random_bits: a kernel's own random numbers, from the same
    // seed, are other ones.
    auto block = philox4x32({static_cast<uint32_t>(hash), static_cast<uint32_t>(hash >> 32), 0x6E616D65, 0},
                            {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
    key_ = static_cast<int64_t>(block[0] | uint64_t{block[1]} << 32);
  }

  uint32_t word(int64_t i) {
    if (i >> 2 != at_) block_ = random_block(key_, at_ = i >> 2);
    return block_[static_cast<size_t>(i & 3)];
  }

  // A whole number in [0, count), number `i` of them; a count of 0 stands for 2^64. Uniform but for count / 2^64.
  uint64_t below(uint64_t count, int64_t i) {
    uint64_t high = word(2 * i);
    uint64_t bits = high << 32 | word(2 * i + 1);
    return count == 0 ? bits : static_cast<uint64_t>(Wide{bits} * count >> 64);
  }

 private:
  int64_t key_ = 0;
  int64_t at_ = -1;
  PhiloxBlock block_{};
};

int64_t offset(int64_t lo, uint64_t by) { return static_cast<int64_t>(static_cast<uint64_t>(lo) + by); }
// Numbers in [lo, last]; 0 stands for 2^64.
uint64_t count_of(int64_t lo, int64_t last) { return static_cast<uint64_t>(last) - static_cast<uint64_t>(lo) + 1; }

// Words behind those of the normals say which elements are none, and what they are.
void fill_normal(Array& out, Stream& stream, const Fill& fill) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kSpecials[] = {0,    -0.0, 1, -1, 0.5, kInf, -kInf, std::numeric_limits<double>::quiet_NaN(),
                                  1e34, 1e-45};
  int64_t n = out.elements();
  for (int64_t i = 0; i < n; ++i) {
    double value = fill.mean + normal_from_word(stream.word(i)) * fill.scale;
    if (fill.pattern != Fill::kNormal && stream.below(10, n + 2 * i) < 3) {
      value = fill.pattern == Fill::kMasked ? -kInf : kSpecials[stream.below(std::size(kSpecials), n + 2 * i + 1)];
    }
    if (out.type == ScalarType::f8e8m0 && std::isfinite(value))
      value = std::ldexp(1.0, static_cast<int>(std::clamp(std::nearbyint(value), -127.0, 127.0)));
    if (kind(out.type) == Kind::kInt) value = std::nearbyint(value);
    set_real(out, i, value);
  }
}

void fill_lengths(Array& out, Stream& stream, int64_t lo, int64_t hi) {
  int64_t n = out.elements();
  for (int64_t i = 0; i < n; ++i) set_int(out, i, offset(lo, stream.below(count_of(lo, hi), i)));
  if (n < 2) return;
  auto first = static_cast<int64_t>(stream.below(static_cast<uint64_t>(n), n));
  auto second = static_cast<int64_t>(stream.below(static_cast<uint64_t>(n - 1), n + 1));
  set_int(out, first, lo);
  set_int(out, second < first ? second : second + 1, hi);
}

void fill_starts(Array& out, Stream& stream, int64_t lo, int64_t hi) {
  int64_t length = out.shape.empty() ? 1 : out.shape.back();
  std::vector<int64_t> values(static_cast<size_t>(length));
  for (int64_t begin = 0; begin < out.elements(); begin += length) {
    for (int64_t i = 0; i < length; ++i) values[i] = offset(lo, stream.below(count_of(lo, hi), begin + i));
    values.front() = lo;
    if (length > 1) values.back() = hi;
    std::sort(values.begin(), values.end());
    if (length > 2) {
      auto twin = 1 + stream.below(static_cast<uint64_t>(length - 2), out.elements() + begin);
      values[twin] = values[twin - 1];
    }
    for (int64_t i = 0; i < length; ++i) set_int(out, begin + i, values[i]);
  }
}

// Fisher and Yates' shuffle of the numbers 0, 1, ... of which only the first elements() are asked for; what has moved
// is kept in a map, since there may be 2^63 numbers. Numbers from `count` on stand for -1.
void fill_distinct(Array& out, Stream& stream, int64_t lo, uint64_t count) {
  auto n = static_cast<uint64_t>(out.elements());
  uint64_t all = std::max(n, count);
  std::unordered_map<uint64_t, uint64_t> moved;
  auto at = [&](uint64_t i) {
    auto found = moved.find(i);
    return found == moved.end() ? i : found->second;
  };
  for (uint64_t i = 0; i < n; ++i) {
    uint64_t j = i + stream.below(all - i, static_cast<int64_t>(i));
    uint64_t value = at(j);
    if (j != i) moved[j] = at(i);
    moved.erase(i);
    set_int(out, static_cast<int64_t>(i), value < count ? offset(lo, value) : -1);
  }
}

}  // namespace

Fill default_fill(ScalarType type) {
  switch (kind(type)) {
    case Kind::kBool: return {Fill::kBool};
    case Kind::kInt: {
      bool is_signed = least_int(type) < 0;
      if (row(type).bits > 8) return {Fill::kUniformInt, is_signed ? -128 : 0, is_signed ? 128 : 256};
      return {Fill::kUniformInt, least_int(type), greatest_int(type) + 1};
    }
    default: return {Fill::kNormal};
  }
}

Result<Array> random_array(ScalarType type, std::vector<int64_t> shape, uint64_t seed, std::string_view name,
                           const Fill& fill) {
  auto made = make(type, std::move(shape), name);
  if (!made || made->elements() == 0) return made;
  Array& out = *made;
  Stream stream(seed, name);
  std::string of(quern::name(type));
  auto refuse = [&](std::string why) {
    return fail(diagnose(Code::E732, {},
                         {{"x", fmt::format("{}: {}", name, type_text(type, out.shape))}, {"why", std::move(why)}}));
  };
  bool integer = kind(type) != Kind::kReal;
  auto holds = [&](int64_t v) { return !integer || (v >= least_int(type) && v <= greatest_int(type)); };
  int64_t lo = fill.lo, last = fill.hi;  // the greatest number that may be drawn
  switch (fill.pattern) {
    case Fill::kUniformInt:
    case Fill::kDistinct:
      if (lo < fill.hi) --last;
      if (integer) {
        lo = std::max(lo, least_int(type));
        last = std::min(last, greatest_int(type));
      }
      if (fill.lo >= fill.hi || lo > last) return refuse(fmt::format("no {} is in [{}, {})", of, fill.lo, fill.hi));
      break;
    case Fill::kLengths:
    case Fill::kSortedStarts:
      if (lo > last) return refuse(fmt::format("[{}, {}] is empty", lo, last));
      if (!holds(lo) || !holds(last)) return refuse(fmt::format("{} does not hold all of [{}, {}]", of, lo, last));
      break;
    case Fill::kNormal:
    case Fill::kMasked:
    case Fill::kSpecial:
      if (kind(type) == Kind::kBool) return refuse("a bool is not a number");
      break;
    case Fill::kConstant:
      if (!holds(lo)) return refuse(fmt::format("{} does not hold {}", of, lo));
      break;
    case Fill::kBool: break;
  }
  int64_t n = out.elements();
  switch (fill.pattern) {
    case Fill::kNormal:
    case Fill::kMasked:
    case Fill::kSpecial: fill_normal(out, stream, fill); break;
    case Fill::kUniformInt:
      for (int64_t i = 0; i < n; ++i) set_int(out, i, offset(lo, stream.below(count_of(lo, last), i)));
      break;
    case Fill::kLengths: fill_lengths(out, stream, lo, last); break;
    case Fill::kSortedStarts: fill_starts(out, stream, lo, last); break;
    case Fill::kDistinct:
      if (static_cast<uint64_t>(n) > count_of(lo, last) && !holds(-1)) {
        return refuse(fmt::format("there are {} entries for {} numbers, and {} has no -1", n, count_of(lo, last), of));
      }
      fill_distinct(out, stream, lo, count_of(lo, last));
      break;
    case Fill::kBool:
      for (int64_t i = 0; i < n; ++i) set_int(out, i, stream.word(i) >> 31);
      break;
    case Fill::kConstant:
      for (int64_t i = 0; i < n; ++i) integer ? set_int(out, i, lo) : set_real(out, i, fill.scale);
      break;
  }
  return made;
}

}  // namespace quern::array
