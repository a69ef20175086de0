#include <algorithm>

#include "device.h"
#include "errors.h"

namespace hipgraft {

std::shared_ptr<Loaded> Device::loaded(std::shared_ptr<hipgraft_bundle_data> bundle,
                                       const hipgraft_program &program) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto &known = loaded_[&program];
  auto found = known.lock();
  if (!found) known = found = std::make_shared<Loaded>(shared_from_this(), bundle, program);
  return found;
}

Loaded::Loaded(std::shared_ptr<Device> device, std::shared_ptr<hipgraft_bundle_data> bundle,
               const hipgraft_program &program)
    : program(program), device(std::move(device)), bundle_(std::move(bundle)) {
  try {
    load();
  } catch (...) {
    release();
    throw;
  }
}

Loaded::~Loaded() { release(); }

void Loaded::load() {
  bundle_->check_trust();
  Device::Current current(*device);
  for (size_t section : program.objects) modules_.push_back(device->load(bundle_->section(section)));
  for (auto &[object, name] : program.kernels)
    kernels_.push_back(device->kernel(modules_[object], name));
  for (const Buffer &buffer : program.buffers) {
    constants_.push_back(nullptr);
    if (!buffer.is_constant) continue;
    // Devices need not support empty allocations.
    constants_.back() = device->allocate(std::max<size_t>(buffer.nbytes, 1));
    std::string_view data = bundle_->section(buffer.section);
    if (!data.empty()) device->upload(constants_.back(), data.data(), data.size());
  }
}

void Loaded::release() {
  // If the driver refuses to free memory, it leaks: a destructor cannot report an error.
  try {
    Device::Current current(*device);
    for (void *memory : constants_)
      if (memory) device->free(memory);
    for (void *module : modules_) device->unload(module);
  } catch (const Error &) {
  }
}

}  // namespace hipgraft
