// The state of the stand-in: devices, memory, streams, events. One lock guards all of it. Each
// stream has a thread that runs its work without the lock.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "abi.h"

// The settings of the machine, which `hipgraft-emulate` writes to a file as lines `name=value`.
struct Settings {
  std::map<std::string, std::string> values;
  std::string text(const char* name) const;
  double number(const char* name, double otherwise = 0) const;
};

struct GraphMemory;

enum MemoryKind { MEMORY_DEVICE, MEMORY_HOST, MEMORY_MANAGED, MEMORY_REGISTERED, MEMORY_IMAGE };

struct Allocation {
  uintptr_t address;
  size_t size;
  MemoryKind kind;
  int device;
  unsigned flags;
  Pool* pool;
  void* mapping;  // with its guard pages; null for registered memory
  size_t mapped;
  Module* module = nullptr;                     // the module whose image it is
  GraphMemory* graph = nullptr;                 // null unless it is memory of a graph
  std::shared_ptr<GraphMemory> held = nullptr;  // while that is allocated
  uint8_t* defined = nullptr;  // whether each byte was stored to; null if not tracked

  bool is_usable() const { return !graph || held; }
};

// Memory that a node of a graph allocates. It keeps its address as long as a node, or an allocation
// that no node has freed, uses it.
struct GraphMemory : std::enable_shared_from_this<GraphMemory> {
  hipMemAllocNodeParams given = {};
  const Graph* graph = nullptr;  // the graph with the node that allocates it
  bool is_freed_inside = false;  // by a node of that graph
  bool is_left = false;          // by a launch, after all work submitted before
  ~GraphMemory();                // with the lock held
};
typedef std::shared_ptr<GraphMemory> GraphMemoryPtr;

struct Pool {
  int device;
  uint64_t used, most_used;
  uint64_t attributes[9];  // by number; 1 to 4 are the program's
};

// Current and peak number of bytes that graphs use on a device: the allocated bytes, and the
// reserved bytes, which include memory kept for later launches.
struct GraphUsage {
  uint64_t used, most_used, reserved, most_reserved;
};

// One piece of work in a stream.
struct Operation {
  std::function<void()> run;
  std::vector<std::shared_ptr<Operation>> after;  // in addition to the preceding task
  bool always = false;                            // runs even after a fault
  bool done = false;
  int64_t ended = 0;    // nanoseconds of the host's clock
  double modelled = 0;  // seconds since the first work, as estimated
};
typedef std::shared_ptr<Operation> OperationPtr;

struct Device {
  int number;
  Stream* null_stream;
  Pool* default_pool;
  Pool* pool;
  std::set<int> peers = {};  // peers whose memory it may access
  unsigned flags = 0;
  GraphUsage of_graphs = {};
  std::vector<OperationPtr> orphans = {};  // the last work of destroyed streams
};

// A call's request, before it is put into a stream or a graph.
struct Task {
  hipGraphNodeType type = hipGraphNodeTypeEmpty;
  std::function<void()> run;
  Event* event = nullptr;
  Graph* child = nullptr;
  bool always = false;
  // The parameters that graph nodes report.
  std::shared_ptr<struct KernelCall> kernel;
  hipMemsetParams fill = {};
  hipHostNodeParams host = {};
  GraphMemoryPtr memory = nullptr;
};

// A capture of streams into a graph.
struct Capture {
  Stream* origin;
  Graph* graph;
  int mode;
  struct Thread* owner;
  bool is_invalid = false;
};

struct Stream {
  Device* device;
  unsigned flags;
  int priority;
  std::deque<OperationPtr> queue = {};
  OperationPtr last = nullptr;
  bool has_worker = false, closing = false;
  double modelled = 0;               // estimated end of its current work
  Capture* capture = nullptr;        // the capture in which this stream takes part
  std::vector<Node*> captured = {};  // on which its next node depends
};

struct Event {
  int device;
  unsigned flags;
  OperationPtr recorded = nullptr;
  Capture* capture = nullptr;  // where it was last recorded while a stream captured
  std::vector<Node*> captured = {};
};

struct State {
  std::mutex mutex;
  std::condition_variable changed;
  Settings settings;
  std::vector<Device*> devices;
  std::map<uintptr_t, Allocation> memory;
  std::set<Stream*> streams;  // besides null streams
  std::set<Event*> events;
  std::set<Capture*> captures;
  std::set<Pool*> pools;
  hipError_t fault = hipSuccess;  // the fault of a kernel; all later calls fail with it
  hipError_t start = hipSuccess;
};
typedef std::unique_lock<std::mutex> Lock;

State& state();

// The state of the calling thread.
struct Thread {
  int device = 0;
  hipError_t last_error = hipSuccess;
  std::vector<hipCtx_t> contexts;
  Stream* stream = nullptr;  // per-thread default stream
  int capture_mode = hipStreamCaptureModeGlobal;
  double seconds = 0;  // estimated time of the work that it runs
};
Thread& thread();
Device& current_device();

// Keeps an error for `hipGetLastError` and returns it.
hipError_t finish(hipError_t error);

// Writes a line to standard error and to the file that `hipgraft-emulate` reads.
void complain(const std::string& text);

// Returns the error for an unsupported function; prints `name` once.
hipError_t unsupported(const char* name, const char* what = "");

int64_t now();  // nanoseconds

// Memory. The caller of each function holds the lock.
hipError_t allocate(State& all, size_t size, MemoryKind kind, unsigned flags, Pool* pool,
                    void** address);
hipError_t release(State& all, const void* address);
Allocation* find_memory(State& all, const void* address);
// Whether `size` bytes at an address are in one allocation.
bool is_within(State& all, const void* address, size_t size);
// Marks `size` bytes as stored to, or copies the marks of `source`.
void define(State& all, const void* target, const void* source, size_t size);
// Gives graph memory new contents, or returns its bytes to the system.
void renew(Allocation& memory);
void discard(Allocation& memory);
// Returns the error for properties that no pool can have.
hipError_t check_pool(const State& all, const hipMemPoolProps& properties);
// Lets devices access another device's memory.
hipError_t give_access(State& all, int device, const hipMemAccessDesc* list, size_t count);

// Streams. The caller of each function holds the lock.
Stream* find_stream(State& all, hipStream_t handle, hipError_t* error);
// Puts a task into a stream, or into the graph that the stream captures. `queued` receives the task
// in the stream.
hipError_t submit(State& all, Stream& stream, Task task, OperationPtr* queued = nullptr);
hipError_t submit(hipStream_t handle, Task task, OperationPtr* queued = nullptr);
// Calls `body(all, lock, stream)` with the lock held, if the handle is good.
template <class Body>
hipError_t with_stream(hipStream_t handle, Body body) {
  State& all = state();
  Lock lock(all.mutex);
  hipError_t error = hipSuccess;
  Stream* stream = find_stream(all, handle, &error);
  return stream ? body(all, lock, *stream) : error;
}

// Calls `body(all, lock, device)` likewise.
template <class Body>
hipError_t with_device(int number, Body body) {
  State& all = state();
  Lock lock(all.mutex);
  if (all.start) return all.start;
  if (number < 0 || number >= (int)all.devices.size()) return hipErrorInvalidDevice;
  return body(all, lock, *all.devices[number]);
}

void wait_for(State& all, Lock& lock, const OperationPtr& operation);
void wait_for_device(State& all, Lock& lock, const Device& device);
// Returns the error of a call that a capture's mode forbids, and invalidates the capture.
hipError_t refuse_during_capture(State& all);

// Graphs. The caller of each function holds the lock.
hipError_t capture_task(State& all, Stream& stream, Task task);
hipError_t capture_allocation(State& all, Stream& stream, int device, size_t size, void** address);
hipError_t capture_free(State& all, Stream& stream, void* address);
