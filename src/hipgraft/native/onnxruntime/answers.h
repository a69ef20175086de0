// What hipgraft takes of a graph: from the cache, or from the helper `hipgraft-serve`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "computes.h"
#include "model.h"
#include "ort.h"

namespace hipgraft::ort {

// Nodes that one bundle computes.
struct Group {
  std::vector<size_t> nodes;
  std::vector<std::string> inputs, outputs;  // names, in the order of the program
  std::string bundle;                        // its path
  std::vector<Shapes> variants;              // of its inputs; none if it is for all extents
  std::string key;                           // of the answer
  size_t number;                             // in the answer
};

struct Answer {
  std::vector<Group> groups;
  std::string summary, report;  // a line on what is left, and the path of all details; or empty
};

// A text in JSON.
std::string quoted(std::string_view text);

// Reads an answer about a graph of a number of nodes. Fails with HIPGRAFT_DAMAGED.
Answer read_answer(std::string_view text, size_t node_count);

// Asks which nodes of a model are taken for an architecture; they are compiled then.
Answer ask(const Model &model, bool is_nested, size_t node_count, const std::string &architecture,
           const Options &options);

// Has a group's program for certain shapes of its inputs made; returns the path of the bundle. It is
// compiled with the option dynamic=compile; else the program for all extents tells its calls.
std::string ask_for_shapes(const Group &group, const Shapes &shapes,
                           const std::string &architecture, const Options &options);

}  // namespace hipgraft::ort
