// The nodes of a graph that hipgraft takes, from the cache or from the helper `hipgraft-serve`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "computes.h"
#include "model.h"
#include "ort.h"

namespace hipgraft::ort {

// A group of nodes that one bundle computes.
struct Group {
  std::vector<size_t> nodes;
  std::vector<std::string> inputs, outputs;  // names, in the order of the program
  std::string bundle;                        // its path
  std::vector<Shapes> variants;              // shapes of its inputs; none if it is for all extents
  std::string key;                           // of the answer
  size_t number;                             // in the answer
};

struct Answer {
  std::vector<Group> groups;
  std::string summary, report;  // line about the nodes left, path of the details; or empty
};

// Returns a text as a JSON string.
std::string quoted(std::string_view text);

// Reads an answer about a graph of `node_count` nodes. Fails with HIPGRAFT_DAMAGED.
Answer read_answer(std::string_view text, size_t node_count);

// Asks which nodes of a model hipgraft takes for an architecture; this compiles them.
Answer ask(const Model &model, bool is_nested, size_t node_count, const std::string &architecture,
           const Options &options);

// Requests a group's program for certain shapes of its inputs; returns the path of the bundle. With
// the option dynamic=compile, the program is compiled; otherwise the program for all extents is
// executed to record its calls.
std::string ask_for_shapes(const Group &group, const Shapes &shapes,
                           const std::string &architecture, const Options &options);

}  // namespace hipgraft::ort
