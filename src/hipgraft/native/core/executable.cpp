#include "executable.h"

#include <cstring>

#include "errors.h"

namespace hipgraft {

namespace {

void check_alignment(const void *memory, const char *what, size_t number) {
  bool is_tensor = what[strlen(what) - 1] == '#';
  if (reinterpret_cast<uint64_t>(memory) % HIPGRAFT_ALIGNMENT)
    fail(HIPGRAFT_INVALID_ARGUMENT, "%s%s is at %p, which is no multiple of %d bytes", what,
         is_tensor ? std::to_string(number).c_str() : "", memory, HIPGRAFT_ALIGNMENT);
}

const hipgraft_program &runnable(const hipgraft_program &program, const Device &device) {
  if (program.variants.empty())
    fail(HIPGRAFT_NOT_APPLICABLE, "%s", program.why_not.c_str());
  const std::string &wanted = program.architecture, &found = device.architecture();
  if (!runs_on(wanted, found))
    fail(HIPGRAFT_NOT_APPLICABLE, "the program is for '%s', but the device is '%s'", wanted.c_str(),
         found.c_str());
  return program;
}

}  // namespace

Executable::Executable(std::shared_ptr<Device> device, const hipgraft_program &program,
                       uint32_t flags)
    : device_(std::move(device)),
      loaded_(device_->loaded(program.owner.lock(), runnable(program, *device_))) {
  for (const Variant &variant : loaded_->program.variants)
    sequences_.emplace_back(device_, variant, loaded_->kernels(), flags & HIPGRAFT_REPLAY);
}

void Executable::check_workspace(const void *workspace) const {
  if (program().workspace_size && !workspace)
    fail(HIPGRAFT_INVALID_ARGUMENT, "the program needs a workspace of %zu bytes",
         program().workspace_size);
  check_alignment(workspace, "the workspace", 0);
}

void Executable::enqueue(size_t variant, void *stream, void *const *pointers, size_t count,
                         void *workspace) {
  const hipgraft_program &program = loaded_->program;
  if (variant >= program.variants.size())
    fail(HIPGRAFT_INVALID_ARGUMENT, "there is no variant %zu of %zu", variant,
         program.variants.size());
  const Variant &chosen = program.variants[variant];
  if (count != chosen.tensors.size())
    fail(HIPGRAFT_INVALID_ARGUMENT, "the program has %zu inputs and results, but %zu were given",
         chosen.tensors.size(), count);
  check_workspace(workspace);
  thread_local std::vector<uint64_t> addresses;
  addresses.clear();
  for (size_t i = 0; i < count; ++i) {
    bool is_result = i >= program.input_count;
    const char *what = is_result ? "result #" : "input #";
    size_t number = is_result ? i - program.input_count : i;
    if (!pointers[i] && chosen.tensors[i].nbytes)
      fail(HIPGRAFT_INVALID_ARGUMENT, "the pointer of %s%zu is null", what, number);
    check_alignment(pointers[i], what, number);
    addresses.push_back(reinterpret_cast<uint64_t>(pointers[i]));
  }
  for (size_t i = 0; i < program.buffers.size(); ++i)
    addresses.push_back(program.buffers[i].is_constant ? loaded_->constant(i)
                                                       : reinterpret_cast<uint64_t>(workspace) +
                                                             program.workspace_offsets[i]);
  Device::Current current(*device_);
  sequences_[variant].run(addresses, stream);
}

}  // namespace hipgraft
