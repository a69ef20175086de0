// hipgraft as an engine of hipDNN: the entry points of the plugin.
//
// The helper interprets and compiles graphs (`plans.h`), and the player runs programs
// (`executable.h`). This file implements the rules of hipDNN's ABI.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "abi.h"
#include "context.h"
#include "environment.h"
#include "errors.h"
#include "failures.h"
#include "payload.h"
#include "plans.h"
#include "settings.h"

using namespace hipgraft;

namespace {

std::string_view bytes(const hipdnnPluginConstData_t *data, const char *what) {
  if (!data || !data->ptr || !data->size) fail(HIPGRAFT_INVALID_ARGUMENT, "no %s is given", what);
  return {static_cast<const char *>(data->ptr), data->size};
}

Settings settings_in(const hipdnnPluginConstData_t *config) {
  return read_settings(bytes(config, "engine configuration"));
}

// Returns the graph and the settings for executions with other shapes.
Overridable overridable(std::string_view graph, const Settings &settings) {
  if (!allows_overrides(graph)) return {"", "", false};
  return {std::string(graph), settings.compilation, settings.compiles_overrides};
}

// Passes bytes to hipDNN, which later passes them to `release`.
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

}  // namespace

// ---- Functions of every plugin ------------------------------------------------------------------

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnPluginGetName(const char **name) {
  return answered([&] {
    expect("name", name);
    *name = "hipgraft";
  });
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnPluginGetVersion(const char **version) {
  return answered([&] {
    expect("version", version);
    *version = HIPGRAFT_RELEASE;
  });
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnPluginGetApiVersion(const char **version) {
  return answered([&] {
    expect("version", version);
    *version = "1.4.0";
  });
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnPluginGetType(hipdnnPluginType_t *type) {
  return answered([&] {
    expect("type", type);
    *type = HIPDNN_PLUGIN_TYPE_ENGINE;
  });
}

HIPDNN_PLUGIN_EXPORT void hipdnnPluginGetLastErrorString(const char **error_str) {
  if (error_str) *error_str = plugin_error();
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnPluginSetLoggingCallback(hipdnnCallback_t function) {
  log_callback = function;
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnPluginSetLogLevel(hipdnnSeverity_t severity) {
  log_level = severity;
  return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

// ---- Engines ------------------------------------------------------------------------------------

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginGetAllEngineIds(int64_t *engine_ids,
                                                                            uint32_t max_engines,
                                                                            uint32_t *num_engines) {
  return answered([&] {
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
  return answered([&] {
    expect("name", name);
    if (id != engine_id()) fail(HIPGRAFT_NOT_APPLICABLE, "the engine is none of this plugin");
    *name = kEngineName;
  });
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t
hipdnnEnginePluginCreate(hipdnnEnginePluginHandle_t *handle) {
  return answered([&] {
    expect("handle", handle);
    std::string device = variable("HIPGRAFT_PLUGIN_DEVICE");  // set by tests, such as `cuda:0`
    auto made = std::make_unique<HipdnnEnginePluginHandle>();
    made->device = open_gpu(device.empty() ? "hip" : device, nullptr);
    *handle = made.release();
  });
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t
hipdnnEnginePluginDestroy(hipdnnEnginePluginHandle_t handle) {
  return answered([&] {
    expect("handle", handle);
    delete handle;
  });
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t
hipdnnEnginePluginSetStream(hipdnnEnginePluginHandle_t handle, hipStream_t stream) {
  return answered([&] {
    expect("handle", handle);
    Device::Current current(*handle->device);
    handle->device->check_stream(stream);
    handle->stream = stream;
  });
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginGetApplicableEngineIds(
    hipdnnEnginePluginHandle_t handle, const hipdnnPluginConstData_t *op_graph, int64_t *engine_ids,
    uint32_t max_engines, uint32_t *num_engines) {
  return answered([&] {
    expect("handle, num_engines", handle, num_engines);
    if (max_engines) expect("engine_ids", engine_ids);
    *num_engines = 0;
    Answer answer{false, ""};
    try {
      answer = check_graph(bytes(op_graph, "graph"), handle->device->architecture());
    } catch (const Error &error) {
      // Without a helper, no new graph can be compiled, so the graph is not applicable, with the
      // reason.
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
  return answered([&] {
    expect("handle, engine_details", handle, engine_details);
    expect_engine(id);
    bytes(op_graph, "graph");
    hand_over(hipgraft::engine_details(), engine_details);
  });
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginDestroyEngineDetails(
    hipdnnEnginePluginHandle_t handle, hipdnnPluginConstData_t *engine_details) {
  return answered([&] {
    expect("handle, engine_details", handle, engine_details);
    release(engine_details);
  });
}

// ---- Execution ----------------------------------------------------------------------------------

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginCreateExecutionContext(
    hipdnnEnginePluginHandle_t handle, const hipdnnPluginConstData_t *engine_config,
    const hipdnnPluginConstData_t *op_graph, hipdnnEnginePluginExecutionContext_t *context) {
  return answered([&] {
    expect("handle, execution_context", handle, context);
    Settings settings = settings_in(engine_config);
    std::string_view graph = bytes(op_graph, "graph");
    std::string target = handle->device->architecture() + settings.compilation;
    Answer answer = compile_graph(graph, target);
    if (!answer.is_yes) fail(HIPGRAFT_NOT_APPLICABLE, "%s", answer.text.c_str());
    // The helper wrote the bundle as this user, so its digest is known.
    auto bundle = hipgraft_bundle_data::open(answer.text.c_str(), 0);
    auto made = std::make_unique<HipdnnEnginePluginExecutionContext>(
        *handle, std::move(bundle), overridable(graph, settings));
    settings.check_workspace(made->main.graph.workspace_size());
    *context = made.release();
  });
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginDestroyExecutionContext(
    hipdnnEnginePluginHandle_t handle, hipdnnEnginePluginExecutionContext_t context) {
  return answered([&] {
    expect("handle, execution_context", handle, context);
    delete context;
  });
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginGetWorkspaceSize(
    hipdnnEnginePluginHandle_t handle, const hipdnnPluginConstData_t *engine_config,
    const hipdnnPluginConstData_t *op_graph, size_t *workspace_size) {
  return answered([&] {
    expect("handle, workspace_size", handle, workspace_size);
    Settings settings = settings_in(engine_config);
    // Exact if the graph is already compiled; otherwise hipDNN asks the context later.
    const std::string &architecture = handle->device->architecture();
    Answer answer = check_graph(bytes(op_graph, "graph"), architecture + settings.compilation);
    if (!answer.is_yes) fail(HIPGRAFT_NOT_APPLICABLE, "%s", answer.text.c_str());
    *workspace_size = 0;
    if (answer.text.empty()) return;
    auto bundle = hipgraft_bundle_data::open(answer.text.c_str(), 0);
    *workspace_size = GraphProgram(std::move(bundle), architecture).workspace_size();
    settings.check_workspace(*workspace_size);
  });
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginGetWorkspaceSizeFromExecutionContext(
    hipdnnEnginePluginHandle_t handle, hipdnnEnginePluginExecutionContext_t context,
    size_t *workspace_size) {
  return answered([&] {
    expect("handle, execution_context, workspace_size", handle, context, workspace_size);
    *workspace_size = context->main.graph.workspace_size();
  });
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginExecuteOpGraph(
    hipdnnEnginePluginHandle_t handle, hipdnnEnginePluginExecutionContext_t context,
    void *workspace, const hipdnnPluginDeviceBuffer_t *device_buffers,
    uint32_t num_device_buffers) {
  return answered([&] {
    expect("handle, execution_context, device_buffers", handle, context, device_buffers);
    context->main.execute(*handle, workspace, device_buffers, num_device_buffers);
  });
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginExecuteOpGraphWithOverrides(
    hipdnnEnginePluginHandle_t handle, hipdnnEnginePluginExecutionContext_t context,
    void *workspace, const hipdnnPluginDeviceBuffer_t *device_buffers, uint32_t num_device_buffers,
    uint32_t num_overrides, const int64_t *override_unique_ids, const uint32_t *override_lengths,
    const int64_t *const *override_shapes, const int64_t *const *override_strides) {
  return answered([&] {
    expect("handle, execution_context, device_buffers", handle, context, device_buffers);
    if (num_overrides)
      expect("overrides", override_unique_ids, override_lengths, override_shapes, override_strides);
    std::vector<Override> overrides;
    for (uint32_t i = 0; i < num_overrides; ++i)
      overrides.push_back({override_unique_ids[i], override_lengths[i], override_shapes[i],
                           override_strides[i]});
    context->execute(*handle, std::move(overrides), workspace, device_buffers, num_device_buffers);
  });
}

// ---- Serialised plans ---------------------------------------------------------------------------

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginSerializeExecutionContext(
    hipdnnEnginePluginHandle_t handle, hipdnnEnginePluginExecutionContext_t context,
    hipdnnPluginConstData_t *serialized_context) {
  return answered([&] {
    expect("handle, execution_context, serialized_context", handle, context, serialized_context);
    hand_over(context->payload(), serialized_context);
  });
}

// The newer name of the preceding function.
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginSerializeExecutionContextWithEngineId(
    hipdnnEnginePluginHandle_t handle, int64_t id, hipdnnEnginePluginExecutionContext_t context,
    hipdnnPluginConstData_t *serialized_context) {
  if (id != engine_id())
    return failed(HIPDNN_PLUGIN_STATUS_BAD_PARAM, "the plan is of another engine");
  return hipdnnEnginePluginSerializeExecutionContext(handle, context, serialized_context);
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginDestroySerializedExecutionContext(
    hipdnnEnginePluginHandle_t handle, hipdnnPluginConstData_t *serialized_context) {
  return answered([&] {
    expect("handle, serialized_context", handle, serialized_context);
    release(serialized_context);
  });
}

HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginCreateExecutionContextFromSerialized(
    hipdnnEnginePluginHandle_t handle, const hipdnnPluginConstData_t *serialized_context,
    hipdnnEnginePluginExecutionContext_t *context) {
  return answered([&] {
    expect("handle, execution_context", handle, context);
    Payload payload = decode_payload(bytes(serialized_context, "payload"));
    // The application restores a plan deliberately, as it would load a library, so the plan is
    // trusted.
    auto data = hipgraft_bundle_data::open(payload.bundle.data(), payload.bundle.size(),
                                           HIPGRAFT_TRUST);
    Overridable graph{std::string(payload.graph), std::string(payload.settings),
                      payload.compiles_overrides};
    *context = new HipdnnEnginePluginExecutionContext(*handle, std::move(data), std::move(graph));
  });
}
