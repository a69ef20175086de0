#include "memory.h"

#include "errors.h"

namespace hipgraft::ort {

namespace {

constexpr size_t kLeast = 256;

// Rounds a size up by at most an eighth, so that similar sizes can reuse the same memory.
size_t rounded(size_t size) {
  size_t step = kLeast;
  while (step * 16 < size) step *= 2;
  return (std::max(size, size_t{1}) + step - 1) / step * step;
}

}  // namespace

Pool::~Pool() {
  std::lock_guard<std::mutex> lock(mutex_);
  free(unused(nullptr, true));
}

void *Pool::take(size_t size, void *stream) {
  size = rounded(size);
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = unused_.find({stream, size});
  void *memory = nullptr;
  if (found != unused_.end() && !found->second.empty()) {
    memory = found->second.back();
    found->second.pop_back();
  } else {
    memory = allocate(size);
  }
  used_[memory] = {size, stream};
  return memory;
}

void Pool::give(void *memory) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = used_.find(memory);
  if (found == used_.end()) return;
  Block block = found->second;
  used_.erase(found);
  if (block.stream)
    unused_[{block.stream, block.size}].push_back(memory);
  else
    free({memory});
}

void Pool::forget(void *stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto &[memory, block] : used_)
    if (block.stream == stream) block.stream = nullptr;
  free(unused(stream, false));
}

void *Pool::allocate(size_t size) {
  Device::Current current(*device_);
  try {
    return device_->allocate(size);
  } catch (const Error &error) {
    if (error.status != HIPGRAFT_OUT_OF_MEMORY) throw;
  }
  // The driver waits for work on the memory that it frees.
  free(unused(nullptr, true));
  return device_->allocate(size);
}

std::vector<void *> Pool::unused(void *stream, bool is_all) {
  std::vector<void *> found;
  for (auto at = unused_.begin(); at != unused_.end();) {
    bool is_wanted = is_all || at->first.first == stream;
    if (is_wanted) found.insert(found.end(), at->second.begin(), at->second.end());
    at = is_wanted ? unused_.erase(at) : std::next(at);
  }
  return found;
}

void Pool::free(const std::vector<void *> &memory) {
  try {
    Device::Current current(*device_);
    for (void *one : memory) device_->free(one);
  } catch (const Error &) {  // leaked: a destructor cannot report an error
  }
}

}  // namespace hipgraft::ort
