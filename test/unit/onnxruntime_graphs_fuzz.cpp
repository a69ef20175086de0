// Writes random graphs of a hostile ONNX Runtime: names that are null, long or not UTF-8, absent
// values, arbitrary extents, attributes of any type and length, nested bodies, functions that fail.
// Each must give a model or an error. Built with sanitizers, together with the provider's writer.
//
//     onnxruntime_graphs_fuzz SEED ROUNDS FOLDER
//
// Writes the first models to the folder, and prints the numbers of models and errors.

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "model.h"

namespace hipgraft::ort {

std::mt19937 draw;
size_t below(size_t count) { return draw() % count; }

struct Status {
  std::string text;
};
struct Value {
  int type;
  std::vector<int64_t> shape;
  std::string data;
  std::vector<std::string> texts;
};
struct TensorInfo {
  bool has_shape;
  int type;
  std::vector<int64_t> extents;
  std::vector<const char *> symbols;
};
struct TypeInfo {
  int kind;
  TensorInfo tensor;
};
struct ValueInfo {
  const char *name;
  const TypeInfo *type;
  const Value *data;
  bool is_constant, is_outer;
};
struct Attribute {
  const char *name;
  int type;
  std::string data;
};
struct Node {
  const char *name, *op, *domain;
  std::vector<const ValueInfo *> inputs, outputs, implicit;
  std::vector<const Attribute *> attributes;
  std::vector<const Graph *> bodies;
  std::vector<const char *> body_names;
};
struct Graph {
  const char *name;
  std::vector<const ValueInfo *> inputs, outputs, initializers;
  std::vector<const Node *> nodes;
  std::vector<const char *> domains;
  std::vector<int64_t> versions;
};

namespace {

bool may_fail;
int64_t open_values, open_statuses;

Status *fault() {
  if (!may_fail || below(2000)) return nullptr;
  ++open_statuses;
  return new Status{"a fault"};
}

Status *error(const char *text) {
  ++open_statuses;
  return new Status{text};
}

std::vector<std::shared_ptr<void>> kept;  // the parts of a graph

template <typename Thing>
Thing *keep(Thing thing) {
  auto made = std::make_shared<Thing>(std::move(thing));
  kept.push_back(made);
  return made.get();
}

const char *name() {
  static const std::string names[] = {"x",  "y", "",     "w", "a\nb", "\xff\xfe", "\"}", "../weights.bin",
                                      "vv", "z", "long", "n", "\x01", "\xc3\xa9"};
  static const std::string very_long(100000, 'l');
  size_t number = below(60);
  if (!number) return nullptr;
  if (number == 1) return very_long.c_str();
  return names[number % std::size(names)].c_str();
}

int64_t extent() {
  static const int64_t odd[] = {-1, 0, 1, INT64_MIN, INT64_MAX, -7, int64_t{1} << 40};
  return below(3) ? static_cast<int64_t>(below(9)) : odd[below(std::size(odd))];
}

template <typename Make>
auto many(size_t most, Make make) {
  std::vector<decltype(make())> all(below(most + 1));
  for (auto &one : all) one = make();
  return all;
}

int element() { return static_cast<int>(below(30)) - 1; }

std::string bytes() {
  std::string text(below(4) ? below(40) : below(4000), '\0');
  for (char &one : text) one = static_cast<char>(draw());
  return text;
}

Value random_value() {
  return {element(), many(4, extent), bytes(), many(3, bytes)};
}

const ValueInfo *value() {
  if (!below(20)) return nullptr;
  TensorInfo info{below(5) > 0, element(), many(5, extent), {}};
  for (size_t i = 0; i < info.extents.size(); ++i) info.symbols.push_back(name());
  auto type = below(8) ? keep(TypeInfo{static_cast<int>(below(3)), info}) : nullptr;
  auto data = below(3) ? nullptr : keep(random_value());
  return keep(ValueInfo{name(), type, data, below(2) > 0, below(3) == 0});
}

const ValueInfo *present() {
  const ValueInfo *found = value();
  return found ? found : present();
}

const Attribute *attribute() {
  if (!below(20)) return nullptr;
  return keep(Attribute{name(), static_cast<int>(below(11)) - 1, bytes()});
}

const Graph *graph(int depth);

const Node *node(int depth) {
  Node made{name(), name(), name(), many(4, value), many(3, value), many(2, present),
            many(3, attribute), {}, {}};
  if (depth && !below(4)) {
    made.bodies = many(2, [&] { return graph(depth - 1); });
    for (size_t i = 0; i < made.bodies.size(); ++i) made.body_names.push_back(name());
  }
  return keep(made);
}

const Graph *graph(int depth) {
  Graph made{name(), many(3, present), many(3, present), many(3, present), {}, many(3, name), {}};
  made.nodes = many(4, [&] { return node(depth); });
  for (size_t i = 0; i < made.domains.size(); ++i) made.versions.push_back(extent());
  return keep(made);
}

// A pair of functions as `list` calls them.
#define LIST(counts, fills, Owner, field)                                            \
  api.counts = [](const Owner *owner, size_t *count) {                               \
    *count = owner->field.size();                                                    \
    return fault();                                                                  \
  };                                                                                 \
  api.fills = [](const Owner *owner, auto *all, size_t count) {                      \
    for (size_t i = 0; i < count; ++i) all[i] = owner->field.at(i);                  \
    return fault();                                                                  \
  }
#define FIELD(function, Owner, expression)      \
  api.function = [](const Owner *one, auto *found) { \
    *found = expression;                        \
    return fault();                             \
  }

void set_graphs() {
  FIELD(graph_name, Graph, one->name);
  FIELD(ir_version, Graph, extent() + (one ? 0 : 1));
  LIST(graph_input_count, graph_inputs, Graph, inputs);
  LIST(graph_output_count, graph_outputs, Graph, outputs);
  LIST(initializer_count, initializers, Graph, initializers);
  LIST(node_count, nodes, Graph, nodes);
  FIELD(operator_set_count, Graph, one->domains.size());
  api.operator_sets = [](const Graph *one, const char **domains, int64_t *versions, size_t count) {
    for (size_t i = 0; i < count; ++i) domains[i] = one->domains[i], versions[i] = one->versions[i];
    return fault();
  };
  FIELD(node_name, Node, one->name);
  FIELD(operator_type, Node, one->op);
  FIELD(node_domain, Node, one->domain);
  LIST(node_input_count, node_inputs, Node, inputs);
  LIST(node_output_count, node_outputs, Node, outputs);
  LIST(implicit_input_count, implicit_inputs, Node, implicit);
  LIST(attribute_count, attributes, Node, attributes);
  FIELD(subgraph_count, Node, one->bodies.size());
  api.subgraphs = [](const Node *one, const Graph **graphs, size_t count, const char **names) {
    for (size_t i = 0; i < count; ++i) graphs[i] = one->bodies[i], names[i] = one->body_names[i];
    return fault();
  };
}

void set_values() {
  FIELD(value_name, ValueInfo, one->name);
  FIELD(value_type, ValueInfo, one->type);
  FIELD(initializer_value, ValueInfo, one->data);
  FIELD(is_constant_initializer, ValueInfo, one->is_constant);
  FIELD(is_from_outer_scope, ValueInfo, one->is_outer);
  FIELD(onnx_type, TypeInfo, one->kind);
  FIELD(cast_to_tensor_info, TypeInfo, &one->tensor);
  FIELD(element_type, TensorInfo, one->type);
  FIELD(dimension_count, TensorInfo, one->extents.size());
  api.has_shape = [](const TensorInfo *one) { return one->has_shape; };
  api.dimensions = [](const TensorInfo *one, int64_t *all, size_t count) {
    std::copy_n(one->extents.begin(), count, all);
    return fault();
  };
  api.symbolic_dimensions = [](const TensorInfo *one, const char **all, size_t count) {
    std::copy_n(one->symbols.begin(), count, all);
    return fault();
  };
}

void set_tensors() {
  api.tensor_shape = [](const Value *one, int *type, const int64_t **shape, size_t *rank) {
    *type = one->type, *shape = one->shape.data(), *rank = one->shape.size();
    return fault();
  };
  FIELD(tensor_data, Value, one->data.empty() ? nullptr : one->data.data());
  FIELD(tensor_bytes, Value, one->data.size());
  api.string_element_bytes = [](const Value *one, size_t index, size_t *size) {
    if (index >= one->texts.size()) return error("there is no such text");
    *size = one->texts[index].size();
    return fault();
  };
  api.string_element = [](const Value *one, size_t size, size_t index, void *text) {
    memcpy(text, one->texts[index].data(), size);
    return fault();
  };
  api.release_value = [](Value *one) { --open_values, delete one; };
}

void set_attributes() {
  FIELD(attribute_name, Attribute, one->name);
  FIELD(attribute_type, Attribute, one->type);
  api.attribute_tensor = [](const Attribute *, Value **found) {
    if (Status *status = fault()) return status;
    *found = new Value(random_value());
    ++open_values;
    return static_cast<Status *>(nullptr);
  };
  api.read_attribute = [](const Attribute *one, int, void *data, size_t size, size_t *wanted) {
    *wanted = one->data.size();
    if (size < one->data.size()) return error("the memory is too small");
    if (size) memcpy(data, one->data.data(), one->data.size());
    return fault();
  };
  api.release_status = [](Status *one) { --open_statuses, delete one; };
}

}  // namespace

}  // namespace hipgraft::ort

using namespace hipgraft::ort;

int main(int, char **words) {
  draw.seed(static_cast<unsigned>(atoi(words[1])));
  set_graphs(), set_values(), set_tensors(), set_attributes();
  int models = 0, errors = 0;
  for (int round = 0; round < atoi(words[2]); ++round) {
    may_fail = false;
    const Graph *given = graph(3);
    may_fail = round % 2;
    try {
      Model model = write_model(given);
      std::string weights;
      for (std::string_view piece : model.weights) weights += piece;
      if (models < 100)
        std::ofstream(std::string(words[3]) + "/" + std::to_string(models) + ".onnx",
                      std::ios::binary) << model.data;
      ++models;
    } catch (const hipgraft::Error &) {
      ++errors;
    } catch (const Passed &passed) {
      api.release_status(passed.status);
      ++errors;
    }
    kept.clear();
    if (open_values || open_statuses) return fprintf(stderr, "something is not released\n"), 3;
  }
  printf("%d %d\n", models, errors);
}
