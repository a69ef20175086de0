// The plugin's objects that hipDNN holds: handles, and graphs that are loaded on a device.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
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
  // Fails if the bundle was not compiled from a hipDNN graph, or is for other architectures.
  GraphProgram(std::shared_ptr<hipgraft_bundle_data> bundle, const std::string &architecture);

  const hipgraft_bundle_data &bundle() const { return *bundle_; }
  const hipgraft_program &program() const { return *program_; }
  const std::vector<int64_t> &uids() const { return uids_; }
  const std::vector<size_t> &by_value() const { return by_value_; }
  // Size in bytes, including the scalars at the end.
  size_t workspace_size() const;

 private:
  std::shared_ptr<hipgraft_bundle_data> bundle_;
  const hipgraft_program *program_;
  std::vector<int64_t> uids_;     // uids of the inputs, then of the results
  std::vector<size_t> by_value_;  // uids of the inputs that are scalars in host memory
};

// Overrides a tensor's shape and strides, in elements, for one execution.
struct Override {
  int64_t uid;
  uint32_t rank;
  const int64_t *shape, *strides;
};

// A graph whose executions may have other shapes, and the settings to compile these.
struct Overridable {
  std::string graph;     // hipDNN's FlatBuffer; empty if no execution may have other shapes
  std::string settings;  // follow the architecture in the target of `compile_graph`
  bool compiles;         // whether to compile; else only cached programs run
};

}  // namespace hipgraft

struct HipdnnEnginePluginHandle {
  std::shared_ptr<hipgraft::Device> device;
  hipStream_t stream = nullptr;
};

namespace hipgraft {

// A graph's program, loaded on a device.
class LoadedGraph {
 public:
  LoadedGraph(const HipdnnEnginePluginHandle &handle, std::shared_ptr<hipgraft_bundle_data> bundle);

  // Starts the graph on the handle's stream.
  void execute(const HipdnnEnginePluginHandle &handle, void *workspace,
               const hipdnnPluginDeviceBuffer_t *buffers, uint32_t count);
  // Returns the overrides that differ from the compiled shapes, in the format that
  // `hipgraft.hipdnn_io.overrides` reads, and an empty text if none differs. Fails if one is
  // invalid.
  std::string differing(std::vector<Override> overrides) const;

  const GraphProgram graph;

 private:
  bool differs(const Override &override) const;
  void place_scalars(const HipdnnEnginePluginHandle &handle, void *workspace,
                     std::vector<void *> &pointers) const;

  Executable executable_;
};

}  // namespace hipgraft

// A graph that hipDNN executes, with its programs for the shapes of earlier executions.
struct HipdnnEnginePluginExecutionContext {
  HipdnnEnginePluginExecutionContext(const HipdnnEnginePluginHandle &handle,
                                     std::shared_ptr<hipgraft_bundle_data> bundle,
                                     hipgraft::Overridable overridable)
      : main(handle, std::move(bundle)), overridable_(std::move(overridable)) {}

  // Starts the program for overrides. Fails with HIPGRAFT_NOT_APPLICABLE if there is none.
  void execute(const HipdnnEnginePluginHandle &handle, std::vector<hipgraft::Override> overrides,
               void *workspace, const hipdnnPluginDeviceBuffer_t *buffers, uint32_t count);

  // Returns the payload of the plan, which also restores executions with other shapes.
  std::string payload() const;

  hipgraft::LoadedGraph main;

 private:
  struct Other {
    std::string overrides;
    std::unique_ptr<hipgraft::LoadedGraph> graph;
  };

  Other make(const HipdnnEnginePluginHandle &handle, std::string overrides) const;
  hipgraft::LoadedGraph *find(const std::string &overrides);
  void keep(const HipdnnEnginePluginHandle &handle, Other made);

  const hipgraft::Overridable overridable_;
  std::mutex mutex_;
  std::list<Other> others_;  // the latest used first
};
