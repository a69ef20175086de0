// Kernels of programs that were compiled as HIP: the compiler registers their code objects when the
// program starts, and names kernels by host functions.
#include <string.h>

#include "modules.h"

namespace {

constexpr uint32_t kWrapperMagic = 0x48495046;  // "HIPF"

struct Wrapper {
  uint32_t magic, version;
  const void* binary;
  void* unused;
};

struct Binary {
  const void* image;
  std::map<int, Module*> modules;  // by device
};

struct HostFunction {
  Binary* binary;
  std::string name;
};

struct Registered {
  std::mutex mutex;
  std::set<Binary*> binaries;
  std::map<const void*, HostFunction> functions;
};

Registered& registered() {
  static Registered* all = new Registered;
  return *all;
}

// Loads the binary for the current device where that has not happened.
hipError_t module_of(Binary& binary, Module** module) {
  Module*& found = binary.modules[thread().device];
  if (!found)
    if (hipError_t error = load_module(binary.image, &found)) return error;
  *module = found;
  return hipSuccess;
}

// What `<<<...>>>` pushes before it calls the host function.
struct Configuration {
  dim3 grid, block;
  size_t lds;
  hipStream_t stream;
};
thread_local std::vector<Configuration>* configurations = nullptr;

}  // namespace

hipError_t find_function(const void* handle, Function** function) {
  if (!handle) return hipErrorInvalidValue;
  *function = (Function*)handle;
  Registered& all = registered();
  std::lock_guard<std::mutex> lock(all.mutex);
  auto found = all.functions.find(handle);
  if (found == all.functions.end()) return hipSuccess;
  Module* module = nullptr;
  if (hipError_t error = module_of(*found->second.binary, &module)) return error;
  auto kernel = module->functions.find(found->second.name);
  if (kernel == module->functions.end()) return hipErrorInvalidDeviceFunction;
  *function = kernel->second.get();
  return hipSuccess;
}

#define COMPILER_API extern "C" __attribute__((visibility("default")))

COMPILER_API void** __hipRegisterFatBinary(const void* data) {
  const Wrapper& wrapper = *(const Wrapper*)data;
  if (wrapper.magic != kWrapperMagic) {
    complain("a program registers code objects in an unknown form");
    return nullptr;
  }
  Registered& all = registered();
  std::lock_guard<std::mutex> lock(all.mutex);
  Binary* binary = new Binary{wrapper.binary, {}};
  all.binaries.insert(binary);
  return (void**)binary;
}

COMPILER_API void __hipRegisterFunction(void** binary, const void* host, char*, const char* name,
                                        unsigned, void*, void*, void*, void*, int*) {
  Registered& all = registered();
  std::lock_guard<std::mutex> lock(all.mutex);
  if (all.binaries.count((Binary*)binary)) all.functions[host] = {(Binary*)binary, name};
}

// Copies to and from symbols are not there, so that nobody asks for them by these names.
COMPILER_API void __hipRegisterVar(void**, void*, char*, char*, int, size_t, int, int) {}

COMPILER_API void __hipUnregisterFatBinary(void** handle) {
  Registered& all = registered();
  std::lock_guard<std::mutex> lock(all.mutex);
  // The process ends: its modules go with it.
  all.binaries.erase((Binary*)handle);
}

HIP_API __hipPushCallConfiguration(dim3 grid, dim3 block, size_t lds, hipStream_t stream) {
  if (!configurations) configurations = new std::vector<Configuration>;
  configurations->push_back({grid, block, lds, stream});
  return hipSuccess;
}

HIP_API __hipPopCallConfiguration(dim3* grid, dim3* block, size_t* lds, hipStream_t* stream) {
  if (!configurations || configurations->empty()) return finish(hipErrorInvalidValue);
  const Configuration& last = configurations->back();
  *grid = last.grid, *block = last.block, *lds = last.lds, *stream = last.stream;
  configurations->pop_back();
  return hipSuccess;
}
