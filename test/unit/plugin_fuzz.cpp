// Calls the plugin with payloads, configurations and graphs from files, each one damaged in many
// ways: it has to answer with a status. Built with sanitizers, together with the plugin's sources.
//
//     plugin_fuzz SEED ROUNDS FILE...

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
    hipdnnEnginePluginGetApplicableEngineIds(handle, &data, &id, 1, &count);
    hipdnnEnginePluginCreateExecutionContext(handle, &data, &data, &context);
    if (!hipdnnEnginePluginCreateExecutionContextFromSerialized(handle, &data, &context)) {
      ++restored;
      hipdnnEnginePluginDestroyExecutionContext(handle, context);
    }
  }
  hipdnnEnginePluginDestroy(handle);
  printf("%d\n", restored);
}
