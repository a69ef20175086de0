// Memory that nodes of graphs allocate and free.
#pragma once

#include "graphs.h"

// The caller of each function holds the lock. Properties without an address create new memory for a
// graph.
hipError_t make_allocation_task(State& all, const Graph& graph, const hipMemAllocNodeParams& given,
                                Task* task);
hipError_t make_free_task(State& all, Graph& graph, void* address, Task* task);

// The work of such nodes.
void start_memory(State& all, GraphMemory& memory);
hipError_t end_memory(State& all, GraphMemory& memory);

bool has_memory_nodes(const Graph& graph);
// Returns an error if another executable graph has the same memory.
hipError_t check_memory(const ExecutableGraph& executable);
// Frees memory that an earlier launch left if `executable` requests it, and records the memory that
// this launch leaves.
hipError_t prepare_memory(State& all, Stream& stream, const ExecutableGraph& executable);
