// Memory pools. Freeing returns memory to the system, so pools reserve nothing.
#include "runtime.h"

namespace {

enum PoolAttribute { RELEASE_THRESHOLD = 4, RESERVED_NOW, RESERVED_MOST, USED_NOW, USED_MOST };

template <class Body>
hipError_t with_pool(hipMemPool_t pool, Body body) {
  State& all = state();
  Lock lock(all.mutex);
  if (all.start) return all.start;
  return pool && all.pools.count(pool) ? body(all, *pool) : hipErrorInvalidValue;
}

}  // namespace

hipError_t check_pool(const State& all, const hipMemPoolProps& properties) {
  const hipMemLocation& at = properties.location;
  if (properties.allocType != 1 || at.type != 1) return hipErrorInvalidValue;
  if (at.id < 0 || at.id >= (int)all.devices.size()) return hipErrorInvalidValue;
  return properties.handleTypes ? unsupported("hipMemPoolProps", " for other processes")
                                : hipSuccess;
}

hipError_t give_access(State& all, int device, const hipMemAccessDesc* list, size_t count) {
  if (!list && count) return hipErrorInvalidValue;
  for (size_t i = 0; i < count; i++) {
    int number = list[i].location.id;
    if (list[i].location.type != 1 || number < 0 || number >= (int)all.devices.size())
      return hipErrorInvalidDevice;
    if (list[i].flags != 3 && number == device) return hipErrorInvalidValue;
    if (list[i].flags == 3 && number != device) all.devices[number]->peers.insert(device);
  }
  return hipSuccess;
}

HIP_API hipMemPoolCreate(hipMemPool_t* pool, const hipMemPoolProps* properties) {
  if (!pool || !properties) return finish(hipErrorInvalidValue);
  return finish(with_device(properties->location.id, [&](State& all, Lock&, Device& device) {
    if (hipError_t error = check_pool(all, *properties)) return error;
    *pool = new Pool{device.number, 0, 0, {0, 1, 1, 1}};
    all.pools.insert(*pool);
    return hipSuccess;
  }));
}

HIP_API hipMemPoolDestroy(hipMemPool_t pool) {
  return finish(with_pool(pool, [&](State& all, Pool&) {
    for (Device* device : all.devices) {
      if (device->default_pool == pool) return hipErrorInvalidValue;
      if (device->pool == pool) device->pool = device->default_pool;
    }
    // Allocations stay until they are freed, and keep the pool alive.
    all.pools.erase(pool);
    return hipSuccess;
  }));
}

HIP_API hipMemPoolSetAttribute(hipMemPool_t pool, int attribute, void* value) {
  if (!value) return finish(hipErrorInvalidValue);
  return finish(with_pool(pool, [&](State&, Pool& pool) {
    if (attribute >= 1 && attribute < RELEASE_THRESHOLD) {
      pool.attributes[attribute] = *(int*)value;
    } else if (attribute == RELEASE_THRESHOLD) {
      pool.attributes[attribute] = *(uint64_t*)value;
    } else if (attribute == RESERVED_MOST || attribute == USED_MOST) {
      if (*(uint64_t*)value) return hipErrorInvalidValue;
      pool.most_used = pool.used;
    } else {
      return hipErrorInvalidValue;
    }
    return hipSuccess;
  }));
}

HIP_API hipMemPoolGetAttribute(hipMemPool_t pool, int attribute, void* value) {
  if (!value) return finish(hipErrorInvalidValue);
  return finish(with_pool(pool, [&](State&, Pool& pool) {
    if (attribute < 1 || attribute > USED_MOST) return hipErrorInvalidValue;
    if (attribute < RELEASE_THRESHOLD)
      *(int*)value = (int)pool.attributes[attribute];
    else if (attribute == RELEASE_THRESHOLD)
      *(uint64_t*)value = pool.attributes[attribute];
    else
      *(uint64_t*)value =
          attribute == RESERVED_NOW || attribute == USED_NOW ? pool.used : pool.most_used;
    return hipSuccess;
  }));
}

HIP_API hipMemPoolTrimTo(hipMemPool_t pool, size_t) {
  return finish(with_pool(pool, [](State&, Pool&) { return hipSuccess; }));
}

// Memory of a pool is accessible like all memory of its device: to the device and to its peers.
HIP_API hipMemPoolSetAccess(hipMemPool_t pool, const hipMemAccessDesc* list, size_t count) {
  return finish(with_pool(
      pool, [&](State& all, Pool& pool) { return give_access(all, pool.device, list, count); }));
}

HIP_API hipMemPoolGetAccess(int* flags, hipMemPool_t pool, hipMemLocation* location) {
  if (!flags || !location || location->type != 1) return finish(hipErrorInvalidValue);
  return finish(with_pool(pool, [&](State& all, Pool& pool) {
    int number = location->id;
    if (number < 0 || number >= (int)all.devices.size()) return hipErrorInvalidValue;
    bool reaches = number == pool.device || all.devices[number]->peers.count(pool.device);
    *flags = reaches ? 3 : 0;
    return hipSuccess;
  }));
}

HIP_API hipDeviceGetDefaultMemPool(hipMemPool_t* pool, int number) {
  if (!pool) return finish(hipErrorInvalidValue);
  return finish(with_device(number, [&](State&, Lock&, Device& device) {
    *pool = device.default_pool;
    return hipSuccess;
  }));
}

HIP_API hipDeviceGetMemPool(hipMemPool_t* pool, int number) {
  if (!pool) return finish(hipErrorInvalidValue);
  return finish(with_device(number, [&](State&, Lock&, Device& device) {
    *pool = device.pool;
    return hipSuccess;
  }));
}

HIP_API hipDeviceSetMemPool(int number, hipMemPool_t pool) {
  return finish(with_device(number, [&](State& all, Lock&, Device& device) {
    if (!all.pools.count(pool) || pool->device != number) return hipErrorInvalidValue;
    device.pool = pool;
    return hipSuccess;
  }));
}
