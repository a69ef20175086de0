// The structures that a provider fills for ONNX Runtime. It calls a function of a structure if the
// version in the first field is at least the function's version and the pointer is not null.
#pragma once

#include "abi.h"

namespace hipgraft::ort {

struct DataTransferTable;
struct StreamTable;

// How nodes are fused.
struct Fusion {
  uint32_t version;
  bool drops_constant_initializers;
};

struct NodeCompute {
  uint32_t version;
  Status *(*create_state)(NodeCompute *, NodeComputeContext *, void **);
  Status *(*compute)(NodeCompute *, void *, KernelContext *);
  void (*release_state)(NodeCompute *, void *);
};

struct Allocator {
  uint32_t version;
  void *(*alloc)(Allocator *, size_t);
  void (*free)(Allocator *, void *);
  const MemoryInfo *(*info)(const Allocator *);
  void *(*reserve)(Allocator *, size_t);
  Status *(*stats)(const Allocator *, KeyValuePairs **);
  void *(*alloc_on_stream)(Allocator *, size_t, SyncStream *);
  Status *(*shrink)(Allocator *);
};

struct DataTransferTable {
  uint32_t version;
  void (*release)(DataTransferTable *);
  bool (*can_copy)(const DataTransferTable *, const MemoryDevice *, const MemoryDevice *);
  Status *(*copy)(DataTransferTable *, const Value **, Value **, SyncStream **, size_t);
};

struct NotificationTable {
  uint32_t version;
  void (*release)(NotificationTable *);
  Status *(*activate)(NotificationTable *);
  Status *(*wait_on_device)(NotificationTable *, SyncStream *);
  Status *(*wait_on_host)(NotificationTable *);
};

struct StreamTable {
  uint32_t version;
  void (*release)(StreamTable *);
  void *(*handle)(StreamTable *);
  Status *(*create_notification)(StreamTable *, NotificationTable **);
  Status *(*flush)(StreamTable *);
  Status *(*on_run_end)(StreamTable *);
};

struct KernelImpl {
  uint32_t version, flags;
  Status *(*compute)(KernelImpl *, KernelContext *);
  void (*release)(KernelImpl *);
  void *unused[2];
};

struct ProviderTable {
  uint32_t version;
  const char *(*name)(const ProviderTable *);
  Status *(*get_capability)(ProviderTable *, const Graph *, GraphSupport *);
  Status *(*compile)(ProviderTable *, const Graph **, const Node **, size_t, NodeCompute **, Node **);
  void (*release_computes)(ProviderTable *, NodeCompute **, size_t);
  void *layout[2];
  Status *(*set_dynamic_options)(ProviderTable *, const char *const *, const char *const *, size_t);
  Status *(*on_run_start)(ProviderTable *, const RunOptions *);
  Status *(*on_run_end)(ProviderTable *, const RunOptions *, bool);
  Status *(*create_allocator)(ProviderTable *, const MemoryInfo *, Allocator **);
  Status *(*create_stream)(ProviderTable *, const MemoryDevice *, StreamTable **);
  const char *(*compatibility)(ProviderTable *, const Graph *);
  Status *(*kernel_registry)(ProviderTable *, const KernelRegistry **);
  Status *(*runs_concurrently)(ProviderTable *, bool *);
  Status *(*sync)(ProviderTable *);
  void *newer[11];  // up to slot 26
};

struct FactoryTable {
  uint32_t version;
  const char *(*name)(const FactoryTable *);
  const char *(*vendor)(const FactoryTable *);
  Status *(*devices)(FactoryTable *, const HardwareDevice *const *, size_t, EpDevice **, size_t,
                     size_t *);
  Status *(*create_provider)(FactoryTable *, const HardwareDevice *const *,
                             const KeyValuePairs *const *, size_t, const SessionOptions *,
                             const Logger *, ProviderTable **);
  void (*release_provider)(FactoryTable *, ProviderTable *);
  uint32_t (*vendor_id)(const FactoryTable *);
  const char *(*release)(const FactoryTable *);
  Status *(*validate)(FactoryTable *, const HardwareDevice *const *, size_t, const char *, int *);
  Status *(*create_allocator)(FactoryTable *, const MemoryInfo *, const KeyValuePairs *,
                              Allocator **);
  void (*release_allocator)(FactoryTable *, Allocator *);
  Status *(*create_data_transfer)(FactoryTable *, DataTransferTable **);
  bool (*is_stream_aware)(const FactoryTable *);
  Status *(*create_stream)(FactoryTable *, const MemoryDevice *, const KeyValuePairs *,
                           StreamTable **);
  void *newer[7];  // up to slot 20
};

// The sizes of the binary interface.
static_assert(sizeof(NodeCompute) == 32 && sizeof(Allocator) == 64 && sizeof(KernelImpl) == 40);
static_assert(offsetof(ProviderTable, compatibility) == 96 && sizeof(ProviderTable) == 27 * 8);
static_assert(offsetof(FactoryTable, create_stream) == 104 && sizeof(FactoryTable) == 21 * 8);

}  // namespace hipgraft::ort
