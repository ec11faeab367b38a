// An element of the second layer, and a place between two.
extern "C" __global__ void read_texture(cudaTextureObject_t t, float* out) {
  out[0] = tex2DLayered<float>(t, 3.5f, 4.5f, 1);
  out[1] = tex2DLayered<float>(t, 4.0f, 4.5f, 1);
}
