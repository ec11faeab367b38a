// What programs pass to cuRAND, and what it returns.
#pragma once

#include <cstdint>

namespace quern::cuda {

enum class RandomStatus : int {  // curandStatus_t
  kSuccess = 0,
  kVersionMismatch = 100,
  kNotInitialized = 101,
  kAllocationFailed = 102,
  kTypeError = 103,
  kOutOfRange = 104,
  kLengthNotMultiple = 105,
  kDoubleRequired = 106,
  kLaunchFailure = 201,
  kPreexistingFailure = 202,
  kInitializationFailed = 203,
  kArchMismatch = 204,
  kInternalError = 999,
};

enum class RandomType : int {  // curandRngType_t
  kDefault = 100,
  kXorwow = 101,
  kMrg32k3a = 121,
  kMtgp32 = 141,
  kMt19937 = 142,
  kPhilox = 161,
  kQuasiDefault = 200,
  kSobol32 = 201,
  kScrambledSobol32 = 202,
  kSobol64 = 203,
  kScrambledSobol64 = 204,
};

enum class RandomOrdering : int {  // curandOrdering_t
  kBest = 100,
  kDefault = 101,
  kSeeded = 102,
  kLegacy = 103,
  kDynamic = 104,
  kQuasiDefault = 201,
};

enum class DirectionSet : int {  // curandDirectionVectorSet_t
  kSobol32 = 101,
  kScrambled32 = 102,
  kSobol64 = 103,
  kScrambled64 = 104,
};

}  // namespace quern::cuda
