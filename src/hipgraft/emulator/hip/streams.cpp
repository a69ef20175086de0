// Streams, events and callbacks. Work runs in order within a stream; events and the null stream
// order work across streams.
#include <algorithm>
#include <thread>

#include "timing.h"

namespace {

bool is_blocking(const Stream& stream) { return !(stream.flags & hipStreamNonBlocking); }
bool is_null(const Stream& stream) { return stream.device->null_stream == &stream; }

void work(Stream* stream) {
  State& all = state();
  Lock lock(all.mutex);
  while (true) {
    all.changed.wait(lock, [&] { return !stream->queue.empty() || stream->closing; });
    if (stream->queue.empty()) break;
    OperationPtr next = stream->queue.front();
    for (const OperationPtr& before : next->after) {
      wait_for(all, lock, before);
      stream->modelled = std::max(stream->modelled, before->modelled);
    }
    thread().seconds = 0;
    if (next->run && (next->always || all.fault == hipSuccess)) {
      lock.unlock();
      next->run();
      lock.lock();
    }
    next->ended = now();
    next->modelled = stream->modelled += thread().seconds;
    next->done = true;
    next->run = nullptr;
    next->after.clear();
    stream->queue.pop_front();
    all.changed.notify_all();
  }
  delete stream;
}

// The null stream waits for all blocking streams of its device, and they for it.
void add_implicit_order(State& all, Stream& stream, Operation& operation) {
  if (!is_blocking(stream)) return;
  auto add = [&](const Stream& other) {
    if (other.last && !other.last->done) operation.after.push_back(other.last);
  };
  if (!is_null(stream)) return add(*stream.device->null_stream);
  for (const OperationPtr& orphan : stream.device->orphans) operation.after.push_back(orphan);
  for (const Stream* other : all.streams)
    if (other->device == stream.device && is_blocking(*other)) add(*other);
}

OperationPtr enqueue(State& all, Stream& stream, const Task& task) {
  OperationPtr operation = std::make_shared<Operation>();
  operation->run = task.run;
  operation->always = task.always;
  add_implicit_order(all, stream, *operation);
  if (task.type == hipGraphNodeTypeWaitEvent && task.event->recorded)
    operation->after.push_back(task.event->recorded);
  if (task.type == hipGraphNodeTypeEventRecord) {
    task.event->recorded = operation;
    task.event->capture = nullptr;
  }
  stream.queue.push_back(operation);
  stream.last = operation;
  if (!stream.has_worker) std::thread(work, &stream).detach();
  stream.has_worker = true;
  all.changed.notify_all();
  return operation;
}

bool is_done(const OperationPtr& operation) { return !operation || operation->done; }

hipError_t create(hipStream_t* stream, unsigned flags, int priority) {
  State& all = state();
  Lock lock(all.mutex);
  if (all.start) return all.start;
  if (!stream || flags > hipStreamNonBlocking) return hipErrorInvalidValue;
  *stream = new Stream{&current_device(), flags, priority};
  all.streams.insert(*stream);
  return hipSuccess;
}

// A capturing stream has no work to wait for.
hipError_t refuse_capturing(Stream& stream) {
  if (!stream.capture) return hipSuccess;
  stream.capture->is_invalid = true;
  return hipErrorStreamCaptureUnsupported;
}

template <class Body>
hipError_t with_event(hipEvent_t event, Body body) {
  State& all = state();
  Lock lock(all.mutex);
  if (!event) return hipErrorInvalidHandle;
  return all.events.count(event) ? body(all, lock) : hipErrorInvalidHandle;
}

hipError_t record(hipEvent_t event, hipStream_t handle) {
  return with_stream(handle, [&](State& all, Lock&, Stream& stream) {
    if (!all.events.count(event) || event->device != stream.device->number)
      return hipErrorInvalidHandle;
    Task task;
    task.type = hipGraphNodeTypeEventRecord;
    task.event = event;
    return submit(all, stream, task);
  });
}

hipError_t add_callback(hipStream_t handle, Task task) {
  task.type = hipGraphNodeTypeHost;
  task.always = true;
  return submit(handle, std::move(task));
}

}  // namespace

Stream* find_stream(State& all, hipStream_t handle, hipError_t* error) {
  *error = all.start ? all.start : all.fault;
  if (*error) return nullptr;
  if (!handle || (uintptr_t)handle == kLegacyStream) return current_device().null_stream;
  if ((uintptr_t)handle == kPerThreadStream) {
    Stream*& own = thread().stream;
    if (!own || own->device != &current_device()) {
      own = new Stream{&current_device(), 0, 0};
      all.streams.insert(own);
    }
    return own;
  }
  if (all.streams.count(handle)) return handle;
  *error = hipErrorContextIsDestroyed;
  return nullptr;
}

hipError_t submit(State& all, Stream& stream, Task task, OperationPtr* queued) {
  if (all.fault) return all.fault;
  // Waiting for an event of a captured stream makes a stream part of the capture.
  bool joins = task.type == hipGraphNodeTypeWaitEvent && task.event->capture;
  if (stream.capture || joins) return capture_task(all, stream, std::move(task));
  if (is_null(stream))
    for (const Stream* other : all.streams)
      if (other->capture && is_blocking(*other) && other->device == stream.device)
        return hipErrorStreamCaptureImplicit;
  OperationPtr operation = enqueue(all, stream, task);
  if (queued) *queued = operation;
  return hipSuccess;
}

hipError_t submit(hipStream_t handle, Task task, OperationPtr* queued) {
  return with_stream(handle, [&](State& all, Lock&, Stream& stream) {
    return submit(all, stream, std::move(task), queued);
  });
}

void wait_for(State& all, Lock& lock, const OperationPtr& operation) {
  OperationPtr kept = operation;
  all.changed.wait(lock, [&] { return is_done(kept); });
}

void wait_for_device(State& all, Lock& lock, const Device& device) {
  std::vector<OperationPtr> last = device.orphans;
  last.push_back(device.null_stream->last);
  for (const Stream* stream : all.streams)
    if (stream->device == &device) last.push_back(stream->last);
  for (const OperationPtr& one : last) wait_for(all, lock, one);
}

HIP_API hipStreamCreate(hipStream_t* stream) { return finish(create(stream, 0, 0)); }
HIP_API hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags) {
  return finish(create(stream, flags, 0));
}
HIP_API hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int priority) {
  return finish(create(stream, flags, priority < -1 ? -1 : priority > 1 ? 1 : priority));
}
HIP_API hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least) *least = 1;
  if (greatest) *greatest = -1;
  return finish(hipSuccess);
}

// Work that is already in the stream still runs.
HIP_API hipStreamDestroy(hipStream_t handle) {
  State& all = state();
  Lock lock(all.mutex);
  if (!handle || !all.streams.count(handle)) return finish(hipErrorContextIsDestroyed);
  if (handle->capture) return finish(hipErrorStreamCaptureUnsupported);
  all.streams.erase(handle);
  handle->closing = true;
  std::vector<OperationPtr>& orphans = handle->device->orphans;
  orphans.erase(std::remove_if(orphans.begin(), orphans.end(), is_done), orphans.end());
  if (!is_done(handle->last)) orphans.push_back(handle->last);
  if (!handle->has_worker) delete handle;
  all.changed.notify_all();
  return finish(hipSuccess);
}

HIP_API hipStreamSynchronize(hipStream_t handle) {
  return finish(with_stream(handle, [](State& all, Lock& lock, Stream& stream) {
    if (hipError_t error = refuse_capturing(stream)) return error;
    if (is_null(stream)) {
      std::vector<OperationPtr> others;
      for (const Stream* other : all.streams)
        if (other->device == stream.device && is_blocking(*other)) others.push_back(other->last);
      for (const OperationPtr& one : others) wait_for(all, lock, one);
    }
    wait_for(all, lock, stream.last);
    return all.fault;
  }));
}

HIP_API hipStreamQuery(hipStream_t handle) {
  return finish(with_stream(handle, [](State&, Lock&, Stream& stream) {
    if (hipError_t error = refuse_capturing(stream)) return error;
    return is_done(stream.last) ? hipSuccess : hipErrorNotReady;
  }));
}

HIP_API hipStreamWaitEvent(hipStream_t handle, hipEvent_t event, unsigned flags) {
  return finish(with_stream(handle, [&](State& all, Lock&, Stream& stream) {
    if (!all.events.count(event)) return hipErrorInvalidHandle;
    if (flags) return hipErrorInvalidValue;
    if (!event->recorded && !event->capture) return hipSuccess;
    Task task;
    task.type = hipGraphNodeTypeWaitEvent;
    task.event = event;
    return submit(all, stream, task);
  }));
}

HIP_API hipStreamGetFlags(hipStream_t handle, unsigned* flags) {
  if (!flags) return finish(hipErrorInvalidValue);
  return finish(with_stream(handle, [&](State&, Lock&, Stream& stream) {
    *flags = stream.flags;
    return hipSuccess;
  }));
}

HIP_API hipStreamGetPriority(hipStream_t handle, int* priority) {
  if (!priority) return finish(hipErrorInvalidValue);
  return finish(with_stream(handle, [&](State&, Lock&, Stream& stream) {
    *priority = stream.priority;
    return hipSuccess;
  }));
}

HIP_API hipStreamGetDevice(hipStream_t handle, hipDevice_t* device) {
  if (!device) return finish(hipErrorInvalidValue);
  return finish(with_stream(handle, [&](State&, Lock&, Stream& stream) {
    *device = stream.device->number;
    return hipSuccess;
  }));
}

HIP_API hipLaunchHostFunc(hipStream_t handle, hipHostFn_t function, void* data) {
  if (!function) return finish(hipErrorInvalidValue);
  Task task;
  task.host = {function, data};
  task.run = [=] { function(data); };
  return finish(add_callback(handle, std::move(task)));
}

HIP_API hipStreamAddCallback(hipStream_t handle, hipStreamCallback_t callback, void* data,
                             unsigned flags) {
  if (!callback || flags) return finish(hipErrorInvalidValue);
  Task task;
  task.run = [=] { callback(handle, state().fault, data); };
  return finish(add_callback(handle, std::move(task)));
}

HIP_API hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
  State& all = state();
  Lock lock(all.mutex);
  if (all.start) return finish(all.start);
  // All flags of HIP except those for other processes (4).
  if (!event || (flags & ~0xE0000003u)) return finish(hipErrorInvalidValue);
  *event = new Event{current_device().number, flags};
  all.events.insert(*event);
  return finish(hipSuccess);
}
HIP_API hipEventCreate(hipEvent_t* event) { return hipEventCreateWithFlags(event, 0); }

HIP_API hipEventDestroy(hipEvent_t event) {
  return finish(with_event(event, [&](State& all, Lock&) {
    all.events.erase(event);
    delete event;
    return hipSuccess;
  }));
}

HIP_API hipEventRecord(hipEvent_t event, hipStream_t handle) {
  return finish(record(event, handle));
}
HIP_API hipEventRecordWithFlags(hipEvent_t event, hipStream_t handle, unsigned flags) {
  // 1 requests a node of the captured graph, which this function always makes.
  return finish(flags > 1 ? hipErrorInvalidValue : record(event, handle));
}

HIP_API hipEventQuery(hipEvent_t event) {
  return finish(with_event(event, [&](State& all, Lock&) {
    if (event->capture) return hipErrorCapturedEvent;
    if (all.fault) return all.fault;
    return is_done(event->recorded) ? hipSuccess : hipErrorNotReady;
  }));
}

HIP_API hipEventSynchronize(hipEvent_t event) {
  return finish(with_event(event, [&](State& all, Lock& lock) {
    if (event->capture) return hipErrorCapturedEvent;
    wait_for(all, lock, event->recorded);
    return all.fault;
  }));
}

HIP_API hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t end) {
  if (!milliseconds) return finish(hipErrorInvalidValue);
  return finish(with_event(start, [&](State& all, Lock&) {
    if (!all.events.count(end)) return hipErrorInvalidHandle;
    if ((start->flags | end->flags) & hipEventDisableTiming) return hipErrorInvalidHandle;
    if (!start->recorded || !end->recorded) return hipErrorInvalidHandle;
    if (start->device != end->device) return hipErrorInvalidHandle;
    if (!start->recorded->done || !end->recorded->done) return hipErrorNotReady;
    const Operation &first = *start->recorded, &last = *end->recorded;
    double seconds =
        is_modelled() ? last.modelled - first.modelled : (last.ended - first.ended) / 1e9;
    *milliseconds = 1e3 * seconds;
    return all.fault;
  }));
}
