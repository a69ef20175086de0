#include "model.h"

#include <memory>
#include <set>

#include "protobuf.h"

namespace hipgraft::ort {

namespace {

constexpr size_t kMostInline = 1024;
constexpr uint64_t kWeightAlignment = 64;

// Fields of ONNX's messages.
namespace model_field {
enum : unsigned { kIrVersion = 1, kProducer = 2, kGraph = 7, kOperatorSet = 8 };
}
namespace operator_set_field {
enum : unsigned { kDomain = 1, kVersion = 2 };
}
namespace graph_field {
enum : unsigned { kNode = 1, kName = 2, kInitializer = 5, kInput = 11, kOutput = 12, kValue = 13 };
}
namespace node_field {
enum : unsigned { kInput = 1, kOutput = 2, kName = 3, kOperator = 4, kAttribute = 5, kDomain = 7 };
}
namespace attribute_field {
enum : unsigned {
  kName = 1,
  kFloat = 2,
  kInt = 3,
  kString = 4,
  kTensor = 5,
  kGraph = 6,
  kFloats = 7,
  kInts = 8,
  kStrings = 9,
  kType = 20,
};
}
namespace tensor_field {
enum : unsigned {
  kDims = 1,
  kType = 2,
  kStrings = 6,
  kName = 8,
  kRaw = 9,
  kExternal = 13,
  kLocation = 14,
};
}
namespace entry_field {
enum : unsigned { kKey = 1, kValue = 2 };
}
namespace value_field {
enum : unsigned { kName = 1, kType = 2 };
}
namespace type_field {
enum : unsigned { kTensor = 1, kElement = 1, kShape = 2, kDim = 1, kExtent = 1, kSymbol = 2 };
}

// ONNX's numbers of attribute types, indexed by ONNX Runtime's.
constexpr int64_t kAttributeTypes[] = {0, 2, 7, 1, 6, 3, 8, 5, 4};

std::string name_of(const ValueInfo *value) {
  return value ? text_of(get<const char *>(api.value_name, value)) : "";
}

Message write_shape(const TensorInfo *info) {
  size_t rank = get<size_t>(api.dimension_count, info);
  std::vector<int64_t> extents(rank);
  std::vector<const char *> symbols(rank);
  if (rank) {
    check(api.dimensions(info, extents.data(), rank));
    check(api.symbolic_dimensions(info, symbols.data(), rank));
  }
  Message shape;
  for (size_t i = 0; i < rank; ++i) {
    Message dim;
    if (extents[i] >= 0)
      dim.number(type_field::kExtent, extents[i]);
    else if (symbols[i] && *symbols[i])
      dim.bytes(type_field::kSymbol, symbols[i]);
    shape.message(type_field::kDim, dim);
  }
  return shape;
}

// ONNX's number of an element type: the last types have others in ONNX Runtime.
int onnx_element(int type) {
  constexpr int kFloat8E8M0 = 24, kUInt2 = 25, kInt2 = 26;
  if (type == kUInt2Element) return kUInt2;
  if (type == kInt2Element) return kInt2;
  return type == kLastElement ? kFloat8E8M0 : type;
}

// A value with its type, or only its name if it is not a tensor.
Message write_value(const ValueInfo *value) {
  Message message;
  message.bytes(value_field::kName, name_of(value));
  auto type = get<const TypeInfo *>(api.value_type, value);
  if (!type || get<int>(api.onnx_type, type) != kTensorType) return message;
  auto info = get<const TensorInfo *>(api.cast_to_tensor_info, type);
  if (!info) return message;
  Message tensor, whole;
  tensor.number(type_field::kElement, onnx_element(get<int>(api.element_type, info)));
  if (api.has_shape(info)) tensor.message(type_field::kShape, write_shape(info));
  whole.message(type_field::kTensor, tensor);
  message.message(value_field::kType, whole);
  return message;
}

class Writer {
 public:
  Model write(const Graph *graph);

 private:
  Message write_graph(const Graph *graph, bool is_outermost);
  Message write_node(const Node *node);
  Message write_attribute(const Attribute *attribute);
  Message write_tensor(const std::string &name, const Value *value, bool may_be_external);
  void write_strings(const Value *value, size_t count, Message &tensor);
  // Adds the values of outer scopes that a node reads.
  void add_outer(const Node *node, Message &message, std::set<std::string> &known);
  void add_initializer(const ValueInfo *value, Message &message);

  Model model_;
  uint64_t end_ = 0;  // of the external data
};

void Writer::write_strings(const Value *value, size_t count, Message &tensor) {
  for (size_t i = 0; i < count; ++i) {
    std::string text(get<size_t>(api.string_element_bytes, value, i), '\0');
    check(api.string_element(value, text.size(), i, text.data()));
    tensor.bytes(tensor_field::kStrings, text);
  }
}

Message Writer::write_tensor(const std::string &name, const Value *value, bool may_be_external) {
  int type = 0;
  const int64_t *shape = nullptr;
  size_t rank = 0, count = 1;
  check(api.tensor_shape(value, &type, &shape, &rank));
  Message tensor;
  for (size_t i = 0; i < rank; ++i) {
    tensor.number(tensor_field::kDims, shape[i]);
    count *= static_cast<size_t>(shape[i]);
  }
  tensor.number(tensor_field::kType, onnx_element(type));
  tensor.bytes(tensor_field::kName, name);
  if (type == kStringElement) {
    write_strings(value, count, tensor);
    return tensor;
  }
  std::string_view data(static_cast<const char *>(get<const void *>(api.tensor_data, value)),
                        get<size_t>(api.tensor_bytes, value));
  if (!may_be_external || data.size() <= kMostInline) {
    tensor.bytes(tensor_field::kRaw, data);
    return tensor;
  }
  static const char kZeros[kWeightAlignment] = {};
  if (uint64_t rest = end_ % kWeightAlignment) {
    model_.weights.push_back({kZeros, kWeightAlignment - rest});
    end_ += kWeightAlignment - rest;
  }
  const std::pair<const char *, std::string> entries[] = {{"location", kWeights},
                                                          {"offset", std::to_string(end_)},
                                                          {"length", std::to_string(data.size())}};
  for (auto &[key, text] : entries) {
    Message entry;
    entry.bytes(entry_field::kKey, key);
    entry.bytes(entry_field::kValue, text);
    tensor.message(tensor_field::kExternal, entry);
  }
  tensor.number(tensor_field::kLocation, 1);
  model_.weights.push_back(data);
  end_ += data.size();
  return tensor;
}

std::string read(const Attribute *attribute, int type) {
  size_t size = 0;
  // The first call returns the size, and fails unless the size is 0.
  if (Status *status = api.read_attribute(attribute, type, nullptr, 0, &size))
    api.release_status(status);
  std::string data(size, '\0');
  if (size) check(api.read_attribute(attribute, type, data.data(), size, &size));
  return data;
}

template <typename T>
std::vector<T> values_of(const std::string &data) {
  std::vector<T> values(data.size() / sizeof(T));
  if (!values.empty()) memcpy(values.data(), data.data(), values.size() * sizeof(T));
  return values;
}

// Writes all attributes except graphs, which their node writes.
Message Writer::write_attribute(const Attribute *attribute) {
  namespace field = attribute_field;
  int type = get<int>(api.attribute_type, attribute);
  Message message;
  message.bytes(field::kName, text_of(get<const char *>(api.attribute_name, attribute)));
  if (type < 1 || type > kTensorAttribute)
    fail(HIPGRAFT_NOT_APPLICABLE, "attributes of type %d are not known", type);
  message.number(field::kType, kAttributeTypes[type]);
  if (type == kTensorAttribute) {
    // Freed here: its data cannot be written later.
    std::unique_ptr<Value, void (*)(Value *)> value(
        get<Value *>(api.attribute_tensor, attribute), api.release_value);
    message.message(field::kTensor, write_tensor("", value.get(), false));
    return message;
  }
  std::string data = read(attribute, type);
  if (type == kIntAttribute || type == kIntsAttribute)
    for (int64_t value : values_of<int64_t>(data))
      message.number(type == kIntAttribute ? field::kInt : field::kInts, value);
  if (type == kFloatAttribute || type == kFloatsAttribute)
    for (float value : values_of<float>(data))
      message.real(type == kFloatAttribute ? field::kFloat : field::kFloats, value);
  if (type == kStringAttribute) message.bytes(field::kString, data);
  for (size_t at = 0; type == kStringsAttribute && at < data.size();) {
    size_t end = std::min(data.find('\0', at), data.size());
    message.bytes(field::kStrings, std::string_view(data).substr(at, end - at));
    at = end + 1;
  }
  return message;
}

Message Writer::write_node(const Node *node) {
  namespace field = node_field;
  Message message;
  for (auto value : list(api.node_input_count, api.node_inputs, node))
    message.bytes(field::kInput, name_of(value));
  for (auto value : list(api.node_output_count, api.node_outputs, node))
    message.bytes(field::kOutput, name_of(value));
  message.bytes(field::kName, text_of(get<const char *>(api.node_name, node)));
  message.bytes(field::kOperator, text_of(get<const char *>(api.operator_type, node)));
  message.bytes(field::kDomain, text_of(get<const char *>(api.node_domain, node)));
  for (auto attribute : list(api.attribute_count, api.attributes, node))
    if (attribute && get<int>(api.attribute_type, attribute) != kGraphAttribute)
      message.message(field::kAttribute, write_attribute(attribute));
  size_t count = get<size_t>(api.subgraph_count, node);
  std::vector<const Graph *> graphs(count);
  std::vector<const char *> names(count);
  if (count) check(api.subgraphs(node, graphs.data(), count, names.data()));
  for (size_t i = 0; i < count; ++i) {
    Message attribute;
    attribute.bytes(attribute_field::kName, text_of(names[i]));
    attribute.number(attribute_field::kType, kAttributeTypes[kGraphAttribute]);
    attribute.message(attribute_field::kGraph, write_graph(graphs[i], false));
    message.message(field::kAttribute, attribute);
  }
  return message;
}

void Writer::add_initializer(const ValueInfo *value, Message &message) {
  auto data = get<const Value *>(api.initializer_value, value);
  if (data) message.message(graph_field::kInitializer, write_tensor(name_of(value), data, true));
}

void Writer::add_outer(const Node *node, Message &message, std::set<std::string> &known) {
  auto values = list(api.node_input_count, api.node_inputs, node);
  for (auto value : list(api.implicit_input_count, api.implicit_inputs, node))
    values.push_back(value);
  for (auto value : values) {
    if (!value || !get<bool>(api.is_from_outer_scope, value)) continue;
    if (!known.insert(name_of(value)).second) continue;
    if (get<bool>(api.is_constant_initializer, value))
      add_initializer(value, message);
    else
      message.message(graph_field::kInput, write_value(value));
  }
}

Message Writer::write_graph(const Graph *graph, bool is_outermost) {
  Message message;
  message.bytes(graph_field::kName, text_of(get<const char *>(api.graph_name, graph)));
  std::set<std::string> known;
  for (auto value : list(api.graph_input_count, api.graph_inputs, graph)) {
    known.insert(name_of(value));
    message.message(graph_field::kInput, write_value(value));
  }
  for (auto value : list(api.graph_output_count, api.graph_outputs, graph)) {
    known.insert(name_of(value));
    message.message(graph_field::kOutput, write_value(value));
  }
  for (auto value : list(api.initializer_count, api.initializers, graph))
    if (get<bool>(api.is_constant_initializer, value)) {
      known.insert(name_of(value));
      add_initializer(value, message);
    }
  for (auto node : list(api.node_count, api.nodes, graph)) {
    if (is_outermost) add_outer(node, message, known);
    for (auto value : list(api.node_output_count, api.node_outputs, node))
      if (value && !name_of(value).empty() && known.insert(name_of(value)).second)
        message.message(graph_field::kValue, write_value(value));
    message.message(graph_field::kNode, write_node(node));
  }
  return message;
}

Model Writer::write(const Graph *graph) {
  Message message;
  message.number(model_field::kIrVersion, get<int64_t>(api.ir_version, graph));
  message.bytes(model_field::kProducer, "hipgraft");
  size_t count = get<size_t>(api.operator_set_count, graph);
  std::vector<const char *> domains(count);
  std::vector<int64_t> versions(count);
  if (count) check(api.operator_sets(graph, domains.data(), versions.data(), count));
  for (size_t i = 0; i < count; ++i) {
    Message set;
    set.bytes(operator_set_field::kDomain, text_of(domains[i]));
    set.number(operator_set_field::kVersion, versions[i]);
    message.message(model_field::kOperatorSet, set);
  }
  message.message(model_field::kGraph, write_graph(graph, true));
  model_.data = message.data();
  return std::move(model_);
}

}  // namespace

Model write_model(const Graph *graph) { return Writer().write(graph); }

}  // namespace hipgraft::ort
