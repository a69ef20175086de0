// The C interface: checks arguments, and converts exceptions to a status and a text.
#include <string>

#include "bundle.h"
#include "executable.h"
#include "guarded.h"
#include "hipgraft.h"

using namespace hipgraft;

struct hipgraft_bundle {
  std::shared_ptr<hipgraft_bundle_data> data;
};

struct hipgraft_executable {
  Executable executable;
};

namespace {

thread_local std::string last_error;

const Variant &variant_at(const hipgraft_program *program, size_t variant) {
  if (variant >= program->variants.size())
    fail(HIPGRAFT_INVALID_ARGUMENT, "there is no variant %zu of %zu", variant,
         program->variants.size());
  return program->variants[variant];
}

}  // namespace

hipgraft_status hipgraft::keep_error(hipgraft_status status, const std::string &text) {
  last_error = text;
  return status;
}

extern "C" {

uint32_t hipgraft_version(void) { return HIPGRAFT_VERSION_MAJOR << 16 | HIPGRAFT_VERSION_MINOR; }

const char *hipgraft_error(void) { return last_error.c_str(); }

hipgraft_status hipgraft_bundle_open(const char *path, uint32_t flags, hipgraft_bundle **bundle) {
  return guarded([&] {
    expect("path, bundle", path, bundle);
    *bundle = new hipgraft_bundle{hipgraft_bundle_data::open(path, flags)};
  });
}

hipgraft_status hipgraft_bundle_open_memory(const void *data, size_t size, uint32_t flags,
                                            hipgraft_bundle **bundle) {
  return guarded([&] {
    expect("data, bundle", data, bundle);
    *bundle = new hipgraft_bundle{hipgraft_bundle_data::open(data, size, flags)};
  });
}

void hipgraft_bundle_close(hipgraft_bundle *bundle) { delete bundle; }

const char *hipgraft_bundle_metadata(const hipgraft_bundle *bundle) {
  return bundle ? bundle->data->metadata().c_str() : "{}";
}

size_t hipgraft_bundle_program_count(const hipgraft_bundle *bundle) {
  return bundle ? bundle->data->programs().size() : 0;
}

hipgraft_status hipgraft_bundle_program(const hipgraft_bundle *bundle, size_t index,
                                        const hipgraft_program **program) {
  return guarded([&] {
    expect("bundle, program", bundle, program);
    auto &programs = bundle->data->programs();
    if (index >= programs.size())
      fail(HIPGRAFT_INVALID_ARGUMENT, "there is no program %zu of %zu", index, programs.size());
    *program = &programs[index];
  });
}

hipgraft_status hipgraft_bundle_find(const hipgraft_bundle *bundle, const char *architecture,
                                     const hipgraft_program **program) {
  return guarded([&] {
    expect("bundle, architecture, program", bundle, architecture, program);
    *program = &bundle->data->find(architecture);
  });
}

const char *hipgraft_program_architecture(const hipgraft_program *program) {
  return program ? program->architecture.c_str() : "";
}

size_t hipgraft_program_variant_count(const hipgraft_program *program) {
  return program ? program->variants.size() : 0;
}

size_t hipgraft_program_input_count(const hipgraft_program *program) {
  return program ? program->input_count : 0;
}

size_t hipgraft_program_result_count(const hipgraft_program *program) {
  return program ? program->result_count : 0;
}

hipgraft_status hipgraft_program_variant_name(const hipgraft_program *program, size_t variant,
                                              const char **name) {
  return guarded([&] {
    expect("program, name", program, name);
    *name = variant_at(program, variant).name.c_str();
  });
}

hipgraft_status hipgraft_program_tensor(const hipgraft_program *program, size_t variant,
                                        size_t index, hipgraft_tensor *tensor) {
  return guarded([&] {
    expect("program, tensor", program, tensor);
    auto &tensors = variant_at(program, variant).tensors;
    if (index >= tensors.size())
      fail(HIPGRAFT_INVALID_ARGUMENT, "there is no tensor %zu of %zu", index, tensors.size());
    const Tensor &found = tensors[index];
    *tensor = {found.name.c_str(), found.element_type.c_str(), found.shape.size(),
               found.shape.data(), found.strides.data(),       found.offset,
               static_cast<size_t>(found.nbytes)};
  });
}

hipgraft_status hipgraft_program_select(const hipgraft_program *program, size_t input_count,
                                        const size_t *ranks, const int64_t *const *shapes,
                                        size_t *variant) {
  return guarded([&] {
    expect("program, variant", program, variant);
    if (input_count) expect("ranks, shapes", ranks, shapes);
    if (program->variants.empty()) fail(HIPGRAFT_NOT_APPLICABLE, "%s", program->why_not.c_str());
    if (input_count != program->input_count)
      fail(HIPGRAFT_INVALID_ARGUMENT, "the program has %zu inputs, but %zu were given",
           program->input_count, input_count);
    for (size_t number = 0; number < program->variants.size(); ++number) {
      auto &tensors = program->variants[number].tensors;
      bool fits = true;
      for (size_t i = 0; i < input_count && fits; ++i) {
        if (ranks[i]) expect("shapes", shapes[i]);
        fits = tensors[i].shape == std::vector<int64_t>(shapes[i], shapes[i] + ranks[i]);
      }
      if (!fits) continue;
      *variant = number;
      return;
    }
    std::string names;
    for (auto &one : program->variants) names += (names.empty() ? "" : "; ") + one.name;
    fail(HIPGRAFT_NOT_APPLICABLE, "no variant of the program is for inputs of these shapes: %s",
         names.c_str());
  });
}

size_t hipgraft_program_workspace_size(const hipgraft_program *program) {
  return program ? program->workspace_size : 0;
}

hipgraft_status hipgraft_device_open(const char *name, const char *library,
                                     hipgraft_device **device) {
  return guarded([&] {
    expect("name, device", name, device);
    *device = new hipgraft_device{open_gpu(name, library)};
  });
}

hipgraft_status hipgraft_device_open_host(const char *architecture,
                                          const hipgraft_host_kernels *kernels,
                                          hipgraft_device **device) {
  return guarded([&] {
    expect("architecture, device", architecture, device);
    *device = new hipgraft_device{open_host(architecture, kernels)};
  });
}

void hipgraft_device_close(hipgraft_device *device) { delete device; }

const char *hipgraft_device_architecture(const hipgraft_device *device) {
  return device ? device->device->architecture().c_str() : "";
}

hipgraft_status hipgraft_device_allocate(hipgraft_device *device, size_t size, void **memory) {
  return guarded_on(device, [&](Device &found) {
    expect("memory", memory);
    *memory = found.allocate(size ? size : 1);
  });
}

hipgraft_status hipgraft_device_free(hipgraft_device *device, void *memory) {
  return guarded_on(device, [&](Device &found) {
    if (memory) found.free(memory);
  });
}

hipgraft_status hipgraft_device_upload(hipgraft_device *device, void *memory, const void *data,
                                       size_t size) {
  return guarded_on(device, [&](Device &found) {
    if (!size) return;
    expect("memory, data", memory, data);
    found.upload(memory, data, size);
  });
}

hipgraft_status hipgraft_device_download(hipgraft_device *device, void *data, const void *memory,
                                         size_t size) {
  return guarded_on(device, [&](Device &found) {
    if (!size) return;
    expect("data, memory", data, memory);
    found.download(data, memory, size);
  });
}

hipgraft_status hipgraft_device_synchronize(hipgraft_device *device, void *stream) {
  return guarded_on(device, [&](Device &found) { found.synchronize(stream); });
}

hipgraft_status hipgraft_executable_create(const hipgraft_program *program, hipgraft_device *device,
                                           uint32_t flags, hipgraft_executable **executable) {
  return guarded([&] {
    expect("program, device, executable", program, device, executable);
    *executable = new hipgraft_executable{{device->device, *program, flags}};
  });
}

void hipgraft_executable_destroy(hipgraft_executable *executable) { delete executable; }

hipgraft_status hipgraft_enqueue(hipgraft_executable *executable, size_t variant, void *stream,
                                 void *const *pointers, size_t pointer_count, void *workspace) {
  return guarded([&] {
    expect("executable", executable);
    if (pointer_count) expect("pointers", pointers);
    executable->executable.enqueue(variant, stream, pointers, pointer_count, workspace);
  });
}

}  // extern "C"
