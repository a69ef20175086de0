// Compiled graphs: found in the cache, or asked of the helper `hipgraft-serve`.
#pragma once

#include <string>
#include <string_view>

namespace hipgraft {

// What is known of a graph for a target.
struct Answer {
  bool is_yes;
  std::string text;  // of a compiled graph, the path of its bundle; of a refusal, the reason
};

// Tells whether a graph will compile for a target: an architecture with the settings of
// `settings.h`. Does not compile.
//
// The answer for a graph of which nothing is known comes from the helper, which is started if it
// does not run. Fails with HIPGRAFT_IO_ERROR if there is none.
Answer check_graph(std::string_view graph, const std::string &target);

// Gives a compiled graph; compiles it if nobody has. The target of a graph that overrides follow ends
// with `;overrides=` and their bytes.
Answer compile_graph(std::string_view graph, const std::string &target);

// Gives a compiled graph that is in the cache.
Answer cached_graph(std::string_view graph, const std::string &target);

}  // namespace hipgraft
