// The kernels that ONNX Runtime puts between nodes on a GPU and nodes elsewhere. Without them, ONNX
// Runtime's own kernels leave tensors for a GPU in host memory.
#include "factory.h"
#include "provider.h"

namespace hipgraft::ort {

namespace {

struct Copy : KernelImpl {
  explicit Copy(const Factory &factory) : KernelImpl{}, factory(factory) {
    version = api.version;
    release = [](KernelImpl *kernel) { delete static_cast<Copy *>(kernel); };
    compute = [](KernelImpl *kernel, KernelContext *context) -> Status * {
      return guarded([&] {
        const KernelContext *constant = context;
        int type = 0;
        const int64_t *shape = nullptr;
        size_t rank = 0;
        auto source = get<const Value *>(api.kernel_input, constant, size_t{0});
        check(api.tensor_shape(source, &type, &shape, &rank));
        Value *target = get<Value *>(api.kernel_output, context, size_t{0}, shape, rank);
        copy_tensor(static_cast<Copy *>(kernel)->factory, source, target,
                    get<void *>(api.compute_stream, constant));
      });
    };
  }

  const Factory &factory;
};

Status *create(void *factory, const KernelInfo *, KernelImpl **kernel) {
  return guarded([&] { *kernel = new Copy(*static_cast<Factory *>(factory)); });
}

void add(KernelRegistry *registry, const char *op, bool is_to_gpu, Factory &factory) {
  std::vector<const DataType *> types;
  for (int type = 1; type <= kLastElement; ++type) {
    const DataType *found = nullptr;
    Status *status = type == kStringElement ? nullptr : api.data_type(type, &found);
    if (status)
      api.release_status(status);  // a type that this release of ONNX Runtime lacks
    else if (found)
      types.push_back(found);
  }
  KernelDefBuilder *builder = get<KernelDefBuilder *>(api.create_builder);
  KernelDef *definition = nullptr;
  Status *status = guarded([&] {
    check(api.set_operator(builder, op));
    check(api.set_domain(builder, ""));
    check(api.set_versions(builder, 1, 1));
    check(api.set_provider(builder, kProvider));
    check(is_to_gpu ? api.set_input_memory(builder, 0, kCpuInput)
                    : api.set_output_memory(builder, 0, kCpuOutput));
    check(api.add_types(builder, "T", types.data(), types.size()));
    definition = get<KernelDef *>(api.build, builder);
    check(api.add_kernel(registry, definition, create, &factory));
  });
  if (definition) api.release_definition(definition);
  api.release_builder(builder);
  check(status);
}

}  // namespace

KernelRegistry *make_copy_kernels(Factory &factory) {
  KernelRegistry *registry = get<KernelRegistry *>(api.create_registry);
  Status *status = guarded([&] {
    add(registry, "MemcpyFromHost", true, factory);
    add(registry, "MemcpyToHost", false, factory);
  });
  if (status) api.release_registry(registry);
  check(status);
  return registry;
}

}  // namespace hipgraft::ort
