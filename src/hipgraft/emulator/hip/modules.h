// Loaded code objects and their kernels.
#pragma once

#include <tuple>

#include "decoded.h"
#include "runtime.h"

// The emulator's core, which is a library of its own.
struct Core {
  decltype(&emulator_new) create;
  decltype(&emulator_free) free;
  decltype(&emulator_launch) launch;
  decltype(&emulator_trace) trace;
  decltype(&emulator_trace_free) free_trace;
  decltype(&emulator_replay) replay;
};
// Returns null, after printing an error, if it is missing.
const Core* core();

struct Function {
  Module* module;
  const DecodedKernel* kernel;
  std::string name;
  void* machine;
  int attributes[2];  // largest dynamic LDS, carve-out: stored without effect
  // Kind and instructions of the checks' findings.
  std::set<std::tuple<int, uint32_t, uint32_t>> told = {};
};

struct Module {
  Device* device;
  std::string path;  // path of the decoded code object
  const char* file;  // mapped
  size_t file_size;
  char* image;
  std::map<std::string, std::unique_ptr<Function>> functions;

  template <class T>
  const T* at(uint64_t offset) const {
    return (const T*)(file + offset);
  }
  const DecodedHeader& header() const { return *at<DecodedHeader>(0); }
};

// A launch with its arguments.
struct KernelCall {
  Function* function;
  dim3 grid, block;  // number of workgroups, and the size of one
  uint32_t dynamic_lds;
  std::vector<uint8_t> arguments;  // the explicit ones, as in the kernel argument segment
  std::vector<void*> parameters;   // pointers to each of them, as a program passes them
};
typedef std::shared_ptr<KernelCall> KernelCallPtr;

// Loads a code object, or a bundle with one for the current device, from at most `limit` bytes.
// Takes no lock.
hipError_t load_module(const void* image, Module** module, size_t limit = SIZE_MAX);

// With the lock held.
bool is_function(State& all, const void* function);
hipError_t make_call(State& all, const void* function, dim3 grid, dim3 block, uint64_t lds,
                     void** parameters, void** extra, KernelCallPtr* call);
hipError_t make_kernel_task(State& all, const KernelCallPtr& call, Task* task);

// Returns the kernel for a host function of a program compiled as HIP; other functions are returned
// unchanged.
hipError_t find_function(const void* function, Function** found);
