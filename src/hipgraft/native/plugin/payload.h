// The payload of hipDNN's serialised plans: a header, a bundle, and the graph if executions may
// have other shapes.
#pragma once

#include <string>
#include <string_view>

namespace hipgraft {

struct Payload {
  std::string_view bundle;
  std::string_view graph;     // hipDNN's FlatBuffer; empty if no execution may have other shapes
  std::string_view settings;  // `Settings::compilation` for programs of other shapes
  bool compiles_overrides = false;  // whether the first execution with other shapes compiles
};

// Returns the bytes of a payload.
std::string encode_payload(const Payload &payload);

// Returns the parts of a payload; they are views of the bytes. Fails with HIPGRAFT_DAMAGED if the
// payload is damaged, and with HIPGRAFT_NOT_APPLICABLE if another release wrote its format.
Payload decode_payload(std::string_view bytes);

}  // namespace hipgraft
