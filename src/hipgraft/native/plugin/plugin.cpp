// hipgraft as an engine of hipDNN: the entry points of the plugin.
//
// What a graph means and how it is compiled is the helper's business (`plans.h`); how a program
// runs is the player's (`executable.h`). Here are the rules of hipDNN's ABI.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "abi.h"
#include "bundle.h"
#include "engine_details.inc"
#include "errors.h"
#include "executable.h"
#include "flatbuffer.h"
#include "json.h"
#include "payload.h"
#include "plans.h"

using namespace hipgraft;

struct HipdnnEnginePluginHandle {
  std::shared_ptr<Device> device;
  hipStream_t stream = nullptr;
};

struct HipdnnEnginePluginExecutionContext {
  std::shared_ptr<hipgraft_bundle_data> bundle;
  const hipgraft_program *program;
  std::unique_ptr<Executable> executable;
  std::vector<int64_t> uids;       // of the inputs, then of the results
  std::vector<size_t> by_value;    // of the inputs that are scalars in host memory
  size_t workspace_size;           // with the places of these scalars at its end
};

namespace {

constexpr char kName[] = "HIPGRAFT_ENGINE";
constexpr size_t kScalar = 256;  // bytes of the workspace for each scalar: `hipgraft.runtime.plan`
constexpr size_t kMostText = 2048;  // of an error, with its end

thread_local char last_error[kMostText];
std::atomic<hipdnnCallback_t> callback{nullptr};
std::atomic<int> level{HIPDNN_SEV_WARN};

// The engine's id, which hipDNN compares with its name: FNV-1a of 64 bits.
constexpr int64_t engine_id() {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char *at = kName; *at; ++at) hash = (hash ^ static_cast<uint8_t>(*at)) * 0x100000001b3;
  return static_cast<int64_t>(hash);
}

void log(hipdnnSeverity_t severity, const std::string &text) {
  hipdnnCallback_t found = callback;
  if (found && severity >= level) found(severity, ("hipgraft: " + text).c_str());
}

hipdnnPluginStatus_t status_of(hipgraft_status status) {
  switch (status) {
    case HIPGRAFT_INVALID_ARGUMENT:
      return HIPDNN_PLUGIN_STATUS_BAD_PARAM;
    case HIPGRAFT_DAMAGED:
      return HIPDNN_PLUGIN_STATUS_INVALID_VALUE;
    case HIPGRAFT_NOT_APPLICABLE:
    case HIPGRAFT_UNTRUSTED:
      return HIPDNN_PLUGIN_STATUS_NOT_APPLICABLE;
    case HIPGRAFT_OUT_OF_MEMORY:
      return HIPDNN_PLUGIN_STATUS_ALLOC_FAILED;
    default:
      return HIPDNN_PLUGIN_STATUS_INTERNAL_ERROR;
  }
}

hipdnnPluginStatus_t failed(hipdnnPluginStatus_t status, const std::string &text) {
  size_t size = std::min(text.size(), kMostText - 1);
  memcpy(last_error, text.data(), size);
  last_error[size] = '\0';
  log(HIPDNN_SEV_ERROR, text);
  return status;
}

template <typename Function>
hipdnnPluginStatus_t guarded(Function function) {
  try {
    function();
    return HIPDNN_PLUGIN_STATUS_SUCCESS;
  } catch (const Error &error) {
    return failed(status_of(error.status), error.text);
  } catch (const std::bad_alloc &) {
    return failed(HIPDNN_PLUGIN_STATUS_ALLOC_FAILED, "the host has no memory left");
  } catch (const std::exception &error) {
    return failed(HIPDNN_PLUGIN_STATUS_INTERNAL_ERROR, error.what());
  }
}

void expect_engine(int64_t id) {
  if (id != engine_id())
    fail(HIPGRAFT_INVALID_ARGUMENT, "engine %lld is none of this plugin",
         static_cast<long long>(id));
}

std::string_view bytes(const hipdnnPluginConstData_t *data, const char *what) {
  if (!data || !data->ptr || !data->size) fail(HIPGRAFT_INVALID_ARGUMENT, "no %s is given", what);
  return {static_cast<const char *>(data->ptr), data->size};
}

// Checks that a configuration, a FlatBuffer of hipDNN, is of this engine.
void check_config(const hipdnnPluginConstData_t *config) {
  FlatTable table(bytes(config, "engine configuration"));
  if (!table.is_valid()) fail(HIPGRAFT_DAMAGED, "the engine configuration is no FlatBuffer");
  expect_engine(table.scalar<int64_t>(0, 0));
}

// Gives bytes to hipDNN, which gives them back to `release`.
void hand_over(std::string_view data, hipdnnPluginConstData_t *target) {
  void *memory = malloc(data.size());
  if (!memory) throw std::bad_alloc();
  memcpy(memory, data.data(), data.size());
  *target = {memory, data.size()};
}

void release(hipdnnPluginConstData_t *data) {
  free(const_cast<void *>(data->ptr));
  *data = {nullptr, 0};
}

// Bytes of workspace of a graph's program on an architecture.
size_t workspace_of(const hipgraft_bundle_data &bundle, const std::string &architecture) {
  size_t scalars = Json::parse(bundle.metadata())["by_value"].array().size();
  return bundle.find(architecture).workspace_size + kScalar * scalars;
}

std::unique_ptr<HipdnnEnginePluginExecutionContext> make_context(
    const HipdnnEnginePluginHandle &handle, std::shared_ptr<hipgraft_bundle_data> bundle) {
  auto context = std::make_unique<HipdnnEnginePluginExecutionContext>();
  context->program = &bundle->find(handle.device->architecture());
  Json metadata = Json::parse(bundle->metadata());
  const Json *engine = metadata.find("engine");
  if (!engine || engine->string() != kName)
    fail(HIPGRAFT_DAMAGED, "the bundle was not compiled from a graph of hipDNN");
  context->uids = metadata["inputs"].numbers();
  for (int64_t uid : metadata["results"].numbers()) context->uids.push_back(uid);
  if (context->uids.size() != context->program->input_count + context->program->result_count)
    fail(HIPGRAFT_DAMAGED, "the bundle has other tensors than its graph");
  for (int64_t uid : metadata["by_value"].numbers()) {
    auto end = context->uids.begin() + static_cast<ptrdiff_t>(context->program->input_count);
    auto found = std::find(context->uids.begin(), end, uid);
    if (found == end)
      fail(HIPGRAFT_DAMAGED, "tensor %lld is no input", static_cast<long long>(uid));
    context->by_value.push_back(static_cast<size_t>(found - context->uids.begin()));
  }
  context->workspace_size = workspace_of(*bundle, handle.device->architecture());
  context->executable = std::make_unique<Executable>(handle.device, *context->program, 0);
  context->bundle = std::move(bundle);
  return context;
}

// Puts scalars of host memory into the workspace, on the stream, and points to them there. Fills
// carry their values, so that the host may change its own at once.
void place_scalars(const HipdnnEnginePluginHandle &handle,
                   const HipdnnEnginePluginExecutionContext &context, void *workspace,
                   std::vector<void *> &pointers) {
  auto place = reinterpret_cast<uint64_t>(workspace) + context.program->workspace_size;
  Device::Current current(*handle.device);
  for (size_t index : context.by_value) {
    auto nbytes = static_cast<size_t>(context.program->variants[0].tensors[index].nbytes);
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

void execute(const HipdnnEnginePluginHandle &handle, HipdnnEnginePluginExecutionContext &context,
             void *workspace, const hipdnnPluginDeviceBuffer_t *buffers, uint32_t count) {
  thread_local std::vector<void *> pointers;
  pointers.clear();
  for (int64_t uid : context.uids) {
    auto end = buffers + count;
    auto found = std::find_if(buffers, end, [uid](auto &one) { return one.uid == uid; });
    if (found == end)
      fail(HIPGRAFT_INVALID_ARGUMENT, "there is no buffer for tensor %lld",
           static_cast<long long>(uid));
    pointers.push_back(found->ptr);
  }
  if (context.workspace_size && !workspace)
    fail(HIPGRAFT_INVALID_ARGUMENT, "the graph needs a workspace of %zu bytes",
         context.workspace_size);
  if (!context.by_value.empty()) place_scalars(handle, context, workspace, pointers);
  context.executable->enqueue(0, handle.stream, pointers.data(), pointers.size(), workspace);
}

// Checks that overrides say what the plan was compiled for: it has no other kernels.
void check_override(const HipdnnEnginePluginExecutionContext &context, int64_t uid, uint32_t rank,
                    const int64_t *shape, const int64_t *strides) {
  auto found = std::find(context.uids.begin(), context.uids.end(), uid);
  if (found == context.uids.end())
    fail(HIPGRAFT_INVALID_ARGUMENT, "there is no tensor %lld to override",
         static_cast<long long>(uid));
  expect("override_shapes, override_strides", shape, strides);
  auto &tensors = context.program->variants[0].tensors;
  const Tensor &tensor = tensors[static_cast<size_t>(found - context.uids.begin())];
  bool fits = tensor.shape.size() == rank;
  for (uint32_t dim = 0; dim < rank && fits; ++dim)
    fits = tensor.shape[dim] == shape[dim] && (shape[dim] == 1 || tensor.strides[dim] == strides[dim]);
  if (!fits)
    fail(HIPGRAFT_NOT_APPLICABLE, "the plan was compiled for another shape of tensor %lld",
         static_cast<long long>(uid));
}

}  // namespace

// ---- Functions of every plugin ------------------------------------------------------------------

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnPluginGetName(const char **name) {
  return guarded([&] {
    expect("name", name);
    *name = "hipgraft";
  });
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnPluginGetVersion(const char **version) {
  return guarded([&] {
    expect("version", version);
    *version = HIPGRAFT_RELEASE;
  });
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnPluginGetApiVersion(const char **version) {
  return guarded([&] {
    expect("version", version);
    *version = "1.4.0";
  });
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnPluginGetType(hipdnnPluginType_t *type) {
  return guarded([&] {
    expect("type", type);
    *type = HIPDNN_PLUGIN_TYPE_ENGINE;
  });
}

HIPDNN_PLUGIN_EXPORT void hipdnnPluginGetLastErrorString(const char **error_str) {
  if (error_str) *error_str = last_error;
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnPluginSetLoggingCallback(hipdnnCallback_t function) {
  callback = function;
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnPluginSetLogLevel(hipdnnSeverity_t severity) {
  level = severity;
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

// ---- Engines ------------------------------------------------------------------------------------

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginGetAllEngineIds(int64_t *engine_ids,
                                                                            uint32_t max_engines,
                                                                            uint32_t *num_engines) {
  return guarded([&] {
    expect("num_engines", num_engines);
    if (max_engines) {
      expect("engine_ids", engine_ids);
      engine_ids[0] = engine_id();
    }
    *num_engines = 1;
  });
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginGetEngineName(int64_t id,
                                                                          const char **name) {
  return guarded([&] {
    expect("name", name);
    if (id != engine_id()) fail(HIPGRAFT_NOT_APPLICABLE, "the engine is none of this plugin");
    *name = kName;
  });
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t
hipdnnEnginePluginCreate(hipdnnEnginePluginHandle_t *handle) {
  return guarded([&] {
    expect("handle", handle);
    const char *device = getenv("HIPGRAFT_PLUGIN_DEVICE");  // of tests, as `cuda:0`
    auto made = std::make_unique<HipdnnEnginePluginHandle>();
    made->device = open_gpu(device && *device ? device : "hip", nullptr);
    *handle = made.release();
  });
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t
hipdnnEnginePluginDestroy(hipdnnEnginePluginHandle_t handle) {
  return guarded([&] {
    expect("handle", handle);
    delete handle;
  });
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t
hipdnnEnginePluginSetStream(hipdnnEnginePluginHandle_t handle, hipStream_t stream) {
  return guarded([&] {
    expect("handle", handle);
    if (!handle->device->owns(stream))
      fail(HIPGRAFT_INVALID_ARGUMENT, "the stream is on another device than the handle");
    handle->stream = stream;
  });
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginGetApplicableEngineIds(
    hipdnnEnginePluginHandle_t handle, const hipdnnPluginConstData_t *op_graph, int64_t *engine_ids,
    uint32_t max_engines, uint32_t *num_engines) {
  return guarded([&] {
    expect("handle, num_engines", handle, num_engines);
    if (max_engines) expect("engine_ids", engine_ids);
    *num_engines = 0;
    Answer answer{false, ""};
    try {
      answer = check_graph(bytes(op_graph, "graph"), handle->device->architecture());
    } catch (const Error &error) {
      // Without a helper nothing new can be compiled: that is a no, with its reason.
      if (error.status == HIPGRAFT_INVALID_ARGUMENT) throw;
      answer.text = error.text;
      log(HIPDNN_SEV_WARN, error.text);
    }
    if (!answer.is_yes) log(HIPDNN_SEV_INFO, "not applicable: " + answer.text);
    if (!answer.is_yes || !max_engines) return;
    engine_ids[0] = engine_id();
    *num_engines = 1;
  });
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginGetEngineDetails(
    hipdnnEnginePluginHandle_t handle, int64_t id, const hipdnnPluginConstData_t *op_graph,
    hipdnnPluginConstData_t *engine_details) {
  return guarded([&] {
    expect("handle, engine_details", handle, engine_details);
    expect_engine(id);
    bytes(op_graph, "graph");
    hand_over({reinterpret_cast<const char *>(kEngineDetails), sizeof kEngineDetails},
              engine_details);
  });
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginDestroyEngineDetails(
    hipdnnEnginePluginHandle_t handle, hipdnnPluginConstData_t *engine_details) {
  return guarded([&] {
    expect("handle, engine_details", handle, engine_details);
    release(engine_details);
  });
}

// ---- Execution ----------------------------------------------------------------------------------

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginCreateExecutionContext(
    hipdnnEnginePluginHandle_t handle, const hipdnnPluginConstData_t *engine_config,
    const hipdnnPluginConstData_t *op_graph, hipdnnEnginePluginExecutionContext_t *context) {
  return guarded([&] {
    expect("handle, execution_context", handle, context);
    check_config(engine_config);
    Answer answer = compile_graph(bytes(op_graph, "graph"), handle->device->architecture());
    if (!answer.is_yes) fail(HIPGRAFT_NOT_APPLICABLE, "%s", answer.text.c_str());
    // The helper wrote it as this user, who is known by the bundle's digest.
    auto bundle = hipgraft_bundle_data::open(answer.text.c_str(), 0);
    *context = make_context(*handle, std::move(bundle)).release();
  });
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginDestroyExecutionContext(
    hipdnnEnginePluginHandle_t handle, hipdnnEnginePluginExecutionContext_t context) {
  return guarded([&] {
    expect("handle, execution_context", handle, context);
    delete context;
  });
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginGetWorkspaceSize(
    hipdnnEnginePluginHandle_t handle, const hipdnnPluginConstData_t *engine_config,
    const hipdnnPluginConstData_t *op_graph, size_t *workspace_size) {
  return guarded([&] {
    expect("handle, workspace_size", handle, workspace_size);
    check_config(engine_config);
    // Exact where the graph is compiled already; else hipDNN asks the context later.
    const std::string &architecture = handle->device->architecture();
    Answer answer = check_graph(bytes(op_graph, "graph"), architecture);
    if (!answer.is_yes) fail(HIPGRAFT_NOT_APPLICABLE, "%s", answer.text.c_str());
    *workspace_size = 0;
    if (!answer.text.empty())
      *workspace_size = workspace_of(*hipgraft_bundle_data::open(answer.text.c_str(), 0), architecture);
  });
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginGetWorkspaceSizeFromExecutionContext(
    hipdnnEnginePluginHandle_t handle, hipdnnEnginePluginExecutionContext_t context,
    size_t *workspace_size) {
  return guarded([&] {
    expect("handle, execution_context, workspace_size", handle, context, workspace_size);
    *workspace_size = context->workspace_size;
  });
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginExecuteOpGraph(
    hipdnnEnginePluginHandle_t handle, hipdnnEnginePluginExecutionContext_t context,
    void *workspace, const hipdnnPluginDeviceBuffer_t *device_buffers,
    uint32_t num_device_buffers) {
  return guarded([&] {
    expect("handle, execution_context, device_buffers", handle, context, device_buffers);
    execute(*handle, *context, workspace, device_buffers, num_device_buffers);
  });
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginExecuteOpGraphWithOverrides(
    hipdnnEnginePluginHandle_t handle, hipdnnEnginePluginExecutionContext_t context,
    void *workspace, const hipdnnPluginDeviceBuffer_t *device_buffers, uint32_t num_device_buffers,
    uint32_t num_overrides, const int64_t *override_unique_ids, const uint32_t *override_lengths,
    const int64_t *const *override_shapes, const int64_t *const *override_strides) {
  return guarded([&] {
    expect("handle, execution_context, device_buffers", handle, context, device_buffers);
    if (num_overrides)
      expect("overrides", override_unique_ids, override_lengths, override_shapes, override_strides);
    for (uint32_t i = 0; i < num_overrides; ++i)
      check_override(*context, override_unique_ids[i], override_lengths[i], override_shapes[i],
                     override_strides[i]);
    execute(*handle, *context, workspace, device_buffers, num_device_buffers);
  });
}

// ---- Serialised plans ---------------------------------------------------------------------------

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginSerializeExecutionContext(
    hipdnnEnginePluginHandle_t handle, hipdnnEnginePluginExecutionContext_t context,
    hipdnnPluginConstData_t *serialized_context) {
  return guarded([&] {
    expect("handle, execution_context, serialized_context", handle, context, serialized_context);
    hand_over(payload_of(context->bundle->data()), serialized_context);
  });
}

// The newer name of the same.
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginSerializeExecutionContextWithEngineId(
    hipdnnEnginePluginHandle_t handle, int64_t id, hipdnnEnginePluginExecutionContext_t context,
    hipdnnPluginConstData_t *serialized_context) {
  if (id != engine_id())
    return failed(HIPDNN_PLUGIN_STATUS_BAD_PARAM, "the plan is of another engine");
  return hipdnnEnginePluginSerializeExecutionContext(handle, context, serialized_context);
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginDestroySerializedExecutionContext(
    hipdnnEnginePluginHandle_t handle, hipdnnPluginConstData_t *serialized_context) {
  return guarded([&] {
    expect("handle, serialized_context", handle, serialized_context);
    release(serialized_context);
  });
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginCreateExecutionContextFromSerialized(
    hipdnnEnginePluginHandle_t handle, const hipdnnPluginConstData_t *serialized_context,
    hipdnnEnginePluginExecutionContext_t *context) {
  return guarded([&] {
    expect("handle, execution_context", handle, context);
    std::string_view bundle = bundle_in(bytes(serialized_context, "payload"));
    // Restoring a plan is the application's deliberate act, like loading a library.
    auto data = hipgraft_bundle_data::open(bundle.data(), bundle.size(), HIPGRAFT_TRUST);
    *context = make_context(*handle, std::move(data)).release();
  });
}
