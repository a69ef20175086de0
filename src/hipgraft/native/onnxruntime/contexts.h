// Compiled models: `EPContext` nodes, which hold bundles.
#pragma once

#include <string>

#include "answers.h"
#include "computes.h"
#include "ort.h"

namespace hipgraft::ort {

// Whether a node is one that hipgraft wrote.
bool is_context(const Node *node);

// What a node was compiled from.
struct Source {
  std::string model, weights;  // as of `Model`
  size_t node_count;
  std::string dims;  // the option
};

// Why a node is not for this device and release, as the option `context` asks; empty if it is.
std::string misfit(const Node *node, const Options &options, const std::string &architecture);

// Reads a node; a bundle that is not embedded is beside the model.
Bound read_context(const Graph *graph, const Node *node, const Options &options,
                   const Options &session);

// Reads the files beside the model from which a node can be compiled again.
Source read_source(const Graph *graph, const Node *node, const Options &session);

// Makes the node for a fused node, with its bundle in it or in a file beside the model, where its
// sources are, too, if the option `context` is `recompile`.
Node *write_context(const Graph *graph, const Node *fused, const Bound &bound,
                    const Options &options, const Options &session,
                    const std::string &architecture);

// What a compiled model says of itself, for `judge`.
std::string compatibility_text(const std::string &architecture);

// How well a device runs what says this of itself.
Compatibility judge(const std::string &text, const std::string &architecture);

}  // namespace hipgraft::ort
