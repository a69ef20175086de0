// CPU programs, which Python runs: they are modules of IREE's runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hipgraft.h"

extern "C" {

typedef struct hipgraft_ort_tensor {
  const void *data;
  const int64_t *shape;  // `rank` extents
  size_t rank;
  int32_t element_type;  // ONNX Runtime's number
  size_t nbytes;
} hipgraft_ort_tensor;

// Functions that return an int return 0 for success; any thread may call all of them.
typedef struct hipgraft_ort_cpu {
  void *user;
  // Opens a bundle: a file, or if `path` is null a copy of bytes in memory.
  int (*load)(void *user, const char *path, const void *data, size_t size, uint32_t flags,
              void **program);
  void (*unload)(void *user, void *program);
  // Runs a program. `output` returns the address for a result's bytes, or null.
  int (*run)(void *user, void *program, const hipgraft_ort_tensor *inputs, size_t input_count,
             void *(*output)(void *call, size_t index, const int64_t *shape, size_t rank),
             void *call);
  const char *(*error)(void *user);
} hipgraft_ort_cpu;

// Sets the functions that run CPU programs; with null, they cannot run. Waits for calls in flight.
HIPGRAFT_API void hipgraft_ort_set_cpu(const hipgraft_ort_cpu *table);
}

namespace hipgraft::ort {

// A program that Python has loaded.
class CpuProgram {
 public:
  // Loads a program from a file, or from bytes if the path is empty.
  CpuProgram(const std::string &path, std::string_view data, uint32_t flags);
  ~CpuProgram();
  CpuProgram(const CpuProgram &) = delete;

  void run(const std::vector<hipgraft_ort_tensor> &inputs,
           void *(*output)(void *, size_t, const int64_t *, size_t), void *call) const;

 private:
  void *program_ = nullptr;
  uint64_t generation_ = 0;  // number of the table that loaded the program
};

}  // namespace hipgraft::ort
