// Calls the plugin with payloads, configurations and graphs from files, each damaged in many ways.
// The plugin must return a status. Built with sanitizers, together with the plugin's sources.
//
//     plugin_fuzz SEED ROUNDS FILE...

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "abi.h"

extern "C" {
hipdnnPluginStatus_t hipdnnEnginePluginCreate(hipdnnEnginePluginHandle_t *);
hipdnnPluginStatus_t hipdnnEnginePluginDestroy(hipdnnEnginePluginHandle_t);
hipdnnPluginStatus_t hipdnnEnginePluginSetStream(hipdnnEnginePluginHandle_t, hipStream_t);
hipdnnPluginStatus_t hipdnnEnginePluginSerializeExecutionContext(
    hipdnnEnginePluginHandle_t, hipdnnEnginePluginExecutionContext_t, hipdnnPluginConstData_t *);
hipdnnPluginStatus_t hipdnnEnginePluginDestroySerializedExecutionContext(
    hipdnnEnginePluginHandle_t, hipdnnPluginConstData_t *);
hipdnnPluginStatus_t hipdnnEnginePluginGetApplicableEngineIds(
    hipdnnEnginePluginHandle_t, const hipdnnPluginConstData_t *, int64_t *, uint32_t, uint32_t *);
hipdnnPluginStatus_t hipdnnEnginePluginCreateExecutionContext(
    hipdnnEnginePluginHandle_t, const hipdnnPluginConstData_t *, const hipdnnPluginConstData_t *,
    hipdnnEnginePluginExecutionContext_t *);
hipdnnPluginStatus_t hipdnnEnginePluginCreateExecutionContextFromSerialized(
    hipdnnEnginePluginHandle_t, const hipdnnPluginConstData_t *,
    hipdnnEnginePluginExecutionContext_t *);
hipdnnPluginStatus_t hipdnnEnginePluginDestroyExecutionContext(
    hipdnnEnginePluginHandle_t, hipdnnEnginePluginExecutionContext_t);
hipdnnPluginStatus_t hipdnnEnginePluginExecuteOpGraphWithOverrides(
    hipdnnEnginePluginHandle_t, hipdnnEnginePluginExecutionContext_t, void *,
    const hipdnnPluginDeviceBuffer_t *, uint32_t, uint32_t, const int64_t *, const uint32_t *,
    const int64_t *const *, const int64_t *const *);
}

// Executes without buffers, with overrides that are valid, hostile or null: nothing is launched.
static void override_shapes(hipdnnEnginePluginHandle_t handle,
                            hipdnnEnginePluginExecutionContext_t context, std::mt19937 &draw) {
  const int64_t values[] = {1, 2, 4, 16, 0, -1, INT64_MAX, INT64_MIN};
  int64_t uids[3], numbers[6][4];
  uint32_t lengths[3];
  const int64_t *shapes[3], *strides[3];
  for (int i = 0; i < 3; ++i) {
    uids[i] = draw() % 5;
    lengths[i] = draw() % 5;
    for (int at = 0; at < 8; ++at) numbers[2 * i + at / 4][at % 4] = values[draw() % 8];
    shapes[i] = draw() % 16 ? numbers[2 * i] : nullptr;
    strides[i] = draw() % 16 ? numbers[2 * i + 1] : nullptr;
  }
  hipdnnPluginDeviceBuffer_t none{-1, nullptr};
  hipdnnEnginePluginExecuteOpGraphWithOverrides(handle, context, nullptr, &none, 1, draw() % 4, uids,
                                                lengths, shapes, strides);
}

// Saves a context and restores it, which must succeed.
static bool survives(hipdnnEnginePluginHandle_t handle,
                     hipdnnEnginePluginExecutionContext_t context) {
  hipdnnPluginConstData_t saved{};
  hipdnnEnginePluginExecutionContext_t again = nullptr;
  bool is_good = !hipdnnEnginePluginSerializeExecutionContext(handle, context, &saved) &&
                 !hipdnnEnginePluginCreateExecutionContextFromSerialized(handle, &saved, &again);
  hipdnnEnginePluginDestroySerializedExecutionContext(handle, &saved);
  if (again) hipdnnEnginePluginDestroyExecutionContext(handle, again);
  return is_good;
}

int main(int argc, char **argv) {
  std::mt19937 draw(static_cast<unsigned>(atoi(argv[1])));
  hipdnnEnginePluginHandle_t handle = nullptr;
  if (hipdnnEnginePluginCreate(&handle)) return 2;
  int restored = 0;
  for (int round = 0; round < atoi(argv[2]); ++round) {
    std::ifstream file(argv[3 + draw() % (argc - 3)], std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), {});
    for (unsigned changes = draw() % 4; changes && !bytes.empty(); --changes) {
      size_t most = draw() % 3 ? std::min<size_t>(bytes.size(), 256) : bytes.size();
      bytes[draw() % most] = static_cast<char>(draw());
      if (draw() % 8 == 0) bytes.resize(draw() % bytes.size());
    }
    hipdnnPluginConstData_t data{bytes.data(), bytes.size()};
    hipdnnEnginePluginExecutionContext_t context = nullptr;
    int64_t id;
    uint32_t count;
    hipdnnEnginePluginSetStream(handle, reinterpret_cast<hipStream_t>(uintptr_t{draw()}));
    hipdnnEnginePluginSetStream(handle, nullptr);
    hipdnnEnginePluginGetApplicableEngineIds(handle, &data, &id, 1, &count);
    hipdnnEnginePluginCreateExecutionContext(handle, &data, &data, &context);
    if (!hipdnnEnginePluginCreateExecutionContextFromSerialized(handle, &data, &context)) {
      ++restored;
      override_shapes(handle, context, draw);
      if (!survives(handle, context)) return 3;
      hipdnnEnginePluginDestroyExecutionContext(handle, context);
    }
  }
  hipdnnEnginePluginDestroy(handle);
  printf("%d\n", restored);
}
