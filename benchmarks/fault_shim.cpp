// Preloaded into the tools by tool_faults.py: makes system calls fail and clocks jump.
//
// FAULT_WRITE=N        the N-th write to a file of this process fails, and all after it,
// FAULT_ERRNO=28       with this error;
// FAULT_READ_ONLY=DIR  nothing below this folder can be made, written, renamed or removed;
// FAULT_CLOCK=SECONDS  each tenth read of the wall clock returns a time this much later or earlier.

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

namespace {

long number(const char *name, long otherwise) {
  const char *text = getenv(name);
  return text ? atol(text) : otherwise;
}

template <typename F> F next(const char *name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

bool fails(int fd) {
  static const long at = number("FAULT_WRITE", 0);
  static std::atomic<long> count{0};
  struct stat status;
  if (at == 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
    return false;
  if (++count < at)
    return false;
  errno = static_cast<int>(number("FAULT_ERRNO", ENOSPC));
  return true;
}

bool read_only(int folder, const char *path) {
  static const char *below = getenv("FAULT_READ_ONLY");
  if (!below || !path)
    return false;
  char whole[PATH_MAX];
  if (path[0] != '/' && folder == AT_FDCWD && getcwd(whole, sizeof whole) &&
      strlen(whole) + strlen(path) + 2 < sizeof whole) {
    strcat(strcat(whole, "/"), path);
    path = whole;
  }
  if (strncmp(path, below, strlen(below)) != 0)
    return false;
  errno = EROFS;
  return true;
}

constexpr int WRITES = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;

} // namespace

extern "C" {

ssize_t write(int fd, const void *data, size_t size) {
  static auto real = next<ssize_t (*)(int, const void *, size_t)>("write");
  return fails(fd) ? -1 : real(fd, data, size);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
  static auto real = next<ssize_t (*)(int, const void *, size_t, off64_t)>("pwrite64");
  return fails(fd) ? -1 : real(fd, data, size, at);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  static auto real = next<ssize_t (*)(int, const struct iovec *, int)>("writev");
  return fails(fd) ? -1 : real(fd, parts, count);
}

int open64(const char *path, int flags, ...) {
  static auto real = next<int (*)(const char *, int, ...)>("open64");
  va_list rest;
  va_start(rest, flags);
  mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return (flags & WRITES) && read_only(AT_FDCWD, path) ? -1 : real(path, flags, mode);
}

int open(const char *path, int flags, ...) {
  static auto real = next<int (*)(const char *, int, ...)>("open");
  va_list rest;
  va_start(rest, flags);
  mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return (flags & WRITES) && read_only(AT_FDCWD, path) ? -1 : real(path, flags, mode);
}

int mkdir(const char *path, mode_t mode) {
  static auto real = next<int (*)(const char *, mode_t)>("mkdir");
  struct stat status;
  if (stat(path, &status) == 0)
    return real(path, mode);
  return read_only(AT_FDCWD, path) ? -1 : real(path, mode);
}

int rename(const char *from, const char *to) {
  static auto real = next<int (*)(const char *, const char *)>("rename");
  return read_only(AT_FDCWD, to) ? -1 : real(from, to);
}

int unlink(const char *path) {
  static auto real = next<int (*)(const char *)>("unlink");
  return read_only(AT_FDCWD, path) ? -1 : real(path);
}

int utimensat(int folder, const char *path, const struct timespec times[2], int flags) {
  static auto real = next<int (*)(int, const char *, const struct timespec *, int)>("utimensat");
  return read_only(folder, path) ? -1 : real(folder, path, times, flags);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  static auto real = next<int (*)(clockid_t, struct timespec *)>("clock_gettime");
  static const long jump = number("FAULT_CLOCK", 0);
  static std::atomic<long> looks{0};
  int status = real(clock, now);
  if (jump && clock == CLOCK_REALTIME)
    now->tv_sec += jump * (looks++ / 10 % 2);
  return status;
}

} // extern "C"
