// Nodes of graphs: adding and querying them.
#include <string.h>

#include <algorithm>

#include "copies.h"
#include "graph_memory.h"

namespace {

constexpr char kOfMemory[] = " for graphs with memory nodes";

// Adds a node whose task `make(all, task)` fills in.
template <class Make>
hipError_t add(Node** node, Graph* graph, Node* const* after, size_t count, Make make) {
  if (!node || (!after && count)) return hipErrorInvalidValue;
  return with_graph(graph, [&](State& all) {
    std::vector<Node*> before(after, after + count);
    for (const Node* one : before)
      if (!is_node(one) || one->graph != graph) return hipErrorInvalidValue;
    Task task;
    if (hipError_t error = make(all, &task)) return error;
    *node = add_node(*graph, std::move(task), before);
    return hipSuccess;
  });
}

hipError_t make_kernel(State& all, const hipKernelNodeParams& given, const Function* function,
                       Task* task) {
  KernelCallPtr call;
  if (hipError_t error = make_call(all, function, given.gridDim, given.blockDim,
                                   given.sharedMemBytes, given.kernelParams, given.extra, &call))
    return error;
  return make_kernel_task(all, call, task);
}

// Calls `body(make)` with a function that makes the kernel's task. The caller must not hold the
// lock.
template <class Body>
hipError_t with_kernel(const hipKernelNodeParams* given, Body body) {
  if (!given) return hipErrorInvalidValue;
  Function* function = nullptr;
  if (hipError_t error = find_function(given->func, &function)) return error;
  return body([=](State& all, Task* task) { return make_kernel(all, *given, function, task); });
}

hipError_t make_host(const hipHostNodeParams* given, Task* task) {
  if (!given || !given->fn) return hipErrorInvalidValue;
  hipHostNodeParams host = *given;
  task->type = hipGraphNodeTypeHost;
  task->host = host;
  task->always = true;
  task->run = [host] { host.fn(host.userData); };
  return hipSuccess;
}

hipError_t make_event(State& all, hipGraphNodeType type, Event* event, Task* task) {
  if (!all.events.count(event)) return hipErrorInvalidHandle;
  task->type = type;
  task->event = event;
  return hipSuccess;
}

// Replaces a task by a new one of the same kind.
template <class Make>
hipError_t replace(State& all, Task& task, hipGraphNodeType type, Make make) {
  if (task.type != type) return hipErrorInvalidValue;
  Task made;
  if (hipError_t error = make(all, &made)) return error;
  task = std::move(made);
  return hipSuccess;
}

// Writes as many elements as fit, or counts them.
hipError_t list_nodes(const std::vector<Node*>& found, Node** nodes, size_t* count) {
  if (!count) return hipErrorInvalidValue;
  if (nodes) {
    size_t room = *count;
    for (size_t i = 0; i < room; i++) nodes[i] = i < found.size() ? found[i] : nullptr;
    *count = std::min(room, found.size());
  } else {
    *count = found.size();
  }
  return hipSuccess;
}

std::vector<Node*> dependents(const Node* node) {
  std::vector<Node*> found;
  for (const auto& other : node->graph->nodes)
    if (std::count(other->after.begin(), other->after.end(), node)) found.push_back(other.get());
  return found;
}

}  // namespace

HIP_API hipGraphCreate(hipGraph_t* graph, unsigned flags) {
  State& all = state();
  Lock lock(all.mutex);
  if (all.start) return finish(all.start);
  if (!graph || flags) return finish(hipErrorInvalidValue);
  *graph = new Graph;
  graphs().graphs.insert(*graph);
  return finish(hipSuccess);
}

HIP_API hipGraphDestroy(hipGraph_t graph) {
  return finish(with_graph(graph, [&](State&) {
    destroy_graph(graph);
    return hipSuccess;
  }));
}

HIP_API hipGraphClone(hipGraph_t* clone, hipGraph_t graph) {
  if (!clone) return finish(hipErrorInvalidValue);
  return finish(with_graph(graph, [&](State&) {
    if (has_memory_nodes(*graph)) return unsupported("hipGraphClone", kOfMemory);
    *clone = clone_graph(*graph);
    return hipSuccess;
  }));
}

HIP_API hipGraphNodeFindInClone(hipGraphNode_t* found, hipGraphNode_t original, hipGraph_t clone) {
  if (!found) return finish(hipErrorInvalidValue);
  return finish(with_graph(clone, [&](State&) {
    for (const auto& node : clone->nodes)
      if (node->original == original) return *found = node.get(), hipSuccess;
    return hipErrorInvalidValue;
  }));
}

HIP_API hipGraphAddEmptyNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after,
                             size_t count) {
  return finish(add(node, graph, after, count, [](State&, Task*) { return hipSuccess; }));
}

HIP_API hipGraphAddKernelNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after,
                              size_t count, const hipKernelNodeParams* given) {
  return finish(
      with_kernel(given, [&](auto make) { return add(node, graph, after, count, make); }));
}

HIP_API hipGraphAddMemsetNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after,
                              size_t count, const hipMemsetParams* given) {
  if (!given) return finish(hipErrorInvalidValue);
  return finish(add(node, graph, after, count,
                    [&](State& all, Task* task) { return make_fill_task(all, *given, task); }));
}

HIP_API hipGraphAddMemcpyNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after,
                              size_t count, const hipMemcpy3DParms* given) {
  if (!given) return finish(hipErrorInvalidValue);
  return finish(add(node, graph, after, count,
                    [&](State& all, Task* task) { return make_copy_task(all, *given, task); }));
}

HIP_API hipDrvGraphAddMemcpyNode(hipGraphNode_t* node, hipGraph_t graph,
                                 const hipGraphNode_t* after, size_t count,
                                 const HIP_MEMCPY3D* given, hipCtx_t) {
  if (!given) return finish(hipErrorInvalidValue);
  return finish(add(node, graph, after, count,
                    [&](State& all, Task* task) { return make_copy_task(all, *given, task); }));
}

HIP_API hipGraphAddMemcpyNode1D(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after,
                                size_t count, void* target, const void* source, size_t size,
                                hipMemcpyKind kind) {
  return finish(add(node, graph, after, count, [&](State& all, Task* task) {
    return make_copy_task(all, target, source, size, kind, task);
  }));
}

HIP_API hipGraphAddHostNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after,
                            size_t count, const hipHostNodeParams* given) {
  return finish(
      add(node, graph, after, count, [&](State&, Task* task) { return make_host(given, task); }));
}

HIP_API hipGraphAddMemAllocNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after,
                                size_t count, hipMemAllocNodeParams* given) {
  if (!given) return finish(hipErrorInvalidValue);
  return finish(add(node, graph, after, count, [&](State& all, Task* task) {
    if (hipError_t error = make_allocation_task(all, *graph, *given, task)) return error;
    given->dptr = task->memory->given.dptr;
    return hipSuccess;
  }));
}

HIP_API hipGraphAddMemFreeNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after,
                               size_t count, void* address) {
  return finish(add(node, graph, after, count, [&](State& all, Task* task) {
    return make_free_task(all, *graph, address, task);
  }));
}
HIP_API hipDrvGraphAddMemFreeNode(hipGraphNode_t* node, hipGraph_t graph,
                                  const hipGraphNode_t* after, size_t count,
                                  hipDeviceptr_t address) {
  return hipGraphAddMemFreeNode(node, graph, after, count, address);
}

HIP_API hipGraphAddEventRecordNode(hipGraphNode_t* node, hipGraph_t graph,
                                   const hipGraphNode_t* after, size_t count, hipEvent_t event) {
  return finish(add(node, graph, after, count, [&](State& all, Task* task) {
    return make_event(all, hipGraphNodeTypeEventRecord, event, task);
  }));
}

HIP_API hipGraphAddEventWaitNode(hipGraphNode_t* node, hipGraph_t graph,
                                 const hipGraphNode_t* after, size_t count, hipEvent_t event) {
  return finish(add(node, graph, after, count, [&](State& all, Task* task) {
    return make_event(all, hipGraphNodeTypeWaitEvent, event, task);
  }));
}

HIP_API hipGraphAddChildGraphNode(hipGraphNode_t* node, hipGraph_t graph,
                                  const hipGraphNode_t* after, size_t count, hipGraph_t child) {
  return finish(add(node, graph, after, count, [&](State&, Task* task) {
    if (!graphs().graphs.count(child)) return hipErrorInvalidValue;
    if (has_memory_nodes(*child)) return unsupported("hipGraphAddChildGraphNode", kOfMemory);
    task->type = hipGraphNodeTypeGraph;
    task->child = clone_graph(*child);
    return hipSuccess;
  }));
}

HIP_API hipGraphChildGraphNodeGetGraph(hipGraphNode_t node, hipGraph_t* graph) {
  if (!graph) return finish(hipErrorInvalidValue);
  return finish(with_node(node, [&](State&) {
    *graph = node->task.child;
    return *graph ? hipSuccess : hipErrorInvalidValue;
  }));
}

HIP_API hipGraphAddDependencies(hipGraph_t graph, const hipGraphNode_t* from,
                                const hipGraphNode_t* to, size_t count) {
  return finish(with_graph(graph, [&](State&) {
    if (count && (!from || !to)) return hipErrorInvalidValue;
    for (size_t i = 0; i < count; i++) {
      if (!is_node(from[i]) || !is_node(to[i]) || from[i] == to[i]) return hipErrorInvalidValue;
      if (from[i]->graph != graph || to[i]->graph != graph) return hipErrorInvalidValue;
      if (std::count(to[i]->after.begin(), to[i]->after.end(), from[i]))
        return hipErrorInvalidValue;
      to[i]->after.push_back(from[i]);
    }
    return hipSuccess;
  }));
}

HIP_API hipGraphRemoveDependencies(hipGraph_t graph, const hipGraphNode_t* from,
                                   const hipGraphNode_t* to, size_t count) {
  return finish(with_graph(graph, [&](State&) {
    if (count && (!from || !to)) return hipErrorInvalidValue;
    for (size_t i = 0; i < count; i++) {
      if (!is_node(from[i]) || !is_node(to[i])) return hipErrorInvalidValue;
      if (has_memory_nodes(*graph)) return unsupported("hipGraphRemoveDependencies", kOfMemory);
      auto& after = to[i]->after;
      auto found = std::find(after.begin(), after.end(), from[i]);
      if (found == after.end()) return hipErrorInvalidValue;
      after.erase(found);
    }
    return hipSuccess;
  }));
}

HIP_API hipGraphDestroyNode(hipGraphNode_t node) {
  return finish(with_node(node, [&](State&) {
    if (has_memory_nodes(*node->graph)) return unsupported("hipGraphDestroyNode", kOfMemory);
    for (Node* other : dependents(node))
      other->after.erase(std::find(other->after.begin(), other->after.end(), node));
    if (node->task.child) destroy_graph(node->task.child);
    auto& nodes = node->graph->nodes;
    nodes.erase(std::find_if(nodes.begin(), nodes.end(),
                             [&](const auto& one) { return one.get() == node; }));
    return hipSuccess;
  }));
}

HIP_API hipGraphNodeGetType(hipGraphNode_t node, hipGraphNodeType* type) {
  if (!type) return finish(hipErrorInvalidValue);
  return finish(with_node(node, [&](State&) {
    *type = node->task.type;
    return hipSuccess;
  }));
}

HIP_API hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t* nodes, size_t* count) {
  return finish(with_graph(graph, [&](State&) {
    std::vector<Node*> found;
    for (const auto& node : graph->nodes) found.push_back(node.get());
    return list_nodes(found, nodes, count);
  }));
}

HIP_API hipGraphGetRootNodes(hipGraph_t graph, hipGraphNode_t* nodes, size_t* count) {
  return finish(with_graph(graph, [&](State&) {
    std::vector<Node*> found;
    for (const auto& node : graph->nodes)
      if (node->after.empty()) found.push_back(node.get());
    return list_nodes(found, nodes, count);
  }));
}

HIP_API hipGraphGetEdges(hipGraph_t graph, hipGraphNode_t* from, hipGraphNode_t* to,
                         size_t* count) {
  return finish(with_graph(graph, [&](State&) {
    std::vector<Node*> starts, ends;
    for (const auto& node : graph->nodes)
      for (Node* before : node->after) starts.push_back(before), ends.push_back(node.get());
    if (!count || !from != !to) return hipErrorInvalidValue;
    size_t room = *count;
    if (hipError_t error = list_nodes(starts, from, count)) return error;
    *count = room;
    return list_nodes(ends, to, count);
  }));
}

HIP_API hipGraphNodeGetDependencies(hipGraphNode_t node, hipGraphNode_t* nodes, size_t* count) {
  return finish(with_node(node, [&](State&) { return list_nodes(node->after, nodes, count); }));
}

HIP_API hipGraphNodeGetDependentNodes(hipGraphNode_t node, hipGraphNode_t* nodes, size_t* count) {
  return finish(
      with_node(node, [&](State&) { return list_nodes(dependents(node), nodes, count); }));
}

HIP_API hipGraphKernelNodeGetParams(hipGraphNode_t node, hipKernelNodeParams* given) {
  if (!given) return finish(hipErrorInvalidValue);
  return finish(with_node(node, [&](State&) {
    if (node->task.type != hipGraphNodeTypeKernel) return hipErrorInvalidValue;
    KernelCall& call = *node->task.kernel;
    *given = {call.block,      nullptr, call.function, call.grid, call.parameters.data(),
              call.dynamic_lds};
    return hipSuccess;
  }));
}

HIP_API hipGraphKernelNodeSetParams(hipGraphNode_t node, const hipKernelNodeParams* given) {
  return finish(with_kernel(given, [&](auto make) {
    return with_node(
        node, [&](State& all) { return replace(all, node->task, hipGraphNodeTypeKernel, make); });
  }));
}

HIP_API hipGraphExecKernelNodeSetParams(hipGraphExec_t executable, hipGraphNode_t node,
                                        const hipKernelNodeParams* given) {
  return finish(with_kernel(given, [&](auto make) {
    return with_step(executable, node, [&](State& all, Task& task) {
      return replace(all, task, hipGraphNodeTypeKernel, make);
    });
  }));
}

HIP_API hipGraphMemsetNodeGetParams(hipGraphNode_t node, hipMemsetParams* given) {
  if (!given) return finish(hipErrorInvalidValue);
  return finish(with_node(node, [&](State&) {
    if (node->task.type != hipGraphNodeTypeMemset) return hipErrorInvalidValue;
    *given = node->task.fill;
    return hipSuccess;
  }));
}

HIP_API hipGraphMemsetNodeSetParams(hipGraphNode_t node, const hipMemsetParams* given) {
  if (!given) return finish(hipErrorInvalidValue);
  return finish(with_node(node, [&](State& all) {
    return replace(all, node->task, hipGraphNodeTypeMemset,
                   [&](State& all, Task* task) { return make_fill_task(all, *given, task); });
  }));
}

HIP_API hipGraphExecMemcpyNodeSetParams1D(hipGraphExec_t executable, hipGraphNode_t node,
                                          void* target, const void* source, size_t size,
                                          hipMemcpyKind kind) {
  return finish(with_step(executable, node, [&](State& all, Task& task) {
    return replace(all, task, hipGraphNodeTypeMemcpy, [&](State& all, Task* task) {
      return make_copy_task(all, target, source, size, kind, task);
    });
  }));
}

HIP_API hipGraphHostNodeGetParams(hipGraphNode_t node, hipHostNodeParams* given) {
  if (!given) return finish(hipErrorInvalidValue);
  return finish(with_node(node, [&](State&) {
    if (node->task.type != hipGraphNodeTypeHost) return hipErrorInvalidValue;
    *given = node->task.host;
    return hipSuccess;
  }));
}
