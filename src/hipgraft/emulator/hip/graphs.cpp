// Capturing streams into graphs; instantiating and launching graphs.
#include <algorithm>

#include "graph_memory.h"

namespace {

template <class T>
bool contains(const std::vector<T>& list, const T& one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

// Appends the nodes in topological order; returns false if there is a cycle.
bool order(const Graph& graph, std::vector<const Node*>& sorted) {
  std::set<const Node*> placed;
  while (placed.size() < graph.nodes.size()) {
    size_t before = placed.size();
    for (const auto& node : graph.nodes) {
      auto is_placed = [&](const Node* other) { return placed.count(other) > 0; };
      if (placed.count(node.get())) continue;
      if (!std::all_of(node->after.begin(), node->after.end(), is_placed)) continue;
      placed.insert(node.get());
      sorted.push_back(node.get());
    }
    if (placed.size() == before) return false;
  }
  return true;
}

bool add_steps(const Graph& graph, std::vector<ExecutableGraph::Step>& steps) {
  std::vector<const Node*> sorted;
  if (!order(graph, sorted)) return false;
  for (const Node* node : sorted) {
    if (node->task.child && !add_steps(*node->task.child, steps)) return false;
    if (!node->task.child) steps.push_back({node, node->task});
  }
  return true;
}

hipError_t instantiate(ExecutableGraph** executable, Graph* graph, unsigned long long flags) {
  if (!executable) return hipErrorInvalidValue;
  return with_graph(graph, [&](State&) {
    std::unique_ptr<ExecutableGraph> made(new ExecutableGraph);
    if (!add_steps(*graph, made->steps)) return hipErrorInvalidValue;
    if (hipError_t error = check_memory(*made)) return error;
    made->flags = flags;
    *executable = made.release();
    graphs().executables.insert(*executable);
    return hipSuccess;
  });
}

// All captured work of the other streams must have been joined to the first stream.
bool is_joined(const Capture& capture) {
  std::set<const Node*> needed;
  for (const auto& node : capture.graph->nodes)
    needed.insert(node->after.begin(), node->after.end());
  for (const auto& node : capture.graph->nodes)
    if (!needed.count(node.get()) && !contains(capture.origin->captured, node.get())) return false;
  return true;
}

void end_capture(State& all, Capture* capture) {
  std::vector<Stream*> streams(all.streams.begin(), all.streams.end());
  for (Stream* stream : streams)
    if (stream->capture == capture) stream->capture = nullptr, stream->captured.clear();
  for (Event* event : all.events)
    if (event->capture == capture) event->capture = nullptr, event->captured.clear();
  all.captures.erase(capture);
  delete capture;
}

hipError_t join(Stream& stream, const Event& event) {
  if (!event.capture) return hipErrorStreamCaptureIsolation;
  if (stream.capture && stream.capture != event.capture) return hipErrorStreamCaptureMerge;
  if (&stream == stream.device->null_stream) return hipErrorStreamCaptureImplicit;
  stream.capture = event.capture;
  for (Node* node : event.captured)
    if (!contains(stream.captured, node)) stream.captured.push_back(node);
  return hipSuccess;
}

hipStreamCaptureStatus status_of(const Stream& stream) {
  if (!stream.capture) return hipStreamCaptureStatusNone;
  return stream.capture->is_invalid ? hipStreamCaptureStatusInvalidated
                                    : hipStreamCaptureStatusActive;
}

hipError_t begin(hipStream_t handle, Graph* graph, const std::vector<Node*>& after, int mode) {
  return with_stream(handle, [&](State& all, Lock&, Stream& stream) {
    if (mode < 0 || mode > hipStreamCaptureModeRelaxed) return hipErrorInvalidValue;
    if (&stream == stream.device->null_stream) return hipErrorStreamCaptureUnsupported;
    if (stream.capture) return hipErrorIllegalState;
    if (graph && !graphs().graphs.count(graph)) return hipErrorInvalidValue;
    Graph* target = graph ? graph : new Graph;
    graphs().graphs.insert(target);
    stream.capture = new Capture{&stream, target, mode, &thread()};
    stream.captured = after;
    all.captures.insert(stream.capture);
    return hipSuccess;
  });
}

}  // namespace

Graphs& graphs() {
  static Graphs* all = new Graphs;
  return *all;
}

bool is_node(const Node* node) {
  for (const Graph* graph : graphs().graphs)
    for (const auto& one : graph->nodes)
      if (one.get() == node) return true;
  return false;
}

Node* add_node(Graph& graph, Task task, const std::vector<Node*>& after) {
  graph.nodes.emplace_back(new Node{&graph, std::move(task), after});
  return graph.nodes.back().get();
}

Graph* clone_graph(const Graph& graph) {
  Graph* clone = new Graph;
  std::map<const Node*, Node*> copies;
  for (const auto& node : graph.nodes) {
    Node* copy = copies[node.get()] = add_node(*clone, node->task, {});
    copy->original = node.get();
    if (copy->task.child) copy->task.child = clone_graph(*copy->task.child);
  }
  for (const auto& node : graph.nodes)
    for (Node* before : node->after) copies[node.get()]->after.push_back(copies[before]);
  graphs().graphs.insert(clone);
  return clone;
}

void destroy_graph(Graph* graph) {
  for (const auto& node : graph->nodes)
    if (node->task.child) destroy_graph(node->task.child);
  graphs().graphs.erase(graph);
  delete graph;
}

hipError_t capture_task(State&, Stream& stream, Task task) {
  if (task.type == hipGraphNodeTypeWaitEvent) return join(stream, *task.event);
  if (stream.capture->is_invalid) return hipErrorStreamCaptureInvalidated;
  if (task.type == hipGraphNodeTypeEventRecord) {
    task.event->capture = stream.capture;
    task.event->captured = stream.captured;
    return hipSuccess;
  }
  stream.captured = {add_node(*stream.capture->graph, std::move(task), stream.captured)};
  return hipSuccess;
}

hipError_t refuse_during_capture(State& all) {
  const int mode = thread().capture_mode;
  if (mode == hipStreamCaptureModeRelaxed) return hipSuccess;
  hipError_t error = hipSuccess;
  for (Capture* capture : all.captures) {
    bool is_own = capture->owner == &thread();
    bool forbids = capture->mode == hipStreamCaptureModeGlobal
                       ? is_own || mode == hipStreamCaptureModeGlobal
                       : capture->mode == hipStreamCaptureModeThreadLocal && is_own;
    if (!forbids) continue;
    capture->is_invalid = true;
    error = hipErrorStreamCaptureUnsupported;
  }
  return error;
}

HIP_API hipStreamBeginCapture(hipStream_t stream, int mode) {
  return finish(begin(stream, nullptr, {}, mode));
}
HIP_API hipStreamBeginCaptureToGraph(hipStream_t stream, hipGraph_t graph,
                                     const hipGraphNode_t* after, const void*, size_t count,
                                     int mode) {
  if (!graph || (!after && count)) return finish(hipErrorInvalidValue);
  return finish(begin(stream, graph, std::vector<Node*>(after, after + count), mode));
}

HIP_API hipStreamEndCapture(hipStream_t handle, hipGraph_t* graph) {
  return finish(with_stream(handle, [&](State& all, Lock&, Stream& stream) {
    if (!graph) return hipErrorInvalidValue;
    Capture* capture = stream.capture;
    if (!capture) return hipErrorIllegalState;
    if (capture->origin != &stream) return hipErrorStreamCaptureUnmatched;
    if (capture->mode != hipStreamCaptureModeRelaxed && capture->owner != &thread())
      return hipErrorStreamCaptureWrongThread;
    hipError_t error = capture->is_invalid    ? hipErrorStreamCaptureInvalidated
                       : !is_joined(*capture) ? hipErrorStreamCaptureUnjoined
                                              : hipSuccess;
    *graph = capture->graph;
    if (error) destroy_graph(*graph), *graph = nullptr;
    end_capture(all, capture);
    return error;
  }));
}

HIP_API hipStreamIsCapturing(hipStream_t handle, hipStreamCaptureStatus* status) {
  if (!status) return finish(hipErrorInvalidValue);
  return finish(with_stream(handle, [&](State&, Lock&, Stream& stream) {
    *status = status_of(stream);
    return hipSuccess;
  }));
}

HIP_API hipStreamGetCaptureInfo_v2(hipStream_t handle, hipStreamCaptureStatus* status,
                                   unsigned long long* id, hipGraph_t* graph,
                                   const hipGraphNode_t** after, size_t* count) {
  if (!status) return finish(hipErrorInvalidValue);
  return finish(with_stream(handle, [&](State&, Lock&, Stream& stream) {
    *status = status_of(stream);
    if (*status != hipStreamCaptureStatusActive) return hipSuccess;
    if (id) *id = (unsigned long long)stream.capture;
    if (graph) *graph = stream.capture->graph;
    if (after) *after = stream.captured.data();
    if (count) *count = stream.captured.size();
    return hipSuccess;
  }));
}
HIP_API hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus* status,
                                unsigned long long* id) {
  return hipStreamGetCaptureInfo_v2(stream, status, id, nullptr, nullptr, nullptr);
}

HIP_API hipStreamUpdateCaptureDependencies(hipStream_t handle, hipGraphNode_t* nodes, size_t count,
                                           unsigned flags) {
  if ((!nodes && count) || flags > 1) return finish(hipErrorInvalidValue);
  return finish(with_stream(handle, [&](State&, Lock&, Stream& stream) {
    if (!stream.capture) return hipErrorIllegalState;
    if (flags == 1) stream.captured.clear();
    for (size_t i = 0; i < count; i++)
      if (!contains(stream.captured, nodes[i])) stream.captured.push_back(nodes[i]);
    return hipSuccess;
  }));
}

HIP_API hipThreadExchangeStreamCaptureMode(int* mode) {
  if (!mode || *mode < 0 || *mode > hipStreamCaptureModeRelaxed)
    return finish(hipErrorInvalidValue);
  std::swap(*mode, thread().capture_mode);
  return finish(hipSuccess);
}

HIP_API hipGraphInstantiate(hipGraphExec_t* executable, hipGraph_t graph, hipGraphNode_t* wrong,
                            char*, size_t) {
  if (wrong) *wrong = nullptr;
  return finish(instantiate(executable, graph, 0));
}
HIP_API hipGraphInstantiateWithFlags(hipGraphExec_t* executable, hipGraph_t graph,
                                     unsigned long long flags) {
  // 1: frees before it launches; 2: upload; 8: priorities.
  if (flags & ~11ull) return unsupported("hipGraphInstantiateWithFlags", " with these flags");
  return finish(instantiate(executable, graph, flags));
}

HIP_API hipGraphExecGetFlags(hipGraphExec_t executable, unsigned long long* flags) {
  State& all = state();
  Lock lock(all.mutex);
  if (!flags || !graphs().executables.count(executable)) return finish(hipErrorInvalidValue);
  *flags = executable->flags;
  return finish(hipSuccess);
}

HIP_API hipGraphLaunch(hipGraphExec_t executable, hipStream_t handle) {
  return finish(with_stream(handle, [&](State& all, Lock&, Stream& stream) {
    if (!graphs().executables.count(executable)) return hipErrorInvalidValue;
    if (hipError_t error = prepare_memory(all, stream, *executable)) return error;
    for (const ExecutableGraph::Step& step : executable->steps)
      if (hipError_t error = submit(all, stream, step.task)) return error;
    return hipSuccess;
  }));
}

HIP_API hipGraphUpload(hipGraphExec_t executable, hipStream_t handle) {
  return finish(with_stream(handle, [&](State&, Lock&, Stream&) {
    return graphs().executables.count(executable) ? hipSuccess : hipErrorInvalidValue;
  }));
}

HIP_API hipGraphExecDestroy(hipGraphExec_t executable) {
  State& all = state();
  Lock lock(all.mutex);
  if (!graphs().executables.erase(executable)) return finish(hipErrorInvalidValue);
  delete executable;
  return finish(hipSuccess);
}

HIP_API hipGraphExecUpdate(hipGraphExec_t executable, hipGraph_t graph, hipGraphNode_t* wrong,
                           int* result) {
  enum { UPDATED = 0, TOPOLOGY_CHANGED = 2, TYPE_CHANGED = 3, UNSUPPORTED = 6 };
  return finish(with_graph(graph, [&](State&) {
    if (!graphs().executables.count(executable)) return hipErrorInvalidValue;
    std::vector<ExecutableGraph::Step> steps;
    bool is_same = add_steps(*graph, steps) && steps.size() == executable->steps.size();
    int found = is_same ? UPDATED : TOPOLOGY_CHANGED;
    for (size_t i = 0; is_same && i < steps.size(); i++) {
      const Task &before = executable->steps[i].task, &after = steps[i].task;
      if (before.type == after.type && before.memory == after.memory) continue;
      found = before.type == after.type ? UNSUPPORTED : TYPE_CHANGED;
      if (wrong) *wrong = const_cast<Node*>(steps[i].node);
      break;
    }
    if (result) *result = found;
    if (found) return hipErrorGraphExecUpdateFailure;
    // The program still refers to the nodes of the first graph.
    for (size_t i = 0; i < steps.size(); i++) executable->steps[i].task = steps[i].task;
    return hipSuccess;
  }));
}
