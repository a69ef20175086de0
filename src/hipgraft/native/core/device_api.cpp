// The C interface to a device's driver.
#include "guarded.h"
#include "hipgraft_device.h"
#include "json.h"
#include "program_reader.h"
#include "sequence.h"

using namespace hipgraft;

struct hipgraft_sequence {
  std::shared_ptr<Device> device;
  hipgraft_program program;  // has a single variant
  std::vector<void *> kernels;
  std::unique_ptr<Sequence> sequence;

  const Variant &variant() const { return program.variants[0]; }
  // Copies the addresses of a run; their number must be that of the sequence's buffers.
  const std::vector<uint64_t> &addresses(const uint64_t *given, size_t count) const {
    thread_local std::vector<uint64_t> copied;
    size_t expected = variant().tensors.size() + program.buffers.size();
    if (count != expected)
      fail(HIPGRAFT_INVALID_ARGUMENT, "expected %zu addresses, found %zu", expected, count);
    if (count) expect("addresses", given);
    copied.assign(given, given + count);
    return copied;
  }
};

namespace {

uint64_t address(const void *memory) { return reinterpret_cast<uint64_t>(memory); }

void *pointer(uint64_t address) { return reinterpret_cast<void *>(address); }

}  // namespace

extern "C" {

hipgraft_status hipgraft_stream_create(hipgraft_device *device, void **stream) {
  return guarded_on(device, [&](Device &found) {
    expect("stream", stream);
    *stream = found.create_stream();
  });
}

hipgraft_status hipgraft_stream_destroy(hipgraft_device *device, void *stream) {
  return guarded_on(device, [&](Device &found) { found.destroy_stream(stream); });
}

hipgraft_status hipgraft_start_upload(hipgraft_device *device, void *memory, const void *data,
                                      size_t size, void *stream) {
  return guarded_on(device, [&](Device &found) {
    if (!size) return;
    expect("memory, data", memory, data);
    found.start_upload(memory, data, size, stream);
  });
}

hipgraft_status hipgraft_start_download(hipgraft_device *device, void *data, const void *memory,
                                        size_t size, void *stream) {
  return guarded_on(device, [&](Device &found) {
    if (!size) return;
    expect("data, memory", data, memory);
    found.start_download(data, memory, size, stream);
  });
}

hipgraft_status hipgraft_start_copy(hipgraft_device *device, void *target, const void *source,
                                    size_t size, void *stream) {
  return guarded_on(device, [&](Device &found) {
    if (!size) return;
    expect("target, source", target, source);
    found.copy(address(target), address(source), size, stream);
  });
}

hipgraft_status hipgraft_start_fill(hipgraft_device *device, void *memory, const void *pattern,
                                    size_t width, size_t size, void *stream) {
  return guarded_on(device, [&](Device &found) {
    if (!size) return;
    expect("memory, pattern", memory, pattern);
    if (!is_pattern(width, size))
      fail(HIPGRAFT_INVALID_ARGUMENT, "a pattern of %zu bytes fills %zu", width, size);
    found.fill_pattern(address(memory), {static_cast<const char *>(pattern), width}, size, stream);
  });
}

hipgraft_status hipgraft_code_load(hipgraft_device *device, const void *code, size_t size,
                                   void **module) {
  return guarded_on(device, [&](Device &found) {
    expect("code, module", code, module);
    *module = found.load({static_cast<const char *>(code), size});
  });
}

hipgraft_status hipgraft_code_unload(hipgraft_device *device, void *module) {
  return guarded_on(device, [&](Device &found) { found.unload(module); });
}

hipgraft_status hipgraft_code_kernel(hipgraft_device *device, void *module, const char *name,
                                     void **kernel) {
  return guarded_on(device, [&](Device &found) {
    expect("name, kernel", name, kernel);
    *kernel = found.kernel(module, name);
  });
}

hipgraft_status hipgraft_launch(hipgraft_device *device, void *kernel, const uint32_t grid[3],
                                const uint32_t block[3], uint32_t shared_bytes,
                                const void *arguments, size_t size, void *stream) {
  return guarded_on(device, [&](Device &found) {
    expect("grid, block", grid, block);
    if (size) expect("arguments", arguments);
    std::string segment(static_cast<const char *>(arguments), size);
    Launch launch{0,  {grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, shared_bytes,
                  segment, {}};
    found.allow_shared(kernel, shared_bytes);
    found.launch(kernel, launch, segment.data(), stream);
  });
}

hipgraft_status hipgraft_event_create(hipgraft_device *device, void **event) {
  return guarded_on(device, [&](Device &found) {
    expect("event", event);
    *event = found.create_event(true);
  });
}

hipgraft_status hipgraft_event_destroy(hipgraft_device *device, void *event) {
  return guarded_on(device, [&](Device &found) { found.destroy_event(event); });
}

hipgraft_status hipgraft_event_record(hipgraft_device *device, void *event, void *stream,
                                      int in_graph) {
  return guarded_on(device, [&](Device &found) {
    in_graph ? found.record_in_graph(event, stream) : found.record(event, stream);
  });
}

hipgraft_status hipgraft_event_elapsed(hipgraft_device *device, void *start, void *end,
                                       double *microseconds) {
  return guarded_on(device, [&](Device &found) {
    expect("microseconds", microseconds);
    *microseconds = found.elapsed(start, end);
  });
}

hipgraft_status hipgraft_capture_begin(hipgraft_device *device, void **stream) {
  return guarded_on(device, [&](Device &found) {
    expect("stream", stream);
    if (!found.has_graphs()) fail(HIPGRAFT_NOT_APPLICABLE, "the device has no graphs");
    *stream = found.begin_capture();
  });
}

hipgraft_status hipgraft_capture_end(hipgraft_device *device, void *stream, void **graph) {
  return guarded_on(device, [&](Device &found) {
    expect("graph", graph);
    *graph = found.end_capture(stream);
  });
}

hipgraft_status hipgraft_graph_launch(hipgraft_device *device, void *graph, void *stream) {
  return guarded_on(device, [&](Device &found) { found.replay(graph, stream); });
}

hipgraft_status hipgraft_graph_free(hipgraft_device *device, void *graph) {
  return guarded_on(device, [&](Device &found) { found.free_graph(graph); });
}

hipgraft_status hipgraft_sequence_create(hipgraft_device *device, const char *variant, size_t size,
                                         void *const *kernels, size_t kernel_count,
                                         const size_t *buffers, size_t buffer_count, uint32_t flags,
                                         hipgraft_sequence **sequence) {
  return guarded_on(device, [&](Device &found) {
    expect("variant, sequence", variant, sequence);
    if (kernel_count) expect("kernels", kernels);
    if (buffer_count) expect("buffers", buffers);
    auto made = std::make_unique<hipgraft_sequence>();
    made->device = device->device;
    made->kernels.assign(kernels, kernels + kernel_count);
    made->program.architecture = found.architecture();
    made->program.kernels.resize(kernel_count);
    for (size_t i = 0; i < buffer_count; ++i) made->program.buffers.push_back({buffers[i], false, 0});
    made->program.variants.push_back(read_variant(Json::parse({variant, size}), made->program));
    made->sequence = std::make_unique<Sequence>(made->device, made->variant(), made->kernels,
                                                flags & HIPGRAFT_REPLAY);
    *sequence = made.release();
  });
}

void hipgraft_sequence_destroy(hipgraft_sequence *sequence) { delete sequence; }

hipgraft_status hipgraft_sequence_run(hipgraft_sequence *sequence, void *stream,
                                      const uint64_t *addresses, size_t count, void *const *host) {
  return guarded([&] {
    expect("sequence", sequence);
    auto &given = sequence->addresses(addresses, count);
    auto &tensors = sequence->variant().tensors;
    size_t inputs = sequence->program.input_count;
    Device &device = *sequence->device;
    Device::Current current(device);
    for (size_t i = 0; host && i < inputs; ++i)
      if (host[i] && tensors[i].nbytes)
        device.start_upload(pointer(given[i]), host[i], tensors[i].nbytes, stream);
    sequence->sequence->run(given, stream);
    for (size_t i = inputs; host && i < tensors.size(); ++i)
      if (host[i] && tensors[i].nbytes)
        device.start_download(host[i], pointer(given[i]), tensors[i].nbytes, stream);
    if (host) device.synchronize(stream);
  });
}

hipgraft_status hipgraft_sequence_call(hipgraft_sequence *sequence, size_t index, void *stream,
                                       const uint64_t *addresses, size_t count) {
  return guarded([&] {
    expect("sequence", sequence);
    auto &commands = sequence->variant().commands;
    if (index >= commands.size())
      fail(HIPGRAFT_INVALID_ARGUMENT, "there is no call %zu of %zu", index, commands.size());
    Device::Current current(*sequence->device);
    sequence->sequence->make(commands[index], sequence->addresses(addresses, count), stream);
  });
}

}  // extern "C"
