// Kernels of programs that were compiled as HIP: the compiler registers their code objects when the
// program starts, and names kernels by host functions.
#include <string.h>

#include "modules.h"

HIP_API hipModuleGetGlobal(hipDeviceptr_t* address, size_t* size, hipModule_t module,
                           const char* name);
HIP_API hipMemcpy(void* target, const void* source, size_t size, hipMemcpyKind kind);
HIP_API hipMemcpyAsync(void* target, const void* source, size_t size, hipMemcpyKind kind,
                       hipStream_t stream);

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

// A function or variable of the host, and the kernel or device variable for which it stands.
struct HostName {
  Binary* binary;
  std::string name;
};

struct Registered {
  std::mutex mutex;
  std::set<Binary*> binaries;
  std::map<const void*, HostName> functions, variables;
};

Registered& registered() {
  static Registered* all = new Registered;
  return *all;
}

// Loads the binary for the current device unless it is loaded.
hipError_t module_of(Binary& binary, Module** module) {
  Module*& found = binary.modules[thread().device];
  if (!found)
    if (hipError_t error = load_module(binary.image, &found)) return error;
  *module = found;
  return hipSuccess;
}

// Returns the address and size of a variable on the current device, by the address of the host's
// variable.
hipError_t find_variable(const void* host, char** address, size_t* size) {
  Registered& all = registered();
  std::lock_guard<std::mutex> lock(all.mutex);
  auto found = all.variables.find(host);
  if (found == all.variables.end()) return hipErrorInvalidSymbol;
  Module* module = nullptr;
  if (hipError_t error = module_of(*found->second.binary, &module)) return error;
  return hipModuleGetGlobal((void**)address, size, module, found->second.name.c_str());
}

// Calls `copy(address)` with the address of a part of a variable.
template <class Copy>
hipError_t copy_part(const void* host, size_t size, size_t offset, Copy copy) {
  char* address = nullptr;
  size_t all = 0;
  if (hipError_t error = find_variable(host, &address, &all)) return finish(error);
  if (offset > all || size > all - offset) return finish(hipErrorInvalidValue);
  return copy(address + offset);
}

// The configuration that `<<<...>>>` pushes before it calls the host function.
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

COMPILER_API void __hipRegisterVar(void** binary, void* host, char*, char* name, int, size_t, int,
                                   int) {
  Registered& all = registered();
  std::lock_guard<std::mutex> lock(all.mutex);
  if (all.binaries.count((Binary*)binary)) all.variables[host] = {(Binary*)binary, name};
}

COMPILER_API void __hipUnregisterFatBinary(void** handle) {
  Registered& all = registered();
  std::lock_guard<std::mutex> lock(all.mutex);
  // Called when the process ends, which frees its modules.
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

HIP_API hipGetSymbolAddress(void** address, const void* symbol) {
  if (!address) return finish(hipErrorInvalidValue);
  return finish(find_variable(symbol, (char**)address, nullptr));
}
HIP_API hipGetSymbolSize(size_t* size, const void* symbol) {
  char* address = nullptr;
  if (!size) return finish(hipErrorInvalidValue);
  return finish(find_variable(symbol, &address, size));
}
HIP_API hipMemcpyToSymbol(const void* symbol, const void* source, size_t size, size_t offset,
                          hipMemcpyKind kind) {
  return copy_part(symbol, size, offset,
                   [&](char* target) { return hipMemcpy(target, source, size, kind); });
}
HIP_API hipMemcpyFromSymbol(void* target, const void* symbol, size_t size, size_t offset,
                            hipMemcpyKind kind) {
  return copy_part(symbol, size, offset,
                   [&](char* source) { return hipMemcpy(target, source, size, kind); });
}
HIP_API hipMemcpyToSymbolAsync(const void* symbol, const void* source, size_t size, size_t offset,
                               hipMemcpyKind kind, hipStream_t stream) {
  return copy_part(symbol, size, offset, [&](char* target) {
    return hipMemcpyAsync(target, source, size, kind, stream);
  });
}
HIP_API hipMemcpyFromSymbolAsync(void* target, const void* symbol, size_t size, size_t offset,
                                 hipMemcpyKind kind, hipStream_t stream) {
  return copy_part(symbol, size, offset, [&](char* source) {
    return hipMemcpyAsync(target, source, size, kind, stream);
  });
}
