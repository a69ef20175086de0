// The only exception that the library throws; it never leaves the library.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <exception>
#include <new>
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

// Calls a function. Its exception becomes a status, which `failed` gets with the text and converts
// to the interface's status.
template <typename Status, typename Function, typename Failed>
Status guarded(Status success, Function function, Failed failed) {
  try {
    function();
    return success;
  } catch (const Error &error) {
    return failed(error.status, error.text);
  } catch (const std::bad_alloc &) {
    return failed(HIPGRAFT_OUT_OF_MEMORY, "the host has no memory left");
  } catch (const std::exception &error) {
    return failed(HIPGRAFT_INTERNAL_ERROR, error.what());
  }
}

}  // namespace hipgraft
