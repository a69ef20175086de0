// Compiled graphs, from the cache or from the helper `hipgraft-serve`.
#pragma once

#include <string>
#include <string_view>

namespace hipgraft {

// The result of compiling a graph for a target.
struct Answer {
  bool is_yes;
  std::string text;  // the bundle's path, or the reason for the refusal
};

// Returns whether a graph will compile for a target, which is an architecture with the settings of
// `settings.h`. Does not compile.
//
// If the cache has no answer, the function asks the helper, and starts it if necessary. Fails with
// HIPGRAFT_IO_ERROR if there is no helper.
Answer check_graph(std::string_view graph, const std::string &target);

// Returns a compiled graph, and compiles it if the cache does not have it. If overrides follow the
// graph, the target ends with `;overrides=` and their size in bytes.
Answer compile_graph(std::string_view graph, const std::string &target);

// Returns a compiled graph from the cache.
Answer cached_graph(std::string_view graph, const std::string &target);

}  // namespace hipgraft
