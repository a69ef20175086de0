// See graph_memory.h. The rules are those of the API's documentation: creating the node fixes the
// address, and the memory is accessible from the node that allocates it to the one that frees it.
#include "graph_memory.h"

#include <algorithm>

namespace {

Allocation& allocation_of(State& all, const GraphMemory& memory) {
  return all.memory.find((uintptr_t)memory.given.dptr)->second;
}

bool allocates(const Task& task) { return task.type == hipGraphNodeTypeMemAlloc; }
bool frees(const Task& task) { return task.type == hipGraphNodeTypeMemFree; }

Task task_of(hipGraphNodeType type, const GraphMemoryPtr& memory) {
  Task task;
  task.type = type;
  task.memory = memory;
  task.always = type == hipGraphNodeTypeMemFree;
  task.run = [memory, type] {
    State& all = state();
    Lock lock(all.mutex);
    if (type == hipGraphNodeTypeMemAlloc)
      start_memory(all, *memory);
    else
      end_memory(all, *memory);
  };
  return task;
}

// Whether a graph already has a task that frees memory. It may not free the memory twice, even if
// another graph allocates it.
bool frees_already(const Graph& graph, const GraphMemoryPtr& memory) {
  auto is_same = [&](const auto& node) { return frees(node->task) && node->task.memory == memory; };
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), is_same);
}

}  // namespace

GraphMemory::~GraphMemory() {
  State& all = state();
  auto found = all.memory.find((uintptr_t)given.dptr);
  if (found == all.memory.end()) return;  // the program never got the address
  found->second.graph = nullptr;
  release(all, given.dptr);
}

void start_memory(State& all, GraphMemory& memory) {
  Allocation& allocation = allocation_of(all, memory);
  allocation.held = memory.shared_from_this();
  renew(allocation);
  GraphUsage& usage = all.devices[allocation.device]->of_graphs;
  usage.used += allocation.size;
  usage.most_used = std::max(usage.most_used, usage.used);
  usage.reserved = std::max(usage.reserved, usage.used);
  usage.most_reserved = std::max(usage.most_reserved, usage.reserved);
}

hipError_t end_memory(State& all, GraphMemory& memory) {
  Allocation& allocation = allocation_of(all, memory);
  if (!allocation.held) return hipErrorInvalidValue;
  all.devices[allocation.device]->of_graphs.used -= allocation.size;
  discard(allocation);
  GraphMemoryPtr last = std::move(allocation.held);  // which may remove the allocation
  return hipSuccess;
}

hipError_t make_allocation_task(State& all, const Graph& graph, const hipMemAllocNodeParams& given,
                                Task* task) {
  if (hipError_t error = check_pool(all, given.poolProps)) return error;
  if (!given.bytesize) return hipErrorInvalidValue;
  int device = given.poolProps.location.id;
  if (hipError_t error = give_access(all, device, given.accessDescs, given.accessDescCount))
    return error;
  GraphMemoryPtr memory = std::make_shared<GraphMemory>();
  memory->given = given;
  memory->given.dptr = nullptr;
  memory->graph = &graph;
  void* address = nullptr;
  if (hipError_t error = allocate(all, given.bytesize, MEMORY_DEVICE, 0, nullptr, &address))
    return error;
  Allocation& allocation = all.memory[(uintptr_t)address];
  allocation.device = device;
  allocation.graph = memory.get();
  memory->given.dptr = address;
  discard(allocation);
  *task = task_of(hipGraphNodeTypeMemAlloc, memory);
  return hipSuccess;
}

hipError_t make_free_task(State& all, Graph& graph, void* address, Task* task) {
  Allocation* found = address ? find_memory(all, address) : nullptr;
  if (!found || found->address != (uintptr_t)address || !found->graph) return hipErrorInvalidValue;
  GraphMemoryPtr memory = found->graph->shared_from_this();
  if (memory->is_freed_inside || frees_already(graph, memory)) return hipErrorInvalidValue;
  memory->is_freed_inside = memory->graph == &graph;
  *task = task_of(hipGraphNodeTypeMemFree, memory);
  return hipSuccess;
}

hipError_t capture_allocation(State& all, Stream& stream, int device, size_t size, void** address) {
  if (!address) return hipErrorInvalidValue;
  *address = nullptr;
  if (!size) return hipSuccess;
  hipMemAllocNodeParams given = {};
  given.poolProps.allocType = 1;
  given.poolProps.location = {1, device};
  given.bytesize = size;
  Task task;
  if (hipError_t error = make_allocation_task(all, *stream.capture->graph, given, &task))
    return error;
  *address = task.memory->given.dptr;
  return capture_task(all, stream, std::move(task));
}

hipError_t capture_free(State& all, Stream& stream, void* address) {
  Task task;
  if (hipError_t error = make_free_task(all, *stream.capture->graph, address, &task)) return error;
  return capture_task(all, stream, std::move(task));
}

bool has_memory_nodes(const Graph& graph) {
  auto is_one = [](const auto& node) { return node->task.memory != nullptr; };
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), is_one);
}

hipError_t check_memory(const ExecutableGraph& executable) {
  std::set<const GraphMemory*> allocated;
  for (const ExecutableGraph* other : graphs().executables)
    for (const ExecutableGraph::Step& step : other->steps)
      if (allocates(step.task)) allocated.insert(step.task.memory.get());
  for (const ExecutableGraph::Step& step : executable.steps)
    if (allocates(step.task) && allocated.count(step.task.memory.get()))
      return hipErrorNotSupported;
  return hipSuccess;
}

hipError_t prepare_memory(State& all, Stream& stream, const ExecutableGraph& executable) {
  auto is_of_other = [](const Task& task) { return frees(task) && !task.memory->is_freed_inside; };
  for (const ExecutableGraph::Step& step : executable.steps) {
    const Task& task = step.task;
    if (!task.memory) continue;
    if (stream.capture)
      return unsupported("hipGraphLaunch", " of memory nodes while a stream captures");
    if (is_of_other(task) && !task.memory->is_left) return hipErrorInvalidValue;
    if (!allocates(task) || !task.memory->is_left) continue;
    if (!(executable.flags & hipGraphInstantiateFlagAutoFreeOnLaunch)) return hipErrorInvalidValue;
    if (hipError_t error = submit(all, stream, task_of(hipGraphNodeTypeMemFree, task.memory)))
      return error;
  }
  for (const ExecutableGraph::Step& step : executable.steps) {
    if (allocates(step.task)) step.task.memory->is_left = !step.task.memory->is_freed_inside;
    if (is_of_other(step.task)) step.task.memory->is_left = false;
  }
  return hipSuccess;
}

HIP_API hipGraphMemAllocNodeGetParams(hipGraphNode_t node, hipMemAllocNodeParams* given) {
  if (!given) return finish(hipErrorInvalidValue);
  return finish(with_node(node, [&](State&) {
    if (!allocates(node->task)) return hipErrorInvalidValue;
    *given = node->task.memory->given;
    return hipSuccess;
  }));
}

HIP_API hipGraphMemFreeNodeGetParams(hipGraphNode_t node, void* address) {
  if (!address) return finish(hipErrorInvalidValue);
  return finish(with_node(node, [&](State&) {
    if (!frees(node->task)) return hipErrorInvalidValue;
    *(void**)address = node->task.memory->given.dptr;
    return hipSuccess;
  }));
}

// Memory kept for later launches is only counted: freeing returns it to the system.
HIP_API hipDeviceGraphMemTrim(int number) {
  return finish(with_device(number, [](State&, Lock&, Device& device) {
    device.of_graphs.reserved = device.of_graphs.used;
    return hipSuccess;
  }));
}

HIP_API hipDeviceGetGraphMemAttribute(int number, int attribute, void* value) {
  if (!value) return finish(hipErrorInvalidValue);
  return finish(with_device(number, [&](State&, Lock&, Device& device) {
    const GraphUsage& usage = device.of_graphs;
    const uint64_t values[] = {usage.used, usage.most_used, usage.reserved, usage.most_reserved};
    if (attribute < 0 || attribute >= 4) return hipErrorInvalidValue;
    *(uint64_t*)value = values[attribute];
    return hipSuccess;
  }));
}

// Only the peak values can be set, and only to 0, which resets them.
HIP_API hipDeviceSetGraphMemAttribute(int number, int attribute, void* value) {
  if (!value || *(uint64_t*)value) return finish(hipErrorInvalidValue);
  return finish(with_device(number, [&](State&, Lock&, Device& device) {
    GraphUsage& usage = device.of_graphs;
    if (attribute != 1 && attribute != 3) return hipErrorInvalidValue;
    if (attribute == 1) usage.most_used = usage.used;
    if (attribute == 3) usage.most_reserved = usage.reserved;
    return hipSuccess;
  }));
}
