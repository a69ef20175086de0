// The payload of hipDNN's serialised plans: a bundle with a header.
#pragma once

#include <string>
#include <string_view>

namespace hipgraft {

// Returns a bundle's bytes with the header before them.
std::string payload_of(std::string_view bundle);

// Returns the bundle in a payload. Fails with HIPGRAFT_DAMAGED if the payload is damaged, and with
// HIPGRAFT_NOT_APPLICABLE if another release wrote its format.
std::string_view bundle_in(std::string_view payload);

}  // namespace hipgraft
