// A HIP runtime of host memory that launches nothing, to measure the library's own cost and to
// fuzz. `null_launches` counts.

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

long null_launches;

const char *hipGetErrorString(int status) { return status ? "failed" : "success"; }
int hipGetDeviceCount(int *count) { *count = 1; return 0; }
int hipSetDevice(int index) { return index; }
int hipGetDevice(int *index) { *index = 0; return 0; }
int hipGetDevicePropertiesR0600(char *properties, int index) {
  memset(properties, 0, 1472);
  strcpy(properties + 1160, "gfx942");
  return index;
}
int hipMalloc(void **memory, size_t size) { return !(*memory = aligned_alloc(256, (size + 255) / 256 * 256)); }
int hipFree(void *memory) { free(memory); return 0; }
int hipMemcpyHtoDAsync(void *to, const void *from, size_t n, void *s) { (void)s; memcpy(to, from, n); return 0; }
int hipMemcpyDtoHAsync(void *to, const void *from, size_t n, void *s) { (void)s; memcpy(to, from, n); return 0; }
int hipMemcpyDtoDAsync(void *to, const void *from, size_t n, void *s) { (void)s; memmove(to, from, n); return 0; }
int hipMemsetD8Async(void *to, unsigned char value, size_t n, void *s) { (void)s; memset(to, value, n); return 0; }
int hipMemsetD16Async(void *to, unsigned short value, size_t n, void *s) { (void)to; (void)value; (void)n; (void)s; return 0; }
int hipMemsetD32Async(void *to, unsigned value, size_t n, void *s) { (void)to; (void)value; (void)n; (void)s; return 0; }
int hipModuleLoadData(void **module, const void *data) { *module = (void *)data; return 0; }
int hipModuleUnload(void *module) { (void)module; return 0; }
int hipModuleGetFunction(void **function, void *module, const char *name) { (void)name; *function = module; return 0; }
int hipModuleLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned shared, void *stream,
                          void **parameters, void **extra) {
  (void)gx; (void)gy; (void)gz; (void)bx; (void)by; (void)bz; (void)shared; (void)stream;
  ++null_launches;
  return !function || parameters || !extra;
}
int hipStreamCreateWithFlags(void **stream, unsigned flags) { (void)flags; *stream = &null_launches; return 0; }
int hipStreamDestroy(void *stream) { (void)stream; return 0; }
int hipStreamSynchronize(void *stream) { (void)stream; return 0; }
int hipDeviceSynchronize(void) { return 0; }
int hipStreamBeginCapture(void *stream, int mode) { (void)stream; (void)mode; return 0; }
int hipStreamEndCapture(void *stream, void **graph) { (void)stream; *graph = &null_launches; return 0; }
int hipGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long flags) { (void)flags; *executable = graph; return 0; }
int hipGraphLaunch(void *graph, void *stream) { (void)graph; (void)stream; ++null_launches; return 0; }
int hipGraphExecDestroy(void *graph) { (void)graph; return 0; }
int hipGraphDestroy(void *graph) { (void)graph; return 0; }
