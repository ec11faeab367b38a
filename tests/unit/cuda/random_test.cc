// cuRAND's functions as a program calls them.
#include <cmath>
#include <vector>

#include "cuda/abi/curand_types.h"
#include "cuda/curand/generator.h"
#include "runtime.h"

namespace quern::cuda {
namespace {

template <class... A>
RandomStatus random_result(const char* name, A... arguments) {
  auto function = reinterpret_cast<RandomStatus (*)(A...)>(find_export(name, kRandomVersion));
  EXPECT_NE(function, nullptr) << name;
  return function ? function(arguments...) : RandomStatus::kInternalError;
}

template <class... A>
void random_ok(const char* name, A... arguments) {
  EXPECT_EQ(random_result(name, arguments...), RandomStatus::kSuccess) << name;
}

class Random : public ::testing::Test {
 protected:
  static constexpr size_t kCount = 100000;
  void SetUp() override {
    floats_ = device_array<float>(kCount);
    words_ = device_array<uint32_t>(kCount);
  }
  void TearDown() override {
    ok(call("cudaFree", static_cast<void*>(floats_)));
    ok(call("cudaFree", static_cast<void*>(words_)));
  }
  template <class T>
  std::vector<T> values(const T* from, size_t count = kCount) {
    std::vector<T> out(count);
    ok(copy(out.data(), from, count, CopyKind::kDeviceToHost));
    return out;
  }
  static Generator* make(RandomType type) {
    Generator* g = nullptr;
    random_ok("curandCreateGenerator", &g, type);
    return g;
  }
  float* floats_ = nullptr;
  uint32_t* words_ = nullptr;
};

constexpr RandomType kPseudo[] = {RandomType::kDefault, RandomType::kXorwow,  RandomType::kMrg32k3a,
                                  RandomType::kMtgp32,  RandomType::kMt19937, RandomType::kPhilox};
constexpr RandomType kQuasi[] = {RandomType::kSobol32, RandomType::kScrambledSobol32, RandomType::kSobol64,
                                 RandomType::kScrambledSobol64};

struct Moments {
  double mean = 0, variance = 0;
};
template <class T>
Moments moments(const std::vector<T>& all) {
  Moments out;
  for (T v : all) out.mean += static_cast<double>(v) / static_cast<double>(all.size());
  for (T v : all) out.variance += std::pow(static_cast<double>(v) - out.mean, 2) / static_cast<double>(all.size());
  return out;
}

TEST_F(Random, Moments) {
  auto check = [&](RandomType type) {
    Generator* g = make(type);
    random_ok("curandGenerateUniform", g, floats_, kCount);
    auto uniform = values(floats_);
    for (float v : uniform) ASSERT_TRUE(v > 0 && v <= 1);
    Moments m = moments(uniform);
    EXPECT_NEAR(m.mean, 0.5, 0.005);
    EXPECT_NEAR(m.variance, 1 / 12.0, 0.002);
    random_ok("curandGenerateNormal", g, floats_, kCount, 3.f, 2.f);
    m = moments(values(floats_));
    EXPECT_NEAR(m.mean, 3, 0.04);
    EXPECT_NEAR(m.variance, 4, 0.1);
    random_ok("curandGenerateLogNormal", g, floats_, kCount, 0.f, 0.5f);
    EXPECT_NEAR(moments(values(floats_)).mean, std::exp(0.125), 0.02);
    random_ok("curandGeneratePoisson", g, words_, kCount, 20.0);
    m = moments(values(words_));
    EXPECT_NEAR(m.mean, 20, 0.1);
    EXPECT_NEAR(m.variance, 20, 0.5);
    auto* doubles = device_array<double>(1000);
    random_ok("curandGenerateUniformDouble", g, doubles, size_t{1000});
    EXPECT_NEAR(moments(values(doubles, 1000)).mean, 0.5, 0.05);
    random_ok("curandGenerateNormalDouble", g, doubles, size_t{1000}, 1.0, 1.0);
    EXPECT_NEAR(moments(values(doubles, 1000)).mean, 1, 0.16);
    ok(call("cudaFree", static_cast<void*>(doubles)));
    random_ok("curandDestroyGenerator", g);
  };
  for (RandomType type : kPseudo) check(type);
  for (RandomType type : kQuasi) check(type);
}

TEST_F(Random, SeedsAndOffsets) {
  for (RandomType type : kPseudo) {
    Generator* g = make(type);
    random_ok("curandSetPseudoRandomGeneratorSeed", g, 77ull);
    random_ok("curandGenerate", g, words_, size_t{60});
    auto first = values(words_, 60);
    random_ok("curandGenerate", g, words_, size_t{60});
    EXPECT_NE(values(words_, 60), first);
    random_ok("curandSetPseudoRandomGeneratorSeed", g, 77ull);
    random_ok("curandGenerate", g, words_, size_t{20});
    random_ok("curandGenerate", g, words_ + 20, size_t{40});
    EXPECT_EQ(values(words_, 60), first);
    if (type == RandomType::kMt19937 || type == RandomType::kMtgp32) {
      EXPECT_EQ(random_result("curandSetGeneratorOffset", g, 20ull), RandomStatus::kTypeError);
    } else {
      random_ok("curandSetGeneratorOffset", g, 20ull);
      random_ok("curandGenerate", g, words_, size_t{40});
      EXPECT_EQ(values(words_, 40), std::vector<uint32_t>(first.begin() + 20, first.end()));
    }
    random_ok("curandDestroyGenerator", g);
  }
}

TEST_F(Random, HostsGeneratorsGiveTheSame) {
  Generator *here = nullptr, *there = make(RandomType::kPhilox);
  random_ok("curandCreateGeneratorHost", &here, RandomType::kPhilox);
  std::vector<float> own(1000);
  random_ok("curandGenerateUniform", here, own.data(), own.size());
  random_ok("curandGenerateUniform", there, floats_, own.size());
  EXPECT_EQ(values(floats_, 1000), own);
  random_ok("curandDestroyGenerator", here);
  random_ok("curandDestroyGenerator", there);
}

TEST_F(Random, QuasiRandomDimensions) {
  Generator* g = make(RandomType::kSobol32);
  random_ok("curandSetQuasiRandomGeneratorDimensions", g, 3u);
  EXPECT_EQ(random_result("curandGenerateUniform", g, floats_, size_t{100}), RandomStatus::kLengthNotMultiple);
  random_ok("curandGenerateUniform", g, floats_, size_t{12});
  auto all = values(floats_, 12);
  // Four numbers of each dimension, one in each quarter.
  for (size_t d = 0; d < 3; ++d) {
    std::vector<int> quarters(4);
    for (size_t i = 0; i < 4; ++i) ++quarters[static_cast<size_t>(all[d * 4 + i] * 4)];
    EXPECT_EQ(quarters, std::vector<int>(4, 1));
  }
  random_ok("curandSetGeneratorOffset", g, 2ull);
  random_ok("curandGenerateUniform", g, floats_, size_t{6});
  auto later = values(floats_, 6);
  for (size_t d = 0; d < 3; ++d) EXPECT_EQ(later[d * 2], all[d * 4 + 2]);
  random_ok("curandDestroyGenerator", g);
  const uint32_t* vectors = nullptr;
  random_ok("curandGetDirectionVectors32", &vectors, DirectionSet::kSobol32);
  EXPECT_EQ(vectors[0], 1u << 31);
  EXPECT_EQ(random_result("curandGetDirectionVectors32", &vectors, DirectionSet::kSobol64), RandomStatus::kOutOfRange);
}

TEST_F(Random, WrongArguments) {
  Generator *none = nullptr, *g = nullptr;
  EXPECT_EQ(random_result("curandCreateGenerator", &g, static_cast<RandomType>(5)), RandomStatus::kTypeError);
  EXPECT_EQ(random_result("curandGenerateUniform", none, floats_, size_t{4}), RandomStatus::kNotInitialized);
  g = make(RandomType::kXorwow);
  EXPECT_EQ(random_result("curandGenerateNormal", g, floats_, size_t{3}, 0.f, 1.f), RandomStatus::kLengthNotMultiple);
  EXPECT_EQ(random_result("curandGeneratePoisson", g, words_, size_t{3}, -1.0), RandomStatus::kOutOfRange);
  EXPECT_EQ(random_result("curandSetQuasiRandomGeneratorDimensions", g, 3u), RandomStatus::kTypeError);
  EXPECT_EQ(random_result("curandSetGeneratorOrdering", g, RandomOrdering::kQuasiDefault), RandomStatus::kOutOfRange);
  random_ok("curandSetGeneratorOrdering", g, RandomOrdering::kLegacy);
  uint64_t* wide = nullptr;
  EXPECT_EQ(random_result("curandGenerateLongLong", g, wide, size_t{2}), RandomStatus::kTypeError);
  EXPECT_EXIT(random_result("curandGenerateUniform", g, floats_ + 1, kCount), ::testing::ExitedWithCode(1),
              "out-of-bounds write of 4 bytes\n   = kernel: curandGenerateUniform");
  random_ok("curandDestroyGenerator", g);
  EXPECT_EQ(random_result("curandDestroyGenerator", g), RandomStatus::kNotInitialized);
}

TEST_F(Random, Streams) {
  Stream* stream = nullptr;
  ok(call("cudaStreamCreate", &stream));
  Generator* g = make(RandomType::kMrg32k3a);
  random_ok("curandSetStream", g, stream);
  ok(call("cudaMemset", static_cast<void*>(words_), 0, size_t{400}));
  ok(call("cudaStreamBeginCapture", stream, 0));
  random_ok("curandGenerate", g, words_, size_t{100});
  Graph* graph = nullptr;
  ok(call("cudaStreamEndCapture", stream, &graph));
  EXPECT_EQ(values(words_, 100), std::vector<uint32_t>(100, 0));
  GraphExec* exec = nullptr;
  ok(call("cudaGraphInstantiate", &exec, graph, 0ull));
  ok(call("cudaGraphLaunch", exec, stream));
  EXPECT_NE(values(words_, 100), std::vector<uint32_t>(100, 0));
  random_ok("curandDestroyGenerator", g);
}

}  // namespace
}  // namespace quern::cuda
