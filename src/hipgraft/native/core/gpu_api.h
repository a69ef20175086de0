// The functions that CUDA's driver and HIP's runtime have in common: they agree call by call.
#pragma once

#include <dlfcn.h>

#include <string>
#include <vector>

#include "errors.h"

namespace hipgraft {

// A function of a driver, which keeps its name for messages.
template <typename Result, typename... Arguments>
class DriverFunction {
 public:
  // Looks a function up; fails if the driver lacks it.
  void find(void *library, const char *symbol) {
    find_optional(library, symbol);
    if (!call_) fail_without();
  }
  // The same of one that only some callers need: it fails when it is called.
  void find_optional(void *library, const char *symbol) {
    symbol_ = symbol;
    call_ = reinterpret_cast<Result (*)(Arguments...)>(dlsym(library, symbol));
  }
  explicit operator bool() const { return call_; }
  const char *symbol() const { return symbol_; }
  Result operator()(Arguments... arguments) const {
    if (!call_) fail_without();
    return call_(arguments...);
  }

 private:
  [[noreturn]] void fail_without() const {
    fail(HIPGRAFT_IO_ERROR, "the driver has no function '%s'; it is too old", symbol_);
  }

  Result (*call_)(Arguments...) = nullptr;
  const char *symbol_ = "";
};

struct GpuApi {
  GpuApi(void *library, bool is_hip);

  template <typename... Arguments>
  using Call = DriverFunction<int, Arguments...>;

  Call<void **, size_t> malloc;
  Call<void *> free;
  Call<void *, const void *, size_t, void *> to_device, to_host;
  Call<uint64_t, uint64_t, size_t, void *> on_device;
  Call<uint64_t, uint8_t, size_t, void *> fill_8;
  Call<uint64_t, uint16_t, size_t, void *> fill_16;
  Call<uint64_t, uint32_t, size_t, void *> fill_32;
  Call<void **, const void *> load;
  Call<void *> unload;
  Call<void **, void *, const char *> get_kernel;
  Call<void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
       void **>
      launch;
  Call<void **, unsigned> create_stream;
  Call<void *> destroy_stream, wait;
  Call<> wait_all;
  Call<void *, int> begin_capture;
  Call<void *, void **> end_capture;
  Call<void **, void *, unsigned long long> instantiate;
  Call<void *, void *> launch_graph;
  Call<void *> free_executable_graph, free_graph;
  Call<void **, size_t, unsigned> malloc_pinned;
  Call<void *> free_pinned;
  Call<void **, unsigned> create_event;
  Call<void *> destroy_event;
  Call<void *, void *> record;
  Call<void *, void *, unsigned> record_in_graph, wait_event;
  Call<void *> wait_host;
  Call<float *, void *, void *> elapsed;
};

// Loads a driver: the given file, or one of its usual names.
void *open_library(const char *given, const std::vector<const char *> &names, const char *kind);

}  // namespace hipgraft
