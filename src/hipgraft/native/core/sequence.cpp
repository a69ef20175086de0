#include "sequence.h"

#include <algorithm>
#include <cstring>

#include "errors.h"

namespace hipgraft {

namespace {

constexpr size_t kMostCaptured = 16;

uint64_t address(const Pointer &pointer, const std::vector<uint64_t> &addresses) {
  return addresses[pointer.buffer] + pointer.offset;
}

}  // namespace

Sequence::Sequence(std::shared_ptr<Device> device, const Variant &variant,
                   const std::vector<void *> &kernels, bool replays)
    : device_(std::move(device)),
      variant_(variant),
      kernels_(kernels),
      replays_(replays && device_->has_graphs()) {
  Device::Current current(*device_);
  for (const Command &command : variant_.commands)
    if (auto launch = std::get_if<Launch>(&command))
      device_->allow_shared(kernels_[launch->kernel], launch->shared_bytes);
}

Sequence::~Sequence() {
  if (captured_.empty()) return;
  try {
    Device::Current current(*device_);
    for (Captured &one : captured_)
      if (one.graph) device_->free_graph(one.graph);
  } catch (const Error &) {  // a destructor cannot report an error
  }
}

void Sequence::run(const std::vector<uint64_t> &addresses, void *stream) {
  if (replays_) {
    std::lock_guard<std::mutex> lock(mutex_);  // a graph in use must not be evicted
    if (void *found = graph(addresses)) return device_->replay(found, stream);
  }
  for (const Command &command : variant_.commands) make(command, addresses, stream);
}

void Sequence::make(const Command &command, const std::vector<uint64_t> &addresses,
                    void *stream) const {
  thread_local std::string arguments;
  if (auto launch = std::get_if<Launch>(&command)) {
    arguments = launch->arguments;
    for (auto &[at, pointer] : launch->pointers) {
      uint64_t target = address(pointer, addresses);
      memcpy(arguments.data() + at, &target, sizeof target);
    }
    device_->launch(kernels_[launch->kernel], *launch, arguments.data(), stream);
  } else if (auto copy = std::get_if<Copy>(&command)) {
    if (copy->nbytes)
      device_->copy(address(copy->target, addresses), address(copy->source, addresses),
                    copy->nbytes, stream);
  } else {
    auto &fill = std::get<Fill>(command);
    device_->fill_pattern(address(fill.target, addresses), fill.pattern, fill.nbytes, stream);
  }
}

void *Sequence::graph(const std::vector<uint64_t> &addresses) {
  auto found = std::find_if(captured_.begin(), captured_.end(),
                            [&](const Captured &one) { return one.addresses == addresses; });
  if (found != captured_.end()) {
    captured_.splice(captured_.begin(), captured_, found);
    if (!found->graph) found->graph = capture(addresses);
    return found->graph;
  }
  captured_.push_front({addresses, nullptr});
  if (captured_.size() > kMostCaptured) {
    // A driver frees a graph only after its runs have ended.
    if (captured_.back().graph) device_->free_graph(captured_.back().graph);
    captured_.pop_back();
  }
  return nullptr;
}

void *Sequence::capture(const std::vector<uint64_t> &addresses) const {
  void *stream = device_->begin_capture();
  try {
    for (const Command &command : variant_.commands) make(command, addresses, stream);
  } catch (const Error &) {
    try {
      if (void *half = device_->end_capture(stream)) device_->free_graph(half);
    } catch (const Error &) {  // the first error is the one to report
    }
    throw;
  }
  return device_->end_capture(stream);
}

}  // namespace hipgraft
