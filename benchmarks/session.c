// Makes the HIP calls of a program's run, without the program: for `session.py`, with a stub of
// HIP.

#include <stddef.h>
#include <time.h>

int hipMemcpyHtoDAsync(void *to, const void *from, size_t n, void *stream);
int hipMemcpyDtoHAsync(void *to, const void *from, size_t n, void *stream);
int hipModuleLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned shared, void *stream,
                          void **parameters, void **extra);
int hipStreamSynchronize(void *stream);

// Returns the microseconds of a run: copies in, launches, copies out, a wait.
double bare(int rounds, int launches, int inputs, int results, const size_t *sizes, void **host,
            void **device) {
  struct timespec start, end;
  char arguments[64] = {0};
  size_t size = sizeof arguments;
  void *extra[] = {(void *)1, arguments, (void *)2, &size, (void *)3};
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < inputs; ++i) hipMemcpyHtoDAsync(device[i], host[i], sizes[i], 0);
    for (int i = 0; i < launches; ++i)
      hipModuleLaunchKernel(arguments, 1, 1, 1, 64, 1, 1, 0, 0, 0, extra);
    for (int i = inputs; i < inputs + results; ++i)
      hipMemcpyDtoHAsync(host[i], device[i], sizes[i], 0);
    hipStreamSynchronize(0);
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  return ((end.tv_sec - start.tv_sec) * 1e6 + (end.tv_nsec - start.tv_nsec) * 1e-3) / rounds;
}
