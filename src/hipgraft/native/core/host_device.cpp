// A device of host memory, whose kernels an emulator or a test runs.
#include <cstdlib>
#include <cstring>

#include "device.h"
#include "errors.h"

namespace hipgraft {

namespace {

constexpr size_t kAlignment = 256;

class HostDevice final : public Device {
 public:
  HostDevice(const char *architecture, const hipgraft_host_kernels *kernels)
      : Device(architecture), kernels_(kernels ? *kernels : hipgraft_host_kernels{}) {}

  void *allocate(size_t size) override {
    void *memory = std::aligned_alloc(kAlignment, (size + kAlignment - 1) / kAlignment * kAlignment);
    if (!memory) fail(HIPGRAFT_OUT_OF_MEMORY, "the host has no %zu bytes of memory left", size);
    return memory;
  }
  void free(void *memory) override { std::free(memory); }
  void upload(void *memory, const void *data, size_t size) override { memcpy(memory, data, size); }
  void download(void *data, const void *memory, size_t size) override { memcpy(data, memory, size); }
  void synchronize(void *) override {}
  void synchronize_all() override {}

  void *load(std::string_view code) override {
    if (!kernels_.load || !kernels_.get_kernel || !kernels_.launch)
      fail(HIPGRAFT_NOT_APPLICABLE, "the device runs no kernels");
    void *module = nullptr;
    if (int status = kernels_.load(kernels_.user, code.data(), code.size(), &module))
      fail(HIPGRAFT_DRIVER_ERROR, "the host's kernels cannot be loaded: status %d", status);
    return module;
  }
  void unload(void *module) override {
    if (kernels_.unload) kernels_.unload(kernels_.user, module);
  }
  void *kernel(void *module, const std::string &name) override {
    void *kernel = nullptr;
    if (int status = kernels_.get_kernel(kernels_.user, module, name.c_str(), &kernel))
      fail(HIPGRAFT_DRIVER_ERROR, "there is no kernel '%s': status %d", name.c_str(), status);
    return kernel;
  }
  void launch(void *kernel, const Launch &launch, char *arguments, void *) override {
    int status = kernels_.launch(kernels_.user, kernel, launch.grid, launch.block,
                                 launch.shared_bytes, arguments, launch.arguments.size());
    if (status) fail(HIPGRAFT_DRIVER_ERROR, "a kernel failed on the host: status %d", status);
  }
  void copy(uint64_t target, uint64_t source, uint64_t nbytes, void *) override {
    memmove(reinterpret_cast<void *>(target), reinterpret_cast<void *>(source), nbytes);
  }
  void fill(uint64_t target, uint32_t word, unsigned width, uint64_t nbytes, void *) override {
    auto bytes = reinterpret_cast<char *>(target);
    for (uint64_t i = 0; i < nbytes; i += width) memcpy(bytes + i, &word, width);
  }

 private:
  hipgraft_host_kernels kernels_;
};

}  // namespace

std::shared_ptr<Device> open_host(const char *architecture, const hipgraft_host_kernels *kernels) {
  return std::make_shared<HostDevice>(architecture, kernels);
}

}  // namespace hipgraft
