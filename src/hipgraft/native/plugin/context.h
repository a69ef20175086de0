// What hipDNN holds of the plugin: handles, and graphs that are loaded on a device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "abi.h"
#include "bundle.h"
#include "executable.h"

namespace hipgraft {

constexpr char kEngineName[] = "HIPGRAFT_ENGINE";

// A graph's program for an architecture, and which of the graph's tensors its pointers are.
class GraphProgram {
 public:
  // Fails if the bundle was not compiled from a graph of hipDNN, or is for other architectures.
  GraphProgram(std::shared_ptr<hipgraft_bundle_data> bundle, const std::string &architecture);

  const hipgraft_bundle_data &bundle() const { return *bundle_; }
  const hipgraft_program &program() const { return *program_; }
  const std::vector<int64_t> &uids() const { return uids_; }
  const std::vector<size_t> &by_value() const { return by_value_; }
  // Bytes, with the places of scalars at their end.
  size_t workspace_size() const;

 private:
  std::shared_ptr<hipgraft_bundle_data> bundle_;
  const hipgraft_program *program_;
  std::vector<int64_t> uids_;     // of the inputs, then of the results
  std::vector<size_t> by_value_;  // of the inputs that are scalars in host memory
};

}  // namespace hipgraft

struct HipdnnEnginePluginHandle {
  std::shared_ptr<hipgraft::Device> device;
  hipStream_t stream = nullptr;
};

struct HipdnnEnginePluginExecutionContext {
  HipdnnEnginePluginExecutionContext(const HipdnnEnginePluginHandle &handle,
                                     std::shared_ptr<hipgraft_bundle_data> bundle);

  // Starts the graph on the handle's stream.
  void execute(const HipdnnEnginePluginHandle &handle, void *workspace,
               const hipdnnPluginDeviceBuffer_t *buffers, uint32_t count);
  // Checks that overrides say what the plan was compiled for: it has no other kernels.
  void check_override(int64_t uid, uint32_t rank, const int64_t *shape,
                      const int64_t *strides) const;

  const hipgraft::GraphProgram graph;

 private:
  void place_scalars(const HipdnnEnginePluginHandle &handle, void *workspace,
                     std::vector<void *> &pointers) const;

  hipgraft::Executable executable_;
};
