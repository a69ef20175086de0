#include "context.h"

#include <algorithm>
#include <cstring>

#include "errors.h"
#include "json.h"

using namespace hipgraft;

namespace {

constexpr size_t kScalar = 256;  // bytes of the workspace for each scalar: `hipgraft.runtime.plan`

}  // namespace

GraphProgram::GraphProgram(std::shared_ptr<hipgraft_bundle_data> bundle,
                           const std::string &architecture)
    : bundle_(std::move(bundle)), program_(&bundle_->find(architecture)) {
  Json metadata = Json::parse(bundle_->metadata());
  const Json *engine = metadata.find("engine");
  if (!engine || engine->string() != kEngineName)
    fail(HIPGRAFT_DAMAGED, "the bundle was not compiled from a graph of hipDNN");
  uids_ = metadata["inputs"].numbers();
  for (int64_t uid : metadata["results"].numbers()) uids_.push_back(uid);
  if (uids_.size() != program_->input_count + program_->result_count)
    fail(HIPGRAFT_DAMAGED, "the bundle has other tensors than its graph");
  for (int64_t uid : metadata["by_value"].numbers()) {
    auto end = uids_.begin() + static_cast<ptrdiff_t>(program_->input_count);
    auto found = std::find(uids_.begin(), end, uid);
    if (found == end)
      fail(HIPGRAFT_DAMAGED, "tensor %lld is no input", static_cast<long long>(uid));
    by_value_.push_back(static_cast<size_t>(found - uids_.begin()));
  }
}

size_t GraphProgram::workspace_size() const {
  return program_->workspace_size + kScalar * by_value_.size();
}

HipdnnEnginePluginExecutionContext::HipdnnEnginePluginExecutionContext(
    const HipdnnEnginePluginHandle &handle, std::shared_ptr<hipgraft_bundle_data> bundle)
    : graph(std::move(bundle), handle.device->architecture()),
      executable_(handle.device, graph.program(), 0) {}

// Puts scalars of host memory into the workspace, on the stream, and points to them there. Fills
// carry their values, so that the host may change its own at once.
void HipdnnEnginePluginExecutionContext::place_scalars(const HipdnnEnginePluginHandle &handle,
                                                       void *workspace,
                                                       std::vector<void *> &pointers) const {
  auto place = reinterpret_cast<uint64_t>(workspace) + graph.program().workspace_size;
  Device::Current current(*handle.device);
  for (size_t index : graph.by_value()) {
    auto nbytes = static_cast<size_t>(graph.program().variants[0].tensors[index].nbytes);
    if (!pointers[index])
      fail(HIPGRAFT_INVALID_ARGUMENT, "the pointer of a scalar is null");
    if (nbytes > kScalar) fail(HIPGRAFT_DAMAGED, "a scalar has %zu bytes", nbytes);
    for (size_t at = 0; at < nbytes;) {
      unsigned width = nbytes - at >= 4 ? 4 : nbytes - at >= 2 ? 2 : 1;
      uint32_t word = 0;
      memcpy(&word, static_cast<const char *>(pointers[index]) + at, width);
      handle.device->fill(place + at, word, width, width, handle.stream);
      at += width;
    }
    pointers[index] = reinterpret_cast<void *>(place);
    place += kScalar;
  }
}

void HipdnnEnginePluginExecutionContext::execute(const HipdnnEnginePluginHandle &handle,
                                                 void *workspace,
                                                 const hipdnnPluginDeviceBuffer_t *buffers,
                                                 uint32_t count) {
  thread_local std::vector<void *> pointers;
  pointers.clear();
  for (int64_t uid : graph.uids()) {
    auto end = buffers + count;
    auto found = std::find_if(buffers, end, [uid](auto &one) { return one.uid == uid; });
    if (found == end)
      fail(HIPGRAFT_INVALID_ARGUMENT, "there is no buffer for tensor %lld",
           static_cast<long long>(uid));
    pointers.push_back(found->ptr);
  }
  if (graph.workspace_size() && !workspace)
    fail(HIPGRAFT_INVALID_ARGUMENT, "the graph needs a workspace of %zu bytes",
         graph.workspace_size());
  if (!graph.by_value().empty()) place_scalars(handle, workspace, pointers);
  executable_.enqueue(0, handle.stream, pointers.data(), pointers.size(), workspace);
}

void HipdnnEnginePluginExecutionContext::check_override(int64_t uid, uint32_t rank,
                                                        const int64_t *shape,
                                                        const int64_t *strides) const {
  auto &uids = graph.uids();
  auto found = std::find(uids.begin(), uids.end(), uid);
  if (found == uids.end())
    fail(HIPGRAFT_INVALID_ARGUMENT, "there is no tensor %lld to override",
         static_cast<long long>(uid));
  expect("override_shapes, override_strides", shape, strides);
  auto &tensors = graph.program().variants[0].tensors;
  const Tensor &tensor = tensors[static_cast<size_t>(found - uids.begin())];
  bool fits = tensor.shape.size() == rank;
  for (uint32_t dim = 0; dim < rank && fits; ++dim)
    fits = tensor.shape[dim] == shape[dim] && (shape[dim] == 1 || tensor.strides[dim] == strides[dim]);
  if (!fits)
    fail(HIPGRAFT_NOT_APPLICABLE, "the plan was compiled for another shape of tensor %lld",
         static_cast<long long>(uid));
}
