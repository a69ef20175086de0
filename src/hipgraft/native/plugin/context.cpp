#include "context.h"

#include <algorithm>
#include <cstring>

#include "environment.h"
#include "errors.h"
#include "failures.h"
#include "json.h"
#include "payload.h"
#include "plans.h"

using namespace hipgraft;

namespace {

constexpr size_t kScalar = 256;  // bytes of the workspace for each scalar: `hipgraft.runtime.plan`
constexpr size_t kMostPrograms = 64;

// The number of programs for other shapes that a context keeps; at least one.
size_t most_programs() {
  std::string given = variable("HIPGRAFT_PLUGIN_PROGRAMS");
  size_t most = given.empty() ? kMostPrograms : strtoul(given.c_str(), nullptr, 10);
  return most ? most : 1;
}

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

LoadedGraph::LoadedGraph(const HipdnnEnginePluginHandle &handle,
                         std::shared_ptr<hipgraft_bundle_data> bundle)
    : graph(std::move(bundle), handle.device->architecture()),
      executable_(handle.device, graph.program(), 0) {}

// Copies scalars from host memory to the workspace, on the stream, and replaces their pointers. The
// values are passed by fills, so that the host may change its memory at once.
void LoadedGraph::place_scalars(const HipdnnEnginePluginHandle &handle, void *workspace,
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

void LoadedGraph::execute(const HipdnnEnginePluginHandle &handle, void *workspace,
                          const hipdnnPluginDeviceBuffer_t *buffers, uint32_t count) {
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
  executable_.check_workspace(workspace);  // must precede the writes of scalars to it
  if (!graph.by_value().empty()) place_scalars(handle, workspace, pointers);
  executable_.enqueue(0, handle.stream, pointers.data(), pointers.size(), workspace);
}

bool LoadedGraph::differs(const Override &override) const {
  auto &uids = graph.uids();
  auto uid = static_cast<long long>(override.uid);
  auto found = std::find(uids.begin(), uids.end(), override.uid);
  if (found == uids.end())
    fail(HIPGRAFT_INVALID_ARGUMENT, "there is no tensor %lld to override", uid);
  expect("override_shapes, override_strides", override.shape, override.strides);
  const Tensor &tensor =
      graph.program().variants[0].tensors[static_cast<size_t>(found - uids.begin())];
  if (tensor.shape.size() != override.rank)
    fail(HIPGRAFT_INVALID_ARGUMENT, "tensor %lld has %zu dimensions, and the override %u", uid,
         tensor.shape.size(), override.rank);
  bool is_same = true;
  for (uint32_t dim = 0; dim < override.rank; ++dim) {
    int64_t extent = override.shape[dim], stride = override.strides[dim];
    if (extent < 1 || stride < 0)
      fail(HIPGRAFT_INVALID_ARGUMENT, "tensor %lld cannot have extent %lld with stride %lld", uid,
           static_cast<long long>(extent), static_cast<long long>(stride));
    is_same &= tensor.shape[dim] == extent && (extent == 1 || tensor.strides[dim] == stride);
  }
  return !is_same;
}

std::string LoadedGraph::differing(std::vector<Override> overrides) const {
  auto is_before = [](auto &one, auto &other) { return one.uid < other.uid; };
  std::sort(overrides.begin(), overrides.end(), is_before);
  std::string text;
  for (size_t i = 0; i < overrides.size(); ++i) {
    const Override &one = overrides[i];
    if (i && one.uid == overrides[i - 1].uid)
      fail(HIPGRAFT_INVALID_ARGUMENT, "tensor %lld is overridden twice",
           static_cast<long long>(one.uid));
    if (!differs(one)) continue;
    text += std::to_string(one.uid);
    for (const int64_t *numbers : {one.shape, one.strides})
      for (uint32_t dim = 0; dim < one.rank; ++dim)
        text += (dim ? "," : ":") + std::to_string(numbers[dim]);
    text += "\n";
  }
  return text;
}

void HipdnnEnginePluginExecutionContext::execute(const HipdnnEnginePluginHandle &handle,
                                                 std::vector<Override> overrides, void *workspace,
                                                 const hipdnnPluginDeviceBuffer_t *buffers,
                                                 uint32_t count) {
  std::string text = main.differing(std::move(overrides));
  if (text.empty()) return main.execute(handle, workspace, buffers, count);
  std::unique_lock<std::mutex> lock(mutex_);
  LoadedGraph *found = find(text);
  if (!found) {
    lock.unlock();  // others may execute while this one is compiled
    Other made = make(handle, text);
    lock.lock();
    found = find(text);
    if (!found) {
      keep(handle, std::move(made));
      found = others_.front().graph.get();
    }
  }
  // Under the lock, so that no other thread unloads the program before it has started.
  found->execute(handle, workspace, buffers, count);
}

std::string HipdnnEnginePluginExecutionContext::payload() const {
  return encode_payload({main.graph.bundle().data(), overridable_.graph, overridable_.settings,
                         overridable_.compiles});
}

HipdnnEnginePluginExecutionContext::Other HipdnnEnginePluginExecutionContext::make(
    const HipdnnEnginePluginHandle &handle, std::string overrides) const {
  if (overridable_.graph.empty())
    fail(HIPGRAFT_NOT_APPLICABLE,
         "the plan has other shapes, and its graph does not allow overrides");
  std::string target = handle.device->architecture() + overridable_.settings +
                       ";overrides=" + std::to_string(overrides.size());
  std::string data = overridable_.graph + overrides;
  Answer answer = overridable_.compiles ? compile_graph(data, target) : cached_graph(data, target);
  if (!answer.is_yes) fail(HIPGRAFT_NOT_APPLICABLE, "%s", answer.text.c_str());
  auto bundle = hipgraft_bundle_data::open(answer.text.c_str(), 0);
  auto made = std::make_unique<LoadedGraph>(handle, std::move(bundle));
  size_t size = made->graph.workspace_size(), given = main.graph.workspace_size();
  if (size > given)
    fail(HIPGRAFT_NOT_APPLICABLE,
         "these shapes need a workspace of %zu bytes; those of the plan need %zu", size, given);
  return {std::move(overrides), std::move(made)};
}

// Returns the program for overrides, now the latest used; null if there is none.
LoadedGraph *HipdnnEnginePluginExecutionContext::find(const std::string &overrides) {
  auto is_wanted = [&](const Other &one) { return one.overrides == overrides; };
  auto found = std::find_if(others_.begin(), others_.end(), is_wanted);
  if (found == others_.end()) return nullptr;
  others_.splice(others_.begin(), others_, found);
  return others_.front().graph.get();
}

void HipdnnEnginePluginExecutionContext::keep(const HipdnnEnginePluginHandle &handle, Other made) {
  others_.push_front(std::move(made));
  if (others_.size() <= most_programs()) return;
  Device::Current current(*handle.device);
  handle.device->synchronize_all();  // its kernels may still run, on any stream
  log(HIPDNN_SEV_INFO, "unloaded the program for the shapes " + others_.back().overrides);
  others_.pop_back();
}
