#include "cpu_programs.h"

#include <condition_variable>
#include <mutex>

#include "errors.h"

namespace hipgraft::ort {

namespace {

std::mutex mutex;
std::condition_variable has_left;
hipgraft_ort_cpu table;
bool is_set = false;
uint64_t generations = 0;
size_t calls = 0;

// A call through the table, which stays valid until the call ends. Calls may be nested: Python may
// delete a session during one.
class Call {
 public:
  // The number of the table that loaded a program; 0 is the current one.
  explicit Call(uint64_t generation) {
    std::lock_guard<std::mutex> lock(mutex);
    is_made_ = is_set && (!generation || generation == generations);
    calls += is_made_;
  }
  ~Call() {
    std::lock_guard<std::mutex> lock(mutex);
    calls -= is_made_;
    has_left.notify_all();
  }
  Call(const Call &) = delete;
  explicit operator bool() const { return is_made_; }

 private:
  bool is_made_;
};

[[noreturn]] void failed(const char *what) {
  const char *text = table.error ? table.error(table.user) : nullptr;
  fail(HIPGRAFT_INTERNAL_ERROR, "%s failed: %s", what, text ? text : "no reason is given");
}

void expect(const Call &call) {
  if (!call)
    fail(HIPGRAFT_NOT_APPLICABLE,
         "programs for the target 'cpu' run in Python only: call hipgraft.onnxruntime.register()");
}

}  // namespace

CpuProgram::CpuProgram(const std::string &path, std::string_view data, uint32_t flags) {
  Call call(0);
  expect(call);
  const char *file = path.empty() ? nullptr : path.c_str();
  generation_ = generations;
  if (table.load(table.user, file, data.data(), data.size(), flags, &program_))
    failed("loading a program");
}

CpuProgram::~CpuProgram() {
  // After the interpreter's exit, no table can unload it.
  if (Call call{generation_}) table.unload(table.user, program_);
}

void CpuProgram::run(const std::vector<hipgraft_ort_tensor> &inputs,
                     void *(*output)(void *, size_t, const int64_t *, size_t), void *context) const {
  Call call(generation_);
  expect(call);
  if (table.run(table.user, program_, inputs.data(), inputs.size(), output, context))
    failed("the program");
}

}  // namespace hipgraft::ort

void hipgraft_ort_set_cpu(const hipgraft_ort_cpu *given) {
  using namespace hipgraft::ort;
  std::unique_lock<std::mutex> lock(mutex);
  is_set = false;
  has_left.wait(lock, [] { return !calls; });
  is_set = given;
  table = given ? *given : hipgraft_ort_cpu{};
  ++generations;
}
