// The processor as a device, with functions written here behind the ABI of compiled kernels: order of kernels, any
// split of the grid, memory that each thread has to itself, records of faults, calls that don't fit.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <numeric>
#include <set>
#include <thread>

#include "device/cpu/executable.h"

namespace quern::device {
namespace {

using artifact::Artifact;
using artifact::Fault;
using artifact::findings;
using artifact::remarks;
using artifact::Role;
using artifact::Size;
using cpu::Functions;
using jit::Report;

std::shared_ptr<const Executable> make(Artifact a, std::vector<Functions> functions) {
  return cpu::executable(std::make_shared<const Artifact>(std::move(a)), std::move(functions), nullptr);
}

// Sizes that compiled code would compute.
template <int64_t kValue>
int64_t number(void* const*, const int64_t*) {
  return kValue;
}
int64_t first_dim(void* const*, const int64_t* dims) { return dims[0]; }
int64_t third_of_first_dim(void* const*, const int64_t* dims) { return dims[0] < 0 ? -1 : (dims[0] + 2) / 3; }

// y[i] = 2 * x[i], over a grid of tiles of 3.
void twice(void* const* p, const int64_t* dims, int64_t begin, int64_t end, void*, Report*) {
  for (int64_t t = begin; t < end; ++t) {
    for (int64_t i = 3 * t; i < std::min(3 * t + 3, dims[0]); ++i) {
      static_cast<float*>(p[1])[i] = 2 * static_cast<const float*>(p[0])[i];
    }
  }
}

Artifact twice_artifact() {
  Artifact a;
  a.name = "twice";
  a.dims = {"N"};
  a.parameters = {{"x", Role::kIn, ScalarType::f32, {Size::dim(0)}},
                  {"y", Role::kOut, ScalarType::f32, {Size::dim(0)}}};
  a.kernels = {{"twice", "", {}}};
  return a;
}
const std::vector<Functions> kTwice = {{twice, third_of_first_dim, number<0>}};

TEST(Cpu, ComputesEveryPointOnce) {
  auto run = make(twice_artifact(), kTwice);
  for (int threads : {1, 2, 3, 7, 64}) {
    for (int64_t n : {0, 1, 2, 3, 100, 1000}) {
      std::vector<float> x(static_cast<size_t>(n)), y(x.size(), -1), want(x.size());
      std::iota(x.begin(), x.end(), 1.0f);
      for (size_t i = 0; i < x.size(); ++i) want[i] = 2 * x[i];
      auto ran = run->run({.arguments = {x.data(), y.data()}, .dims = {n}, .threads = threads});
      ASSERT_TRUE(ran);
      EXPECT_FALSE(ran->stopped);
      EXPECT_EQ(y, want) << threads << " " << n;
    }
  }
}

// Adds 1 to count[point], and writes its own arena full: another thread in it would show.
std::atomic<int> intruders;
void count_points(void* const* p, const int64_t*, int64_t begin, int64_t end, void* arena, Report*) {
  for (int64_t i = begin; i < end; ++i) {
    auto* mine = static_cast<int64_t*>(arena);
    for (int k = 0; k < 64; ++k) mine[k] = i;
    ++static_cast<int*>(p[0])[i];
    std::this_thread::yield();
    for (int k = 0; k < 64; ++k) intruders += mine[k] != i;
  }
}

TEST(Cpu, ArenasAreEachThreadsOwnAndAligned) {
  Artifact a;
  a.parameters = {{"count", Role::kInout, ScalarType::i32, {Size(5000)}}};
  a.kernels = {{"count", "", {}}};
  auto run = make(a, {{count_points, number<5000>, number<512>}});
  intruders = 0;
  std::vector<int> count(5000);
  for (int round = 1; round <= 5; ++round) {
    ASSERT_TRUE(run->run({.arguments = {count.data()}, .threads = 8}));
    EXPECT_EQ(count, std::vector<int>(5000, round));
  }
  EXPECT_EQ(intruders, 0);
}

// Two kernels: t[i] += x[i] into a zeroed buffer, then y[i] = t[N - 1 - i] + c[i % 2], which needs all of the first.
void first(void* const* p, const int64_t*, int64_t begin, int64_t end, void*, Report*) {
  for (int64_t i = begin; i < end; ++i) static_cast<double*>(p[1])[i] += static_cast<const double*>(p[0])[i];
}
void second(void* const* p, const int64_t* dims, int64_t begin, int64_t end, void*, Report*) {
  for (int64_t i = begin; i < end; ++i) {
    double c = static_cast<const unsigned char*>(p[2])[i % 2];
    static_cast<double*>(p[3])[i] = static_cast<const double*>(p[1])[dims[0] - 1 - i] + c;
  }
}

Artifact two_kernels() {
  Artifact a;
  a.name = "two";
  a.dims = {"N"};
  a.parameters = {{"x", Role::kIn, ScalarType::f64, {Size::dim(0)}},
                  {"t", Role::kTmp, ScalarType::f64, {Size::dim(0)}, true},
                  {"c", Role::kConst, ScalarType::u8, {Size(2)}, false, "\x05\x07"},
                  {"y", Role::kOut, ScalarType::f64, {Size::dim(0)}}};
  a.kernels = {{"first", "", {}}, {"second", "", {}}};
  return a;
}
const std::vector<Functions> kTwo = {{first, first_dim, number<0>}, {second, first_dim, number<0>}};

TEST(Cpu, KernelsRunInOrderOverTemporariesThatStartAsZeros) {
  auto run = make(two_kernels(), kTwo);
  for (int64_t n : {1000, 10, 3000, 1000}) {  // the buffer of an earlier run is used again, and grows
    std::vector<double> x(static_cast<size_t>(n)), y(x.size());
    std::iota(x.begin(), x.end(), 0.0);
    ASSERT_TRUE(run->run({.arguments = {x.data(), y.data()}, .dims = {n}, .threads = 4}));
    for (int64_t i = 0; i < n; ++i) {
      EXPECT_EQ(y[static_cast<size_t>(i)], static_cast<double>(n - 1 - i + (i % 2 ? 7 : 5)));
    }
  }
}

TEST(Cpu, RunsFromSeveralThreadsAtOnce) {
  auto run = make(two_kernels(), kTwo);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 30; ++round) {
        int64_t n = 100 + 37 * t + round;
        std::vector<double> x(static_cast<size_t>(n), t + 1), y(x.size());
        if (!run->run({.arguments = {x.data(), y.data()}, .dims = {n}, .threads = 3})) ++wrong;
        for (int64_t i = 0; i < n; ++i) wrong += y[static_cast<size_t>(i)] != t + 1 + (i % 2 ? 7 : 5);
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

// Gathers table[id[i]]; a subscript outside is reported as compiled code does.
void gather(void* const* p, const int64_t* dims, int64_t begin, int64_t end, void*, Report* report) {
  for (int64_t i = begin; i < end; ++i) {
    int64_t at = static_cast<const int64_t*>(p[0])[i];
    if (at < 0 || at >= dims[1]) {
      int64_t axes[64] = {};
      axes[2] = i;
      report->found(report, i, 1, 0, at, dims[1], axes, 1u << 2);
      at = 0;
    }
    static_cast<int64_t*>(p[1])[i] = at;
  }
}

Artifact gather_artifact(SourcePtr source) {
  Artifact a;
  a.name = "gather";
  a.dims = {"N", "V"};
  a.parameters = {{"id", Role::kIn, ScalarType::i64, {Size::dim(0)}},
                  {"y", Role::kOut, ScalarType::i64, {Size::dim(0)}}};
  a.kernels = {{"gather", "", {"a", "b", "n"}}};
  auto at = static_cast<uint32_t>(source->text().find("id[n]]"));
  a.sites = {{"E803", "y", "never", {}}, {"E801", "table", "id[n]", {0, at, at + 5}}};
  a.remarks = {{"R1", "kept a check", "", {0, at, at + 5}}};
  return a;
}

TEST(Cpu, TheFaultOfTheSmallestPointIsReportedWhoeverFoundIt) {
  SourcePtr source = Source::make("g.qn", "y[n] = table[id[n]]\n");
  Artifact a = gather_artifact(source);
  auto run = make(a, {{gather, first_dim, number<0>}});
  std::vector<int64_t> id(10000, 3), y(id.size());
  for (size_t i = 4321; i < id.size(); i += 7) id[i] = static_cast<int64_t>(i) * 10;
  for (int threads : {1, 2, 5, 16}) {
    auto ran = run->run({.arguments = {id.data(), y.data()}, .dims = {10000, 50}, .threads = threads});
    ASSERT_TRUE(ran);
    ASSERT_EQ(ran->faults.size(), 1u);
    EXPECT_EQ(ran->faults[0].point, 4321);
    Diagnostics found = findings(a, ran->faults, {source});
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(render(found[0]),
              "error E801: table[id[n]] is 43210 at n = 4321, the dimension has 50\n"
              "   --> g.qn:1:14\n"
              "   |\n"
              " 1 | y[n] = table[id[n]]\n"
              "   |              ^^^^^\n"
              "   = help: fix the data, or guard\n");
  }
  // The next run begins with no faults.
  std::ranges::fill(id, 0);
  EXPECT_TRUE(run->run({.arguments = {id.data(), y.data()}, .dims = {10000, 50}, .threads = 3})->faults.empty());
}

TEST(Cpu, TextsOfFindingsAndRemarks) {
  SourcePtr source = Source::make("g.qn", "y[n] = table[id[n]]\n");
  Artifact a = gather_artifact(source);
  a.sites[0].code = "E802";
  std::vector<Fault> faults = {{.site = 0, .kernel = 0, .point = 5, .value = 4, .extent = 2}};
  EXPECT_EQ(findings(a, faults, {source})[0].message, "y is read at never = 4, outside its range 0...1");
  a.sites[0].code = "E803";
  EXPECT_EQ(findings(a, faults, {source})[0].message, "y is written at never = 4, the dimension has 2");
  // Of a range that data end, the end is reported.
  a.sites[0].subscript = "n", a.sites[0].end = "len[m]", a.sites[0].last = true, a.sites[0].limit = 3;
  EXPECT_EQ(findings(a, faults, {source})[0].message,
            "y is written at n = 3, the end of its range len[m] = 4, the dimension has 3");
  a.sites[0].code = "E801", a.sites[0].last = false, faults[0].value = -1;
  EXPECT_EQ(findings(a, faults, {source})[0].message,
            "y[n] is -1 at the start of its range len[m] = -1, the dimension has 3");
  a.sites[0] = {"E803", "y", "never", {}};
  EXPECT_EQ(remarks(a, {source})[0].message, "kept a check");
  // Places that lead nowhere, as those of a damaged artifact could, are no places.
  a.remarks[0].place = {7, 1, 2};
  EXPECT_EQ(remarks(a, {source})[0].span.source, nullptr);
  a.remarks[0].place = {0, 900, 1000};
  EXPECT_NE(render(remarks(a, {source})[0]), "");
}

// An earlier kernel's fault stays, though a later one's point is smaller.
void fails_at_9(void* const*, const int64_t*, int64_t begin, int64_t end, void*, Report* r) {
  int64_t axes[64] = {};
  if (begin <= 9 && 9 < end) r->found(r, 9, 0, 0, 100, 1, axes, 0);
  if (begin <= 9 && 9 < end) r->found(r, 9, 0, 0, 101, 1, axes, 0);
}
void fails_at_0(void* const*, const int64_t*, int64_t begin, int64_t, void*, Report* r) {
  int64_t axes[64] = {};
  if (begin == 0) r->found(r, 0, 0, 0, 200, 1, axes, 0);
}

TEST(Cpu, AnEarlierKernelsFaultStays) {
  Artifact a;
  a.kernels = {{"a", "", {}}, {"b", "", {}}};
  a.sites = {{"E801", "x", "i", {}}};
  auto ran = make(a, {{fails_at_9, number<20>, number<0>}, {fails_at_0, number<20>, number<0>}})->run({.threads = 4});
  ASSERT_EQ(ran->faults.size(), 1u);
  EXPECT_EQ(ran->faults[0].value, 100);
}

// Records which threads computed, and where ranges began.
std::atomic<int> last_begin;
std::atomic<bool> in_order;
std::set<std::thread::id>* seen;
void ordered(void* const*, const int64_t*, int64_t begin, int64_t, void*, Report*) {
  if (begin < last_begin) in_order = false;
  last_begin = static_cast<int>(begin);
  seen->insert(std::this_thread::get_id());  // one thread, or the test is a race that fails
}

const std::vector<Functions> kOrdered = {{ordered, number<1000>, number<0>}};

TEST(Cpu, DeterministicKernelsInWhichRealsMeetRunInOrder) {
  Artifact a;
  a.kernels = {{"a", "", {}, true}};
  auto run = make(a, kOrdered);
  std::set<std::thread::id> threads;
  seen = &threads;
  last_begin = 0, in_order = true;
  ASSERT_TRUE(run->run({.threads = 8, .deterministic = true}));
  EXPECT_TRUE(in_order);
  EXPECT_EQ(threads, std::set{std::this_thread::get_id()});
  // Small work stays here as well.
  a.kernels = {{"a", "", {}, false, 10}};
  threads.clear();
  last_begin = 0;
  ASSERT_TRUE(make(a, kOrdered)->run({.threads = 8}));
  EXPECT_EQ(threads, std::set{std::this_thread::get_id()});
}

TEST(Cpu, ProgressCountsAndStops) {
  auto run = make(twice_artifact(), kTwice);
  std::vector<float> x(3000), y(3000);
  for (int threads : {1, 4}) {
    int64_t last = 0, calls = 0;
    auto ran = run->run({.arguments = {x.data(), y.data()},
                         .dims = {3000},
                         .threads = threads,
                         .progress = [&](int64_t done, int64_t total) {
                           EXPECT_EQ(total, 1000);
                           last = std::max(last, done);
                           return ++calls < 5;
                         }});
    ASSERT_TRUE(ran);
    EXPECT_TRUE(ran->stopped);
    EXPECT_EQ(calls, 5);
    EXPECT_LT(last, 1000);
  }
}

TEST(Cpu, WhatDoesntFitIsRefused) {
  auto run = make(twice_artifact(), kTwice);
  std::vector<float> x(3);
  EXPECT_EQ(run->run({.arguments = {x.data()}, .dims = {3}}).error()[0].code, Code::B001);
  EXPECT_EQ(run->run({.arguments = {x.data(), x.data(), x.data()}, .dims = {3}}).error()[0].code, Code::B001);
  EXPECT_EQ(run->run({.arguments = {x.data(), x.data()}, .dims = {}}).error()[0].code, Code::B001);
  EXPECT_EQ(run->run({.arguments = {x.data(), x.data()}, .dims = {-3}}).error()[0].code, Code::B001);
  Artifact a = two_kernels();
  auto two = make(a, kTwo);
  EXPECT_EQ(two->run({.arguments = {x.data(), x.data()}, .dims = {int64_t{1} << 60}}).error()[0].code, Code::E710);
  EXPECT_EQ(two->run({.arguments = {x.data(), x.data()}, .dims = {int64_t{1} << 50}}).error()[0].code, Code::E716);
  // And works after that.
  std::vector<double> d(10, 1), y(10);
  EXPECT_TRUE(two->run({.arguments = {d.data(), y.data()}, .dims = {10}}));
}

}  // namespace
}  // namespace quern::device
