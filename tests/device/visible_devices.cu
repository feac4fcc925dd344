// Prints the UUID of each GPU that CUDA shows this process, one a line; with an argument it also
// keeps the first GPU busy, with 512 MiB on it, for twenty seconds.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void spin(long long cycles) {
  const long long until = clock64() + cycles;
  while (clock64() < until) {
  }
}

int main(int argc, char**) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, i) != cudaSuccess) return 1;
    const unsigned char* u = reinterpret_cast<const unsigned char*>(properties.uuid.bytes);
    std::printf("GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x\n", u[0],
                u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13],
                u[14], u[15]);
  }
  std::fflush(stdout);
  if (argc < 2 || count == 0) return 0;
  void* memory = nullptr;
  if (cudaMalloc(&memory, size_t{512} << 20) != cudaSuccess) return 1;
  for (int i = 0; i < 400; ++i) {  // about 50 ms each at 2 GHz
    spin<<<2048, 64>>>(100'000'000);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    if (i == 0) {
      std::puts("busy");
      std::fflush(stdout);
    }
  }
  return 0;
}
