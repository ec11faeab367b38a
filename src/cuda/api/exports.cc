#include "cuda/api/exports.h"

#include <atomic>
#include <map>
#include <utility>

#include "cuda/abi/cublas_types.h"
#include "cuda/abi/curand_types.h"
#include "cuda/api/entry.h"

namespace quern::cuda {
namespace {

constexpr const char* kNames13[] = {
#define QUERN_CUDART(name) #name,
#include "cuda/api/names_13.def"
#undef QUERN_CUDART
};

constexpr const char* kNames12[] = {
#define QUERN_CUDART(name) #name,
#include "cuda/api/names_12.def"
#undef QUERN_CUDART
};

constexpr const char* kNamesDriver[] = {
#define QUERN_CUDART(name) #name,
#include "cuda/driver/names_driver.def"
#undef QUERN_CUDART
};

constexpr const char* kNamesBlas[] = {
#define QUERN_CUDART(name) #name,
#include "cuda/cublas/names_cublas.def"
#undef QUERN_CUDART
};

constexpr const char* kNamesRandom[] = {
#define QUERN_CUDART(name) #name,
#include "cuda/curand/names_curand.def"
#undef QUERN_CUDART
};

void say_missing(const char* name, std::atomic<bool>& said) {
  if (!said.exchange(true)) warn({diagnose(Code::N922, {}, {{"what", name}})});
}

// What stands in a table where there is no implementation: a function for each place, since it has to know its name.
template <int kVersion, size_t kIndex>
int missing() {
  static std::atomic<bool> said = false;
  say_missing(exported_names(kVersion)[kIndex], said);
  if (kVersion == kBlasVersion) return static_cast<int>(BlasStatus::kNotSupported);
  if (kVersion == kRandomVersion) return static_cast<int>(RandomStatus::kInternalError);
  return static_cast<int>(remember(Error::kNotSupported));
}

template <int kVersion, size_t... kIndex>
std::vector<void*> table(std::index_sequence<kIndex...>) {
  std::vector<void*> out = {reinterpret_cast<void*>(&missing<kVersion, kIndex>)...};
  for (size_t i = 0; i < out.size(); ++i) {
    if (void* found = find_export(exported_names(kVersion)[i], kVersion)) out[i] = found;
  }
  return out;
}

const std::map<std::pair<std::string_view, int>, void*>& implementations() {
  static const auto& all = *new std::map<std::pair<std::string_view, int>, void*>([] {
    std::map<std::pair<std::string_view, int>, void*> out;
    auto add = [&](std::span<const Export> rows) {
      for (const Export& e : rows) {
        if (e.version != 12) out[{e.name, 13}] = e.function;
        if (e.version != 13) out[{e.name, 12}] = e.function;
      }
    };
#define QUERN_TABLE(name) add(name##_exports());
    QUERN_EXPORT_TABLES(QUERN_TABLE)
#undef QUERN_TABLE
    auto add_all = [&](std::span<const Export> rows, int version) {
      for (const Export& e : rows) out[{e.name, version}] = e.function;
    };
#define QUERN_TABLE(name) add_all(name##_exports(), kDriverVersion);
    QUERN_DRIVER_TABLES(QUERN_TABLE)
#undef QUERN_TABLE
#define QUERN_TABLE(name) add_all(name##_exports(), kBlasVersion);
    QUERN_BLAS_TABLES(QUERN_TABLE)
#undef QUERN_TABLE
#define QUERN_TABLE(name) add_all(name##_exports(), kRandomVersion);
    QUERN_RANDOM_TABLES(QUERN_TABLE)
#undef QUERN_TABLE
#define QUERN_SAME(driver, runtime) out[{#driver, kDriverVersion}] = out.at({#runtime, 13});
#include "cuda/driver/same.def"
#undef QUERN_SAME
    return out;
  }());
  return all;
}

}  // namespace

std::span<const char* const> exported_names(int version) {
  if (version == kDriverVersion) return kNamesDriver;
  if (version == kBlasVersion) return kNamesBlas;
  if (version == kRandomVersion) return kNamesRandom;
  if (version == 12) return kNames12;
  return kNames13;
}

std::vector<void*> export_table(int version) {
  switch (version) {
    case kDriverVersion: return table<kDriverVersion>(std::make_index_sequence<std::size(kNamesDriver)>());
    case kBlasVersion: return table<kBlasVersion>(std::make_index_sequence<std::size(kNamesBlas)>());
    case kRandomVersion: return table<kRandomVersion>(std::make_index_sequence<std::size(kNamesRandom)>());
    case 12: return table<12>(std::make_index_sequence<std::size(kNames12)>());
    default: return table<13>(std::make_index_sequence<std::size(kNames13)>());
  }
}

void* find_export(std::string_view name, int version) {
  auto found = implementations().find({name, version});
  return found == implementations().end() ? nullptr : found->second;
}

}  // namespace quern::cuda
