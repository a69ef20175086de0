// ONNX Runtime's interface for plugin execution providers, API versions 24 and later; the library's
// own declarations. A function is identified by its index in a table, a field of a structure by its
// byte offset: neither changes after a release. All functions and fields used here exist since
// version 24.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace hipgraft::ort {

constexpr uint32_t kOldest = 24, kNewest = 31;

enum Code : int {
  kFail = 1,
  kInvalidArgument = 2,
  kNoSuchFile = 3,
  kRuntimeException = 6,
  kNotImplemented = 9,
  kInvalidGraph = 10,
};
enum Severity : int { kInfo = 1, kWarning = 2, kError = 3 };
enum HardwareType : int { kCpuHardware = 0, kGpuHardware = 1 };
enum MemoryDeviceType : int { kCpuMemory = 0, kGpuMemory = 1 };
enum MemoryType : int { kDefaultMemory = 0, kPinnedMemory = 5 };
enum KernelMemory : int { kCpuInput = -2, kCpuOutput = -1 };
enum OnnxType : int { kTensorType = 1 };
enum ElementType : int { kStringElement = 8, kUInt2Element = 24, kInt2Element, kLastElement };
// In ONNX Runtime's own order.
enum AttributeType : int {
  kIntAttribute = 1,
  kIntsAttribute,
  kFloatAttribute,
  kFloatsAttribute,
  kStringAttribute,
  kStringsAttribute,
  kGraphAttribute,
  kTensorAttribute,
};
enum Compatibility : int { kNotApplicable, kOptimal, kPreferRecompilation, kUnsupported };
constexpr uint32_t kAmd = 0x1002, kNvidia = 0x10de;

struct Status;
struct Logger;
struct KeyValuePairs;
struct SessionOptions;
struct RunOptions;
struct HardwareDevice;
struct EpDevice;
struct Graph;
struct GraphSupport;
struct Node;
struct NodeComputeContext;
struct Attribute;
struct ValueInfo;
struct TypeInfo;
struct TensorInfo;
struct Value;
struct KernelContext;
struct KernelInfo;
struct KernelRegistry;
struct KernelDef;
struct KernelDefBuilder;
struct DataType;
struct MemoryInfo;
struct MemoryDevice;
struct SyncStream;
struct ApiTable;
struct KernelImpl;
using CreateKernel = Status *(*)(void *, const KernelInfo *, KernelImpl **);

struct ApiBase {
  const ApiTable *(*get_api)(uint32_t version);
  const char *(*version_string)();
};

// F(index, result, name, arguments)
#define HIPGRAFT_ORT_API(F)                                                                       \
  F(0, Status *, create_status, (int code, const char *))                                         \
  F(51, Status *, tensor_mutable_data, (Value *, void **))                                        \
  F(53, Status *, string_tensor_bytes, (const Value *, size_t *))                                 \
  F(55, Status *, cast_to_tensor_info, (const TypeInfo *, const TensorInfo **))                   \
  F(56, Status *, onnx_type, (const TypeInfo *, int *))                                           \
  F(60, Status *, element_type, (const TensorInfo *, int *))                                      \
  F(61, Status *, dimension_count, (const TensorInfo *, size_t *))                                \
  F(62, Status *, dimensions, (const TensorInfo *, int64_t *, size_t))                            \
  F(63, Status *, symbolic_dimensions, (const TensorInfo *, const char **, size_t))               \
  F(88, Status *, input_count, (const KernelContext *, size_t *))                                 \
  F(90, Status *, kernel_input, (const KernelContext *, size_t, const Value **))                  \
  F(91, Status *, kernel_output, (KernelContext *, size_t, const int64_t *, size_t, Value **))    \
  F(93, void, release_status, (Status *))                                                         \
  F(94, void, release_memory_info, (MemoryInfo *))                                                \
  F(96, void, release_value, (Value *))                                                           \
  F(127, Status *, string_element_bytes, (const Value *, size_t, size_t *))                       \
  F(128, Status *, string_element, (const Value *, size_t bytes, size_t index, void *))           \
  F(193, Status *, compute_stream, (const KernelContext *, void **))                              \
  F(211, Status *, create_attribute, (const char *, const void *, int, int, Attribute **))        \
  F(212, void, release_attribute, (Attribute *))                                                  \
  F(247, Status *, log,                                                                           \
    (const Logger *, int severity, const char *, const char *file, int line, const char *))       \
  F(248, Status *, log_severity, (const Logger *, int *))                                         \
  F(272, Status *, read_attribute, (const Attribute *, int, void *, size_t, size_t *))            \
  F(289, Status *, value_name, (const ValueInfo *, const char **))                                \
  F(290, Status *, value_type, (const ValueInfo *, const TypeInfo **))                            \
  F(291, const ApiTable *, model_editor_api, ())                                                  \
  F(295, void, create_pairs, (KeyValuePairs **))                                                  \
  F(296, void, add_pair, (KeyValuePairs *, const char *, const char *))                           \
  F(297, const char *, pair, (const KeyValuePairs *, const char *))                               \
  F(298, void, pairs,                                                                             \
    (const KeyValuePairs *, const char *const **, const char *const **, size_t *))                \
  F(300, void, release_pairs, (KeyValuePairs *))                                                  \
  F(307, int, hardware_type, (const HardwareDevice *))                                            \
  F(308, uint32_t, hardware_vendor, (const HardwareDevice *))                                     \
  F(311, const KeyValuePairs *, hardware_metadata, (const HardwareDevice *))                      \
  F(317, const ApiTable *, ep_api, ())                                                            \
  F(320, Status *, create_memory_info,                                                            \
    (const char *, int device_type, uint32_t vendor, int32_t device, int memory_type,             \
     size_t alignment, int allocator_type, MemoryInfo **))                                        \
  F(326, Status *, initializer_value, (const ValueInfo *, const Value **))                        \
  F(331, Status *, is_constant_initializer, (const ValueInfo *, bool *))                          \
  F(332, Status *, is_from_outer_scope, (const ValueInfo *, bool *))                              \
  F(333, Status *, graph_name, (const Graph *, const char **))                                    \
  F(334, Status *, model_path, (const Graph *, const char **))                                    \
  F(335, Status *, ir_version, (const Graph *, int64_t *))                                        \
  F(336, Status *, operator_set_count, (const Graph *, size_t *))                                 \
  F(337, Status *, operator_sets, (const Graph *, const char **, int64_t *, size_t))              \
  F(338, Status *, graph_input_count, (const Graph *, size_t *))                                  \
  F(339, Status *, graph_inputs, (const Graph *, const ValueInfo **, size_t))                     \
  F(340, Status *, graph_output_count, (const Graph *, size_t *))                                 \
  F(341, Status *, graph_outputs, (const Graph *, const ValueInfo **, size_t))                    \
  F(342, Status *, initializer_count, (const Graph *, size_t *))                                  \
  F(343, Status *, initializers, (const Graph *, const ValueInfo **, size_t))                     \
  F(344, Status *, node_count, (const Graph *, size_t *))                                         \
  F(345, Status *, nodes, (const Graph *, const Node **, size_t))                                 \
  F(346, Status *, parent_node, (const Graph *, const Node **))                                   \
  F(349, Status *, node_name, (const Node *, const char **))                                      \
  F(350, Status *, operator_type, (const Node *, const char **))                                  \
  F(351, Status *, node_domain, (const Node *, const char **))                                    \
  F(353, Status *, node_input_count, (const Node *, size_t *))                                    \
  F(354, Status *, node_inputs, (const Node *, const ValueInfo **, size_t))                       \
  F(355, Status *, node_output_count, (const Node *, size_t *))                                   \
  F(356, Status *, node_outputs, (const Node *, const ValueInfo **, size_t))                      \
  F(357, Status *, implicit_input_count, (const Node *, size_t *))                                \
  F(358, Status *, implicit_inputs, (const Node *, const ValueInfo **, size_t))                   \
  F(359, Status *, attribute_count, (const Node *, size_t *))                                     \
  F(360, Status *, attributes, (const Node *, const Attribute **, size_t))                        \
  F(362, Status *, attribute_tensor, (const Attribute *, Value **))                               \
  F(363, Status *, attribute_type, (const Attribute *, int *))                                    \
  F(364, Status *, attribute_name, (const Attribute *, const char **))                            \
  F(365, Status *, subgraph_count, (const Node *, size_t *))                                      \
  F(366, Status *, subgraphs, (const Node *, const Graph **, size_t, const char **))              \
  F(318, Status *, tensor_bytes, (const Value *, size_t *))                                       \
  F(378, Status *, tensor_data, (const Value *, const void **))                                   \
  F(379, Status *, session_entries, (const SessionOptions *, KeyValuePairs **))                   \
  F(384, void *, stream_handle, (SyncStream *))                                                   \
  F(390, bool, has_shape, (const TensorInfo *))                                                   \
  F(414, Status *, tensor_shape, (const Value *, int *, const int64_t **, size_t *))

#define HIPGRAFT_ORT_EP_API(F)                                                                    \
  F(0, Status *, create_device,                                                                   \
    (struct Factory *, const HardwareDevice *, const KeyValuePairs *metadata,                     \
     const KeyValuePairs *options, EpDevice **))                                                  \
  F(2, Status *, add_nodes, (GraphSupport *, const Node *const *, size_t, const struct Fusion *)) \
  F(5, Status *, add_memory, (EpDevice *, const MemoryInfo *))                                    \
  F(7, const MemoryDevice *, memory_device, (const Value *))                                      \
  F(9, int, device_type, (const MemoryDevice *))                                                  \
  F(10, int, memory_type, (const MemoryDevice *))                                                 \
  F(11, uint32_t, vendor, (const MemoryDevice *))                                                 \
  F(12, uint32_t, device_id, (const MemoryDevice *))                                              \
  F(6, const MemoryDevice *, memory_device_of, (const MemoryInfo *))                              \
  F(16, Status *, create_hardware,                                                                \
    (int type, uint32_t vendor, uint32_t device, const char *vendor_name, const KeyValuePairs *,  \
     HardwareDevice **))                                                                          \
  F(17, void, release_hardware, (HardwareDevice *))                                               \
  F(18, Status *, create_registry, (KernelRegistry **))                                           \
  F(19, void, release_registry, (KernelRegistry *))                                               \
  F(20, Status *, add_kernel, (KernelRegistry *, const KernelDef *, CreateKernel, void *))        \
  F(21, Status *, create_builder, (KernelDefBuilder **))                                          \
  F(22, void, release_builder, (KernelDefBuilder *))                                              \
  F(23, Status *, set_operator, (KernelDefBuilder *, const char *))                               \
  F(24, Status *, set_domain, (KernelDefBuilder *, const char *))                                 \
  F(25, Status *, set_versions, (KernelDefBuilder *, int, int))                                   \
  F(26, Status *, set_provider, (KernelDefBuilder *, const char *))                               \
  F(27, Status *, set_input_memory, (KernelDefBuilder *, size_t, int))                            \
  F(28, Status *, set_output_memory, (KernelDefBuilder *, size_t, int))                           \
  F(29, Status *, add_types, (KernelDefBuilder *, const char *, const DataType *const *, size_t)) \
  F(32, Status *, build, (KernelDefBuilder *, KernelDef **))                                      \
  F(33, void, release_definition, (KernelDef *))                                                  \
  F(40, Status *, data_type, (int element_type, const DataType **))                               \
  F(43, Status *, kernel_provider, (const KernelInfo *, const struct Provider **))                \
  F(49, Status *, environment, (KeyValuePairs **))

#define HIPGRAFT_ORT_EDITOR_API(F)                                                                \
  F(6, Status *, create_node,                                                                     \
    (const char *op, const char *domain, const char *name, const char *const *inputs, size_t,     \
     const char *const *outputs, size_t, Attribute **, size_t, Node **))

// The functions of ONNX Runtime, found by their indices.
struct Api {
#define HIPGRAFT_ORT_FIELD(index, result, name, arguments) result(*name) arguments;
  HIPGRAFT_ORT_API(HIPGRAFT_ORT_FIELD)
  HIPGRAFT_ORT_EP_API(HIPGRAFT_ORT_FIELD)
  HIPGRAFT_ORT_EDITOR_API(HIPGRAFT_ORT_FIELD)
#undef HIPGRAFT_ORT_FIELD
  uint32_t version;  // the version that both sides support: the lower of ONNX Runtime's and kNewest
};

}  // namespace hipgraft::ort
