// Handles, their settings, and what is asked about the library.
#include "cuda/api/exports.h"
#include "cuda/cublas/handle.h"

namespace quern::cuda {
namespace {

constexpr int kVersion = 130100;

BlasStatus create(BlasHandle** out) {
  return blas_guard([&] {
    if (!out) return BlasStatus::kInvalidValue;
    Lock lock(Process::get().mutex);
    *out = Live<BlasHandle>::all().add(std::make_shared<BlasHandle>());
    return BlasStatus::kSuccess;
  });
}

// What a fault left behind may be cleared away.
BlasStatus destroy(BlasHandle* handle) {
  Lock lock(Process::get().mutex);
  return Live<BlasHandle>::all().remove(handle) ? BlasStatus::kSuccess : BlasStatus::kNotInitialized;
}

BlasStatus change(BlasHandle* handle, const std::function<BlasStatus(BlasHandle&)>& body) {
  return blas_guard([&] {
    Lock lock(Process::get().mutex);
    auto found = Live<BlasHandle>::all().find(handle);
    return found ? body(*found) : BlasStatus::kNotInitialized;
  });
}

template <class T>
BlasStatus ask(BlasHandle* handle, T* out, T BlasHandle::*field) {
  return change(handle, [&](BlasHandle& h) {
    if (!out) return BlasStatus::kInvalidValue;
    *out = h.*field;
    return BlasStatus::kSuccess;
  });
}

BlasStatus set_stream(BlasHandle* handle, Stream* stream) {
  return change(handle, [&](BlasHandle& h) {
    if (!find_stream(stream)) return BlasStatus::kInvalidValue;
    h.stream = stream;
    return BlasStatus::kSuccess;
  });
}
BlasStatus get_stream(BlasHandle* handle, Stream** out) { return ask(handle, out, &BlasHandle::stream); }

BlasStatus set_pointer_mode(BlasHandle* handle, BlasPointerMode mode) {
  return change(handle, [&](BlasHandle& h) {
    if (mode != BlasPointerMode::kHost && mode != BlasPointerMode::kDevice) return BlasStatus::kInvalidValue;
    h.pointers = mode;
    return BlasStatus::kSuccess;
  });
}
BlasStatus get_pointer_mode(BlasHandle* handle, BlasPointerMode* out) {
  return ask(handle, out, &BlasHandle::pointers);
}

BlasStatus set_atomics(BlasHandle* handle, BlasAtomics mode) {
  return change(handle, [&](BlasHandle& h) {
    if (mode != BlasAtomics::kAllowed && mode != BlasAtomics::kNotAllowed) return BlasStatus::kInvalidValue;
    h.atomics = mode;
    return BlasStatus::kSuccess;
  });
}
BlasStatus get_atomics(BlasHandle* handle, BlasAtomics* out) { return ask(handle, out, &BlasHandle::atomics); }

// The mode steers how much precision may be given up. None ever is.
BlasStatus set_math(BlasHandle* handle, int mode) {
  return change(handle, [&](BlasHandle& h) {
    constexpr int kNoReducedReduction = 16;
    int kind = mode & ~kNoReducedReduction;
    if (kind != 8 && (kind < 0 || kind > 4)) return BlasStatus::kInvalidValue;
    h.math = mode;
    return BlasStatus::kSuccess;
  });
}
BlasStatus get_math(BlasHandle* handle, int* out) { return ask(handle, out, &BlasHandle::math); }

BlasStatus set_multiprocessors(BlasHandle* handle, int count) {
  return change(handle, [&](BlasHandle& h) {
    if (count < 0) return BlasStatus::kInvalidValue;
    h.multiprocessors = count;
    return BlasStatus::kSuccess;
  });
}
BlasStatus get_multiprocessors(BlasHandle* handle, int* out) { return ask(handle, out, &BlasHandle::multiprocessors); }

// None is needed.
BlasStatus set_workspace(BlasHandle* handle, void* workspace, size_t bytes) {
  return change(handle,
                [&](BlasHandle&) { return workspace || !bytes ? BlasStatus::kSuccess : BlasStatus::kInvalidValue; });
}

BlasStatus get_version(BlasHandle* handle, int* out) {
  // It may be asked without a handle.
  if (!out) return BlasStatus::kInvalidValue;
  Lock lock(Process::get().mutex);
  if (handle && !Live<BlasHandle>::all().find(handle)) return BlasStatus::kNotInitialized;
  *out = kVersion;
  return BlasStatus::kSuccess;
}

BlasStatus get_property(int which, int* out) {
  constexpr int kParts[] = {kVersion / 10000, kVersion / 100 % 100, kVersion % 100};
  if (!out || which < 0 || which > 2) return BlasStatus::kInvalidValue;
  *out = kParts[which];
  return BlasStatus::kSuccess;
}

size_t runtime_version() { return 13000; }

struct StatusRow {
  BlasStatus status;
  const char *name, *text;
};
constexpr StatusRow kStatusRows[] = {
#define QUERN_BLAS_STATUS(name, number, real_name, text) {BlasStatus::k##name, "CUBLAS_STATUS_" #real_name, text},
#include "cuda/abi/cublas_status.def"
#undef QUERN_BLAS_STATUS
};

const char* status_name(BlasStatus status) {
  for (const StatusRow& row : kStatusRows) {
    if (row.status == status) return row.name;
  }
  return "unrecognized status";
}
const char* status_text(BlasStatus status) {
  for (const StatusRow& row : kStatusRows) {
    if (row.status == status) return row.text;
  }
  return "unrecognized status";
}

// Nothing is logged.
BlasStatus configure_logger(int, int, int, const char*) { return BlasStatus::kSuccess; }
BlasStatus set_logger(void*) { return BlasStatus::kSuccess; }
BlasStatus get_logger(void** out) {
  if (!out) return BlasStatus::kInvalidValue;
  *out = nullptr;
  return BlasStatus::kSuccess;
}

}  // namespace

std::span<const Export> blas_info_exports() {
#define ROW(name, function) \
  Export { "cublas" name, reinterpret_cast<void*>(&function) }
  static const Export rows[] = {
      ROW("Create_v2", create),
      ROW("Destroy_v2", destroy),
      ROW("SetStream_v2", set_stream),
      ROW("GetStream_v2", get_stream),
      ROW("SetPointerMode_v2", set_pointer_mode),
      ROW("GetPointerMode_v2", get_pointer_mode),
      ROW("SetAtomicsMode", set_atomics),
      ROW("GetAtomicsMode", get_atomics),
      ROW("SetMathMode", set_math),
      ROW("GetMathMode", get_math),
      ROW("SetSmCountTarget", set_multiprocessors),
      ROW("GetSmCountTarget", get_multiprocessors),
      ROW("SetWorkspace_v2", set_workspace),
      ROW("GetVersion_v2", get_version),
      ROW("GetProperty", get_property),
      ROW("GetCudartVersion", runtime_version),
      ROW("GetStatusName", status_name),
      ROW("GetStatusString", status_text),
      ROW("LoggerConfigure", configure_logger),
      ROW("SetLoggerCallback", set_logger),
      ROW("GetLoggerCallback", get_logger),
  };
#undef ROW
  return rows;
}

}  // namespace quern::cuda
