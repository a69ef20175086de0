#include "provider.h"

#include <algorithm>
#include <set>
#include <utility>

#include "contexts.h"
#include "files.h"

namespace hipgraft::ort {

namespace {

constexpr char kPrefix[] = "ep.hipgraftexecutionprovider.";
constexpr size_t kMostReport = size_t{1} << 30;  // about one graph
// What each option may be; empty: anything.
const std::map<std::string, std::set<std::string>> kOptions = {
    {"context", {"accept", "recompile", "refuse"}},
    {"dims", {}},
    {"dynamic", {"compile", "error"}},
    {"fallback", {"node", "error"}},
    {"report", {}},
    {"search", {}},
    {"serve", {"auto", "off"}},
    {"target", {}},
    {"trust_context", {"0", "1", "false", "true"}},
};

Provider &self(ProviderTable *table) { return *static_cast<Provider *>(table); }

std::vector<std::string> names_of(const std::vector<const ValueInfo *> &values) {
  std::vector<std::string> names;
  for (const ValueInfo *value : values)
    names.push_back(value ? text_of(get<const char *>(api.value_name, value)) : "");
  return names;
}

// Returns the index of a name in a list; fails if the list lacks it.
size_t index_of(const std::string &name, const std::vector<std::string> &names) {
  auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    fail(HIPGRAFT_DAMAGED, "the fused node has no input '%s'", name.c_str());
  return static_cast<size_t>(found - names.begin());
}

// The name of the node whose body a graph is, or else its operator; empty for the session's graph.
std::string body_of(const Graph *graph) {
  auto node = get<const Node *>(api.parent_node, graph);
  if (!node) return "";
  std::string name = text_of(get<const char *>(api.node_name, node));
  return name.empty() ? text_of(get<const char *>(api.operator_type, node)) : name;
}

// The operator of the node whose body a graph is; empty for the session's graph.
std::string parent_operator(const Graph *graph) {
  auto node = get<const Node *>(api.parent_node, graph);
  return node ? text_of(get<const char *>(api.operator_type, node)) : "";
}

// Whether dimensions of equal names may have different extents in a graph, as in the body of a
// Loop, which may change the shapes of loop-carried values. A Scan may not.
bool is_nested(const Graph *graph) {
  std::string parent = parent_operator(graph);
  return !parent.empty() && parent != "Scan";
}

// The constants of a graph that bodies of its nodes read. ONNX Runtime does not write them into a
// compiled model unless nodes of the graph read them, too.
std::vector<std::string> constants_of_bodies(const std::vector<const Node *> &nodes) {
  std::set<std::string> found;
  for (const Node *node : nodes)
    for (auto value : list(api.implicit_input_count, api.implicit_inputs, node))
      if (value && get<bool>(api.is_constant_initializer, value))
        found.insert(text_of(get<const char *>(api.value_name, value)));
  return {found.begin(), found.end()};
}

const char *name(const ProviderTable *) { return kProvider; }

Status *get_capability(ProviderTable *table, const Graph *graph, GraphSupport *support) {
  return guarded([&] { self(table).get_capability(graph, support); });
}

Status *compile(ProviderTable *table, const Graph **graphs, const Node **fused, size_t count,
                NodeCompute **computes, Node **contexts) {
  return guarded([&] { self(table).compile(graphs, fused, count, computes, contexts); });
}

void release_computes(ProviderTable *, NodeCompute **computes, size_t count) {
  for (size_t i = 0; i < count; ++i) delete static_cast<Compute *>(computes[i]);
}

const char *compatibility(ProviderTable *table, const Graph *) {
  return self(table).compatibility_text.c_str();
}

Status *kernel_registry(ProviderTable *table, const KernelRegistry **registry) {
  *registry = self(table).device.pool ? self(table).factory->copies : nullptr;
  return nullptr;
}

Status *runs_concurrently(ProviderTable *, bool *answer) {
  *answer = true;
  return nullptr;
}

}  // namespace

Options provider_options(const Options &session) {
  Options options;
  for (auto &[key, value] : session) {
    if (key.compare(0, sizeof kPrefix - 1, kPrefix)) continue;
    std::string name = key.substr(sizeof kPrefix - 1);
    auto known = kOptions.find(name);
    if (known == kOptions.end())
      fail(HIPGRAFT_INVALID_ARGUMENT, "there is no option '%s'", name.c_str());
    if (!known->second.empty() && !known->second.count(value)) {
      std::string values;
      for (const std::string &one : known->second) values += (values.empty() ? "" : ", ") + one;
      fail(HIPGRAFT_INVALID_ARGUMENT, "the option '%s' is one of %s, not '%s'", name.c_str(),
           values.c_str(), value.c_str());
    }
    options[name] = value;
  }
  return options;
}

Provider::Provider(Factory &factory, const OfferedDevice &device, std::string architecture,
                   Options options, Options session, const Logger *logger)
    : ProviderTable{},
      factory(factory.shared_from_this()),
      device(device),
      architecture(std::move(architecture)),
      options(std::move(options)),
      session(std::move(session)),
      logger(logger),
      compatibility_text(ort::compatibility_text(this->architecture)) {
  version = api.version;
  name = ort::name;
  ProviderTable::get_capability = ort::get_capability;
  ProviderTable::compile = ort::compile;
  release_computes = ort::release_computes;
  compatibility = ort::compatibility;
  kernel_registry = ort::kernel_registry;
  runs_concurrently = ort::runs_concurrently;
}

void Provider::get_capability(const Graph *graph, GraphSupport *support) {
  auto nodes = list(api.node_count, api.nodes, graph);
  try {
    if (refusal) throw *refusal;
    claim(graph, nodes, support);
  } catch (const Error &error) {
    // ONNX Runtime only logs errors of this function, but an error in `compile` fails the session.
    if (nodes.empty()) throw;
    refusal = std::make_unique<Error>(error);
    Fusion fusion{api.version, true};
    check(api.add_nodes(support, nodes.data(), 1, &fusion));
  }
}

void Provider::claim(const Graph *graph, const std::vector<const Node *> &nodes,
                     GraphSupport *support) {
  Fusion fusion{api.version, true};
  bool is_compiled = false;
  for (const Node *const &node : nodes)
    if (is_context(node)) {
      check(api.add_nodes(support, &node, 1, &fusion));
      is_compiled = true;
    }
  // A compiled model needs no compiler: its other nodes were left when it was compiled.
  if (nodes.empty() || is_compiled) return;
  // ONNX Runtime replaces this node by a Loop, and queries again; fused nodes in it are errors then.
  if (parent_operator(graph) == "SequenceMap") return;
  if (writes_contexts()) {
    // ONNX Runtime writes bodies unchanged.
    if (get<const Node *>(api.parent_node, graph)) return;
    kept_ = constants_of_bodies(nodes);
  }
  bool may_leave = option("fallback") != "error";
  Answer answer;
  try {
    answer = ask(write_model(graph), is_nested(graph), nodes.size(), architecture, options);
  } catch (const Error &error) {
    if (!may_leave) throw;
    return warn("takes no node of " + std::to_string(nodes.size()) + ": " + error.text);
  }
  tell(answer, graph);
  for (Group &group : answer.groups) {
    std::vector<const Node *> members;
    for (size_t index : group.nodes) members.push_back(nodes[index]);
    check(api.add_nodes(support, members.data(), members.size(), &fusion));
    groups_.push_front(std::move(group));
  }
}

// Warns once: ONNX Runtime queries again if nothing was taken.
void Provider::warn(const std::string &text) {
  if (text == told_) return;
  told_ = text;
  log(logger, kWarning, text);
}

void Provider::tell(const Answer &answer, const Graph *graph) {
  Reported one{text_of(get<const char *>(api.graph_name, graph)), body_of(graph), answer.report};
  // ONNX Runtime queries a graph again if nothing was taken.
  bool is_new = std::find(reported_.begin(), reported_.end(), one) == reported_.end();
  if (is_new && !one.answer.empty()) reported_.push_back(one);
  if (!one.body_of.empty()) {
    if (!answer.summary.empty()) nested_ += "; in a subgraph: " + answer.summary;
    return;
  }
  warn(answer.summary + nested_);
  auto report = options.find("report");
  if (report != options.end()) write_report(report->second);
}

// Writes the answer about each graph of the session, bodies before the graphs that contain them.
void Provider::write_report(const std::string &path) const {
  std::string text = "{\n\"version\": 2,\n\"graphs\": [";
  const char *separator = "\n";
  for (const Reported &one : reported_) {
    text += separator + ("{\"graph\": " + quoted(one.graph)) + ", \"body_of\": " +
            quoted(one.body_of) + ", \"answer\": " + contents(one.answer, kMostReport) + "}";
    separator = ",\n";
  }
  write_file(path, {text, "\n]\n}\n"});
}

// Finds the group of a fused node.
const Group &Provider::group_of(const Node *fused) {
  auto outputs = names_of(list(api.node_output_count, api.node_outputs, fused));
  for (const Group &group : groups_)
    if (std::all_of(outputs.begin(), outputs.end(), [&](const std::string &name) {
          return name.empty() || std::count(group.outputs.begin(), group.outputs.end(), name);
        }))
      return group;
  fail(HIPGRAFT_DAMAGED, "no group gives the outputs of the fused node '%s'",
       text_of(get<const char *>(api.node_name, fused)).c_str());
}

Bound Provider::bind(const Node *fused, const Group &group) {
  auto inputs = names_of(list(api.node_input_count, api.node_inputs, fused));
  auto outputs = names_of(list(api.node_output_count, api.node_outputs, fused));
  Bound bound;
  bound.path = group.bundle;
  bound.bundle = hipgraft_bundle_data::open(group.bundle.c_str(), 0);
  for (const std::string &name : group.inputs) bound.inputs.push_back(index_of(name, inputs));
  for (const std::string &name : group.outputs) {
    auto found = std::find(outputs.begin(), outputs.end(), name);
    bool is_read = found != outputs.end();
    bound.outputs.push_back(is_read ? static_cast<size_t>(found - outputs.begin()) : kUnused);
  }
  return bound;
}

std::unique_ptr<Compute> Provider::make_compute(Bound bound) {
  const hipgraft_program &program = bound.bundle->find(architecture);
  bool is_counted = program.variants.empty() ||
                    (program.input_count == bound.inputs.size() &&
                     program.result_count == bound.outputs.size());
  if (!is_counted) fail(HIPGRAFT_DAMAGED, "the program has other inputs or results than its group");
  if (architecture == "cpu") return make_cpu_compute(std::move(bound));
  if (!device.pool) return make_absent_compute(architecture);
  return make_gpu_compute(std::move(bound), device.pool);
}

std::unique_ptr<Compute> Provider::make_growing(Bound bound, const Group &group) {
  bool is_gpu = architecture != "cpu";
  bool is_for_all = bound.bundle->find(architecture).variants.empty();
  // A GPU's program for all extents is MLIR: the helper records its calls for the given extents.
  bool grows = option("dynamic") == "compile" || (is_gpu && is_for_all);
  if (!grows || (is_gpu && !device.pool)) return make_compute(std::move(bound));
  auto make = [this, bound, group](const Shapes &shapes) {
    Bound other = bound;
    other.path = ask_for_shapes(group, shapes, architecture, options);
    other.bundle = hipgraft_bundle_data::open(other.path.c_str(), 0);
    return make_compute(std::move(other));
  };
  auto inputs = bound.inputs;
  auto first = group.variants.empty() ? nullptr : make_compute(std::move(bound));
  return make_growing_compute(std::move(inputs), group.variants, std::move(first), make);
}

std::string Provider::option(const char *name) const {
  auto found = options.find(name);
  return found == options.end() ? "" : found->second;
}

bool Provider::writes_contexts() const {
  auto wanted = session.find("ep.context_enable");
  return wanted != session.end() && wanted->second == "1";
}

const Group &Provider::recompile(const Graph *graph, const Node *node, const std::string &why) {
  if (option("context") != "recompile")
    fail(HIPGRAFT_NOT_APPLICABLE,
         "%s; compile the original model again, or use the option context=recompile where the "
         "model was written with it", why.c_str());
  Source source = read_source(graph, node, session);
  Options asked = options;
  if (option("dims").empty() && !source.dims.empty()) asked["dims"] = source.dims;
  Model model{std::move(source.model), {}};
  if (!source.weights.empty()) model.weights.push_back(source.weights);
  Answer answer = ask(model, false, source.node_count, architecture, asked);
  bool is_whole = answer.groups.size() == 1 && answer.groups[0].nodes.size() == source.node_count;
  if (!is_whole)
    fail(HIPGRAFT_NOT_APPLICABLE, "%s; for this device hipgraft %s", why.c_str(),
         answer.summary.c_str());
  groups_.push_front(std::move(answer.groups[0]));
  return groups_.front();
}

void Provider::compile(const Graph **graphs, const Node **fused, size_t count,
                       NodeCompute **computes, Node **contexts) {
  if (refusal) throw *refusal;
  for (size_t i = 0; i < count; ++i) {
    auto inner = list(api.node_count, api.nodes, graphs[i]);
    bool is_read = inner.size() == 1 && is_context(inner[0]);
    const Group *group = nullptr;
    if (!is_read) group = &group_of(fused[i]);
    else if (auto why = misfit(inner[0], options, architecture); !why.empty())
      group = &recompile(graphs[i], inner[0], why);
    Bound bound = group ? bind(fused[i], *group)
                        : read_context(graphs[i], inner[0], options, session);
    if (writes_contexts())
      contexts[i] = write_context(graphs[i], fused[i], bound, options, session, architecture,
                                  std::exchange(kept_, {}));
    try {
      auto made = group ? make_growing(std::move(bound), *group) : make_compute(std::move(bound));
      computes[i] = made.release();
    } catch (Error &error) {
      if (error.status == HIPGRAFT_UNTRUSTED)
        error.text += "; the option 'trust_context' of the provider does so";
      throw;
    }
  }
}

}  // namespace hipgraft::ort
