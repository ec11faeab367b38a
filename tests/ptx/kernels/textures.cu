// Textures and surfaces by object.
extern "C" __global__ void textures(cudaTextureObject_t t, cudaSurfaceObject_t s, float* out) {
  int x = threadIdx.x, y = threadIdx.y;
  float sum = tex1Dfetch<float>(t, x) + tex2D<float>(t, x + 0.5f, y + 0.5f) + tex3D<float4>(t, 0.1f, 0.2f, 0.3f).y;
  sum += tex2DLayered<float>(t, x, y, 1) + tex2DLod<float>(t, x, y, 2.0f) + texCubemap<float>(t, 1, 2, 3);
  sum += tex2Dgather<float4>(t, x, y, 1).z + tex2DGrad<float>(t, x, y, make_float2(1, 0), make_float2(0, 1));
  int value;
  surf2Dread(&value, s, x * 4, y);
  surf2Dwrite(value + 1, s, x * 4, y, cudaBoundaryModeClamp);
  surf3Dwrite(make_float4(1, 2, 3, sum), s, x * 16, y, 0, cudaBoundaryModeZero);
  out[y * blockDim.x + x] = sum;
}
