// Start-up, devices and contexts. A context is a device that a thread uses; each device has one that is there from the
// start, the primary one, which the runtime uses too.
#include <cstring>
#include <map>
#include <vector>

#include "cuda/api/entry.h"
#include "cuda/runtime/device_memory.h"
#include "cuda/runtime/live.h"
#include "cuda/runtime/properties.h"

namespace quern::cuda {
namespace {

struct Context {
  int device = 0;
  uint32_t flags = 0;
  bool primary = false;
};

std::shared_ptr<Context> primary(int device) {
  static auto& all = *new std::map<int, std::shared_ptr<Context>>;
  auto& c = all[device];
  if (!c) {
    c = std::make_shared<Context>(Context{device, 0, true});
    Live<Context>::all().add(c);
  }
  return c;
}

// Contexts of the thread; the last is current. Empty: the primary one of its device.
std::vector<Context*>& stack() {
  thread_local std::vector<Context*> all;
  return all;
}

void use_top() {
  if (!stack().empty()) thread_state().device = stack().back()->device;
}

Error cuInit(unsigned flags) {
  return entry([&] { return flags ? Error::kInvalidValue : Error::kSuccess; });
}

Error cuDeviceGet(int* out, int number) {
  return entry([&] {
    if (!out) return Error::kInvalidValue;
    if (!Process::get().has_device(number)) return Error::kInvalidDevice;
    *out = number;
    return Error::kSuccess;
  });
}

Error cuDeviceGetName(char* out, int length, int device) {
  return entry([&] {
    if (!out || length <= 0) return Error::kInvalidValue;
    if (!Process::get().has_device(device)) return Error::kInvalidDevice;
    Properties p = properties_of(device);
    size_t size = std::min<size_t>(static_cast<size_t>(length) - 1, std::strlen(p.name));
    std::memcpy(out, p.name, size);
    out[size] = '\0';
    return Error::kSuccess;
  });
}

Error cuDeviceGetUuid(Uuid* out, int device) {
  return entry([&] {
    if (!out) return Error::kInvalidValue;
    if (!Process::get().has_device(device)) return Error::kInvalidDevice;
    *out = properties_of(device).uuid;
    return Error::kSuccess;
  });
}

Error cuDeviceTotalMem_v2(size_t* out, int device) {
  return entry([&] {
    if (!out) return Error::kInvalidValue;
    if (!Process::get().has_device(device)) return Error::kInvalidDevice;
    *out = static_cast<size_t>(total_bytes(device));
    return Error::kSuccess;
  });
}

Error cuDeviceComputeCapability(int* major, int* minor, int device) {
  return entry([&] {
    if (!major || !minor) return Error::kInvalidValue;
    if (!Process::get().has_device(device)) return Error::kInvalidDevice;
    *major = properties_of(device).major;
    *minor = properties_of(device).minor;
    return Error::kSuccess;
  });
}

Error cuDevicePrimaryCtxRetain(Context** out, int device) {
  return entry([&] {
    if (!out) return Error::kInvalidValue;
    if (!Process::get().has_device(device)) return Error::kInvalidDevice;
    *out = primary(device).get();
    return Error::kSuccess;
  });
}

Error cuDevicePrimaryCtxRelease_v2(int device) {
  return entry([&] { return Process::get().has_device(device) ? Error::kSuccess : Error::kInvalidDevice; });
}

Error cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) {
  return entry([&] {
    if (!Process::get().has_device(device)) return Error::kInvalidDevice;
    primary(device)->flags = flags;
    return Error::kSuccess;
  });
}

Error cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  return entry([&] {
    if (!Process::get().has_device(device)) return Error::kInvalidDevice;
    if (flags) *flags = primary(device)->flags;
    if (active) *active = 1;
    return Error::kSuccess;
  });
}

Error cuCtxCreate_v2(Context** out, unsigned flags, int device) {
  return entry([&] {
    if (!out) return Error::kInvalidValue;
    if (!Process::get().has_device(device)) return Error::kInvalidDevice;
    *out = Live<Context>::all().add(std::make_shared<Context>(Context{device, flags, false}));
    stack().push_back(*out);
    use_top();
    return Error::kSuccess;
  });
}

// With parameters that say how much of the device it is to have.
Error cuCtxCreate_v4(Context** out, void*, unsigned flags, int device) { return cuCtxCreate_v2(out, flags, device); }
Error cuCtxCreate_v3(Context** out, void*, int, unsigned flags, int device) {
  return cuCtxCreate_v2(out, flags, device);
}

Error cuCtxDestroy_v2(Context* context) {
  return entry([&] {
    auto found = Live<Context>::all().find(context);
    if (!found || found->primary) return Error::kDeviceUninitialized;
    std::erase(stack(), context);
    use_top();
    Live<Context>::all().remove(context);
    return Error::kSuccess;
  });
}

Error cuCtxSetCurrent(Context* context) {
  return entry([&] {
    if (!stack().empty()) stack().pop_back();
    if (!context) return Error::kSuccess;
    if (!Live<Context>::all().find(context)) return Error::kDeviceUninitialized;
    stack().push_back(context);
    use_top();
    return Error::kSuccess;
  });
}

Error cuCtxGetCurrent(Context** out) {
  return entry([&] {
    if (!out) return Error::kInvalidValue;
    *out = stack().empty() ? nullptr : stack().back();
    return Error::kSuccess;
  });
}

Error cuCtxPushCurrent_v2(Context* context) {
  return entry([&] {
    if (!Live<Context>::all().find(context)) return Error::kDeviceUninitialized;
    stack().push_back(context);
    use_top();
    return Error::kSuccess;
  });
}

Error cuCtxPopCurrent_v2(Context** out) {
  return entry([&] {
    if (stack().empty()) return Error::kDeviceUninitialized;
    if (out) *out = stack().back();
    stack().pop_back();
    use_top();
    return Error::kSuccess;
  });
}

Error cuCtxGetDevice(int* out) {
  return entry([&] {
    if (!out) return Error::kInvalidValue;
    *out = thread_state().device;
    return Error::kSuccess;
  });
}

Error cuCtxGetFlags(unsigned* out) {
  return entry([&] {
    if (!out) return Error::kInvalidValue;
    *out = stack().empty() ? primary(thread_state().device)->flags : stack().back()->flags;
    return Error::kSuccess;
  });
}

Error cuCtxGetApiVersion(Context*, unsigned* out) {
  return entry([&] {
    if (!out) return Error::kInvalidValue;
    *out = 3020;
    return Error::kSuccess;
  });
}

Error cuCtxEnablePeerAccess(Context* peer, unsigned flags) {
  return entry([&] {
    auto found = Live<Context>::all().find(peer);
    if (!found || flags) return found ? Error::kInvalidValue : Error::kDeviceUninitialized;
    return current_device().peers.insert(found->device).second ? Error::kSuccess : Error::kPeerAccessAlreadyEnabled;
  });
}

Error cuGetErrorName(Error e, const char** out) {
  const ErrorRow* row = find_row(e);
  if (out) *out = row ? row->driver_name : nullptr;
  return row && out ? Error::kSuccess : Error::kInvalidValue;
}

Error cuGetErrorString(Error e, const char** out) {
  const ErrorRow* row = find_row(e);
  if (out) *out = row ? row->text : nullptr;
  return row && out ? Error::kSuccess : Error::kInvalidValue;
}

// A driver's function by its name, in the variant of the newest version that is not newer than the caller's.
Error find_function(const char* name, void** out, int, uint64_t, int* status) {
  if (!name || !out) return Error::kInvalidValue;
  *out = nullptr;
  for (const char* suffix : {"_v4", "_v3", "_v2", ""}) {
    *out = find_export(std::string(name) + suffix, kDriverVersion);
    if (*out) break;
  }
  if (status) *status = *out ? 0 : 1;  // CU_GET_PROC_ADDRESS_SUCCESS, _SYMBOL_NOT_FOUND
  return *out ? Error::kSuccess : Error::kSymbolNotFound;
}

// Tables of functions without a name, which NVRTC looks for: there are none, and nothing is missed.
Error cuGetExportTable(const void** out, const Uuid*) {
  if (out) *out = nullptr;
  return Error::kSymbolNotFound;
}

Error find_function_v1(const char* name, void** out, int version, uint64_t flags) {
  return find_function(name, out, version, flags, nullptr);
}

}  // namespace

std::span<const Export> context_exports() {
  static const Export rows[] = {
      QUERN_EXPORT(cuInit),
      QUERN_EXPORT(cuDeviceGet),
      QUERN_EXPORT(cuDeviceGetName),
      QUERN_EXPORT(cuDeviceGetUuid),
      QUERN_EXPORT_AS(cuDeviceGetUuid_v2, cuDeviceGetUuid, 0),
      QUERN_EXPORT(cuDeviceTotalMem_v2),
      QUERN_EXPORT(cuDeviceComputeCapability),
      QUERN_EXPORT(cuDevicePrimaryCtxRetain),
      QUERN_EXPORT(cuDevicePrimaryCtxRelease_v2),
      QUERN_EXPORT_AS(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, 0),
      QUERN_EXPORT_AS(cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxRelease_v2, 0),
      QUERN_EXPORT(cuDevicePrimaryCtxSetFlags_v2),
      QUERN_EXPORT(cuDevicePrimaryCtxGetState),
      QUERN_EXPORT(cuCtxCreate_v2),
      QUERN_EXPORT(cuCtxCreate_v3),
      QUERN_EXPORT(cuCtxCreate_v4),
      QUERN_EXPORT(cuCtxDestroy_v2),
      QUERN_EXPORT(cuCtxSetCurrent),
      QUERN_EXPORT(cuCtxGetCurrent),
      QUERN_EXPORT(cuCtxPushCurrent_v2),
      QUERN_EXPORT(cuCtxPopCurrent_v2),
      QUERN_EXPORT(cuCtxGetDevice),
      QUERN_EXPORT(cuCtxGetFlags),
      QUERN_EXPORT(cuCtxGetApiVersion),
      QUERN_EXPORT(cuCtxEnablePeerAccess),
      QUERN_EXPORT(cuGetErrorName),
      QUERN_EXPORT(cuGetErrorString),
      QUERN_EXPORT(cuGetExportTable),
      QUERN_EXPORT_AS(cuGetProcAddress_v2, find_function, 0),
      QUERN_EXPORT_AS(cuGetProcAddress, find_function_v1, 0),
  };
  return rows;
}

}  // namespace quern::cuda
