// A GPU driver of host memory behind the functions that hipgraft calls, for CUDA and for HIP.
//
// Code objects are texts that name kernels. Each kernel gets {const float *x; float *y; int n},
// and writes y = 2 x. `fake_fail` makes a later call fail; `fake_live` counts what is not freed.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef FAKE_HIP
#define NAME(cuda, hip) hip
#define LIST_END ((void *)3)
#else
#define NAME(cuda, hip) cuda
#define LIST_END ((void *)0)
#endif

enum { INVALID = 1, OUT_OF_MEMORY = 2, NOT_FOUND = 500 };

typedef struct { const float *x; float *y; int n; } Arguments;
typedef struct { Arguments *launches; int count; } Graph;

static char failing[64];
static int countdown, live, launched, current = -1;
static Graph *capturing;
static int streams[2];  // the number of live streams of each device; its address is the handle

// The device of a stream; -1 if the handle is unknown or destroyed.
static int device_of(const void *stream) {
  for (int device = 0; device < 2; ++device)
    if (stream == &streams[device] && streams[device]) return device;
  return -1;
}

// Only players that are built for it may use the default stream.
static int is_wrong(void *stream) {
#ifdef FAKE_DEFAULT_STREAM
  if (!stream) return 0;
#endif
  return device_of(stream) < 0;
}

void fake_fail(const char *name, int nth) {
  snprintf(failing, sizeof failing, "%s", name);
  countdown = nth;
}
int fake_live(void) { return live; }

#define CALL(name)                                                              \
  if (!strcmp(failing, name) && --countdown == 0) return INVALID
#define FUNCTION(cuda, hip) NAME(cuda, hip)

#ifdef FAKE_HIP
const char *hipGetErrorString(int status) {
  return status == INVALID ? "invalid argument" : status == NOT_FOUND ? "named symbol not found" : 0;
}
int hipGetDeviceCount(int *count) { *count = 2; return 0; }
int hipSetDevice(int index) { current = index; return 0; }
int hipGetDevice(int *index) { *index = current; return 0; }
int hipGetDevicePropertiesR0600(char *properties, int index) {
  memset(properties, 0, 1472);
  strcpy(properties, "Fake Instinct");
  strcpy(properties + 1160, index ? "gfx1100" : "gfx942:sramecc+:xnack-");
  return 0;
}
#else
int cuGetErrorString(int status, const char **text) {
  *text = status == INVALID ? "invalid argument" : "named symbol not found";
  return 0;
}
int cuInit(unsigned flags) { return flags; }
int cuDeviceGetCount(int *count) { *count = 2; return 0; }
int cuDeviceGet(int *device, int index) { *device = 10 + index; return 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) {
  *context = (void *)(intptr_t)device;
  ++live;
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int device) { --live; return device < 10; }
int cuCtxSetCurrent(void *context) { current = (int)(intptr_t)context - 10; return 0; }
static int pushed[8], depth;
int cuCtxPushCurrent_v2(void *context) {
  if (depth == 8) return INVALID;
  pushed[depth++] = current;
  return cuCtxSetCurrent(context);
}
int cuCtxPopCurrent_v2(void **context) {
  *context = 0;
  if (!depth) return INVALID;
  current = pushed[--depth];
  return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  *value = attribute == 75 ? (device == 10 ? 9 : 8) : 0;
  return 0;
}
int cuFuncGetAttribute(int *value, int attribute, void *function) {
  *value = 49152;
  return function && attribute == 8 ? 0 : INVALID;
}
int cuFuncSetAttribute(void *function, int attribute, int value) {
  return function && attribute == 8 && value > 49152 ? 0 : INVALID;
}
#endif

int FUNCTION(cuMemAlloc_v2, hipMalloc)(void **address, size_t size) {
  CALL("malloc");
  if (size > (size_t)1 << 32) return OUT_OF_MEMORY;
  *address = aligned_alloc(256, (size + 255) / 256 * 256);
  ++live;
  return 0;
}
int FUNCTION(cuMemFree_v2, hipFree)(void *address) { CALL("free"); free(address); --live; return 0; }
int FUNCTION(cuMemcpyHtoDAsync_v2, hipMemcpyHtoDAsync)(void *to, const void *from, size_t n, void *s) {
  CALL("to_device");
  memcpy(to, from, n);
  return is_wrong(s);
}
int FUNCTION(cuMemcpyDtoHAsync_v2, hipMemcpyDtoHAsync)(void *to, const void *from, size_t n, void *s) {
  CALL("to_host");
  memcpy(to, from, n);
  return is_wrong(s);
}
int FUNCTION(cuMemcpyDtoDAsync_v2, hipMemcpyDtoDAsync)(void *to, const void *from, size_t n, void *s) {
  CALL("on_device");
  memmove(to, from, n);
  return is_wrong(s);
}
int FUNCTION(cuMemsetD8Async, hipMemsetD8Async)(uint8_t *to, uint8_t value, size_t n, void *s) {
  for (size_t i = 0; i < n; ++i) to[i] = value;
  return is_wrong(s);
}
int FUNCTION(cuMemsetD16Async, hipMemsetD16Async)(uint16_t *to, uint16_t value, size_t n, void *s) {
  for (size_t i = 0; i < n; ++i) to[i] = value;
  return is_wrong(s);
}
int FUNCTION(cuMemsetD32Async, hipMemsetD32Async)(uint32_t *to, uint32_t value, size_t n, void *s) {
  for (size_t i = 0; i < n; ++i) to[i] = value;
  return is_wrong(s);
}
int FUNCTION(cuModuleLoadData, hipModuleLoadData)(void **module, const char *data) {
  CALL("load");
  *module = strdup(data);
  ++live;
  return 0;
}
int FUNCTION(cuModuleUnload, hipModuleUnload)(void *module) { free(module); --live; return 0; }
int FUNCTION(cuModuleGetFunction, hipModuleGetFunction)(void **function, char *module, const char *name) {
  CALL("get_kernel");
  *function = strstr(module, name);
  return *function ? 0 : NOT_FOUND;
}

static void execute(Arguments arguments) {
  ++launched;
  for (int i = 0; i < arguments.n; ++i) arguments.y[i] = 2 * arguments.x[i];
}

int FUNCTION(cuLaunchKernel, hipModuleLaunchKernel)(
    void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
    unsigned shared, void *stream, void **parameters, void **extra) {
  CALL("launch");
  if (!function || parameters || is_wrong(stream) || bx * by * bz > 1024 || !gx || !gy || !gz)
    return INVALID;
  if (extra[0] != (void *)1 || extra[2] != (void *)2 || extra[4] != LIST_END) return INVALID;
  if (*(size_t *)extra[3] < sizeof(Arguments) - 4) return INVALID;
  Arguments arguments = {0};
  memcpy(&arguments, extra[1], 20);
  (void)shared;
  if (!capturing) {
    execute(arguments);
    return 0;
  }
  capturing->launches = realloc(capturing->launches, (capturing->count + 1) * sizeof arguments);
  capturing->launches[capturing->count++] = arguments;
  return 0;
}
int FUNCTION(cuStreamCreate, hipStreamCreateWithFlags)(void **stream, unsigned flags) {
  CALL("create_stream");
  int *created = &streams[current > 0];
  ++*created;
  *stream = created;
  ++live;
  return flags > 1;
}
int FUNCTION(cuStreamDestroy_v2, hipStreamDestroy)(int *stream) {
  --live;
  return device_of(stream) < 0 ? INVALID : --*stream < 0;
}
#ifdef FAKE_HIP
int hipStreamGetDevice(void *stream, int *device) { return (*device = device_of(stream)) < 0; }
#else
int cuStreamGetCtx(void *stream, void **context) {
  *context = (void *)(intptr_t)(10 + device_of(stream));
  return device_of(stream) < 0;
}
#endif
int FUNCTION(cuStreamSynchronize, hipStreamSynchronize)(void *stream) {
  CALL("wait");
  return capturing || is_wrong(stream);
}
int FUNCTION(cuCtxSynchronize, hipDeviceSynchronize)(void) { return capturing != NULL; }
int FUNCTION(cuStreamBeginCapture_v2, hipStreamBeginCapture)(void *stream, int mode) {
  CALL("begin_capture");
  capturing = calloc(1, sizeof *capturing);
  ++live;
  return mode != 1 || device_of(stream) < 0;
}
int FUNCTION(cuStreamEndCapture, hipStreamEndCapture)(void *stream, void **graph) {
  *graph = capturing;
  capturing = NULL;
  return device_of(stream) < 0;
}
int FUNCTION(cuGraphInstantiateWithFlags, hipGraphInstantiateWithFlags)(
    void **executable, Graph *graph, unsigned long long flags) {
  CALL("instantiate");
  Graph *copy = calloc(1, sizeof *copy);
  copy->count = graph->count;
  copy->launches = malloc(graph->count * sizeof(Arguments));
  memcpy(copy->launches, graph->launches, graph->count * sizeof(Arguments));
  *executable = copy;
  ++live;
  return flags != 0;
}
int FUNCTION(cuGraphLaunch, hipGraphLaunch)(Graph *graph, void *stream) {
  CALL("launch_graph");
  for (int i = 0; i < graph->count; ++i) execute(graph->launches[i]);
  return is_wrong(stream);
}
// An event's time in milliseconds is the number of launches before it.
int FUNCTION(cuEventCreate, hipEventCreateWithFlags)(int **event, unsigned flags) {
  CALL("create_event");
  *event = calloc(1, sizeof **event);
  ++live;
  return flags;
}
int FUNCTION(cuEventRecord, hipEventRecord)(int *event, void *stream) {
  CALL("record_event");
  if (capturing) return INVALID;
  *event = launched;
  return device_of(stream) < 0;
}
#ifndef FAKE_HIP
int cuEventRecordWithFlags(int *event, void *stream, unsigned flags) {
  CALL("record_event");
  if (!capturing || flags != 1) return INVALID;
  *event = capturing->count;
  return device_of(stream) < 0;
}
#endif
int FUNCTION(cuEventElapsedTime, hipEventElapsedTime)(float *milliseconds, int *start, int *end) {
  CALL("elapsed");
  *milliseconds = *end - *start;
  return 0;
}
int FUNCTION(cuEventDestroy_v2, hipEventDestroy)(int *event) { free(event); --live; return 0; }
static int drop(Graph *graph) {
  free(graph->launches);
  free(graph);
  --live;
  return 0;
}
int FUNCTION(cuGraphExecDestroy, hipGraphExecDestroy)(Graph *graph) { return drop(graph); }
int FUNCTION(cuGraphDestroy, hipGraphDestroy)(Graph *graph) { return drop(graph); }
int fake_device(void) { return current; }
