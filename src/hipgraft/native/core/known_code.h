// Digests of the code that hipgraft wrote for this user; `hipgraft/runtime/known_code.py` stores
// them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hipgraft {

// The folder of hipgraft's caches, as `hipgraft.ir.directories` finds it.
std::string cache_directory();

// Whether hipgraft wrote code, in these pieces, for this user on this machine.
bool is_known_code(const std::vector<std::string_view> &pieces);

}  // namespace hipgraft
