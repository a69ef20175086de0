// The factory of providers, and the devices that it offers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "memory.h"
#include "ort.h"

namespace hipgraft::ort {

// A device that the factory offers.
struct OfferedDevice {
  std::string architecture;            // `cpu`, or an architecture such as `gfx942`
  std::shared_ptr<Pool> pool;          // null unless a GPU is present
  uint32_t vendor = 0;
  int ordinal = 0;
  const HardwareDevice *hardware = nullptr;
  MemoryInfo *memory = nullptr, *pinned = nullptr;  // null unless a GPU is present
};

struct Factory : FactoryTable, std::enable_shared_from_this<Factory> {
  explicit Factory(const Logger *logger);
  ~Factory();
  Factory(const Factory &) = delete;

  // The devices, which the first call opens.
  size_t offer(const HardwareDevice *const *hardware, size_t count, EpDevice **devices, size_t most);
  // The offered device for a hardware device, or null.
  const OfferedDevice *find(const HardwareDevice *hardware) const;
  // The GPU that owns memory, or null.
  const OfferedDevice *find(const MemoryDevice *memory) const;

  const HardwareDevice *make_hardware(const OfferedDevice &device);

  const Logger *const logger;
  std::shared_ptr<Factory> registered;  // this factory, until ONNX Runtime releases it
  std::vector<OfferedDevice> devices;
  KernelRegistry *copies = nullptr;  // the kernels that copy to GPUs and from them
  std::vector<HardwareDevice *> own_hardware;
};

// Sets the factory's functions for allocators, transfers and streams.
void add_memory_functions(Factory &factory);

// Registers a GPU's memory with ONNX Runtime.
void announce_memory(OfferedDevice &device, EpDevice *target);

// Copies a tensor to, from or within a GPU. On a stream, host memory that is not pinned can be
// reused when the function returns.
void copy_tensor(const Factory &factory, const Value *source, Value *target, void *stream);

// Makes the kernels that copy between nodes on a GPU and nodes elsewhere.
KernelRegistry *make_copy_kernels(Factory &factory);

}  // namespace hipgraft::ort
