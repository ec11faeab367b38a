// The library that holds everything: of all that is in it programs see the tables that trampolines and the
// preload jump through. They are filled when it is loaded, which is before any constructor of a program that needs it.
// `quern` itself opens it for `quern_virtual_gpu`.
#include <algorithm>

#include "cuda/api/exports.h"
#include "cuda/kernel/run_kernel.h"

namespace {

constexpr size_t kMost = 1024;

}  // namespace

extern "C" {
[[gnu::visibility("default")]] void* quern_cudart_13[kMost];
[[gnu::visibility("default")]] void* quern_cudart_12[kMost];
[[gnu::visibility("default")]] void* quern_driver[kMost];
[[gnu::visibility("default")]] void* quern_cublas[kMost];
[[gnu::visibility("default")]] void* quern_curand[kMost];

[[gnu::visibility("default")]] const quern::backend::VirtualGpu* quern_virtual_gpu() {
  static const quern::backend::VirtualGpu gpu = {QUERN_VERSION, &quern::cuda::run_kernel};
  return &gpu;
}
}

namespace {

[[gnu::constructor]] void fill_tables() {
  std::ranges::copy(quern::cuda::export_table(13), quern_cudart_13);
  std::ranges::copy(quern::cuda::export_table(12), quern_cudart_12);
  std::ranges::copy(quern::cuda::export_table(quern::cuda::kDriverVersion), quern_driver);
  std::ranges::copy(quern::cuda::export_table(quern::cuda::kBlasVersion), quern_cublas);
  std::ranges::copy(quern::cuda::export_table(quern::cuda::kRandomVersion), quern_curand);
}

}  // namespace
