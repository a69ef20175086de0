// Times calls of C functions, for `native_gpu_run.py`.

#include <stddef.h>
#include <stdint.h>
#include <time.h>

typedef int (*Function)(void *, void *, void *, void *, void *, void *);
typedef int (*Launcher)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        void *, void **, void **);

typedef struct {
  void *kernel;
  unsigned grid[3], block[3], shared;
  void *arguments;
  size_t size;
} Launch;

// Returns the microseconds of a call, or -1 if one fails. Waits after each batch, untimed.
double timed(Function call, void *const *arguments, int batches, int batch, Function wait,
             void *wait_argument) {
  double least = 1e9;
  for (int round = 0; round < batches; ++round) {
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int i = 0; i < batch; ++i)
      if (call(arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]))
        return -1;
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (wait(wait_argument, 0, 0, 0, 0, 0)) return -1;
    double each = (end.tv_sec - start.tv_sec) * 1e6 + (end.tv_nsec - start.tv_nsec) * 1e-3;
    if (each / batch < least) least = each / batch;
  }
  return least;
}

// Launches kernels one after the other, with packed arguments.
int launch_all(Launcher launch, const Launch *launches, size_t count, void *stream, void *list_end,
               void *unused) {
  (void)unused;
  for (size_t i = 0; i < count; ++i) {
    const Launch *one = launches + i;
    size_t size = one->size;
    void *extra[] = {(void *)1, one->arguments, (void *)2, &size, list_end};
    int status = launch(one->kernel, one->grid[0], one->grid[1], one->grid[2], one->block[0],
                        one->block[1], one->block[2], one->shared, stream, NULL, extra);
    if (status) return status;
  }
  return 0;
}
