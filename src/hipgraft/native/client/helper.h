// Sends requests to `hipgraft-serve`, which compiles for this user, and starts it if necessary.
#pragma once

#include <string>
#include <string_view>

namespace hipgraft {

// Sends a request, `hipgraft 1 WHAT ARCHITECTURE SIZE` and the data, and returns the line of the
// answer. Fails with HIPGRAFT_IO_ERROR if there is no helper, and with HIPGRAFT_NOT_APPLICABLE if
// HIPGRAFT_SERVE is `off`.
std::string ask_helper(const char *what, const std::string &architecture, std::string_view data);

}  // namespace hipgraft
