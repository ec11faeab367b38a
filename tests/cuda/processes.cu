// Two processes: one gives memory, an event and a pool's descriptor to the other, which fills the memory and records the
// event.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

__global__ void add(int *a, int n) { a[threadIdx.x] += n; }

struct Told {
  cudaIpcMemHandle_t memory;
  cudaIpcEventHandle_t event;
  cudaMemPoolPtrExportData piece;
};

int fill(int from, int to, int descriptor) {
  Told told;
  cudaEvent_t event;
  cudaMemPool_t pool;
  int *memory, *piece, late = 0;
  if (read(from, &told, sizeof told) != sizeof told) return 1;
  cudaIpcMemHandle_t wrong = told.memory;
  wrong.reserved[16] ^= 1;  // another file
  void *none;
  std::printf("wrong: %s\n", cudaGetErrorName(cudaIpcOpenMemHandle(&none, wrong, 1)));
  cudaIpcOpenMemHandle(reinterpret_cast<void **>(&memory), told.memory, cudaIpcMemLazyEnablePeerAccess);
  cudaIpcOpenEventHandle(&event, told.event);
  cudaMemPoolImportFromShareableHandle(&pool, reinterpret_cast<void *>(static_cast<intptr_t>(descriptor)),
                                       cudaMemHandleTypePosixFileDescriptor, 0);
  std::printf("import: %s\n",
              cudaGetErrorName(cudaMemPoolImportPointer(reinterpret_cast<void **>(&piece), pool, &told.piece)));
  cudaStreamWaitEvent(0, event, 0);
  add<<<1, 32>>>(memory, 1);
  add<<<1, 32>>>(piece, 2);
  cudaEventRecord(event, 0);
  std::printf("left: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  std::printf("close: %s", cudaGetErrorName(cudaIpcCloseMemHandle(memory)));
  std::printf(", again: %s\n", cudaGetErrorName(cudaIpcCloseMemHandle(memory)));
  cudaFree(piece);
  std::fflush(stdout);
  return write(to, &late, sizeof late) != sizeof late;
}

int main(int argc, char **argv) {
  int there[2], back[2];
  if (argc > 1) {
    int d[3];
    std::sscanf(argv[1], "%d,%d,%d", d, d + 1, d + 2);
    return fill(d[0], d[1], d[2]);
  }
  if (pipe(there) || pipe(back)) return 1;
  int *memory, *piece, descriptor, host[32], late;
  Told told;
  cudaEvent_t event, other;
  cudaMemPool_t pool;
  cudaMemPoolProps props = {};
  props.allocType = cudaMemAllocationTypePinned;
  props.handleTypes = cudaMemHandleTypePosixFileDescriptor;
  props.location.type = cudaMemLocationTypeDevice;
  cudaMalloc(&memory, sizeof host);
  cudaMemset(memory, 0, sizeof host);
  cudaEventCreate(&other);
  std::printf("not for others: %s\n", cudaGetErrorName(cudaIpcGetEventHandle(&told.event, other)));
  std::printf("not of the device: %s\n", cudaGetErrorName(cudaIpcGetMemHandle(&told.memory, host)));
  cudaGetLastError();
  cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming);
  cudaIpcGetMemHandle(&told.memory, memory);
  cudaIpcGetEventHandle(&told.event, event);
  cudaMemPoolCreate(&pool, &props);
  cudaMallocFromPoolAsync(&piece, sizeof host, pool, 0);
  cudaMemsetAsync(piece, 0, sizeof host, 0);
  cudaMemPoolExportToShareableHandle(&descriptor, pool, cudaMemHandleTypePosixFileDescriptor, 0);
  cudaMemPoolExportPointer(&told.piece, piece);
  add<<<1, 32>>>(memory, 10);
  cudaEventRecord(event, 0);
  std::fflush(stdout);
  char words[64];
  std::snprintf(words, sizeof words, "%d,%d,%d", there[0], back[1], dup(descriptor));
  pid_t child = fork();
  if (!child) {
    execl(argv[0], argv[0], words, nullptr);
    _exit(1);
  }
  if (write(there[1], &told, sizeof told) != sizeof told || read(back[0], &late, sizeof late) != sizeof late) return 1;
  cudaEventSynchronize(event);
  cudaMemcpy(host, memory, sizeof host, cudaMemcpyDeviceToHost);
  std::printf("%d %d, ", host[0], host[31]);
  cudaMemcpy(host, piece, sizeof host, cudaMemcpyDeviceToHost);
  std::printf("%d %d, %s\n", host[0], host[31], cudaGetErrorName(cudaGetLastError()));
  waitpid(child, nullptr, 0);
  return 0;
}
