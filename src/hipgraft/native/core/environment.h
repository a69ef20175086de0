// Variables of the environment.
#pragma once

#include <cstdlib>
#include <string>

namespace hipgraft {

// Returns a variable's value; empty if it is not set.
inline std::string variable(const char *name) {
  const char *value = getenv(name);
  return value ? value : "";
}

}  // namespace hipgraft
