#include "gpu_device.h"

namespace hipgraft {

void *open_library(const char *given, const std::vector<const char *> &names, const char *kind) {
  std::string reason;
  for (const char *name : given && *given ? std::vector<const char *>{given} : names) {
    if (void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    reason = dlerror();
  }
  fail(HIPGRAFT_IO_ERROR, "no %s driver: %s", kind, reason.c_str());
}

std::shared_ptr<Device> shared_device(void *library, int index,
                                      const std::function<std::shared_ptr<Device>()> &make) {
  static std::mutex mutex;
  static std::map<std::pair<void *, int>, std::weak_ptr<Device>> devices;
  std::lock_guard<std::mutex> lock(mutex);
  auto &known = devices[{library, index}];
  std::shared_ptr<Device> device = known.lock();
  if (!device) known = device = make();
  return device;
}

std::shared_ptr<Device> open_gpu(const std::string &name, const char *library) {
  size_t colon = name.find(':');
  std::string kind = name.substr(0, colon);
  bool is_current = colon == std::string::npos && kind == "hip";
  std::string number = is_current ? "-1" : colon == std::string::npos ? "0" : name.substr(colon + 1);
  bool is_number = is_current || (!number.empty() && number.size() < 10 &&
                                  number.find_first_not_of("0123456789") == std::string::npos);
  if (is_number && kind == "hip") return open_hip(std::stoi(number), library);
  if (is_number && kind == "cuda") return open_cuda(std::stoi(number), library);
  fail(HIPGRAFT_INVALID_ARGUMENT, "expected a device as 'hip:0' or 'cuda:0', found '%s'",
       name.c_str());
}

}  // namespace hipgraft
