// The settings in hipDNN's engine configuration and its knobs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hipgraft {

// The engine's id, which hipDNN compares with its name: FNV-1a of 64 bits.
int64_t engine_id();
void expect_engine(int64_t id);

// The engine's description: hipDNN's FlatBuffer `EngineDetails`.
std::string_view engine_details();

struct Settings {
  std::string compilation;       // follows the architecture in requests to the helper
  int64_t workspace_limit = -1;  // bytes; -1 for none

  bool compiles_overrides = true;  // whether the first execution with other shapes compiles

  // Fails with HIPGRAFT_NOT_APPLICABLE if a graph needs more.
  void check_workspace(size_t size) const;
};

// Reads a FlatBuffer `EngineConfig`. Warns of unknown knobs, as hipDNN does; fails with
// HIPGRAFT_INVALID_ARGUMENT for values that a knob cannot have.
Settings read_settings(std::string_view config);

// Fails with HIPGRAFT_DAMAGED if a text cannot be the `compilation` of settings.
void check_compilation(std::string_view text);

// Whether a graph, hipDNN's FlatBuffer, has `is_override_shape_enabled`.
bool allows_overrides(std::string_view graph);

}  // namespace hipgraft
