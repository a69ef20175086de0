// A graph of ONNX Runtime as an ONNX model.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ort.h"

namespace hipgraft::ort {

constexpr char kWeights[] = "weights.bin";  // the file of a model's external data

// A model. Node i of its graph is node i of ONNX Runtime's.
struct Model {
  std::string data;  // a `ModelProto`
  // External data in order, borrowed from the graph.
  std::vector<std::string_view> weights;
};

// Writes a graph. Values of outer scopes become inputs, or initializers if they are constant.
// Initializers of more than 1 KiB become external data.
Model write_model(const Graph *graph);

}  // namespace hipgraft::ort
