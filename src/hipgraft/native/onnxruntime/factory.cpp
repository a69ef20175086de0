#include "factory.h"

#include <algorithm>
#include <cstring>

#include "contexts.h"
#include "environment.h"
#include "provider.h"

namespace hipgraft::ort {

namespace {

constexpr char kVendor[] = "hipgraft";
// The architectures offered under a name that ends in `.virtual`, unless HIPGRAFT_VIRTUAL_GPUS
// names others.
constexpr char kVirtualGpus[] = "gfx90a,gfx942,gfx950,gfx1100,gfx1201";

Factory &self(FactoryTable *table) { return *static_cast<Factory *>(table); }

std::vector<std::string> split(const std::string &text) {
  std::vector<std::string> parts;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find(',', at), text.size());
    if (end > at) parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// The GPUs that HIP opens, or only the one that HIPGRAFT_ORT_DEVICE names in tests, such as
// `cuda:0`.
std::vector<std::shared_ptr<Device>> open_gpus(const Logger *logger) {
  std::vector<std::shared_ptr<Device>> found;
  std::string given = variable("HIPGRAFT_ORT_DEVICE");
  try {
    if (!given.empty()) return {open_gpu(given, nullptr)};
    for (int index = 0;; ++index) found.push_back(open_gpu("hip:" + std::to_string(index), nullptr));
  } catch (const Error &error) {
    if (found.empty()) log(logger, kInfo, "offers no GPU: " + error.text);
  }
  return found;
}

bool allows_virtual() {
  KeyValuePairs *entries = nullptr;
  check(api.environment(&entries));
  Pairs pairs(entries);
  return text_of(api.pair(entries, "allow_virtual_devices")) == "1";
}

Status *devices(FactoryTable *table, const HardwareDevice *const *hardware, size_t count,
                EpDevice **found, size_t most, size_t *number) {
  return guarded([&] { *number = self(table).offer(hardware, count, found, most); });
}

// Returns the device for a session: one of the target's architecture, else the first GPU, else the
// CPU.
const OfferedDevice &choose(const Factory &factory, const HardwareDevice *const *hardware,
                            size_t count, const std::string &target) {
  const OfferedDevice *best = nullptr;
  for (size_t i = 0; i < count; ++i) {
    const OfferedDevice *one = factory.find(hardware[i]);
    if (!one) continue;
    if (one->architecture == target) return *one;
    if (!best || (best->architecture == "cpu" && one->pool)) best = one;
  }
  if (!best) fail(HIPGRAFT_INVALID_ARGUMENT, "none of the session's devices is hipgraft's");
  return *best;
}

Status *create_provider(FactoryTable *table, const HardwareDevice *const *hardware,
                        const KeyValuePairs *const *, size_t count, const SessionOptions *options,
                        const Logger *logger, ProviderTable **provider) {
  return guarded([&] {
    Options session = Pairs(get<KeyValuePairs *>(api.session_entries, options)).all();
    // A failure here would make Python run the session on the CPU without hipgraft, so errors in
    // options are reported when the session passes the graph.
    std::unique_ptr<Error> refusal;
    Options own;
    try {
      own = provider_options(session);
    } catch (const Error &error) {
      refusal = std::make_unique<Error>(error);
    }
    auto target = own.find("target");
    std::string wanted = target == own.end() ? "" : target->second;
    const OfferedDevice &device = choose(self(table), hardware, count, wanted);
    if (!wanted.empty() && wanted != device.architecture && device.pool)
      refusal = std::make_unique<Error>(Error{
          HIPGRAFT_INVALID_ARGUMENT, "the target is '" + wanted + "', and the device is '" +
                                         device.architecture + "'; choose another device, or one "
                                         "that is virtual"});
    std::string architecture = wanted.empty() ? device.architecture : wanted;
    auto made = std::make_unique<Provider>(self(table), device, architecture, own, session, logger);
    made->refusal = std::move(refusal);
    *provider = made.release();
  });
}

void release_provider(FactoryTable *, ProviderTable *provider) {
  delete static_cast<Provider *>(provider);
}

Status *validate(FactoryTable *table, const HardwareDevice *const *hardware, size_t count,
                 const char *text, int *answer) {
  return guarded([&] {
    *answer = kNotApplicable;
    for (size_t i = 0; i < count; ++i)
      if (const OfferedDevice *device = self(table).find(hardware[i])) {
        // The best answer of the devices: a better answer has a lower number.
        int one = judge(text_of(text), device->architecture);
        if (one != kNotApplicable) *answer = *answer ? std::min(*answer, one) : one;
      }
  });
}

}  // namespace

Factory::Factory(const Logger *logger) : FactoryTable{}, logger(logger) {
  version = api.version;
  name = [](const FactoryTable *) { return kProvider; };
  vendor = [](const FactoryTable *) { return kVendor; };
  vendor_id = [](const FactoryTable *) { return kAmd; };
  release = [](const FactoryTable *) { return HIPGRAFT_RELEASE; };
  FactoryTable::devices = ort::devices;
  create_provider = ort::create_provider;
  release_provider = ort::release_provider;
  validate = ort::validate;
  add_memory_functions(*this);
}

Factory::~Factory() {
  for (OfferedDevice &device : devices)
    for (MemoryInfo *memory : {device.memory, device.pinned})
      if (memory) api.release_memory_info(memory);
  if (copies) api.release_registry(copies);
  for (HardwareDevice *one : own_hardware) api.release_hardware(one);
}

const OfferedDevice *Factory::find(const HardwareDevice *hardware) const {
  for (const OfferedDevice &one : devices)
    if (one.hardware == hardware) return &one;
  return nullptr;
}

const OfferedDevice *Factory::find(const MemoryDevice *memory) const {
  bool is_gpu = memory && api.device_type(memory) == kGpuMemory;
  for (const OfferedDevice &one : devices)
    if (is_gpu && one.pool && one.vendor == api.vendor(memory) &&
        static_cast<uint32_t>(one.ordinal) == api.device_id(memory))
      return &one;
  return nullptr;
}

size_t Factory::offer(const HardwareDevice *const *hardware, size_t count, EpDevice **found,
                      size_t most) {
  std::vector<OfferedDevice> offered;
  std::vector<const HardwareDevice *> gpus;
  for (size_t i = 0; i < count; ++i) {
    if (api.hardware_type(hardware[i]) == kCpuHardware && offered.empty())
      offered.push_back({"cpu", nullptr, 0, 0, hardware[i]});
    if (api.hardware_type(hardware[i]) == kGpuHardware && api.hardware_vendor(hardware[i]) == kAmd)
      gpus.push_back(hardware[i]);
  }
  int ordinal = 0;
  for (auto &device : open_gpus(logger)) {
    OfferedDevice one{device->architecture(), std::make_shared<Pool>(device)};
    one.vendor = one.architecture.substr(0, 3) == "gfx" ? kAmd : kNvidia;
    one.ordinal = ordinal++;
    // ONNX Runtime lists the devices that the system shows, which in a container may be fewer than
    // HIP opens.
    bool is_shown = one.vendor == kAmd && static_cast<size_t>(one.ordinal) < gpus.size();
    one.hardware = is_shown ? gpus[static_cast<size_t>(one.ordinal)] : make_hardware(one);
    offered.push_back(std::move(one));
  }
  if (allows_virtual()) {
    std::string given = variable("HIPGRAFT_VIRTUAL_GPUS");
    for (const std::string &name : split(given.empty() ? kVirtualGpus : given)) {
      OfferedDevice one{name, nullptr, kAmd, ordinal++};
      one.hardware = make_hardware(one);
      offered.push_back(std::move(one));
    }
  }
  size_t number = 0;
  for (OfferedDevice &one : offered) {
    if (number == most) break;
    Pairs metadata, options;
    metadata.add("architecture", one.architecture);
    if (!one.pool && one.architecture != "cpu") metadata.add("virtual", "1");
    check(api.create_device(this, one.hardware, metadata.get(), options.get(), &found[number++]));
    if (one.pool) announce_memory(one, found[number - 1]);
    devices.push_back(std::move(one));
  }
  bool has_gpu = std::any_of(devices.begin(), devices.end(), [](auto &one) { return !!one.pool; });
  if (has_gpu) copies = make_copy_kernels(*this);
  return number;
}

const HardwareDevice *Factory::make_hardware(const OfferedDevice &device) {
  Pairs metadata;
  metadata.add("architecture", device.architecture);
  if (!device.pool) metadata.add("virtual", "1");
  own_hardware.push_back(get<HardwareDevice *>(api.create_hardware, int{kGpuHardware},
                                               device.vendor, static_cast<uint32_t>(device.ordinal),
                                               device.vendor == kAmd ? "AMD" : "NVIDIA",
                                               static_cast<const KeyValuePairs *>(metadata.get())));
  return own_hardware.back();
}

}  // namespace hipgraft::ort

using namespace hipgraft::ort;

extern "C" {

HIPGRAFT_API Status *CreateEpFactories(const char *, const ApiBase *base, const Logger *logger,
                                       FactoryTable **factories, size_t most, size_t *count) {
  if (Status *status = load_api(*base)) return status;
  return guarded([&] {
    *count = 0;
    if (!most) hipgraft::fail(HIPGRAFT_INVALID_ARGUMENT, "there is no place for a factory");
    auto factory = std::make_shared<Factory>(logger);
    factories[0] = factory.get();
    factory->registered = factory;
    *count = 1;
  });
}

HIPGRAFT_API Status *ReleaseEpFactory(FactoryTable *factory) {
  static_cast<Factory *>(factory)->registered.reset();
  return nullptr;
}
}
