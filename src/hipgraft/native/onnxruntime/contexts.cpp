#include "contexts.h"

#include <algorithm>

#include "digests.h"
#include "files.h"
#include "json.h"

namespace hipgraft::ort {

namespace {

constexpr char kDomain[] = "com.microsoft", kOperator[] = "EPContext";
constexpr char kMark[] = "hipgraft";  // first word of compatibility strings
constexpr size_t kMostSource = size_t{1} << 40;

std::string read_text(const Attribute *attribute) {
  size_t size = 0;
  if (Status *status = api.read_attribute(attribute, kStringAttribute, nullptr, 0, &size))
    api.release_status(status);
  std::string text(size, '\0');
  if (size) check(api.read_attribute(attribute, kStringAttribute, text.data(), size, &size));
  return text;
}

const Attribute *find(const Node *node, const char *name) {
  for (auto attribute : list(api.attribute_count, api.attributes, node))
    if (attribute && text_of(get<const char *>(api.attribute_name, attribute)) == name)
      return attribute;
  return nullptr;
}

std::string text(const Node *node, const char *name) {
  const Attribute *found = find(node, name);
  bool is_text = found && get<int>(api.attribute_type, found) == kStringAttribute;
  return is_text ? read_text(found) : "";
}

int64_t number(const Node *node, const char *name, int64_t otherwise) {
  const Attribute *found = find(node, name);
  if (!found || get<int>(api.attribute_type, found) != kIntAttribute) return otherwise;
  size_t size = 0;
  int64_t value = otherwise;
  check(api.read_attribute(found, kIntAttribute, &value, sizeof value, &size));
  return value;
}

std::string entry(const Options &options, const char *key) {
  auto found = options.find(key);
  return found == options.end() ? "" : found->second;
}

// Returns the path of a file beside the model, which must be in the model's folder. For a model in
// memory, the session option ep.context_file_path replaces the model's path.
std::string beside(const Graph *graph, const std::string &name, const Options &session) {
  std::string model = text_of(get<const char *>(api.model_path, graph));
  if (model.empty()) model = entry(session, "ep.context_file_path");
  bool is_inside = !name.empty() && name[0] != '/' && ("/" + name + "/").find("/../") == std::string::npos;
  if (!is_inside)
    fail(HIPGRAFT_INVALID_ARGUMENT, "'%s' is no file beside the model", name.c_str());
  if (model.empty())
    fail(HIPGRAFT_INVALID_ARGUMENT,
         "the model is in memory, and its part '%s' is in a file; ep.context_file_path says where",
         name.c_str());
  return folder_of(model) + "/" + name;
}

// Indices of a node's inputs or outputs; -1 stands for none.
std::string indices_text(const std::vector<size_t> &indices) {
  std::string text;
  for (size_t one : indices)
    text += (text.empty() ? "" : ", ") + (one == kUnused ? "null" : std::to_string(one));
  return "[" + text + "]";
}

std::vector<size_t> indices_of(const Json &field, size_t count) {
  std::vector<size_t> found;
  for (const Json &one : field.array()) {
    found.push_back(one.is_null() ? kUnused : static_cast<size_t>(one.number()));
    if (found.back() != kUnused && found.back() >= count)
      fail(HIPGRAFT_DAMAGED, "the compiled node has no input or output %zu", found.back());
  }
  return found;
}

std::vector<const char *> names(const std::vector<const ValueInfo *> &values) {
  std::vector<const char *> found;
  for (const ValueInfo *value : values)
    found.push_back(value ? get<const char *>(api.value_name, value) : "");
  return found;
}

// Returns the folder for files beside the compiled model.
std::string folder_beside(const Options &session) {
  std::string model = entry(session, "ep.context_file_path");
  if (model.empty())
    fail(HIPGRAFT_INVALID_ARGUMENT, "ep.context_file_path is needed to write files beside it");
  return folder_of(model) + "/";
}

// Writes the sources of a bundle; returns the file's name beside the model.
std::string write_source(const Graph *graph, const std::string &stem, const Options &session) {
  Model model = write_model(graph);
  std::string name = stem + ".source", folder = folder_beside(session) + name;
  make_folders(folder);
  write_file(folder + "/model.onnx", {model.data});
  write_file(folder + "/" + kWeights, model.weights);
  return name + "/model.onnx";
}

std::string notes_text(const Graph *graph, const Bound &bound, const Options &options) {
  return "{\"inputs\": " + indices_text(bound.inputs) +
         ", \"outputs\": " + indices_text(bound.outputs) +
         ", \"nodes\": " + std::to_string(get<size_t>(api.node_count, graph)) +
         ", \"dims\": " + quoted(entry(options, "dims")) + "}";
}

// Attributes of a new node.
class Attributes {
 public:
  ~Attributes() {
    for (Attribute *one : all_) api.release_attribute(one);
  }
  void add(const char *name, int64_t value) {
    add(name, &value, 1, kIntAttribute);
  }
  void add(const char *name, std::string_view value) {
    add(name, value.data(), value.size(), kStringAttribute);
  }
  std::vector<Attribute *> &all() { return all_; }

 private:
  void add(const char *name, const void *data, size_t count, int type) {
    if (count > INT32_MAX)
      fail(HIPGRAFT_NOT_APPLICABLE, "the program has %zu bytes, too many to embed; set "
           "ep.context_embed_mode to 0", count);
    all_.push_back(get<Attribute *>(api.create_attribute, name, data, static_cast<int>(count), type));
  }
  std::vector<Attribute *> all_;
};

}  // namespace

bool is_context(const Node *node) {
  return text_of(get<const char *>(api.operator_type, node)) == kOperator &&
         text_of(get<const char *>(api.node_domain, node)) == kDomain &&
         text(node, "source") == kProvider;
}

std::string misfit(const Node *node, const Options &options, const std::string &architecture) {
  std::string wanted = text(node, "hardware_architecture"), release = text(node, "ep_sdk_version");
  if (wanted != architecture)
    return "the model was compiled for " + wanted + ", and the device is " + architecture;
  std::string choice = entry(options, "context");
  if (release != HIPGRAFT_RELEASE && !choice.empty() && choice != "accept")
    return "the model was compiled by hipgraft " + release + ", and this is " HIPGRAFT_RELEASE;
  return "";
}

Bound read_context(const Graph *graph, const Node *node, const Options &options,
                   const Options &session) {
  std::string trust = entry(options, "trust_context");
  Bound bound;
  bound.flags = trust == "1" || trust == "true" ? HIPGRAFT_TRUST : 0;
  std::string data = text(node, "ep_cache_context");
  if (number(node, "embed_mode", 1)) {
    bound.bundle = hipgraft_bundle_data::open(data.data(), data.size(), bound.flags);
  } else {
    bound.path = beside(graph, data, session);
    bound.bundle = hipgraft_bundle_data::open(bound.path.c_str(), bound.flags);
  }
  Json places = Json::parse(text(node, "notes"));
  bound.inputs = indices_of(places["inputs"], get<size_t>(api.node_input_count, node));
  bound.outputs = indices_of(places["outputs"], get<size_t>(api.node_output_count, node));
  if (std::count(bound.inputs.begin(), bound.inputs.end(), kUnused))
    fail(HIPGRAFT_DAMAGED, "the compiled node lacks an input");
  return bound;
}

Source read_source(const Graph *graph, const Node *node, const Options &session) {
  std::string name = text(node, "onnx_model_filename");
  if (name.empty())
    fail(HIPGRAFT_NOT_APPLICABLE,
         "the model has no sources, which the option context=recompile writes; compile the "
         "original model again");
  std::string path = beside(graph, name, session);
  Json notes = Json::parse(text(node, "notes"));
  return {contents(path, kMostSource), contents(folder_of(path) + "/" + kWeights, kMostSource),
          static_cast<size_t>(notes["nodes"].number()), notes["dims"].string()};
}

Node *write_context(const Graph *graph, const Node *fused, const Bound &bound,
                    const Options &options, const Options &session,
                    const std::string &architecture, const std::vector<std::string> &kept) {
  if (architecture != "cpu" && bound.bundle->find(architecture).variants.empty())
    fail(HIPGRAFT_NOT_APPLICABLE,
         "a compiled model for a GPU holds programs for certain extents; name them by the option "
         "dims");
  Attributes attributes;
  std::string_view bundle = bound.bundle->data();
  Sha256 digest;
  digest.update(bundle.data(), bundle.size());
  std::string stem = digest.text().substr(0, 32), name = stem + ".hgb";
  bool is_embedded = entry(session, "ep.context_embed_mode") == "1";
  attributes.add("main_context", int64_t{1});
  attributes.add("embed_mode", int64_t{is_embedded});
  if (!is_embedded) write_file(folder_beside(session) + name, {bundle});
  attributes.add("ep_cache_context", is_embedded ? bundle : std::string_view(name));
  attributes.add("source", std::string_view(kProvider));
  attributes.add("ep_sdk_version", std::string_view(HIPGRAFT_RELEASE));
  attributes.add("hardware_architecture", std::string_view(architecture));
  if (entry(options, "context") == "recompile")
    attributes.add("onnx_model_filename", write_source(graph, stem, session));
  attributes.add("notes", notes_text(graph, bound, options));
  const char *label = get<const char *>(api.node_name, fused);
  attributes.add("partition_name", std::string_view(label));
  auto inputs = names(list(api.node_input_count, api.node_inputs, fused));
  for (const std::string &name : kept) inputs.push_back(name.c_str());
  auto outputs = names(list(api.node_output_count, api.node_outputs, fused));
  return get<Node *>(api.create_node, kOperator, kDomain, label,
                     static_cast<const char *const *>(inputs.data()), inputs.size(),
                     static_cast<const char *const *>(outputs.data()), outputs.size(),
                     attributes.all().data(), attributes.all().size());
}

std::string compatibility_text(const std::string &architecture) {
  return std::string(kMark) + " " HIPGRAFT_RELEASE " " + architecture;
}

Compatibility judge(const std::string &text, const std::string &architecture) {
  size_t first = text.find(' '), last = text.rfind(' ');
  if (first == std::string::npos || first == last || text.substr(0, first) != kMark)
    return kNotApplicable;
  if (text.substr(last + 1) != architecture) return kUnsupported;
  bool is_same = text.substr(first + 1, last - first - 1) == HIPGRAFT_RELEASE;
  return is_same ? kOptimal : kPreferRecompilation;
}

}  // namespace hipgraft::ort
