// Compiled models: `EPContext` nodes, which hold bundles.
#pragma once

#include <string>

#include "computes.h"
#include "ort.h"

namespace hipgraft::ort {

// Whether a node is one that hipgraft wrote.
bool is_context(const Node *node);

// Reads a node; a bundle that is not embedded is beside the model.
Bound read_context(const Graph *graph, const Node *node, const Options &options,
                   const std::string &architecture);

// Makes the node for a fused node, with its bundle in it or in a file beside the model.
Node *write_context(const Node *fused, const Bound &bound, const Options &session,
                    const std::string &architecture);

// What a compiled model says of itself, for `judge`.
std::string compatibility_text(const std::string &architecture);

// How well a device runs what says this of itself.
Compatibility judge(const std::string &text, const std::string &architecture);

}  // namespace hipgraft::ort
