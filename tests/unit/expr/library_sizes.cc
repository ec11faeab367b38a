#include "library_sizes.h"

#include <algorithm>

namespace quern::expr::test {

Dims library_sizes(const std::string& kernel, Random& random, int64_t most, bool zeros) {
  const Program& program = library_kernel(kernel);
  Dims d;
  // Mostly small ones, so that the work stays small however many there are.
  double large = 1.2 / static_cast<double>(program.dimensions.size() + 1);
  for (const Dimension& x : program.dimensions) {
    d[x.name.str()] = zeros && chance(random, 0.06)
                          ? 0
                          : between(random, 1, chance(random, large) ? most : std::min<int64_t>(most, 4));
  }
  auto has = [&](const char* name) { return d.contains(name); };
  auto multiple = [&](const char* name, int64_t of) {
    d[name] = of * between(random, zeros ? 0 : 1, std::max<int64_t>(1, most / std::max<int64_t>(of, 1)));
  };
  auto least = [&](const char* name, int64_t n) { d[name] = std::max(d[name], n); };
  bool heads = has("H") && has("G") && !kernel.starts_with("conv");
  if (heads) {
    least("G", 1);
    d["H"] = d["G"] * between(random, 1, 3);
  }
  if (kernel.starts_with("conv2d") || kernel == "max_pool") {
    most = std::min<int64_t>(most, 5);
    for (const char* n : {"R", "S", "U"}) {
      if (has(n)) d[n] = between(random, 1, 4);
    }
    d["H"] = d["R"] + between(random, 0, most);
    d["W"] = (has("S") ? d["S"] : d["R"]) + between(random, 0, most);
    if (has("P")) d["P"] = between(random, 0, 3);
    if (kernel == "conv2d_grouped") {
      d["G"] = between(random, 1, 3);
      multiple("K", d["G"]);
    }
  }
  if (kernel == "int4_linear") {
    d["L"] = between(random, 1, 5);
    d["K"] = 2 * d["L"] * between(random, 0, std::max<int64_t>(1, most / (2 * d["L"])));
  }
  if (kernel == "int4_linear_shuffled") multiple("K", 32);
  if (kernel == "nvfp4_linear") multiple("K", 16);
  if (kernel == "fp8_block_linear" || kernel == "quantize_fp8") {
    least("L", 1);
    multiple("K", d["L"]);
  }
  if (kernel.starts_with("rope")) multiple("D", 2);
  if (kernel.starts_with("rope") && has("P")) least("P", 1);
  if (kernel.starts_with("paged") || kernel == "cache_append") {
    for (const char* n : {"L", "P"}) least(n, 1);
  }
  if (kernel == "cache_append") d["N"] = between(random, 0, d["P"] * d["L"]);
  if (kernel == "route") d["K"] = between(random, 0, d["X"]);
  if (kernel == "top_k") d["K"] = between(random, 0, d["N"]);
  for (const char* n : {"V", "X"}) {  // ids need something to name
    if (has(n) && kernel != "route") least(n, 1);
  }
  return d;
}

}  // namespace quern::expr::test
