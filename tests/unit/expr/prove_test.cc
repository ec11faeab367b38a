// The prover is sound (what it calls proved never leaves its dimension, what it refuses does, where it says so) and
// complete enough (every subscript of the library that goes through no data is proved).
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include "base/text.h"
#include "library_sizes.h"
#include "random_index_kernel.h"
#include "simulator.h"

namespace quern::expr::test {
namespace {

uint64_t seed() {
  const char* given = std::getenv("QUERN_TEST_SEED");
  return given ? std::strtoull(given, nullptr, 0) : 20260802;
}

// Every `name = 7` and `name=7`.
std::map<std::string, int64_t> assignments(std::string text) {
  for (size_t at = 0; (at = text.find('=', at)) != std::string::npos; at += 3) text.replace(at, 1, " = ");
  std::istringstream words(text);
  std::map<std::string, int64_t> out;
  std::string name, word;
  while (words >> word) {
    if (word == "=" && words >> word) out[name] = std::stoll(word);
    name = word;
  }
  return out;
}

// "t[i + 1]: i = 5, r = 2 gives 7, …"
std::map<std::string, int64_t> witness_of(const std::string& message) {
  std::string where = message.substr(message.rfind(": ") + 2);
  return assignments(where.substr(0, where.find(" gives ")));
}

std::string show(Proof p) { return p == Proof::kProved ? "proved" : p == Proof::kChecked ? "checked" : "refused"; }

// One line a subscript: "x[i + 1] axis 0 checked".
std::string show(const Proofs& proofs) {
  std::string out;
  for (const SubscriptProof& p : proofs.subscripts) {
    out += p.tensor.str() + "/" + std::to_string(p.axis) + " [" + p.text + "] " + show(p.proof) +
           (p.data ? " data" : "") + "\n";
  }
  return out;
}

Simulator::Place place(const SubscriptProof& p) {
  return {p.span.source, p.span.begin, p.span.end, p.tensor, p.axis, p.write};
}

struct Count {
  int64_t proved = 0, checked = 0, data = 0, refused = 0;
};

// Integers of all sizes, where the type has them.
void fill_wildly(Arguments& arguments, const Program& program, Random& random) {
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    ScalarType type = arguments.type(t);
    if (quern::kind(type) == Kind::kReal) continue;
    for (int64_t i = 0; i < arguments.elements(t); ++i) {
      int64_t v = between(random, -2, 7);
      if (chance(random, 0.2))
        v = chance(random, 0.5) ? least_int(type) + between(random, 0, 2) : greatest_int(type) - between(random, 0, 2);
      arguments.put_whole(t, i, v);
    }
  }
}

bool sound(const Program& program, const Binding& sizes, const Proofs& proofs, const std::string& what, Random& random,
           Count* count) {
  for (const SubscriptProof& p : proofs.subscripts) {
    if (!count) break;
    ++(p.proof == Proof::kProved    ? count->proved
       : p.proof == Proof::kRefused ? count->refused
       : p.data                     ? count->data
                                    : count->checked);
  }
  Simulator::Instances instances, behind;
  for (int data = 0; data < 3; ++data) {
    Arguments arguments(program, sizes);
    fill_wildly(arguments, program, random);
    Simulator simulator(program, sizes, arguments);
    simulator.run();
    simulator.visit_locals();
    for (const auto& [at, all] : simulator.outside()) instances[at].insert(instances[at].end(), all.begin(), all.end());
    for (const auto& [at, all] : simulator.behind()) behind[at].insert(behind[at].end(), all.begin(), all.end());
  }
  for (const SubscriptProof& p : proofs.subscripts) {
    auto outside = instances.find(place(p));
    if (p.proof == Proof::kProved && outside != instances.end()) {
      std::string where;
      for (const auto& [n, v] : outside->second.front()) where += n + "=" + std::to_string(v) + " ";
      ADD_FAILURE() << what << p.tensor.str() << "[" << p.text << "] axis " << p.axis
                    << " is called proved, and outside at " << where;
      return false;
    }
    if (p.proof != Proof::kRefused) continue;
    for (const Diagnostic& d : proofs.errors) {
      if (d.span.begin != p.span.begin || d.span.end != p.span.end || !d.message.starts_with(p.tensor.str() + "["))
        continue;
      auto witness = witness_of(d.message);
      bool shown = false;
      for (const Simulator::Instances* in : {&instances, &behind}) {
        auto here = in->find(place(p));
        shown |= here != in->end() && std::ranges::any_of(here->second, [&](const auto& at) {
                   return std::ranges::all_of(witness, [&](const auto& w) {
                     auto it = at.find(w.first);
                     return it != at.end() && it->second == w.second;
                   });
                 });
      }
      if (shown) continue;
      ADD_FAILURE() << what << d.message << ": this never happens";
      return false;
    }
  }
  return true;
}

int runs(int usual) {
  const char* given = std::getenv("QUERN_TEST_RUNS");
  return given ? std::atoi(given) : usual;
}

TEST(Prover, IsSoundOnRandomKernels) {
  Count count;
  int failures = 0;
  for (int i = 0; i < runs(4000) && failures < 3; ++i) {
    Random random(seed() + static_cast<uint64_t>(i));
    std::string kernel = RandomIndexKernel(random).text();
    Text text(kernel);
    if (HasFailure() && failures == 0) return;
    Dims dims{{"A", between(random, 0, 6)}, {"B", between(random, 0, 4)}, {"C", between(random, 1, 5)}};
    auto sizes = bind(text.program(), request(dims));
    ASSERT_TRUE(sizes);
    std::string what = kernel + "A=" + std::to_string(dims["A"]) + " B=" + std::to_string(dims["B"]) +
                       " C=" + std::to_string(dims["C"]) + ", seed " +
                       std::to_string(seed() + static_cast<uint64_t>(i)) + "\n";
    failures += !sound(text.program(), *sizes, prove(text.program(), *sizes), what, random, &count);
    // Some sizes unknown: what is proved then holds for these sizes too.
    Binding partial = *sizes;
    for (const char* name : {"A", "B", "C"}) {
      if (chance(random, 0.6)) partial.sizes.erase(Symbol(name));
    }
    Proofs symbolic = prove(text.program(), partial);
    failures += !sound(text.program(), *sizes, symbolic, "symbolic: " + what, random, nullptr);
  }
  EXPECT_GT(count.proved, 4 * count.checked);
  EXPECT_GT(count.refused, 100);
}

TEST(Prover, ProvesTheLibraryAtManySizes) {
  int64_t places = 0;
  for (const LibraryKernel& k : library()) {
    Random random(seed() ^ std::hash<std::string>()(k.name));
    for (int i = 0; i < 40; ++i) {
      Dims dims = library_sizes(k.name, random, i % 3 == 0 ? 4 : i % 3 == 1 ? 40 : 5000);
      auto sizes = bind(*k.program, request(dims));
      ASSERT_TRUE(sizes) << render(sizes.error());
      Proofs proofs = prove(*k.program, *sizes);
      EXPECT_EQ(render(proofs.errors), "") << k.name;
      EXPECT_EQ(render(proofs.remarks), "") << k.name;
      places += std::ssize(proofs.subscripts);
      for (const SubscriptProof& p : proofs.subscripts)
        EXPECT_TRUE(p.proof == Proof::kProved || p.data) << k.name << " " << p.text;
    }
  }
  EXPECT_GT(places, 20000);
}

// With no sizes at all, as for `dyn`: what holds for every size. Kernels that ask something of their sizes (heads in
// whole groups, whole blocks) can't be proved so; they are listed.
TEST(Prover, ProvesMostOfTheLibraryWithoutSizes) {
  std::string open;
  for (const LibraryKernel& k : library()) {
    Binding none;
    none.shapes.resize(k.program->tensors.size());
    Proofs proofs = prove(*k.program, none);
    EXPECT_EQ(codes(proofs.errors), "") << k.name;
    bool all = std::ranges::all_of(proofs.subscripts,
                                   [](const SubscriptProof& p) { return p.proof == Proof::kProved || p.data; });
    if (!all) open += k.name + " ";
  }
  EXPECT_EQ(open,
            "attention attention_bounded attention_varlen attention_backward conv2d_strided conv2d_grouped max_pool "
            "paged_attention "
            "paged_attention_fp8 int4_linear int4_linear_shuffled fp8_block_linear nvfp4_linear quantize_fp8 rope "
            "rope_interleaved ");
}

TEST(Prover, DamagedKernelsAreNotProved) {
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator("tests/run/damaged")) {
    if (entry.path().extension() == ".qn") files.insert(entry.path());
  }
  EXPECT_GT(files.size(), 100u);
  for (const auto& path : files) {
    SourcePtr source = read_source(path.string()).value();
    lang::Unit unit = lang::load(source);
    ASSERT_EQ(unit.kernels.size(), 1u) << path;
    ASSERT_TRUE(unit.kernels[0].program) << path << render(unit.errors);
    Dims dims = assignments(std::string(source->line(2)));
    auto sizes = bind(*unit.kernels[0].program, request(dims));
    ASSERT_TRUE(sizes) << path << render(sizes.error());
    Proofs proofs = prove(*unit.kernels[0].program, *sizes);
    bool found = std::ranges::any_of(proofs.subscripts,
                                     [](const SubscriptProof& p) { return p.proof != Proof::kProved && !p.data; });
    EXPECT_TRUE(found) << path << "\n" << show(proofs);
  }
}

// --- the cases of section 5 ---

std::string prove_text(const std::string& kernel, const Dims& dims) {
  Text text(kernel);
  auto sizes = bind(text.program(), request(dims));
  EXPECT_TRUE(sizes) << (sizes ? "" : render(sizes.error()));
  Proofs proofs = prove(text.program(), *sizes);
  std::string out = show(proofs);
  for (const Diagnostic& d : proofs.errors) out += "E306 " + d.message + "\n";
  for (const Diagnostic& d : proofs.remarks) out += "R1 " + d.message + "\n";
  return out;
}

TEST(Prover, RefusesWithAWitness) {
  EXPECT_EQ(prove_text("kernel f(x: f32[H]) -> y: f32[H] { y[i] = sum[r < 3] x[i + r] }", {{"H", 7}}),
            "y/0 [i] proved\nx/0 [i + r] refused\nE306 x[i + r]: i = 5, r = 2 gives 7, the dimension has 7\n");
  EXPECT_EQ(prove_text("kernel f(x: f32[H]) -> y: f32[H] { y[i] = x[i - 1] }", {{"H", 7}}),
            "y/0 [i] proved\nx/0 [i - 1] refused\nE306 x[i - 1]: i = 0 gives -1, the dimension has 7\n");
  EXPECT_EQ(prove_text("kernel f(x: f32[H]) -> y: f32[3] { y[i] = x[2 * i] + x[3] }", {{"H", 3}}),
            "y/0 [i] proved\nx/0 [2 * i] refused\nx/0 [3] refused\n"
            "E306 x[2 * i]: i = 2 gives 4, the dimension has 3\nE306 x[3]: it gives 3, the dimension has 3\n");
  // The first N of M, where M is smaller.
  EXPECT_EQ(prove_text("kernel f(a: f32[M], b: f32[N]) -> y: f32[N] { y[i < N] = a[i] + b[i] }", {{"M", 4}, {"N", 5}}),
            "y/0 [i] proved\na/0 [i] refused\nb/0 [i] proved\nE306 a[i]: i = 4 gives 4, the dimension has 4\n");
  // Where a range is empty nothing is read.
  EXPECT_EQ(prove_text("kernel f(x: f32[H]) -> y: f32[H] { y[i] = x[i - 1] }", {{"H", 0}}),
            "y/0 [i] proved\nx/0 [i - 1] proved\n");
}

// A witness is an instance that exists: the corner i = 0 has no j.
TEST(Prover, DoesNotRefuseWhatIsNeverReached) {
  EXPECT_EQ(prove_text("kernel f(x: f32[H]) -> y: f32[H] { y[i] = sum[j < i // 2 * 2 - 2] x[i - 3] }", {{"H", 7}})
                .find("E306"),
            std::string::npos);
  EXPECT_EQ(prove_text("kernel f(x: f32[H], n: i32) -> y: f32[H] { y[i] = sum[j < n] x[i - 1] }", {{"H", 7}}),
            "y/0 [i] proved\nx/0 [i - 1] checked\nR1 kept a check: i - 1 < 7 isn't proved\n");
}

TEST(Prover, GuardsOfEveryShape) {
  const char* proved[] = {
      "x[i + r - 1] if 0 <= i + r - 1 < H else 0",
      "x[i + r - 1] if i + r >= 1 and i + r - 1 < H else 0",
      "0 if i + r < 1 or i + r > H else x[i + r - 1]",
      "x[i + r - 1] if not (i + r < 1 or i + r - 1 >= H) else 0",
      "x[i + r] if i + r == 2 else 0",
      "x[min(i + r, H - 1)]",
      "x[max(i - r, 0)]",
      "x[clamp(i - r, 0, H - 1)]",
      "x[(i + r) % H]",
      "x[i // (r + 1)]",
      "x[(i * 3 + r) // 3]",
      "x[i & (H - 1)]",
      "x[i ^ 1]",
      "x[(i + 8 * r) & 7]",
      "x[i >> 1]",
      "x[abs(i - 7)]",
      "x[H - 1 - i]",
      "1 if i > 0 and x[i - 1] > 0 else 0",
      "1 if i == 0 or x[i - 1] > 0 else 0",
      "x[argmax[j] x[j]]",
      "x[(i - 1 if i > 0 else 0)]",
      "x[(i + r if i + r < H else H - 1)]",
      "x[(i if i < 3 else min(i + r, 7))]",
      "sum[j <= i] x[i - j]",
      "sum[i <= j < H] x[j - i]",
      "sum[j < H // 2] x[2 * j + 1]",
  };
  for (const char* e : proved) {
    std::string report =
        prove_text(std::string("kernel f(x: f32[H]) -> y: f32[H] { y[i] = sum[r < 3] (") + e + ") }", {{"H", 8}});
    EXPECT_EQ(report.find("checked"), std::string::npos) << e << "\n" << report;
    EXPECT_EQ(report.find("refused"), std::string::npos) << e << "\n" << report;
  }
  const char* open[] = {
      "x[i + r - 1] if 0 <= i + r - 1 <= H else 0",
      "x[i + r] if i + r < H or i < H else 0",
      "x[i + r] if not (i + r < 0) else 0",
      "x[min(i + r, H)]",
      "x[(i + r) % (H + 1)]",
      "x[i ^ 8]",
      "x[i & 15] if i >= 0 else 0",
      "sum[j <= i] x[i - j + 1]",
      "x[abs(i - 8)]",
  };
  for (const char* e : open) {
    std::string report =
        prove_text(std::string("kernel f(x: f32[H]) -> y: f32[H] { y[i] = sum[r < 3] (") + e + ") }", {{"H", 8}});
    bool found = report.find("checked") != std::string::npos || report.find("refused") != std::string::npos;
    EXPECT_TRUE(found || std::string(e) == "x[i & 15] if i >= 0 else 0") << e << "\n" << report;
  }
}

TEST(Prover, IntegersWrap) {
  // d + 1 <= H holds of the largest d, whose successor is the least.
  std::string kernel =
      "kernel f(x: f32[H], d: i64[N]) -> y: f32[N] { y[i] = x[d[i]] if d[i] >= 0 and d[i] + 1 <= H else 0 }";
  EXPECT_EQ(prove_text(kernel, {{"H", 8}, {"N", 3}}),
            "y/0 [i] proved\nx/0 [d[i]] checked data\nd/0 [i] proved\nd/0 [i] proved\nd/0 [i] proved\n");
  // 32 bits have room.
  kernel.replace(kernel.find("i64"), 3, "i32");
  EXPECT_NE(prove_text(kernel, {{"H", 8}, {"N", 3}}).find("x/0 [d[i]] proved"), std::string::npos);
}

TEST(Prover, ALocalOutsideItsRangeReadsAsZero) {
  // t is 5 and more in its range, but t[i + 1] may be outside it.
  std::string report = prove_text(
      "kernel f(x: f32[20], n: i32[N]) -> y: f32[N] { t[i < N] = i + 5\n y[i] = x[t[n[i]] - 5] + n[i] }", {{"N", 4}});
  EXPECT_NE(report.find("x/0 [t[n[i]] - 5] checked data"), std::string::npos) << report;
  report = prove_text("kernel f[N](x: f32[20]) -> y: f32[N] { t[i < N] = i + 5\n  y[i] = x[t[i] - 5] }", {{"N", 4}});
  EXPECT_NE(report.find("x/0 [t[i] - 5] proved"), std::string::npos) << report;
}

TEST(Prover, DataIsWhatComesFromTensors) {
  std::string report = prove_text(
      "kernel f(x: f32[N], id: i32[N]) -> y: f32[N] { t[i < N] = i * 2\n u[i < N] = t[i] + 1\n y[i] = x[u[i]] + "
      "x[id[i]] }",
      {{"N", 4}});
  EXPECT_NE(report.find("x/0 [u[i]] checked\n"), std::string::npos) << report;
  EXPECT_NE(report.find("x/0 [id[i]] checked data\n"), std::string::npos) << report;
  EXPECT_NE(report.find("R1 kept a check: u[i] < 4 isn't proved"), std::string::npos) << report;
}

// Deep expressions take time in proportion to their size.
TEST(Prover, DeepExpressionsEnd) {
  for (const char* wrap : {"({} ^ 1)", "abs({})", "max({}, 1)", "({} // (i + 1))", "({} & 7)", "i8({})",
                           "({} if i > 2 else i)", "({} * (i + 1))"}) {
    std::string e = "i";
    for (int d = 0; d < 60; ++d) {
      std::string next = wrap;
      next.replace(next.find("{}"), 2, e);
      e = next;
    }
    prove_text("kernel f(x: f32[N]) -> y: f32[N] { y[i] = x[" + e + "] }", {{"N", 4}});
  }
}

TEST(Prover, LongChainsOfLocalsEnd) {
  std::string body = "t0[i < N] = i\n";
  for (int k = 1; k <= 6000; ++k) {
    std::string before = "t" + std::to_string(k - 1);
    body += "t" + std::to_string(k) + "[i < max(" + before + "[0], N)] = " + before + "[i] ^ 1\n";
  }
  std::string report =
      prove_text("kernel f(x: f32[N]) -> y: f32[N] { " + body + " y[i < N] = x[t6000[i] & 3] }", {{"N", 4}});
  EXPECT_NE(report.find("x/0 [t6000[i] & 3] proved"), std::string::npos);
}

}  // namespace
}  // namespace quern::expr::test
