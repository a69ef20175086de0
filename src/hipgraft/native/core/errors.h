// The error that everything in the library throws; it never leaves the library.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <string>

#include "hipgraft.h"

namespace hipgraft {

struct Error {
  hipgraft_status status;
  std::string text;
};

[[noreturn]] inline void fail(hipgraft_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

inline void fail(hipgraft_status status, const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  throw Error{status, text};
}

// Fails if a pointer is null; `names` are those of the arguments.
template <typename... Pointers>
void expect(const char *names, Pointers... pointers) {
  if (((pointers == nullptr) || ...))
    fail(HIPGRAFT_INVALID_ARGUMENT, "null among the arguments %s", names);
}

}  // namespace hipgraft
