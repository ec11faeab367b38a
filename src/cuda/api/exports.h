// The functions of CUDA's runtime, driver and libraries that there are, by name, and the tables that the replacement
// libraries and the preload jump through. Every name that a real library exports has an entry: where nothing is behind
// it, calling it gives cudaErrorNotSupported, or what its library has for that, and says so once on standard error.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace quern::cuda {

struct Export {
  const char* name;
  void* function;
  int version = 0;  // 12: for programs of CUDA 12 only; 13 alike; 0: for both
};

// In place of a version of the runtime.
inline constexpr int kDriverVersion = 1, kBlasVersion = 2, kRandomVersion = 3;

// The tables of functions: the runtime's, the driver's, cuBLAS's, cuRAND's.
#define QUERN_EXPORT_TABLES(X)                                                                                     \
  X(advise)                                                                                                        \
  X(array)                                                                                                         \
  X(capture)                                                                                                       \
  X(copy)                                                                                                          \
  X(copy_array)                                                                                                    \
  X(device)                                                                                                        \
  X(driver_entry)                                                                                                  \
  X(error) X(event) X(function) X(graph) X(graph_node) X(graph_param) X(graph_symbol) X(host) X(launch) X(library) \
      X(memory) X(occupancy) X(peer) X(pool) X(register) X(stream) X(symbol) X(texture) X(user_object)
#define QUERN_DRIVER_TABLES(X) \
  X(context)                   \
  X(module)                    \
  X(driver_memory) X(driver_array) X(driver_copy_array) X(driver_texture) X(driver_texture_reference) X(driver_link)
#define QUERN_BLAS_TABLES(X) \
  X(blas_info)               \
  X(blas_transfer)           \
  X(blas_gemm)               \
  X(blas_gemm_ex) X(blas_level1) X(blas_level2) X(blas_level3) X(blas_gemv) X(blas_trsm) X(blas_factor) X(blas_host)
#define QUERN_RANDOM_TABLES(X) X(random_settings) X(random_generate)
#define QUERN_TABLE(name) std::span<const Export> name##_exports();
QUERN_EXPORT_TABLES(QUERN_TABLE)
QUERN_DRIVER_TABLES(QUERN_TABLE)
QUERN_BLAS_TABLES(QUERN_TABLE)
QUERN_RANDOM_TABLES(QUERN_TABLE)
#undef QUERN_TABLE

// Names that the library of a version (12, 13, the driver …) exports, in the order of its table.
std::span<const char* const> exported_names(int version);
// A function for each of these names.
std::vector<void*> export_table(int version);
// Null: no implementation.
void* find_export(std::string_view name, int version);

}  // namespace quern::cuda
