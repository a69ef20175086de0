#include "executable.h"

#include <algorithm>
#include <cstring>

#include "errors.h"

namespace hipgraft {

namespace {

constexpr size_t kMostCaptured = 16;

uint64_t address(const Pointer &pointer, const std::vector<uint64_t> &addresses) {
  return addresses[pointer.buffer] + pointer.offset;
}

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
      loaded_(device_->loaded(program.owner.lock(), runnable(program, *device_))),
      replays_((flags & HIPGRAFT_REPLAY) && device_->has_graphs()) {}

Executable::~Executable() {
  try {
    Device::Current current(*device_);
    for (Captured &one : captured_)
      if (one.graph) device_->free_graph(one.graph);
  } catch (const Error &) {  // nobody to tell
  }
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
  if (program.workspace_size && !workspace)
    fail(HIPGRAFT_INVALID_ARGUMENT, "the program needs a workspace of %zu bytes",
         program.workspace_size);
  thread_local std::vector<uint64_t> addresses;
  addresses.clear();
  check_alignment(workspace, "the workspace", 0);
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
  if (replays_) {
    std::lock_guard<std::mutex> lock(mutex_);  // a graph in use must not be dropped for another
    if (void *found = graph(variant, addresses)) return device_->replay(found, stream);
  }
  make_calls(chosen, addresses, stream);
}

void Executable::make_calls(const Variant &variant, const std::vector<uint64_t> &addresses,
                            void *stream) {
  thread_local std::string arguments;
  for (const Command &command : variant.commands) {
    if (auto launch = std::get_if<Launch>(&command)) {
      arguments = launch->arguments;
      for (auto &[at, pointer] : launch->pointers) {
        uint64_t target = address(pointer, addresses);
        memcpy(arguments.data() + at, &target, sizeof target);
      }
      device_->launch(loaded_->kernel(launch->kernel), *launch, arguments.data(), stream);
    } else if (auto copy = std::get_if<Copy>(&command)) {
      if (copy->nbytes)
        device_->copy(address(copy->target, addresses), address(copy->source, addresses),
                      copy->nbytes, stream);
    } else {
      auto &found = std::get<Fill>(command);
      if (found.nbytes) fill(found, address(found.target, addresses), stream);
    }
  }
}

void Executable::fill(const Fill &fill, uint64_t target, void *stream) {
  std::string_view pattern = fill.pattern;
  // The shortest pattern that repeats to the same bytes.
  while (pattern.size() > 1 &&
         pattern.substr(0, pattern.size() / 2) == pattern.substr(pattern.size() / 2))
    pattern = pattern.substr(0, pattern.size() / 2);
  uint32_t words[4] = {};
  memcpy(words, pattern.data(), pattern.size());
  auto width = static_cast<unsigned>(pattern.size());
  if (width <= 4) return device_->fill(target, words[0], width, fill.nbytes, stream);
  // Drivers fill at most 4 bytes: write the pattern once, and double what is there.
  for (unsigned at = 0; at < width; at += 4)
    device_->fill(target + at, words[at / 4], 4, 4, stream);
  for (uint64_t done = width; done < fill.nbytes; done *= 2)
    device_->copy(target + done, target, std::min(done, fill.nbytes - done), stream);
}

void *Executable::graph(size_t variant, const std::vector<uint64_t> &addresses) {
  auto found = std::find_if(captured_.begin(), captured_.end(), [&](const Captured &one) {
    return one.variant == variant && one.addresses == addresses;
  });
  if (found != captured_.end()) {
    captured_.splice(captured_.begin(), captured_, found);
    if (!found->graph) found->graph = capture(loaded_->program.variants[variant], addresses);
    return found->graph;
  }
  captured_.push_front({variant, addresses, nullptr});
  if (captured_.size() > kMostCaptured) {
    // A driver frees a graph only after its runs have ended.
    if (captured_.back().graph) device_->free_graph(captured_.back().graph);
    captured_.pop_back();
  }
  return nullptr;
}

void *Executable::capture(const Variant &variant, const std::vector<uint64_t> &addresses) {
  void *stream = device_->begin_capture();
  try {
    make_calls(variant, addresses, stream);
  } catch (const Error &) {
    try {
      if (void *half = device_->end_capture(stream)) device_->free_graph(half);
    } catch (const Error &) {  // the first error is the one to tell
    }
    throw;
  }
  return device_->end_capture(stream);
}

}  // namespace hipgraft
