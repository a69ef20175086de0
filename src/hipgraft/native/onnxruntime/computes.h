// The implementations of fused nodes: a program of a bundle, on a GPU or run by Python.
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

// A bundle, and the inputs and outputs of a fused node that its program has, in its order.
struct Bound {
  std::string path;                              // empty if the bundle is in memory
  std::shared_ptr<hipgraft_bundle_data> bundle;
  std::vector<size_t> inputs, outputs;           // indices of the node's inputs and outputs
  uint32_t flags = 0;                            // as for `hipgraft_bundle_open`
};

// A node's compute; freed with `delete`.
struct Compute : NodeCompute {
  Compute();
  virtual ~Compute() = default;
  virtual void run(KernelContext *context) = 0;
};

// The shapes of a node's inputs.
using Shapes = std::vector<std::vector<int64_t>>;

std::unique_ptr<Compute> make_gpu_compute(Bound bound, std::shared_ptr<Pool> pool);
std::unique_ptr<Compute> make_cpu_compute(Bound bound);
// A compute for any shapes. `first` computes the shapes of `variants`; for each other set of
// shapes, `make` is called once. `inputs` are indices of the node's inputs.
std::unique_ptr<Compute> make_growing_compute(
    std::vector<size_t> inputs, std::vector<Shapes> variants, std::unique_ptr<Compute> first,
    std::function<std::unique_ptr<Compute>(const Shapes &)> make);
// A compute for an absent GPU.
std::unique_ptr<Compute> make_absent_compute(const std::string &architecture);

}  // namespace hipgraft::ort
