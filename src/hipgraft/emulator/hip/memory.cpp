// Device memory is host memory with guard pages around it; so are pinned and managed memory.
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include "graph_memory.h"

namespace {

constexpr unsigned char kGarbage = 0xA5;
// Larger allocations stay zero, so that pages are allocated only when they are used.
constexpr size_t kMostGarbage = size_t(256) << 20;
constexpr size_t kAlignment = 256;

size_t round_up(size_t size, size_t to) { return (size + to - 1) / to * to; }

size_t total_memory() { return (size_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE); }

size_t used_memory(const State& all) {
  size_t used = 0;
  for (const auto& [address, one] : all.memory)
    if (one.kind != MEMORY_REGISTERED && one.is_usable()) used += one.size;
  return used;
}

hipError_t ready(State& all) { return all.start ? all.start : all.fault; }

hipError_t allocate_now(void** address, size_t size, MemoryKind kind, unsigned flags) {
  State& all = state();
  Lock lock(all.mutex);
  if (hipError_t error = refuse_during_capture(all)) return error;
  return allocate(all, size, kind, flags, nullptr, address);
}

bool tracks_definition(const State& all) {
  return (uint32_t)all.settings.number("checks") & CHECK_UNINITIALISED;
}

// Whether memory may be freed when all work submitted so far is complete.
bool take(Allocation& memory) {
  if (!memory.graph) return true;
  return std::exchange(memory.graph->is_left, false);
}

hipError_t free_now(void* address, bool of_host) {
  State& all = state();
  Lock lock(all.mutex);
  if (!address) return hipSuccess;
  Allocation* found = find_memory(all, address);
  if (!found || found->address != (uintptr_t)address) return hipErrorInvalidValue;
  bool is_device = found->kind == MEMORY_DEVICE || found->kind == MEMORY_MANAGED;
  if (of_host ? found->kind != MEMORY_HOST : !is_device) return hipErrorInvalidValue;
  if (!take(*found)) return hipErrorInvalidValue;
  // As on a GPU, freeing waits for work that may use the memory.
  for (const Device* device : all.devices) wait_for_device(all, lock, *device);
  return release(all, address);
}

// Later work in the stream may use memory from a pool; here it is allocated at once.
hipError_t allocate_in_stream(void** address, size_t size, Pool* pool, hipStream_t handle) {
  State& all = state();
  Lock lock(all.mutex);
  hipError_t error = hipSuccess;
  Stream* stream = find_stream(all, handle, &error);
  if (!stream) return error;
  if (!pool) pool = stream->device->pool;
  if (!all.pools.count(pool)) return hipErrorInvalidValue;
  if (stream->capture) return capture_allocation(all, *stream, pool->device, size, address);
  return allocate(all, size, MEMORY_DEVICE, 0, pool, address);
}

}  // namespace

hipError_t allocate(State& all, size_t size, MemoryKind kind, unsigned flags, Pool* pool,
                    void** address) {
  if (hipError_t error = ready(all)) return error;
  if (!address) return hipErrorInvalidValue;
  *address = nullptr;
  if (!size) return hipSuccess;
  size_t page = sysconf(_SC_PAGESIZE);
  if (size > total_memory() || used_memory(all) + size > total_memory()) return hipErrorOutOfMemory;
  // A small allocation ends near the end of its page, so that host accesses beyond it soon reach
  // the guard page.
  size_t inner = round_up(size, page), mapped = inner + 2 * page;
  char* mapping =
      (char*)mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return hipErrorOutOfMemory;
  mprotect(mapping + page, inner, PROT_READ | PROT_WRITE);
  char* start = mapping + page + (inner - size) / kAlignment * kAlignment;
  if (size >= page) start = mapping + page;
  int device = pool ? pool->device : thread().device;
  all.memory[(uintptr_t)start] = {(uintptr_t)start, size,   kind,   device, flags, pool,
                                  mapping,          mapped, nullptr};
  if (pool) {
    pool->used += size;
    if (pool->used > pool->most_used) pool->most_used = pool->used;
  }
  Allocation& made = all.memory[(uintptr_t)start];
  // The host's stores to its own memory are not tracked.
  if (kind == MEMORY_DEVICE && tracks_definition(all)) {
    void* flags = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (flags != MAP_FAILED) made.defined = (uint8_t*)flags;
  }
  renew(made);
  *address = start;
  return hipSuccess;
}

void renew(Allocation& memory) {
  if (memory.size <= kMostGarbage) memset((void*)memory.address, kGarbage, memory.size);
  if (memory.defined) madvise(memory.defined, memory.size, MADV_DONTNEED);
}

void define(State& all, const void* target, const void* source, size_t size) {
  Allocation* to = find_memory(all, target);
  if (!to || !to->defined) return;
  uint8_t* flags = to->defined + ((uintptr_t)target - to->address);
  const Allocation* from = source ? find_memory(all, source) : nullptr;
  if (from && from->defined)
    memmove(flags, from->defined + ((uintptr_t)source - from->address), size);
  else
    memset(flags, 1, size);
}

void discard(Allocation& memory) {
  size_t page = sysconf(_SC_PAGESIZE);
  madvise((char*)memory.mapping + page, memory.mapped - 2 * page, MADV_DONTNEED);
}

hipError_t release(State& all, const void* address) {
  auto found = all.memory.find((uintptr_t)address);
  if (found == all.memory.end()) return hipErrorInvalidValue;
  if (found->second.graph) return end_memory(all, *found->second.graph);
  if (found->second.pool) found->second.pool->used -= found->second.size;
  if (found->second.mapping) munmap(found->second.mapping, found->second.mapped);
  if (found->second.defined) munmap(found->second.defined, found->second.size);
  all.memory.erase(found);
  return hipSuccess;
}

Allocation* find_memory(State& all, const void* address) {
  auto after = all.memory.upper_bound((uintptr_t)address);
  if (after == all.memory.begin()) return nullptr;
  Allocation& found = std::prev(after)->second;
  return (uintptr_t)address < found.address + found.size ? &found : nullptr;
}

bool is_within(State& all, const void* address, size_t size) {
  const Allocation* found = find_memory(all, address);
  return found && size <= found->address + found->size - (uintptr_t)address;
}

HIP_API hipMalloc(void** address, size_t size) {
  return finish(allocate_now(address, size, MEMORY_DEVICE, 0));
}
HIP_API hipExtMallocWithFlags(void** address, size_t size, unsigned flags) {
  return finish(allocate_now(address, size, MEMORY_DEVICE, flags));
}
HIP_API hipMallocManaged(void** address, size_t size, unsigned flags) {
  if (flags != 1 && flags != 2) return finish(hipErrorInvalidValue);
  return finish(size ? allocate_now(address, size, MEMORY_MANAGED, flags) : hipErrorInvalidValue);
}
HIP_API hipHostMalloc(void** address, size_t size, unsigned flags) {
  return finish(allocate_now(address, size, MEMORY_HOST, flags));
}
HIP_API hipHostAlloc(void** address, size_t size, unsigned flags) {
  return hipHostMalloc(address, size, flags);
}
HIP_API hipMemAllocHost(void** address, size_t size) { return hipHostMalloc(address, size, 0); }
HIP_API hipMallocHost(void** address, size_t size) { return hipHostMalloc(address, size, 0); }
HIP_API hipFree(void* address) { return finish(free_now(address, false)); }
HIP_API hipHostFree(void* address) { return finish(free_now(address, true)); }
HIP_API hipFreeHost(void* address) { return finish(free_now(address, true)); }

HIP_API hipMallocPitch(void** address, size_t* pitch, size_t width, size_t height) {
  if (!pitch) return finish(hipErrorInvalidValue);
  *pitch = round_up(width, kAlignment);
  return finish(allocate_now(address, *pitch * height, MEMORY_DEVICE, 0));
}
HIP_API hipMemAllocPitch(void** address, size_t* pitch, size_t width, size_t height, unsigned) {
  return hipMallocPitch(address, pitch, width, height);
}

HIP_API hipHostRegister(void* address, size_t size, unsigned flags) {
  State& all = state();
  Lock lock(all.mutex);
  if (hipError_t error = ready(all)) return finish(error);
  if (!address || !size) return finish(hipErrorInvalidValue);
  auto after = all.memory.lower_bound((uintptr_t)address);
  bool overlaps = after != all.memory.end() && after->first < (uintptr_t)address + size;
  if (overlaps || find_memory(all, address)) return finish(hipErrorHostMemoryAlreadyRegistered);
  all.memory[(uintptr_t)address] = {(uintptr_t)address,
                                    size,
                                    MEMORY_REGISTERED,
                                    thread().device,
                                    flags,
                                    nullptr,
                                    nullptr,
                                    0,
                                    nullptr};
  return finish(hipSuccess);
}

HIP_API hipHostUnregister(void* address) {
  State& all = state();
  Lock lock(all.mutex);
  if (!address) return finish(hipErrorInvalidValue);
  const Allocation* found = find_memory(all, address);
  if (!found || found->kind != MEMORY_REGISTERED || found->address != (uintptr_t)address)
    return finish(hipErrorHostMemoryNotRegistered);
  for (const Device* device : all.devices) wait_for_device(all, lock, *device);
  return finish(release(all, address));
}

HIP_API hipHostGetDevicePointer(void** device, void* host, unsigned flags) {
  State& all = state();
  Lock lock(all.mutex);
  if (!device || !host || flags) return finish(hipErrorInvalidValue);
  const Allocation* found = find_memory(all, host);
  if (!found || found->kind == MEMORY_DEVICE) return finish(hipErrorInvalidValue);
  *device = host;
  return finish(hipSuccess);
}

HIP_API hipHostGetFlags(unsigned* flags, void* host) {
  State& all = state();
  Lock lock(all.mutex);
  const Allocation* found = host ? find_memory(all, host) : nullptr;
  if (!flags || !found || found->kind == MEMORY_DEVICE) return finish(hipErrorInvalidValue);
  *flags = found->flags;
  return finish(hipSuccess);
}

HIP_API hipMemGetInfo(size_t* free, size_t* total) {
  State& all = state();
  Lock lock(all.mutex);
  if (hipError_t error = ready(all)) return finish(error);
  size_t most = total_memory(), used = used_memory(all);
  if (total) *total = most;
  if (free) *free = used < most ? most - used : 0;
  return finish(hipSuccess);
}

HIP_API hipMemGetAddressRange(hipDeviceptr_t* base, size_t* size, hipDeviceptr_t address) {
  State& all = state();
  Lock lock(all.mutex);
  const Allocation* found = find_memory(all, address);
  if (!found) return finish(hipErrorNotFound);
  if (base) *base = (void*)found->address;
  if (size) *size = found->size;
  return finish(hipSuccess);
}

HIP_API hipMemPtrGetInfo(void* address, size_t* size) {
  State& all = state();
  Lock lock(all.mutex);
  const Allocation* found = find_memory(all, address);
  if (!size || !found || found->address != (uintptr_t)address) return finish(hipErrorInvalidValue);
  *size = found->size;
  return finish(hipSuccess);
}

HIP_API hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* address) {
  State& all = state();
  Lock lock(all.mutex);
  if (!attributes || !address) return finish(hipErrorInvalidValue);
  const Allocation* found = find_memory(all, address);
  if (!found) {  // not an error since HIP 6
    *attributes = {hipMemoryTypeUnregistered, -2, nullptr, nullptr, 0, 0};
    return finish(hipSuccess);
  }
  const hipMemoryType types[] = {hipMemoryTypeDevice, hipMemoryTypeHost, hipMemoryTypeManaged,
                                 hipMemoryTypeHost, hipMemoryTypeDevice};
  void* pointer = const_cast<void*>(address);
  *attributes = {types[found->kind],
                 found->device,
                 pointer,
                 types[found->kind] == hipMemoryTypeDevice ? nullptr : pointer,
                 found->kind == MEMORY_MANAGED,
                 found->flags};
  return finish(hipSuccess);
}

HIP_API hipMemPrefetchAsync(const void* address, size_t size, int, hipStream_t stream) {
  {
    State& all = state();
    Lock lock(all.mutex);
    if (!is_within(all, address, size)) return finish(hipErrorInvalidValue);
  }
  return finish(submit(stream, Task()));
}

HIP_API hipMemAdvise(const void* address, size_t size, int, int) {
  State& all = state();
  Lock lock(all.mutex);
  return finish(size && is_within(all, address, size) ? hipSuccess : hipErrorInvalidValue);
}

HIP_API hipMallocAsync(void** address, size_t size, hipStream_t stream) {
  return finish(allocate_in_stream(address, size, nullptr, stream));
}

HIP_API hipMallocFromPoolAsync(void** address, size_t size, hipMemPool_t pool, hipStream_t stream) {
  if (!pool) return finish(hipErrorInvalidValue);
  return finish(allocate_in_stream(address, size, pool, stream));
}

HIP_API hipFreeAsync(void* address, hipStream_t handle) {
  State& all = state();
  Lock lock(all.mutex);
  hipError_t error = hipSuccess;
  Stream* stream = find_stream(all, handle, &error);
  if (!stream) return finish(error);
  if (!address) return finish(hipErrorInvalidValue);
  if (stream->capture) return finish(capture_free(all, *stream, address));
  Allocation* found = find_memory(all, address);
  if (!found || found->address != (uintptr_t)address || found->kind != MEMORY_DEVICE)
    return finish(hipErrorInvalidValue);
  if (!take(*found)) return finish(hipErrorInvalidValue);
  Task task;
  task.type = hipGraphNodeTypeMemFree;
  task.run = [address] {
    State& all = state();
    Lock lock(all.mutex);
    release(all, address);
  };
  return finish(submit(all, *stream, std::move(task)));
}
