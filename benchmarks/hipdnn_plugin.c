/* Times hipDNN's plugin on a stub of HIP whose functions do nothing; see hipdnn_plugin.py.
 *
 *     hipdnn_plugin PLUGIN HIP GRAPH CONFIG LAUNCHES ROUNDS [UID]...
 *
 * GRAPH is a FlatBuffer whose compiled program is in the cache. With 0 ROUNDS, it may be any graph,
 * and only the question whether the engine takes it is timed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef struct {
  const void *ptr;
  size_t size;
} data_t;
typedef struct {
  int64_t uid;
  void *ptr;
} buffer_t;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return 1e6 * (double)time.tv_sec + 1e-3 * (double)time.tv_nsec;
}

/* Resident anonymous memory of this process in KiB. */
static long resident(void) {
  char line[256];
  long found = 0;
  FILE *file = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, file))
    if (sscanf(line, "RssAnon: %ld", &found) == 1) break;
  fclose(file);
  return found;
}

static data_t read_file(const char *path, char *bytes, size_t most) {
  FILE *file = fopen(path, "rb");
  data_t data = {bytes, fread(bytes, 1, most, file)};
  fclose(file);
  return data;
}

int main(int argc, char **argv) {
  static char graph_bytes[1 << 20], config_bytes[1 << 12];
  static unsigned char arguments[256];
  buffer_t buffers[64];
  data_t graph = read_file(argv[3], graph_bytes, sizeof graph_bytes);
  data_t config = read_file(argv[4], config_bytes, sizeof config_bytes);
  int launches = atoi(argv[5]), rounds = atoi(argv[6]), count = argc - 7;
  size_t size = 24, workspace_size = 0;
  void *extra[] = {(void *)1, arguments, (void *)2, &size, (void *)3};
  void *handle = 0, *context = 0, *workspace = 0;
  for (int i = 0; i < count; ++i)
    buffers[i] = (buffer_t){atoll(argv[7 + i]), aligned_alloc(256, 1 << 20)};

  void *hip = dlopen(argv[2], RTLD_NOW);
  int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                void **, void **) = dlsym(hip, "hipModuleLaunchKernel");
  long before = resident();
  double start = now();
  void *plugin = dlopen(argv[1], RTLD_NOW);
  if (!plugin) return fprintf(stderr, "%s\n", dlerror()), 1;
  int (*create)(void **) = dlsym(plugin, "hipdnnEnginePluginCreate");
  int (*applicable)(void *, data_t *, int64_t *, uint32_t, uint32_t *) =
      dlsym(plugin, "hipdnnEnginePluginGetApplicableEngineIds");
  int (*build)(void *, data_t *, data_t *, void **) =
      dlsym(plugin, "hipdnnEnginePluginCreateExecutionContext");
  int (*ask)(void *, void *, size_t *) =
      dlsym(plugin, "hipdnnEnginePluginGetWorkspaceSizeFromExecutionContext");
  int (*execute)(void *, void *, void *, buffer_t *, uint32_t) =
      dlsym(plugin, "hipdnnEnginePluginExecuteOpGraph");
  int64_t engine;
  uint32_t engines = 0;
  if (create(&handle)) return 2;
  double asked = now();
  if (applicable(handle, &graph, &engine, 1, &engines) || !engines) return 2;
  asked = now() - asked;
  if (!rounds) return printf("{\"asked_ms\": %.3f}\n", asked / 1e3) < 0;
  if (build(handle, &config, &graph, &context)) return 2;
  double first = now() - start;
  if (ask(handle, context, &workspace_size)) return 3;
  if (workspace_size) workspace = aligned_alloc(256, workspace_size);

  double best = 1e9, bare = 1e9, known = 1e9;
  for (int turn = 0; turn < 10; ++turn) {
    start = now();
    for (int round = 0; round < rounds; ++round)
      if (execute(handle, context, workspace, buffers, (uint32_t)count)) return 4;
    double taken = (now() - start) / rounds;
    if (taken < best) best = taken;
    start = now();
    for (int round = 0; round < rounds; ++round)
      for (int i = 0; i < launches; ++i)
        if (launch((void *)1, 1, 1, 1, 64, 1, 1, 0, 0, 0, extra)) return 5;
    taken = (now() - start) / rounds;
    if (taken < bare) bare = taken;
    start = now();
    for (int round = 0; round < 100; ++round) applicable(handle, &graph, &engine, 1, &engines);
    taken = (now() - start) / 100;
    if (taken < known) known = taken;
  }
  printf("{\"execute_us\": %.4f, \"bare_us\": %.4f, \"first_ms\": %.3f, \"memory_kib\": %ld, "
         "\"known_us\": %.3f}\n",
         best, bare, first / 1e3, resident() - before, known);
  return 0;
}
