// Compiled models: `EPContext` nodes, which contain bundles.
#pragma once

#include <string>

#include "answers.h"
#include "computes.h"
#include "ort.h"

namespace hipgraft::ort {

// Whether a node is one that hipgraft wrote.
bool is_context(const Node *node);

// The sources of a compiled node.
struct Source {
  std::string model, weights;  // as in `Model`
  size_t node_count;
  std::string dims;  // the option `dims`
};

// Returns why a node does not fit this device and release, according to the option `context`; empty
// if it fits.
std::string misfit(const Node *node, const Options &options, const std::string &architecture);

// Reads a node, and its bundle from the node or from a file beside the model.
Bound read_context(const Graph *graph, const Node *node, const Options &options,
                   const Options &session);

// Reads the files beside the model from which a node can be compiled again.
Source read_source(const Graph *graph, const Node *node, const Options &session);

// Makes the node for a fused node. Its bundle is embedded or in a file beside the model. If the
// option `context` is `recompile`, its sources are written beside the model, too. The node has the
// constants `kept` as additional inputs, so that ONNX Runtime writes them into the model.
Node *write_context(const Graph *graph, const Node *fused, const Bound &bound,
                    const Options &options, const Options &session,
                    const std::string &architecture, const std::vector<std::string> &kept);

// Returns the compatibility string of a compiled model, for `judge`.
std::string compatibility_text(const std::string &architecture);

// Returns how well a device runs a model with this compatibility string.
Compatibility judge(const std::string &text, const std::string &architecture);

}  // namespace hipgraft::ort
