// Memory that nodes of graphs allocate and free.
#pragma once

#include "graphs.h"

// All with the lock held. Properties without an address make new memory for a graph.
hipError_t make_allocation_task(State& all, const Graph& graph, const hipMemAllocNodeParams& given,
                                Task* task);
hipError_t make_free_task(State& all, Graph& graph, void* address, Task* task);

// What the work of such nodes does.
void start_memory(State& all, GraphMemory& memory);
hipError_t end_memory(State& all, GraphMemory& memory);

bool has_memory_nodes(const Graph& graph);
// The error where another executable graph has the same memory.
hipError_t check_memory(const ExecutableGraph& executable);
// Frees what an earlier launch has left if `executable` says so, and keeps account of what this one
// leaves.
hipError_t prepare_memory(State& all, Stream& stream, const ExecutableGraph& executable);
