// Loading code objects. A helper in Python decodes each once; the result is kept in a cache.
#include "modules.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

extern char** environ;

namespace {

constexpr char kBundle[] = "__CLANG_OFFLOAD_BUNDLE__";
constexpr char kCompressedBundle[] = "CCOB";
constexpr int kOtherArchitecture = 3, kUnwritable = 4;  // exit statuses of the helper

std::set<Module*>& modules() {
  static auto* all = new std::set<Module*>;
  return *all;
}

uint64_t word(const char* at) {
  uint64_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

// Returns the size of a code object or a bundle, because programs pass only its address; 0 if it is
// neither, or ends after `limit`.
size_t size_of(const char* data, size_t limit) {
  size_t end = 0;
  auto holds = [&](size_t size) { return size <= limit; };
  if (holds(sizeof(Elf64_Ehdr)) && !memcmp(data, ELFMAG, SELFMAG)) {
    const Elf64_Ehdr& header = *(const Elf64_Ehdr*)data;
    end = header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
    if (!holds(header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr))) return 0;
    const Elf64_Phdr* segments = (const Elf64_Phdr*)(data + header.e_phoff);
    for (int i = 0; i < header.e_phnum; i++)
      end = std::max<size_t>(end, segments[i].p_offset + segments[i].p_filesz);
  } else if (holds(sizeof kBundle + 7) && !memcmp(data, kBundle, sizeof kBundle - 1)) {
    size_t entry = sizeof kBundle - 1 + 8;
    for (uint64_t left = word(data + entry - 8); left; left--) {
      if (!holds(entry + 24)) return 0;
      end = std::max<size_t>(end, word(data + entry) + word(data + entry + 8));
      entry += 24 + word(data + entry + 16);
    }
  }
  return holds(end) ? end : 0;
}

// FNV-1a; the cache also compares the decoded code object itself.
std::string digest(const char* data, size_t size, const std::string& more) {
  uint64_t hash = 0xcbf29ce484222325;
  auto add = [&](unsigned char byte) { hash = (hash ^ byte) * 0x100000001b3; };
  for (size_t i = 0; i < size; i++) add(data[i]);
  for (char letter : more) add(letter);
  char text[17];
  snprintf(text, sizeof text, "%016llx", (unsigned long long)hash);
  return text;
}

bool map_decoded(const std::string& path, const char* data, size_t size, Module& module) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  struct stat found;
  fstat(file, &found);
  module.path = path;
  module.file_size = found.st_size;
  void* mapped = mmap(nullptr, module.file_size, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (mapped == MAP_FAILED) return false;
  module.file = (const char*)mapped;
  const DecodedHeader& header = module.header();
  if (module.file_size > sizeof header && !memcmp(header.magic, kDecodedMagic, 8) &&
      header.source_size == size && !memcmp(module.file + header.source, data, size))
    return true;
  munmap(mapped, module.file_size);
  return false;
}

// Runs the helper and returns its exit status.
int decode(const std::string& source, const std::string& target) {
  const Settings& settings = state().settings;
  std::string python = settings.text("python"), architecture = settings.text("architecture");
  const char* arguments[] = {python.c_str(),
                             "-P",
                             "-m",
                             "hipgraft.emulator.hip_module",
                             source.c_str(),
                             target.c_str(),
                             architecture.c_str(),
                             nullptr};
  pid_t child;
  if (posix_spawn(&child, python.c_str(), nullptr, nullptr, (char**)arguments, environ)) return 1;
  int status = 0;
  // If the program ignores SIGCHLD, there is no status.
  if (waitpid(child, &status, 0) < 0) return access(target.c_str(), R_OK) ? 1 : 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

hipError_t open_decoded(const char* data, size_t size, Module& module) {
  const Settings& settings = state().settings;
  std::string key = settings.text("version") + settings.text("architecture");
  std::string name = "/hip-" + digest(data, size, key), folder = settings.text("folder");
  std::string path = settings.text("cache") + name;
  if (map_decoded(path, data, size, module)) return hipSuccess;
  std::string source = folder + name + "." + std::to_string(getpid()) + ".code";
  std::ofstream file(source, std::ios::binary);
  if (!file.write(data, size).flush()) {
    complain("'" + source + "' cannot be written");
    return hipErrorOutOfMemory;
  }
  int status = decode(source, path);
  if (status == kUnwritable) status = decode(source, path = folder + name);
  unlink(source.c_str());
  if (status == kUnwritable) {
    complain("'" + path + "' cannot be written");
    return hipErrorOutOfMemory;
  }
  if (status == kOtherArchitecture) return hipErrorNoBinaryForGpu;
  if (status || !map_decoded(path, data, size, module)) return hipErrorInvalidImage;
  return hipSuccess;
}

hipError_t load_image(Module& module) {
  const DecodedHeader& header = module.header();
  void* image =
      mmap(nullptr, header.image_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (image == MAP_FAILED) return hipErrorOutOfMemory;
  module.image = (char*)image;
  memcpy(image, module.file + header.image, header.image_size);
  for (uint32_t i = 0; i < header.kernel_count; i++) {
    const DecodedKernel* kernel = module.at<DecodedKernel>(header.kernels) + i;
    std::string name = module.at<char>(kernel->name);
    module.functions[name].reset(new Function{&module, kernel, name, nullptr, {0, 0}});
  }
  return hipSuccess;
}

hipError_t load_file(const char* path, Module** module) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return hipErrorFileNotFound;
  std::string data((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return load_module(data.data(), module, data.size());
}

}  // namespace

const Core* core() {
  static const Core* loaded = []() -> const Core* {
    std::string path = state().settings.text("core");
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      complain(std::string("the emulator's core cannot be loaded: ") + dlerror());
      return nullptr;
    }
    auto abi = (decltype(&emulator_abi))dlsym(library, "emulator_abi");
    int expected = 1000 * sizeof(Instruction) + sizeof(Launch) + sizeof(Statistics) + sizeof(Cost) +
                   sizeof(ComputeUnit) + sizeof(TraceStatistics) + sizeof(Replayed);
    if (abi() != expected) {
      complain("the emulator's core is of another version: install hipgraft again");
      return nullptr;
    }
    return new Core{(decltype(&emulator_new))dlsym(library, "emulator_new"),
                    (decltype(&emulator_free))dlsym(library, "emulator_free"),
                    (decltype(&emulator_launch))dlsym(library, "emulator_launch"),
                    (decltype(&emulator_trace))dlsym(library, "emulator_trace"),
                    (decltype(&emulator_trace_free))dlsym(library, "emulator_trace_free"),
                    (decltype(&emulator_replay))dlsym(library, "emulator_replay")};
  }();
  return loaded;
}

hipError_t load_module(const void* image, Module** result, size_t limit) {
  State& all = state();
  if (all.start) return all.start;
  if (!image || !result) return hipErrorInvalidValue;
  const char* data = (const char*)image;
  if (limit < 4) return hipErrorInvalidImage;
  if (!memcmp(data, kCompressedBundle, 4)) return unsupported("hipModuleLoad", " for CCOB bundles");
  size_t size = size_of(data, limit);
  if (!size) return hipErrorInvalidImage;
  if (!core()) return hipErrorSharedObjectInitFailed;
  std::unique_ptr<Module> module(new Module{&current_device(), "", nullptr, 0, nullptr, {}});
  if (hipError_t error = open_decoded(data, size, *module)) return error;
  if (hipError_t error = load_image(*module)) return error;
  Lock lock(all.mutex);
  uintptr_t start = (uintptr_t)module->image;
  size_t bytes = module->header().image_size;
  all.memory[start] = {start,         bytes, MEMORY_IMAGE, module->device->number, 0, nullptr,
                       module->image, bytes, module.get()};
  modules().insert(module.get());
  *result = module.release();
  return hipSuccess;
}

bool is_function(State&, const void* function) {
  for (const Module* module : modules())
    for (const auto& [name, one] : module->functions)
      if (one.get() == function) return true;
  return false;
}

HIP_API hipModuleLoadData(hipModule_t* module, const void* image) {
  return finish(load_module(image, module));
}
HIP_API hipModuleLoadDataEx(hipModule_t* module, const void* image, unsigned, int*, void**) {
  return finish(load_module(image, module));
}
HIP_API hipModuleLoadFatBinary(hipModule_t* module, const void* image) {
  return finish(load_module(image, module));
}
HIP_API hipModuleLoad(hipModule_t* module, const char* path) {
  if (!module || !path) return finish(hipErrorInvalidValue);
  return finish(load_file(path, module));
}

HIP_API hipModuleUnload(hipModule_t module) {
  State& all = state();
  Lock lock(all.mutex);
  if (!modules().count(module)) return finish(hipErrorInvalidHandle);
  wait_for_device(all, lock, *module->device);
  modules().erase(module);
  for (const auto& [name, function] : module->functions)
    if (function->machine) core()->free(function->machine);
  release(all, module->image);
  munmap((void*)module->file, module->file_size);
  delete module;
  return finish(hipSuccess);
}

HIP_API hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name) {
  State& all = state();
  Lock lock(all.mutex);
  if (!function || !name) return finish(hipErrorInvalidValue);
  if (!modules().count(module)) return finish(hipErrorInvalidHandle);
  auto found = module->functions.find(name);
  if (found == module->functions.end()) return finish(hipErrorNotFound);
  *function = found->second.get();
  return finish(hipSuccess);
}

HIP_API hipModuleGetFunctionCount(unsigned* count, hipModule_t module) {
  State& all = state();
  Lock lock(all.mutex);
  if (!count) return finish(hipErrorInvalidValue);
  if (!modules().count(module)) return finish(hipErrorInvalidHandle);
  *count = module->functions.size();
  return finish(hipSuccess);
}

HIP_API hipModuleGetGlobal(hipDeviceptr_t* address, size_t* size, hipModule_t module,
                           const char* name) {
  State& all = state();
  Lock lock(all.mutex);
  if (!name || (!address && !size)) return finish(hipErrorInvalidValue);
  if (!modules().count(module)) return finish(hipErrorInvalidHandle);
  const DecodedHeader& header = module->header();
  for (uint32_t i = 0; i < header.symbol_count; i++) {
    const DecodedSymbol& symbol = module->at<DecodedSymbol>(header.symbols)[i];
    if (strcmp(module->at<char>(symbol.name), name)) continue;
    if (address) *address = module->image + symbol.address;
    if (size) *size = symbol.size;
    return finish(hipSuccess);
  }
  return finish(hipErrorNotFound);
}
