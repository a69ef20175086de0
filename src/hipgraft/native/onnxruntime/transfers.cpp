// Allocators, transfers and streams of GPUs.
#include "factory.h"

namespace hipgraft::ort {

void announce_memory(OfferedDevice &, EpDevice *) {}

void add_memory_functions(Factory &factory) {
  factory.create_allocator = [](FactoryTable *, const MemoryInfo *, const KeyValuePairs *,
                                Allocator **allocator) -> Status * {
    *allocator = nullptr;
    return nullptr;
  };
  factory.release_allocator = [](FactoryTable *, Allocator *) {};
  factory.create_data_transfer = [](FactoryTable *, DataTransferTable **transfer) -> Status * {
    *transfer = nullptr;
    return nullptr;
  };
  factory.is_stream_aware = [](const FactoryTable *) { return false; };
}

}  // namespace hipgraft::ort
