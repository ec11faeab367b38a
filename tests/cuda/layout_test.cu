// Our declarations of what programs pass to CUDA's functions, held against the toolkit's own: sizes, offsets, numbers.
// It is right if it compiles.
#include <cuda.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <curand.h>

#include <cstddef>

#include "cuda/abi/cublas_types.h"
#include "cuda/abi/curand_types.h"
#include "cuda/abi/device_prop.h"
#include "cuda/abi/driver_types.h"
#include "cuda/abi/graph_types.h"
#include "cuda/abi/texture_types.h"

namespace {

using namespace quern::cuda;

#define SAME_SIZE(ours, theirs) static_assert(sizeof(ours) == sizeof(theirs), #theirs)
#define SAME_PLACE(ours, our_field, theirs, their_field)                                                      \
  static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field) &&                                 \
                    sizeof(((ours*)0)->our_field) == sizeof(((theirs*)0)->their_field),                       \
                #theirs "." #their_field)

constexpr int cudaErrorSuccess = cudaSuccess;
#define QUERN_CUDA_ERROR(name, number, text) static_assert(number == cudaError##name, #name);
#include "cuda/abi/error.def"
#undef QUERN_CUDA_ERROR

SAME_SIZE(DeviceProp13, cudaDeviceProp);
#define QUERN_FIELD(type, name, count) SAME_PLACE(DeviceProp13, name, cudaDeviceProp, name);
#define QUERN_FIELD_12(type, name, count)
#define QUERN_FIELD_13(type, name, count) SAME_PLACE(DeviceProp13, name, cudaDeviceProp, name);
#include "cuda/abi/device_prop.def"

SAME_SIZE(Dim3, dim3);
SAME_SIZE(Extent, cudaExtent);
SAME_SIZE(Pos, cudaPos);
SAME_SIZE(PitchedPtr, cudaPitchedPtr);
SAME_PLACE(PitchedPtr, pitch, cudaPitchedPtr, pitch);
SAME_PLACE(PitchedPtr, ysize, cudaPitchedPtr, ysize);
SAME_SIZE(Copy3D, cudaMemcpy3DParms);
SAME_PLACE(Copy3D, src_ptr, cudaMemcpy3DParms, srcPtr);
SAME_PLACE(Copy3D, dst_array, cudaMemcpy3DParms, dstArray);
SAME_PLACE(Copy3D, extent, cudaMemcpy3DParms, extent);
SAME_PLACE(Copy3D, kind, cudaMemcpy3DParms, kind);
SAME_SIZE(Copy3DPeer, cudaMemcpy3DPeerParms);
SAME_PLACE(Copy3DPeer, dst_device, cudaMemcpy3DPeerParms, dstDevice);
SAME_SIZE(MemsetParams, cudaMemsetParams);
SAME_PLACE(MemsetParams, element_size, cudaMemsetParams, elementSize);
SAME_SIZE(ChannelDesc, cudaChannelFormatDesc);
SAME_SIZE(PointerAttributes, cudaPointerAttributes);
SAME_PLACE(PointerAttributes, host_pointer, cudaPointerAttributes, hostPointer);
SAME_SIZE(FuncAttributes, cudaFuncAttributes);
SAME_PLACE(FuncAttributes, registers, cudaFuncAttributes, numRegs);
SAME_PLACE(FuncAttributes, max_dynamic_shared, cudaFuncAttributes, maxDynamicSharedSizeBytes);
SAME_PLACE(FuncAttributes, non_portable_cluster, cudaFuncAttributes, nonPortableClusterSizeAllowed);
SAME_SIZE(LaunchAttribute, cudaLaunchAttribute);
SAME_PLACE(LaunchAttribute, value, cudaLaunchAttribute, val);
SAME_SIZE(LaunchConfig, cudaLaunchConfig_t);
SAME_PLACE(LaunchConfig, attributes, cudaLaunchConfig_t, attrs);
SAME_PLACE(LaunchConfig, attribute_count, cudaLaunchConfig_t, numAttrs);
static_assert(static_cast<int>(LaunchAttributeId::kClusterDimension) == cudaLaunchAttributeClusterDimension);
SAME_SIZE(Location, cudaMemLocation);
SAME_SIZE(AccessDesc, cudaMemAccessDesc);
SAME_SIZE(PoolProps, cudaMemPoolProps);
SAME_PLACE(PoolProps, max_size, cudaMemPoolProps, maxSize);

SAME_SIZE(KernelNodeParams, cudaKernelNodeParams);
SAME_PLACE(KernelNodeParams, arguments, cudaKernelNodeParams, kernelParams);
SAME_SIZE(MemcpyNodeParams, cudaMemcpyNodeParams);
SAME_PLACE(MemcpyNodeParams, copy, cudaMemcpyNodeParams, copyParams);
SAME_SIZE(HostNodeParams, cudaHostNodeParams);
SAME_SIZE(AllocNodeParams, cudaMemAllocNodeParams);
SAME_PLACE(AllocNodeParams, pointer, cudaMemAllocNodeParams, dptr);
SAME_SIZE(ChildGraphNodeParams, cudaChildGraphNodeParams);
SAME_SIZE(GraphNodeParams, cudaGraphNodeParams);
SAME_PLACE(GraphNodeParams, kernel, cudaGraphNodeParams, kernel);
SAME_SIZE(EdgeData, cudaGraphEdgeData);
SAME_SIZE(UpdateResultInfo, cudaGraphExecUpdateResultInfo);
SAME_SIZE(InstantiateParams, cudaGraphInstantiateParams);
static_assert(static_cast<int>(NodeType::kMemFree) == cudaGraphNodeTypeMemFree);

SAME_SIZE(ResourceDesc, cudaResourceDesc);
SAME_PLACE(ResourceDesc, linear.bytes, cudaResourceDesc, res.linear.sizeInBytes);
SAME_PLACE(ResourceDesc, pitch2d.channels, cudaResourceDesc, res.pitch2D.desc);
SAME_PLACE(ResourceDesc, pitch2d.pitch, cudaResourceDesc, res.pitch2D.pitchInBytes);
SAME_PLACE(ResourceDesc, flags, cudaResourceDesc, flags);
SAME_SIZE(TextureDesc, cudaTextureDesc);
SAME_PLACE(TextureDesc, border, cudaTextureDesc, borderColor);
SAME_PLACE(TextureDesc, normalized, cudaTextureDesc, normalizedCoords);
SAME_PLACE(TextureDesc, seamless_cubemap, cudaTextureDesc, seamlessCubemap);
SAME_SIZE(ViewDesc, cudaResourceViewDesc);
SAME_PLACE(ViewDesc, first_layer, cudaResourceViewDesc, firstLayer);

SAME_SIZE(ArrayDescriptor, CUDA_ARRAY_DESCRIPTOR);
SAME_SIZE(Array3DDescriptor, CUDA_ARRAY3D_DESCRIPTOR);
SAME_PLACE(Array3DDescriptor, flags, CUDA_ARRAY3D_DESCRIPTOR, Flags);
SAME_SIZE(DriverResourceDesc, CUDA_RESOURCE_DESC);
SAME_PLACE(DriverResourceDesc, linear.bytes, CUDA_RESOURCE_DESC, res.linear.sizeInBytes);
SAME_PLACE(DriverResourceDesc, pitch2d.pitch, CUDA_RESOURCE_DESC, res.pitch2D.pitchInBytes);
SAME_PLACE(DriverResourceDesc, flags, CUDA_RESOURCE_DESC, flags);
SAME_SIZE(DriverTextureDesc, CUDA_TEXTURE_DESC);
SAME_PLACE(DriverTextureDesc, border, CUDA_TEXTURE_DESC, borderColor);
SAME_PLACE(DriverTextureDesc, flags, CUDA_TEXTURE_DESC, flags);
SAME_SIZE(ViewDesc, CUDA_RESOURCE_VIEW_DESC);
SAME_SIZE(DriverCopy2D, CUDA_MEMCPY2D);
SAME_PLACE(DriverCopy2D, to.pitch, CUDA_MEMCPY2D, dstPitch);
SAME_PLACE(DriverCopy2D, height, CUDA_MEMCPY2D, Height);
SAME_SIZE(DriverCopy3D, CUDA_MEMCPY3D);
SAME_PLACE(DriverCopy3D, from.height, CUDA_MEMCPY3D, srcHeight);
SAME_PLACE(DriverCopy3D, to.array, CUDA_MEMCPY3D, dstArray);
SAME_PLACE(DriverCopy3D, depth, CUDA_MEMCPY3D, Depth);
static_assert(kFormatFloat == CU_AD_FORMAT_FLOAT && kFormatHalf == CU_AD_FORMAT_HALF);
static_assert(kFormatSigned32 == CU_AD_FORMAT_SIGNED_INT32 && kFormatNormalized == CU_AD_FORMAT_UNORM_INT8X1);
static_assert(kFirstNormalized == cudaChannelFormatKindUnsignedNormalized8X1);
static_assert(kFirstSignedNormalized == cudaChannelFormatKindSignedNormalized8X1);
static_assert(kLastNormalized == cudaChannelFormatKindSignedNormalized16X4);
static_assert(kReadAsInteger == CU_TRSF_READ_AS_INTEGER && kSeamlessCubemap == CU_TRSF_SEAMLESS_CUBEMAP);

#define SAME_NUMBER(ours, theirs) static_assert(static_cast<int>(ours) == static_cast<int>(theirs), #theirs)
#define QUERN_BLAS_STATUS(name, number, real_name, text) SAME_NUMBER(BlasStatus::k##name, CUBLAS_STATUS_##real_name);
#include "cuda/abi/cublas_status.def"
#undef QUERN_BLAS_STATUS
SAME_NUMBER(BlasOperation::kC, CUBLAS_OP_C);
SAME_NUMBER(BlasOperation::kConjugate, CUBLAS_OP_CONJG);
SAME_NUMBER(BlasFill::kUpper, CUBLAS_FILL_MODE_UPPER);
SAME_NUMBER(BlasDiagonal::kUnit, CUBLAS_DIAG_UNIT);
SAME_NUMBER(BlasSide::kRight, CUBLAS_SIDE_RIGHT);
SAME_NUMBER(BlasPointerMode::kDevice, CUBLAS_POINTER_MODE_DEVICE);
SAME_NUMBER(BlasAtomics::kAllowed, CUBLAS_ATOMICS_ALLOWED);
SAME_NUMBER(BlasCompute::k16F, CUBLAS_COMPUTE_16F);
SAME_NUMBER(BlasCompute::k16FPedantic, CUBLAS_COMPUTE_16F_PEDANTIC);
SAME_NUMBER(BlasCompute::k32F, CUBLAS_COMPUTE_32F);
SAME_NUMBER(BlasCompute::k32FPedantic, CUBLAS_COMPUTE_32F_PEDANTIC);
SAME_NUMBER(BlasCompute::k32FFast16F, CUBLAS_COMPUTE_32F_FAST_16F);
SAME_NUMBER(BlasCompute::k32FFast16BF, CUBLAS_COMPUTE_32F_FAST_16BF);
SAME_NUMBER(BlasCompute::k32FFastTF32, CUBLAS_COMPUTE_32F_FAST_TF32);
SAME_NUMBER(BlasCompute::k64F, CUBLAS_COMPUTE_64F);
SAME_NUMBER(BlasCompute::k64FPedantic, CUBLAS_COMPUTE_64F_PEDANTIC);
SAME_NUMBER(BlasCompute::k32I, CUBLAS_COMPUTE_32I);
SAME_NUMBER(BlasCompute::k32IPedantic, CUBLAS_COMPUTE_32I_PEDANTIC);
SAME_NUMBER(DataType::kR32F, CUDA_R_32F);
SAME_NUMBER(DataType::kR64F, CUDA_R_64F);
SAME_NUMBER(DataType::kR16F, CUDA_R_16F);
SAME_NUMBER(DataType::kR8I, CUDA_R_8I);
SAME_NUMBER(DataType::kC32F, CUDA_C_32F);
SAME_NUMBER(DataType::kC64F, CUDA_C_64F);
SAME_NUMBER(DataType::kR32I, CUDA_R_32I);
SAME_NUMBER(DataType::kR16BF, CUDA_R_16BF);
SAME_NUMBER(RandomStatus::kTypeError, CURAND_STATUS_TYPE_ERROR);
SAME_NUMBER(RandomStatus::kNotInitialized, CURAND_STATUS_NOT_INITIALIZED);
SAME_NUMBER(RandomStatus::kOutOfRange, CURAND_STATUS_OUT_OF_RANGE);
SAME_NUMBER(RandomStatus::kLengthNotMultiple, CURAND_STATUS_LENGTH_NOT_MULTIPLE);
SAME_NUMBER(RandomStatus::kLaunchFailure, CURAND_STATUS_LAUNCH_FAILURE);
SAME_NUMBER(RandomStatus::kInternalError, CURAND_STATUS_INTERNAL_ERROR);
SAME_NUMBER(RandomType::kDefault, CURAND_RNG_PSEUDO_DEFAULT);
SAME_NUMBER(RandomType::kXorwow, CURAND_RNG_PSEUDO_XORWOW);
SAME_NUMBER(RandomType::kMrg32k3a, CURAND_RNG_PSEUDO_MRG32K3A);
SAME_NUMBER(RandomType::kMtgp32, CURAND_RNG_PSEUDO_MTGP32);
SAME_NUMBER(RandomType::kMt19937, CURAND_RNG_PSEUDO_MT19937);
SAME_NUMBER(RandomType::kPhilox, CURAND_RNG_PSEUDO_PHILOX4_32_10);
SAME_NUMBER(RandomType::kSobol32, CURAND_RNG_QUASI_SOBOL32);
SAME_NUMBER(RandomType::kScrambledSobol64, CURAND_RNG_QUASI_SCRAMBLED_SOBOL64);
SAME_NUMBER(RandomOrdering::kBest, CURAND_ORDERING_PSEUDO_BEST);
SAME_NUMBER(RandomOrdering::kQuasiDefault, CURAND_ORDERING_QUASI_DEFAULT);
SAME_NUMBER(DirectionSet::kSobol32, CURAND_DIRECTION_VECTORS_32_JOEKUO6);
SAME_NUMBER(DirectionSet::kScrambled64, CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6);

}  // namespace

int main() { return 0; }
