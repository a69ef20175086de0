// A host in C++: loads ONNX Runtime's library, registers a provider, and runs a model on the device
// of an architecture. It finds functions of ONNX Runtime by their indices.
//
//     onnxruntime_host LIBRARY PROVIDER MODEL ARCHITECTURE INPUT OUTPUT EXTENT...
//
// INPUT contains the floats of the model's input `x` with the given extents; OUTPUT gets those of
// its result `y`.

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

namespace {

struct Base {
  void *const *(*api)(uint32_t version);
  const char *(*version)();
};

void *const *table = nullptr;

// Calls function `index` with arguments of exactly the given types.
template <typename Result, typename... Arguments>
Result call(int index, Arguments... arguments) {
  return reinterpret_cast<Result (*)(Arguments...)>(table[index])(arguments...);
}

template <typename... Arguments>
void check(int index, Arguments... arguments) {
  void *status = call<void *>(index, arguments...);
  if (!status) return;
  fprintf(stderr, "function %d: %s\n", index, call<const char *>(2, status));
  exit(1);
}

void *find_device(void *environment, const char *architecture) {
  void *const *devices = nullptr;
  size_t count = 0;
  check(303, environment, &devices, &count);
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(call<const char *>(312, devices[i]), "HipgraftExecutionProvider")) continue;
    void *metadata = call<void *>(314, devices[i]);
    const char *found = call<const char *>(297, metadata, "architecture");
    if (found && !strcmp(found, architecture)) return devices[i];
  }
  fprintf(stderr, "there is no device for %s\n", architecture);
  exit(1);
}

}  // namespace

int main(int count, char **words) {
  void *library = dlopen(words[1], RTLD_NOW);
  if (!library) return fprintf(stderr, "%s\n", dlerror()), 1;
  auto base = reinterpret_cast<const Base *(*)()>(dlsym(library, "OrtGetApiBase"))();
  table = base->api(24);
  std::ifstream file(words[5], std::ios::binary);
  std::vector<char> given((std::istreambuf_iterator<char>(file)), {});
  std::vector<int64_t> shape;
  for (int i = 7; i < count; ++i) shape.push_back(atoll(words[i]));

  void *environment = nullptr, *options = nullptr, *session = nullptr, *memory = nullptr;
  void *input = nullptr, *output = nullptr, *information = nullptr;
  check(3, 2, "host", &environment);
  check(301, environment, "hipgraft", words[2]);
  void *device = find_device(environment, words[4]);
  check(10, &options);
  const char *keys[] = {"fallback"}, *values[] = {"error"};
  check(304, options, environment, &device, size_t{1}, &keys[0], &values[0], size_t{1});
  check(7, environment, words[3], options, &session);
  check(69, 0, 0, &memory);
  check(49, memory, given.data(), given.size(), shape.data(), shape.size(), 1, &input);
  const char *inputs[] = {"x"}, *outputs[] = {"y"};
  for (int round = 0; round < 3; ++round) {
    if (output) call<void>(96, output);
    output = nullptr;
    check(9, session, nullptr, &inputs[0], &input, size_t{1}, &outputs[0], size_t{1}, &output);
  }
  void *data = nullptr;
  size_t elements = 0;
  check(51, output, &data);
  check(65, output, &information);
  check(64, information, &elements);
  std::ofstream(words[6], std::ios::binary)
      .write(static_cast<const char *>(data), static_cast<std::streamsize>(4 * elements));
  call<void>(99, information);
  call<void>(96, input);
  call<void>(96, output);
  call<void>(94, memory);
  call<void>(95, session);
  call<void>(100, options);
  check(302, environment, "hipgraft");
  call<void>(92, environment);
}
