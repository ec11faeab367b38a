// What devices may access of each other. All memory is in one range of addresses, so every device can reach every
// other's; whether it may is bookkeeping.
#include "cuda/api/entry.h"

namespace quern::cuda {
namespace {

Error cudaDeviceCanAccessPeer(int* out, int device, int peer) {
  return entry([&] {
    if (!Process::get().has_device(device) || !Process::get().has_device(peer)) return Error::kInvalidDevice;
    if (!out) return Error::kInvalidValue;
    *out = device != peer;
    return Error::kSuccess;
  });
}

Error cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  return entry([&] {
    if (!Process::get().has_device(peer) || peer == thread_state().device) return Error::kInvalidDevice;
    if (flags) return Error::kInvalidValue;
    bool added = current_device().peers.insert(peer).second;
    return added ? Error::kSuccess : Error::kPeerAccessAlreadyEnabled;
  });
}

Error cudaDeviceDisablePeerAccess(int peer) {
  return entry([&] {
    if (!Process::get().has_device(peer)) return Error::kInvalidDevice;
    return current_device().peers.erase(peer) ? Error::kSuccess : Error::kPeerAccessNotEnabled;
  });
}

enum PeerAttribute : int { kRank = 1, kAccess = 2, kAtomics = 3, kArrays = 4, kPartialAtomics = 5 };

Error cudaDeviceGetP2PAttribute(int* out, int attribute, int device, int peer) {
  return entry([&] {
    bool known = Process::get().has_device(device) && Process::get().has_device(peer) && device != peer;
    if (!known) return Error::kInvalidDevice;
    if (!out || attribute < kRank || attribute > kPartialAtomics) return Error::kInvalidValue;
    *out = attribute == kAccess || attribute == kAtomics || attribute == kArrays;
    return Error::kSuccess;
  });
}

}  // namespace

std::span<const Export> peer_exports() {
  static const Export rows[] = {
      QUERN_EXPORT(cudaDeviceCanAccessPeer),
      QUERN_EXPORT(cudaDeviceEnablePeerAccess),
      QUERN_EXPORT(cudaDeviceDisablePeerAccess),
      QUERN_EXPORT(cudaDeviceGetP2PAttribute),
  };
  return rows;
}

}  // namespace quern::cuda
