// cudaDeviceProp, as CUDA 12 and CUDA 13 lay it out.
#pragma once

#include "cuda/abi/types.h"

namespace quern::cuda {

template <class T, int kCount>
struct Field {
  using type = T[kCount];
};
template <class T>
struct Field<T, 1> {
  using type = T;
};

struct DeviceProp13 {
#define QUERN_FIELD(t, name, count) Field<t, count>::type name;
#define QUERN_FIELD_12(type, name, count)
#define QUERN_FIELD_13(t, name, count) Field<t, count>::type name;
#include "cuda/abi/device_prop.def"
#undef QUERN_FIELD_12
#undef QUERN_FIELD_13
  int reserved[56];
};

struct DeviceProp12 {
#define QUERN_FIELD_12(t, name, count) Field<t, count>::type name;
#define QUERN_FIELD_13(type, name, count)
#include "cuda/abi/device_prop.def"
#undef QUERN_FIELD
#undef QUERN_FIELD_12
#undef QUERN_FIELD_13
  int reserved[63];
};

}  // namespace quern::cuda
