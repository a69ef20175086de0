// Allocators, transfers and streams of GPUs.
#include <algorithm>
#include <cstring>

#include "factory.h"

namespace hipgraft::ort {

namespace {

Factory &self(FactoryTable *table) { return *static_cast<Factory *>(table); }

// ---- Allocators ---------------------------------------------------------------------------------

struct GpuAllocator : Allocator {
  GpuAllocator(const OfferedDevice &device, bool is_pinned)
      : Allocator{}, pool(device.pool), memory(is_pinned ? device.pinned : device.memory) {
    version = api.version;
    Allocator::info = [](const Allocator *table) {
      return static_cast<const MemoryInfo *>(static_cast<const GpuAllocator *>(table)->memory);
    };
    if (is_pinned) {
      Allocator::alloc = Allocator::reserve = [](Allocator *table, size_t size) -> void * {
        return tried([&](Device &device) { return device.allocate_pinned(size); }, table, size);
      };
      Allocator::free = [](Allocator *table, void *memory) {
        tried([&](Device &device) { return device.free_pinned(memory), nullptr; }, table, !!memory);
      };
      return;
    }
    Allocator::alloc = Allocator::reserve = [](Allocator *table, size_t size) -> void * {
      return take(table, size, nullptr);
    };
    alloc_on_stream = [](Allocator *table, size_t size, SyncStream *stream) -> void * {
      return take(table, size, stream ? api.stream_handle(stream) : nullptr);
    };
    Allocator::free = [](Allocator *table, void *memory) {
      if (memory) static_cast<GpuAllocator *>(table)->pool->give(memory);
    };
  }

  // Returns null if it fails: ONNX Runtime reports the requested size to the user.
  template <typename Function>
  static void *tried(Function function, Allocator *table, size_t size) {
    try {
      Device &device = *static_cast<GpuAllocator *>(table)->pool->device();
      Device::Current current(device);
      return size ? function(device) : nullptr;
    } catch (const Error &) {
      return nullptr;
    }
  }

  static void *take(Allocator *table, size_t size, void *stream) {
    auto &pool = *static_cast<GpuAllocator *>(table)->pool;
    return tried([&](Device &) { return pool.take(size, stream); }, table, size);
  }

  const std::shared_ptr<Pool> pool;
  MemoryInfo *const memory;
};

Status *create_allocator(FactoryTable *table, const MemoryInfo *memory, const KeyValuePairs *,
                         Allocator **allocator) {
  return guarded([&] {
    const MemoryDevice *device = api.memory_device_of(memory);
    const OfferedDevice *found = self(table).find(device);
    *allocator = nullptr;
    if (found) *allocator = new GpuAllocator(*found, api.memory_type(device) == kPinnedMemory);
  });
}

void release_allocator(FactoryTable *, Allocator *allocator) {
  delete static_cast<GpuAllocator *>(allocator);
}

// ---- Transfers ----------------------------------------------------------------------------------

struct Transfer : DataTransferTable {
  explicit Transfer(const Factory &factory) : DataTransferTable{}, factory(factory) {
    version = api.version;
    release = [](DataTransferTable *table) { delete static_cast<Transfer *>(table); };
    can_copy = [](const DataTransferTable *table, const MemoryDevice *source,
                  const MemoryDevice *target) {
      const Factory &factory = static_cast<const Transfer *>(table)->factory;
      const OfferedDevice *from = factory.find(source), *to = factory.find(target);
      bool is_from_host = api.device_type(source) == kCpuMemory;
      bool is_to_host = api.device_type(target) == kCpuMemory;
      return from && to ? from == to : (from && is_to_host) || (to && is_from_host);
    };
    copy = [](DataTransferTable *table, const Value **sources, Value **targets,
              SyncStream **streams, size_t count) -> Status * {
      return guarded([&] {
        for (size_t i = 0; i < count; ++i)
          copy_tensor(static_cast<Transfer *>(table)->factory, sources[i], targets[i],
                      streams && streams[i] ? api.stream_handle(streams[i]) : nullptr);
      });
    };
  }

  const Factory &factory;
};

Status *create_data_transfer(FactoryTable *table, DataTransferTable **transfer) {
  return guarded([&] {
    Factory &factory = self(table);
    *transfer = factory.copies ? new Transfer(factory) : nullptr;
  });
}

// ---- Streams ------------------------------------------------------------------------------------

struct Notification : NotificationTable {
  Notification(std::shared_ptr<Device> given, void *stream)
      : NotificationTable{}, device(std::move(given)), stream(stream) {
    version = api.version;
    release = [](NotificationTable *table) { delete static_cast<Notification *>(table); };
    activate = [](NotificationTable *table) {
      return of(table, [](Notification &it) { it.device->record(it.event, it.stream); });
    };
    wait_on_device = [](NotificationTable *table, SyncStream *consumer) {
      void *handle = consumer ? api.stream_handle(consumer) : nullptr;
      return of(table, [&](Notification &it) { it.device->wait(it.event, handle); });
    };
    wait_on_host = [](NotificationTable *table) {
      return of(table, [](Notification &it) { it.device->wait(it.event, nullptr); });
    };
    Device::Current current(*device);
    event = device->create_event(false);
  }
  ~Notification() {
    Status *status = of(this, [](Notification &it) { it.device->destroy_event(it.event); });
    if (status) api.release_status(status);
  }

  template <typename Function>
  static Status *of(NotificationTable *table, Function function) {
    auto &it = *static_cast<Notification *>(table);
    return guarded([&] {
      Device::Current current(*it.device);
      function(it);
    });
  }

  const std::shared_ptr<Device> device;
  void *const stream;
  void *event = nullptr;
};

struct Stream : StreamTable {
  explicit Stream(std::shared_ptr<Pool> given) : StreamTable{}, pool(std::move(given)) {
    version = api.version;
    release = [](StreamTable *table) { delete static_cast<Stream *>(table); };
    handle = [](StreamTable *table) { return static_cast<Stream *>(table)->stream; };
    create_notification = [](StreamTable *table, NotificationTable **notification) -> Status * {
      return guarded([&] {
        auto &it = *static_cast<Stream *>(table);
        *notification = new Notification(it.pool->device(), it.stream);
      });
    };
    flush = [](StreamTable *table) -> Status * {
      return guarded([&] { static_cast<Stream *>(table)->synchronize(); });
    };
    on_run_end = [](StreamTable *) -> Status * { return nullptr; };
    Device::Current current(*pool->device());
    stream = pool->device()->create_stream();
  }
  ~Stream() {
    Status *status = guarded([&] {
      synchronize();
      pool->forget(stream);
      Device::Current current(*pool->device());
      pool->device()->destroy_stream(stream);
    });
    if (status) api.release_status(status);
  }

  void synchronize() {
    Device::Current current(*pool->device());
    pool->device()->synchronize(stream);
  }

  const std::shared_ptr<Pool> pool;
  void *stream = nullptr;
};

Status *create_stream(FactoryTable *table, const MemoryDevice *memory, const KeyValuePairs *,
                      StreamTable **stream) {
  return guarded([&] {
    const OfferedDevice *device = self(table).find(memory);
    *stream = device ? new Stream(device->pool) : nullptr;
  });
}

bool is_pinned(const MemoryDevice *memory) { return api.memory_type(memory) == kPinnedMemory; }

}  // namespace

void copy_tensor(const Factory &factory, const Value *source, Value *target, void *stream) {
  size_t nbytes = get<size_t>(api.tensor_bytes, source);
  if (!nbytes) return;
  auto from = get<const void *>(api.tensor_data, source);
  auto to = get<void *>(api.tensor_mutable_data, target);
  const MemoryDevice *from_memory = api.memory_device(source), *to_memory = api.memory_device(target);
  // Pinned memory belongs to the GPU and is accessible to the host.
  const OfferedDevice *gpu = factory.find(to_memory);
  bool is_to_gpu = gpu && !is_pinned(to_memory);
  if (!gpu) gpu = factory.find(from_memory);
  if (!gpu) fail(HIPGRAFT_INVALID_ARGUMENT, "a copy is between other devices");
  bool is_from_gpu = factory.find(from_memory) && !is_pinned(from_memory);
  Device &device = *gpu->pool->device();
  Device::Current current(device);
  bool waits = !stream;
  if (is_from_gpu && is_to_gpu) {
    device.copy(reinterpret_cast<uint64_t>(to), reinterpret_cast<uint64_t>(from), nbytes, stream);
  } else if (is_to_gpu) {
    device.start_upload(to, from, nbytes, stream);
    waits |= !is_pinned(from_memory);
  } else if (is_from_gpu) {
    device.start_download(to, from, nbytes, stream);
    waits |= !is_pinned(to_memory);
  } else {
    memcpy(to, from, nbytes);
  }
  if (waits) device.synchronize(stream);
}

void announce_memory(OfferedDevice &device, EpDevice *target) {
  for (auto [place, type] : {std::pair(&device.memory, kDefaultMemory), {&device.pinned, kPinnedMemory}}) {
    const char *name = type == kPinnedMemory ? "hipgraft_pinned" : "hipgraft";
    *place = get<MemoryInfo *>(api.create_memory_info, name, int{kGpuMemory}, device.vendor,
                               device.ordinal, int{type}, size_t{0}, 0);
    check(api.add_memory(target, *place));
  }
}

void add_memory_functions(Factory &factory) {
  factory.create_allocator = create_allocator;
  factory.release_allocator = release_allocator;
  factory.create_data_transfer = create_data_transfer;
  factory.create_stream = create_stream;
  factory.is_stream_aware = [](const FactoryTable *table) {
    return static_cast<const Factory *>(table)->copies != nullptr;
  };
}

}  // namespace hipgraft::ort
