// What hipDNN's configuration of the engine, with its knobs, says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hipgraft {

// The engine's id, which hipDNN compares with its name: FNV-1a of 64 bits.
int64_t engine_id();
void expect_engine(int64_t id);

// What the engine tells of itself: hipDNN's FlatBuffer `EngineDetails`.
std::string_view engine_details();

struct Settings {
  std::string compilation;       // follows the architecture in requests to the helper
  int64_t workspace_limit = -1;  // bytes; -1 for none

  bool compiles_overrides = true;  // when an execution first has other shapes

  // Fails with HIPGRAFT_NOT_APPLICABLE if a graph needs more.
  void check_workspace(size_t size) const;
};

// Reads a FlatBuffer `EngineConfig`. Knobs that the engine does not have are warned of, as hipDNN
// does; values that a knob cannot have fail with HIPGRAFT_INVALID_ARGUMENT.
Settings read_settings(std::string_view config);

}  // namespace hipgraft
