// Copies and fills as tasks, for streams and for nodes of graphs. The lock is held.
#pragma once

#include "runtime.h"

hipError_t make_copy_task(State& all, void* target, const void* source, size_t size,
                          hipMemcpyKind kind, Task* task);
hipError_t make_copy_task(State& all, const hipMemcpy3DParms& given, Task* task);
hipError_t make_copy_task(State& all, const HIP_MEMCPY3D& given, Task* task);
hipError_t make_fill_task(State& all, const hipMemsetParams& fill, Task* task);

// Takes the lock itself.
hipError_t submit_fill(const hipMemsetParams& fill, hipStream_t stream, bool waits);
