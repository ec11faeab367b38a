// Arrays and mipmapped arrays by the driver's descriptions.
#include "cuda/runtime/array.h"

#include "cuda/api/entry.h"
#include "cuda/driver/format.h"
#include "cuda/runtime/live.h"

namespace quern::cuda {
namespace {

Error cuArray3DCreate_v2(Array** out, const Array3DDescriptor* d) {
  return entry([&] {
    if (!out || !d) return Error::kInvalidValue;
    auto channels = channels_of(d->format, d->channels);
    if (!channels) return Error::kInvalidValue;
    std::shared_ptr<Array> array;
    Error e = make_array(*channels, {d->width, d->height, d->depth}, d->flags, array);
    if (e == Error::kSuccess) *out = Live<Array>::all().add(std::move(array));
    return e;
  });
}

Error cuArrayCreate_v2(Array** out, const ArrayDescriptor* d) {
  if (!d) return remember(Error::kInvalidValue);
  Array3DDescriptor all{d->width, d->height, 0, d->format, d->channels, 0};
  return cuArray3DCreate_v2(out, &all);
}

Error cuArray3DGetDescriptor_v2(Array3DDescriptor* out, Array* handle) {
  return entry([&] {
    auto array = Live<Array>::all().find(handle);
    if (!array) return Error::kInvalidResourceHandle;
    if (!out) return Error::kInvalidValue;
    DriverFormat f = format_of(array->channels);
    *out = {array->extent.width, array->extent.height, array->extent.depth, f.format, f.channels, array->flags};
    return Error::kSuccess;
  });
}

Error cuArrayGetDescriptor_v2(ArrayDescriptor* out, Array* handle) {
  Array3DDescriptor all{};
  if (Error e = cuArray3DGetDescriptor_v2(&all, handle); e != Error::kSuccess) return e;
  if (!out) return remember(Error::kInvalidValue);
  *out = {all.width, all.height, all.format, all.channels};
  return Error::kSuccess;
}

Error cuMipmappedArrayCreate(MipmappedArray** out, const Array3DDescriptor* d, unsigned levels) {
  if (!d) return remember(Error::kInvalidValue);
  auto channels = channels_of(d->format, d->channels);
  if (!channels) return remember(Error::kInvalidValue);
  auto make = reinterpret_cast<Error (*)(MipmappedArray**, const ChannelDesc*, Extent, unsigned, unsigned)>(
      find_export("cudaMallocMipmappedArray", 13));
  return make(out, &*channels, {d->width, d->height, d->depth}, levels, d->flags);
}

}  // namespace

std::span<const Export> driver_array_exports() {
  static const Export rows[] = {
      QUERN_EXPORT(cuArray3DCreate_v2),        QUERN_EXPORT(cuArrayCreate_v2),
      QUERN_EXPORT(cuArray3DGetDescriptor_v2), QUERN_EXPORT(cuArrayGetDescriptor_v2),
      QUERN_EXPORT(cuMipmappedArrayCreate),
  };
  return rows;
}

}  // namespace quern::cuda
