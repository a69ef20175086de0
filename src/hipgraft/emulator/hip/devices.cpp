// Devices, their properties, contexts and peers.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "runtime.h"

namespace {

constexpr int kVersion = 70051831;  // of HIP 7.0
constexpr int kMostItems = 1024, kMostBlocks = 2147483647;

size_t memory_bytes() { return (size_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE); }

hipUUID uuid_of(const Device& device) {
  hipUUID uuid = {};
  snprintf(uuid.bytes, sizeof uuid.bytes, "emulated-%d", device.number);
  return uuid;
}

std::string bus_id(const Device& device) {
  char text[16];
  snprintf(text, sizeof text, "0000:%02x:00.0", device.number + 1);
  return text;
}

hipDeviceProp_tR0600 properties_of(const Device& device) {
  const Settings& settings = state().settings;
  hipDeviceProp_tR0600 found = {};
  std::string architecture = settings.text("architecture");
  snprintf(found.name, sizeof found.name, "%s (emulated)", settings.text("name").c_str());
  snprintf(found.gcnArchName, sizeof found.gcnArchName, "%s%s", architecture.c_str(),
           settings.text("features").c_str());
  found.uuid = uuid_of(device);
  found.totalGlobalMem = memory_bytes();
  found.sharedMemPerBlock = found.sharedMemPerBlockOptin = settings.number("lds_of_block");
  found.sharedMemPerMultiprocessor = settings.number("lds_of_unit");
  found.maxSharedMemoryPerMultiProcessor = found.sharedMemPerMultiprocessor;
  found.warpSize = settings.number("wave_size");
  int lanes = settings.number("simds") * found.warpSize;
  found.regsPerMultiprocessor = lanes * settings.number("registers");
  found.regsPerBlock = std::min(found.regsPerMultiprocessor, 65536);
  found.memPitch = kMostBlocks;
  found.maxThreadsPerBlock = kMostItems;
  for (int i = 0; i < 3; i++) found.maxThreadsDim[i] = kMostItems;
  found.maxGridSize[0] = kMostBlocks;
  found.maxGridSize[1] = found.maxGridSize[2] = 65536;
  found.clockRate = settings.number("clock_khz");
  found.totalConstMem = kMostBlocks;
  found.major = settings.number("major");
  found.minor = settings.number("minor");
  found.textureAlignment = found.texturePitchAlignment = found.surfaceAlignment = 256;
  found.multiProcessorCount = settings.number("units");
  found.canMapHostMemory = found.concurrentKernels = found.unifiedAddressing = 1;
  found.deviceOverlap = found.asyncEngineCount = 1;
  found.pciBusID = device.number + 1;
  found.l2CacheSize = settings.number("l2_bytes");
  found.maxThreadsPerMultiProcessor = lanes * settings.number("waves");
  found.maxBlocksPerMultiProcessor = 32;
  found.streamPrioritiesSupported = found.globalL1CacheSupported = 1;
  found.managedMemory = found.concurrentManagedAccess = 1;
  found.canUseHostPointerForRegisteredMem = found.hostRegisterSupported = 1;
  found.directManagedMemAccessFromHost = found.memoryPoolsSupported = found.isLargeBar = 1;
  found.clockInstructionRate = 100000;
  return found;
}

hipError_t get_attribute(const Device& device, int attribute, int* value) {
  const hipDeviceProp_tR0600 found = properties_of(device);
  const int memory = (int)std::min<size_t>(found.totalGlobalMem, kMostBlocks);
  // Indexed by the numbers of `hipDeviceAttribute_t`.
  const std::map<int, int> values = {
      {0, 0},
      {2, 1},
      {3, 1},
      {4, 1},
      {5, found.clockRate},
      {6, 0},
      {7, 0},
      {8, 1},
      {9, 1},
      {10, 0},
      {11, 0},
      {12, 1},
      {13, 1},
      {14, 1},
      {15, 0},
      {16, 0},
      {17, 0},
      {18, 0},
      {19, found.l2CacheSize},
      {20, 0},
      {23, found.major},
      {24, 1},
      {25, found.maxBlocksPerMultiProcessor},
      {26, kMostItems},
      {27, kMostItems},
      {28, kMostItems},
      {29, found.maxGridSize[0]},
      {30, found.maxGridSize[1]},
      {31, found.maxGridSize[2]},
      {56, kMostItems},
      {57, found.maxThreadsPerMultiProcessor},
      {58, kMostBlocks},
      {59, 0},
      {60, 0},
      {61, found.minor},
      {62, 0},
      {63, found.multiProcessorCount},
      {65, 0},
      {66, 0},
      {67, found.pciBusID},
      {68, 0},
      {69, 0},
      {70, 0},
      {71, found.regsPerBlock},
      {72, found.regsPerMultiprocessor},
      {73, 0},
      {74, (int)found.sharedMemPerBlock},
      {75, (int)found.sharedMemPerBlockOptin},
      {76, (int)found.sharedMemPerMultiprocessor},
      {78, 1},
      {79, 256},
      {80, 0},
      {81, 256},
      {82, 256},
      {83, kMostBlocks},
      {84, memory},
      {85, 1},
      {87, found.warpSize},
      {88, 1},
      {89, 0},
      {90, 1},
      {91, 0},
      {92, 0},
      {93, 0},
      {10000, found.clockInstructionRate},
      {10002, (int)found.maxSharedMemoryPerMultiProcessor},
      {10007, 0},
      {10008, 0},
      {10009, 0},
      {10010, 0},
      {10011, 1},
      {10012, 0},
      {10013, 0},
      {10014, 0},
      {10015, found.multiProcessorCount},
      {10016, 1},
      {10017, 100000},
      {10018, 1},
  };
  auto one = values.find(attribute);
  if (one == values.end()) return hipErrorInvalidValue;
  *value = one->second;
  return hipSuccess;
}

hipError_t set_current(int number) {
  return with_device(number, [&](State&, Lock&, Device&) {
    thread().device = number;
    return hipSuccess;
  });
}

bool is_context(State& all, hipCtx_t context) {
  return std::count(all.devices.begin(), all.devices.end(), context);
}

}  // namespace

HIP_API hipInit(unsigned flags) { return finish(flags ? hipErrorInvalidValue : state().start); }
HIP_API hipDriverGetVersion(int* version) {
  if (!version) return finish(hipErrorInvalidValue);
  *version = kVersion;
  return finish(hipSuccess);
}
HIP_API hipRuntimeGetVersion(int* version) { return hipDriverGetVersion(version); }

HIP_API hipGetDeviceCount(int* count) {
  if (!count) return finish(hipErrorInvalidValue);
  *count = state().devices.size();
  return finish(*count ? hipSuccess : hipErrorNoDevice);
}
HIP_API hipSetDevice(int number) { return finish(set_current(number)); }
HIP_API hipGetDevice(int* number) {
  if (!number) return finish(hipErrorInvalidValue);
  *number = thread().device;
  return finish(state().start);
}
HIP_API hipDeviceGet(hipDevice_t* device, int number) {
  if (!device) return finish(hipErrorInvalidValue);
  *device = number;
  return finish(with_device(number, [](State&, Lock&, Device&) { return hipSuccess; }));
}

HIP_API hipGetDevicePropertiesR0600(hipDeviceProp_tR0600* properties, int number) {
  if (!properties) return finish(hipErrorInvalidValue);
  return finish(with_device(number, [&](State&, Lock&, Device& device) {
    *properties = properties_of(device);
    return hipSuccess;
  }));
}

// Programs compiled against HIP versions before 6 call it by this name.
HIP_API hipGetDeviceProperties(hipDeviceProp_tR0000* properties, int number) {
  if (!properties) return finish(hipErrorInvalidValue);
  return finish(with_device(number, [&](State&, Lock&, Device& device) {
    const hipDeviceProp_tR0600 found = properties_of(device);
    hipDeviceProp_tR0000 old = {};
    memcpy(old.name, found.name, sizeof old.name);
    memcpy(old.gcnArchName, found.gcnArchName, sizeof old.gcnArchName);
    memcpy(old.maxThreadsDim, found.maxThreadsDim, sizeof old.maxThreadsDim);
    memcpy(old.maxGridSize, found.maxGridSize, sizeof old.maxGridSize);
#define COPY(name) old.name = found.name
    COPY(totalGlobalMem), COPY(sharedMemPerBlock), COPY(regsPerBlock), COPY(warpSize);
    COPY(maxThreadsPerBlock), COPY(clockRate), COPY(totalConstMem), COPY(major), COPY(minor);
    COPY(multiProcessorCount), COPY(l2CacheSize), COPY(maxThreadsPerMultiProcessor);
    COPY(clockInstructionRate), COPY(concurrentKernels), COPY(pciBusID), COPY(canMapHostMemory);
    COPY(maxSharedMemoryPerMultiProcessor), COPY(memPitch), COPY(textureAlignment);
    COPY(texturePitchAlignment), COPY(isLargeBar), COPY(managedMemory);
    COPY(directManagedMemAccessFromHost), COPY(concurrentManagedAccess);
#undef COPY
    *properties = old;
    return hipSuccess;
  }));
}
HIP_API hipGetDevicePropertiesR0000(hipDeviceProp_tR0000* properties, int number) {
  return hipGetDeviceProperties(properties, number);
}

HIP_API hipDeviceGetAttribute(int* value, int attribute, int number) {
  if (!value) return finish(hipErrorInvalidValue);
  return finish(with_device(number, [&](State&, Lock&, Device& device) {
    return get_attribute(device, attribute, value);
  }));
}
HIP_API hipDeviceGetName(char* name, int length, hipDevice_t number) {
  if (!name || length <= 0) return finish(hipErrorInvalidValue);
  return finish(with_device(number, [&](State&, Lock&, Device& device) {
    snprintf(name, length, "%s", properties_of(device).name);
    return hipSuccess;
  }));
}
HIP_API hipDeviceGetUuid(hipUUID* uuid, hipDevice_t number) {
  if (!uuid) return finish(hipErrorInvalidValue);
  return finish(with_device(number, [&](State&, Lock&, Device& device) {
    *uuid = uuid_of(device);
    return hipSuccess;
  }));
}
HIP_API hipDeviceTotalMem(size_t* bytes, hipDevice_t number) {
  if (!bytes) return finish(hipErrorInvalidValue);
  *bytes = memory_bytes();
  return finish(with_device(number, [](State&, Lock&, Device&) { return hipSuccess; }));
}
HIP_API hipDeviceComputeCapability(int* major, int* minor, hipDevice_t number) {
  if (!major || !minor) return finish(hipErrorInvalidValue);
  return finish(with_device(number, [&](State&, Lock&, Device& device) {
    const hipDeviceProp_tR0600 found = properties_of(device);
    *major = found.major, *minor = found.minor;
    return hipSuccess;
  }));
}
HIP_API hipDeviceGetPCIBusId(char* text, int length, int number) {
  if (!text || length <= 0) return finish(hipErrorInvalidValue);
  return finish(with_device(number, [&](State&, Lock&, Device& device) {
    snprintf(text, length, "%s", bus_id(device).c_str());
    return hipSuccess;
  }));
}
HIP_API hipDeviceGetByPCIBusId(int* number, const char* text) {
  if (!number || !text) return finish(hipErrorInvalidValue);
  for (const Device* device : state().devices)
    if (bus_id(*device) == text) return *number = device->number, finish(hipSuccess);
  return finish(hipErrorInvalidValue);
}

HIP_API hipDeviceSynchronize() {
  return finish(with_device(thread().device, [](State& all, Lock& lock, Device& device) {
    if (hipError_t error = refuse_during_capture(all)) return error;
    wait_for_device(all, lock, device);
    return all.fault;
  }));
}
HIP_API hipCtxSynchronize() { return hipDeviceSynchronize(); }

// Frees the device's memory when its work is complete.
HIP_API hipDeviceReset() {
  return finish(with_device(thread().device, [](State& all, Lock& lock, Device& device) {
    wait_for_device(all, lock, device);
    std::vector<void*> addresses;
    for (const auto& [address, one] : all.memory)
      if (one.device == device.number && one.kind != MEMORY_IMAGE)
        addresses.push_back((void*)address);
    for (void* address : addresses) release(all, address);
    return hipSuccess;
  }));
}

HIP_API hipSetDeviceFlags(unsigned flags) {
  return finish(with_device(thread().device, [&](State&, Lock&, Device& device) {
    device.flags = flags;
    return hipSuccess;
  }));
}
HIP_API hipGetDeviceFlags(unsigned* flags) {
  if (!flags) return finish(hipErrorInvalidValue);
  return finish(with_device(thread().device, [&](State&, Lock&, Device& device) {
    *flags = device.flags;
    return hipSuccess;
  }));
}

HIP_API hipDeviceCanAccessPeer(int* can, int number, int peer) {
  if (!can) return finish(hipErrorInvalidValue);
  *can = number != peer;
  return finish(with_device(std::max(number, peer), [&](State&, Lock&, Device&) {
    return std::min(number, peer) < 0 ? hipErrorInvalidDevice : hipSuccess;
  }));
}
HIP_API hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  if (flags) return finish(hipErrorInvalidValue);
  return finish(with_device(peer, [&](State&, Lock&, Device&) {
    if (peer == thread().device) return hipErrorInvalidDevice;
    bool is_new = current_device().peers.insert(peer).second;
    return is_new ? hipSuccess : hipErrorPeerAccessAlreadyEnabled;
  }));
}
HIP_API hipDeviceDisablePeerAccess(int peer) {
  return finish(with_device(peer, [&](State&, Lock&, Device&) {
    return current_device().peers.erase(peer) ? hipSuccess : hipErrorPeerAccessNotEnabled;
  }));
}

// A context is its device.
HIP_API hipDevicePrimaryCtxRetain(hipCtx_t* context, hipDevice_t number) {
  if (!context) return finish(hipErrorInvalidValue);
  return finish(with_device(number, [&](State&, Lock&, Device& device) {
    *context = &device;
    return hipSuccess;
  }));
}
HIP_API hipDevicePrimaryCtxRelease(hipDevice_t number) {
  return finish(with_device(number, [](State&, Lock&, Device&) { return hipSuccess; }));
}
HIP_API hipDevicePrimaryCtxGetState(hipDevice_t number, unsigned* flags, int* active) {
  return finish(with_device(number, [&](State&, Lock&, Device& device) {
    if (flags) *flags = device.flags;
    if (active) *active = 1;
    return hipSuccess;
  }));
}
HIP_API hipCtxCreate(hipCtx_t* context, unsigned, hipDevice_t number) {
  if (hipError_t error = hipDevicePrimaryCtxRetain(context, number)) return error;
  thread().contexts.push_back(&current_device());
  return finish(set_current(number));
}
HIP_API hipCtxSetCurrent(hipCtx_t context) {
  if (!context) return finish(state().start);
  if (!is_context(state(), context)) return finish(hipErrorInvalidContext);
  return finish(set_current(context->number));
}
HIP_API hipCtxGetCurrent(hipCtx_t* context) {
  if (!context) return finish(hipErrorInvalidValue);
  if (state().start) return finish(state().start);
  *context = &current_device();
  return finish(hipSuccess);
}
HIP_API hipCtxPushCurrent(hipCtx_t context) {
  if (!is_context(state(), context)) return finish(hipErrorInvalidContext);
  thread().contexts.push_back(&current_device());
  return finish(set_current(context->number));
}
HIP_API hipCtxPopCurrent(hipCtx_t* context) {
  std::vector<hipCtx_t>& contexts = thread().contexts;
  if (contexts.empty()) return finish(hipErrorInvalidContext);
  if (context) *context = &current_device();
  int number = contexts.back()->number;
  contexts.pop_back();
  return finish(set_current(number));
}
HIP_API hipCtxDestroy(hipCtx_t context) {
  return finish(is_context(state(), context) ? hipSuccess : hipErrorInvalidContext);
}
HIP_API hipCtxGetDevice(hipDevice_t* device) { return hipGetDevice(device); }
