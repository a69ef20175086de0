// Computes of fused nodes: a program of a bundle, on a GPU or by Python.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bundle.h"
#include "device.h"
#include "memory.h"
#include "ort.h"

namespace hipgraft::ort {

constexpr size_t kUnused = SIZE_MAX;  // an output that nobody reads

// A bundle, and which inputs and outputs of a fused node its program has, in its order.
struct Bound {
  std::string path;                              // empty if the bundle is in memory
  std::shared_ptr<hipgraft_bundle_data> bundle;
  std::vector<size_t> inputs, outputs;           // indices of the node's
  uint32_t flags = 0;                            // as for `hipgraft_bundle_open`
};

// A node's compute; freed with `delete`.
struct Compute : NodeCompute {
  Compute();
  virtual ~Compute() = default;
  virtual void run(KernelContext *context) = 0;
};

// The shapes of inputs of a node.
using Shapes = std::vector<std::vector<int64_t>>;

std::unique_ptr<Compute> make_gpu_compute(Bound bound, std::shared_ptr<Pool> pool);
std::unique_ptr<Compute> make_cpu_compute(Bound bound);
// Computes for shapes that come: `make` is called once for each that `variants` does not have, which
// `first` computes. `inputs` are indices of the node's.
std::unique_ptr<Compute> make_growing_compute(
    std::vector<size_t> inputs, std::vector<Shapes> variants, std::unique_ptr<Compute> first,
    std::function<std::unique_ptr<Compute>(const Shapes &)> make);
// For a GPU that is not there.
std::unique_ptr<Compute> make_absent_compute(const std::string &architecture);

}  // namespace hipgraft::ort
