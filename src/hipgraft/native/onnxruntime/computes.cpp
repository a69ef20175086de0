#include "computes.h"

#include <algorithm>
#include <list>
#include <mutex>

#include "cpu_programs.h"
#include "executable.h"

namespace hipgraft::ort {

namespace {

struct Input {
  const Value *value;
  int type;
  const int64_t *shape;
  size_t rank;
};

Input input_of(KernelContext *context, size_t index) {
  Input input{get<const Value *>(api.kernel_input, context, index), 0, nullptr, 0};
  if (!input.value) fail(HIPGRAFT_INVALID_ARGUMENT, "input %zu is absent", index);
  check(api.tensor_shape(input.value, &input.type, &input.shape, &input.rank));
  return input;
}

bool is_on_gpu(const Value *value) {
  const MemoryDevice *device = api.memory_device(value);
  return device && api.device_type(device) == kGpuMemory &&
         api.memory_type(device) == kDefaultMemory;
}

std::string shapes_text(const std::vector<Input> &inputs) {
  std::string text;
  for (const Input &input : inputs) {
    text += text.empty() ? "[" : ", [";
    for (size_t i = 0; i < input.rank; ++i)
      text += (i ? ", " : "") + std::to_string(input.shape[i]);
    text += "]";
  }
  return text;
}

// Memory of a run that is freed when the run has been enqueued; the stream orders its next use.
class Scratch {
 public:
  Scratch(Pool &pool, void *stream) : pool_(pool), stream_(stream) {}
  ~Scratch() {
    for (void *one : taken_) pool_.give(one);
  }
  Scratch(const Scratch &) = delete;
  void *take(size_t size) {
    taken_.push_back(pool_.take(size, stream_));
    return taken_.back();
  }

 private:
  Pool &pool_;
  void *const stream_;
  std::vector<void *> taken_;
};

class GpuCompute final : public Compute {
 public:
  GpuCompute(Bound bound, std::shared_ptr<Pool> pool)
      : bound_(std::move(bound)),
        pool_(std::move(pool)),
        device_(*pool_->device()),
        program_(bound_.bundle->find(device_.architecture())),
        executable_(pool_->device(), program_, HIPGRAFT_REPLAY) {
    for (const Variant &variant : program_.variants)
      for (const Tensor &tensor : variant.tensors) check_layout(tensor);
  }

  void run(KernelContext *context) override {
    thread_local std::vector<Input> inputs;
    thread_local std::vector<void *> pointers;
    inputs.clear();
    pointers.clear();
    for (size_t index : bound_.inputs) inputs.push_back(input_of(context, index));
    size_t number = select(inputs);
    const Variant &variant = program_.variants[number];
    void *stream = get<void *>(api.compute_stream, static_cast<const KernelContext *>(context));
    Scratch scratch(*pool_, stream);
    bool waits = !stream;
    for (size_t i = 0; i < inputs.size(); ++i)
      pointers.push_back(place(inputs[i].value, variant.tensors[i], scratch, stream));
    std::vector<std::pair<void *, size_t>> copies;  // copies to results at other addresses
    for (size_t i = 0; i < program_.result_count; ++i) {
      const Tensor &tensor = variant.tensors[inputs.size() + i];
      if (bound_.outputs[i] == kUnused) {
        pointers.push_back(scratch.take(tensor.nbytes));
        continue;
      }
      Value *value = get<Value *>(api.kernel_output, context, bound_.outputs[i],
                                  tensor.shape.data(), tensor.shape.size());
      void *target = get<void *>(api.tensor_mutable_data, value);
      bool is_there = is_on_gpu(value);
      if (is_there && is_aligned(target)) {
        pointers.push_back(target);
        continue;
      }
      void *own = scratch.take(tensor.nbytes);
      pointers.push_back(own);
      copies.push_back({target, pointers.size() - 1});
      waits |= !is_there;
    }
    void *workspace = program_.workspace_size ? scratch.take(program_.workspace_size) : nullptr;
    executable_.enqueue(number, stream, pointers.data(), pointers.size(), workspace);
    Device::Current current(device_);
    if (waits) device_.synchronize(stream);
    for (auto &[target, index] : copies)
      if (size_t nbytes = variant.tensors[index].nbytes) {
        if (waits)
          device_.download(target, pointers[index], nbytes);
        else
          device_.copy(reinterpret_cast<uint64_t>(target),
                       reinterpret_cast<uint64_t>(pointers[index]), nbytes, stream);
      }
  }

 private:
  static bool is_aligned(const void *memory) {
    return reinterpret_cast<uint64_t>(memory) % HIPGRAFT_ALIGNMENT == 0;
  }

  static void check_layout(const Tensor &tensor) {
    if (!tensor.nbytes) return;
    int64_t step = 1;
    bool is_plain = tensor.offset == 0;
    for (size_t i = tensor.shape.size(); i-- > 0; step *= tensor.shape[i])
      is_plain &= tensor.shape[i] <= 1 || tensor.strides[i] == step;
    if (!is_plain)
      fail(HIPGRAFT_DAMAGED, "tensor '%s' of the program is not row-major", tensor.name.c_str());
  }

  size_t select(const std::vector<Input> &inputs) const {
    for (size_t number = 0; number < program_.variants.size(); ++number) {
      auto &tensors = program_.variants[number].tensors;
      bool fits = true;
      for (size_t i = 0; i < inputs.size() && fits; ++i)
        fits = std::equal(tensors[i].shape.begin(), tensors[i].shape.end(), inputs[i].shape,
                          inputs[i].shape + inputs[i].rank);
      if (fits) return number;
    }
    std::string names;
    for (auto &one : program_.variants) names += (names.empty() ? "" : "; ") + one.name;
    fail(HIPGRAFT_NOT_APPLICABLE,
         "nothing was compiled for inputs of the shapes %s; the option 'dims' names extents "
         "to compile for, and dynamic=compile compiles when they come; compiled are: %s",
         shapes_text(inputs).c_str(), names.c_str());
  }

  // Returns the address of an input on the device; copies inputs that are in host memory or
  // misaligned.
  void *place(const Value *value, const Tensor &tensor, Scratch &scratch, void *stream) {
    auto data = const_cast<void *>(get<const void *>(api.tensor_data, value));
    size_t nbytes = get<size_t>(api.tensor_bytes, value);
    if (nbytes > tensor.nbytes || (nbytes < tensor.nbytes && tensor.nbytes != 0))
      fail(HIPGRAFT_INVALID_ARGUMENT, "input '%s' has %zu bytes; the program takes %llu",
           tensor.name.c_str(), nbytes, static_cast<unsigned long long>(tensor.nbytes));
    bool is_there = is_on_gpu(value);
    if (is_there && is_aligned(data)) return data;
    void *own = scratch.take(nbytes);
    Device::Current current(device_);
    if (is_there)
      device_.copy(reinterpret_cast<uint64_t>(own), reinterpret_cast<uint64_t>(data), nbytes, stream);
    else if (nbytes) {
      // An earlier run on the stream may still use the memory.
      if (stream) device_.synchronize(stream);
      device_.upload(own, data, nbytes);
    }
    return own;
  }

  const Bound bound_;
  const std::shared_ptr<Pool> pool_;
  Device &device_;
  const hipgraft_program &program_;
  Executable executable_;
};

class CpuCompute final : public Compute {
 public:
  explicit CpuCompute(Bound bound)
      : outputs_(bound.outputs),
        inputs_(bound.inputs),
        program_(bound.path, bound.path.empty() ? bound.bundle->data() : std::string_view(),
                 bound.flags) {}

  void run(KernelContext *context) override {
    std::vector<hipgraft_ort_tensor> tensors;
    for (size_t index : inputs_) {
      Input input = input_of(context, index);
      if (is_on_gpu(input.value))
        fail(HIPGRAFT_NOT_APPLICABLE,
             "an input is on a GPU, but the session computes on the CPU; choose the CPU's device "
             "with add_provider_for_devices");
      tensors.push_back({get<const void *>(api.tensor_data, input.value), input.shape, input.rank,
                         input.type, get<size_t>(api.tensor_bytes, input.value)});
    }
    Call call{this, context, nullptr};
    try {
      program_.run(tensors, output, &call);
    } catch (const Error &error) {
      if (call.status) throw Passed{call.status};
      throw;
    }
    if (call.status) throw Passed{call.status};
  }

 private:
  struct Call {
    CpuCompute *compute;
    KernelContext *context;
    Status *status;
  };

  static void *output(void *opaque, size_t index, const int64_t *shape, size_t rank) {
    auto &call = *static_cast<Call *>(opaque);
    void *memory = nullptr;
    Status *status = guarded([&] {
      auto &outputs = call.compute->outputs_;
      if (index >= outputs.size() || outputs[index] == kUnused)
        fail(HIPGRAFT_DAMAGED, "the fused node has no output for result %zu", index);
      Value *value = get<Value *>(api.kernel_output, call.context, outputs[index], shape, rank);
      memory = get<void *>(api.tensor_mutable_data, value);
    });
    if (status && call.status) api.release_status(status);
    if (status && !call.status) call.status = status;
    return memory;
  }

  const std::vector<size_t> outputs_, inputs_;
  const CpuProgram program_;
};

constexpr size_t kMostShapes = 32;  // the most shapes whose programs are loaded

class GrowingCompute final : public Compute {
 public:
  GrowingCompute(std::vector<size_t> inputs, std::vector<Shapes> variants,
                 std::unique_ptr<Compute> first,
                 std::function<std::unique_ptr<Compute>(const Shapes &)> make)
      : inputs_(std::move(inputs)),
        variants_(std::move(variants)),
        first_(std::move(first)),
        make_(std::move(make)) {}

  void run(KernelContext *context) override {
    Shapes shapes;
    for (size_t index : inputs_) {
      Input input = input_of(context, index);
      shapes.emplace_back(input.shape, input.shape + input.rank);
    }
    if (std::count(variants_.begin(), variants_.end(), shapes)) return first_->run(context);
    std::shared_ptr<Compute> found = loaded(shapes);
    if (!found) {
      // Without the lock, so that other shapes can run; requests for the same shapes share one
      // answer.
      found = make_(shapes);
      std::lock_guard<std::mutex> lock(mutex_);
      made_.push_front({shapes, found});
      if (made_.size() > kMostShapes) made_.pop_back();
    }
    found->run(context);
  }

 private:
  // Returns the program loaded for some shapes, or null; it becomes the latest.
  std::shared_ptr<Compute> loaded(const Shapes &shapes) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = std::find_if(made_.begin(), made_.end(),
                              [&](auto &one) { return one.first == shapes; });
    if (found == made_.end()) return nullptr;
    made_.splice(made_.begin(), made_, found);
    return made_.front().second;
  }

  const std::vector<size_t> inputs_;
  const std::vector<Shapes> variants_;
  const std::unique_ptr<Compute> first_;
  const std::function<std::unique_ptr<Compute>(const Shapes &)> make_;
  std::mutex mutex_;
  std::list<std::pair<Shapes, std::shared_ptr<Compute>>> made_;  // the latest first
};

class AbsentCompute final : public Compute {
 public:
  explicit AbsentCompute(std::string architecture) : architecture_(std::move(architecture)) {}
  void run(KernelContext *) override {
    fail(HIPGRAFT_NOT_APPLICABLE, "the session was compiled for %s, a virtual device; it cannot run",
         architecture_.c_str());
  }

 private:
  const std::string architecture_;
};

Status *create_state(NodeCompute *compute, NodeComputeContext *, void **state) {
  *state = compute;
  return nullptr;
}

Status *compute(NodeCompute *compute, void *, KernelContext *context) {
  return guarded([&] { static_cast<Compute *>(compute)->run(context); });
}

void release_state(NodeCompute *, void *) {}

}  // namespace

Compute::Compute() : NodeCompute{api.version, ort::create_state, ort::compute, ort::release_state} {}

std::unique_ptr<Compute> make_gpu_compute(Bound bound, std::shared_ptr<Pool> pool) {
  return std::make_unique<GpuCompute>(std::move(bound), std::move(pool));
}

std::unique_ptr<Compute> make_cpu_compute(Bound bound) {
  return std::make_unique<CpuCompute>(std::move(bound));
}

std::unique_ptr<Compute> make_growing_compute(
    std::vector<size_t> inputs, std::vector<Shapes> variants, std::unique_ptr<Compute> first,
    std::function<std::unique_ptr<Compute>(const Shapes &)> make) {
  return std::make_unique<GrowingCompute>(std::move(inputs), std::move(variants), std::move(first),
                                          std::move(make));
}

std::unique_ptr<Compute> make_absent_compute(const std::string &architecture) {
  return std::make_unique<AbsentCompute>(architecture);
}

}  // namespace hipgraft::ort
