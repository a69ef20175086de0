// Launching kernels: arguments, accessible memory, and the run on the emulator's core.
#include <string.h>
#include <unistd.h>

#include "reports.h"
#include "timing.h"

namespace {

// Bytes after the kernel argument segment that kernels may read, because loads may be wider than
// arguments.
constexpr size_t kSlack = 256;
constexpr uint64_t kMostItems = 1024;
constexpr uint64_t kSeed = 1;

// The packet that starts a kernel, which some kernels read. Source: HSA, "kernel dispatch packet".
struct DispatchPacket {
  uint16_t header, setup, workgroup[3], reserved0;
  uint32_t grid[3], private_bytes, group_bytes;
  uint64_t object, kernarg, reserved1, signal;
};
static_assert(sizeof(DispatchPacket) == 64);

uint64_t volume(const dim3& size) { return (uint64_t)size.x * size.y * size.z; }

uint32_t hidden_value(uint32_t kind, const KernelCall& call) {
  const dim3 &grid = call.grid, &block = call.block;
  switch (kind) {
    case HIDDEN_BLOCK_COUNT_X:
      return grid.x;
    case HIDDEN_BLOCK_COUNT_Y:
      return grid.y;
    case HIDDEN_BLOCK_COUNT_Z:
      return grid.z;
    case HIDDEN_GROUP_SIZE_X:
      return block.x;
    case HIDDEN_GROUP_SIZE_Y:
      return block.y;
    case HIDDEN_GROUP_SIZE_Z:
      return block.z;
    case HIDDEN_GRID_DIMS:
      return grid.z * block.z > 1 ? 3 : grid.y * block.y > 1 ? 2 : 1;
    case HIDDEN_DYNAMIC_LDS_SIZE:
      return call.dynamic_lds;
  }
  return 0;
}

std::vector<uint8_t> make_segment(const KernelCall& call) {
  const DecodedKernel& kernel = *call.function->kernel;
  std::vector<uint8_t> segment(kernel.kernarg_size + kSlack);
  memcpy(segment.data(), call.arguments.data(), call.arguments.size());
  const auto* arguments = call.function->module->at<DecodedArgument>(kernel.arguments);
  for (uint32_t i = 0; i < kernel.argument_count; i++) {
    const DecodedArgument& one = arguments[i];
    if (!one.hidden) continue;
    uint64_t value = hidden_value(one.hidden, call);
    memcpy(segment.data() + one.offset, &value, one.size < 8 ? one.size : 8);
  }
  return segment;
}

void add_region(std::vector<Region>& regions, const void* start, size_t size, bool writable,
                uint8_t* defined = nullptr) {
  uint64_t low = (uint64_t)start;
  regions.push_back({low, low + size, writable, 0, defined});
}

// Returns the memory that a kernel of a device may access: the device's, its peers', and host
// memory that HIP allocated or registered.
std::vector<Region> accessible(State& all, const Device& device) {
  std::vector<Region> regions;
  for (const auto& [address, one] : all.memory) {
    if (!one.is_usable()) continue;
    bool is_own = one.device == device.number || device.peers.count(one.device);
    if (one.kind == MEMORY_IMAGE && is_own) {
      const DecodedHeader& header = one.module->header();
      const auto* segments = one.module->at<DecodedSegment>(header.segments);
      for (uint32_t i = 0; i < header.segment_count; i++)
        add_region(regions, one.module->image + segments[i].low, segments[i].high - segments[i].low,
                   segments[i].writable);
    } else if (one.kind != MEMORY_DEVICE || is_own) {
      add_region(regions, (void*)address, one.size, true, one.defined);
    }
  }
  return regions;
}

void run_kernel(const KernelCall& call) {
  // The core uses all processors for one launch.
  static std::mutex one_at_a_time;
  Function& function = *call.function;
  const DecodedKernel& kernel = *function.kernel;
  const Module& module = *function.module;
  std::vector<uint8_t> segment = make_segment(call);
  Launch launch = kernel.launch;
  launch.lds_bytes += call.dynamic_lds;
  DispatchPacket packet = {};
  packet.setup = 3;
  const uint32_t grid[] = {call.grid.x, call.grid.y, call.grid.z};
  const uint32_t block[] = {call.block.x, call.block.y, call.block.z};
  for (int i = 0; i < 3; i++) {
    launch.grid[i] = grid[i];
    launch.block[i] = block[i];
    packet.workgroup[i] = block[i];
    packet.grid[i] = grid[i] * block[i];
  }
  packet.private_bytes = launch.scratch_bytes;
  packet.group_bytes = launch.lds_bytes;
  packet.kernarg = launch.kernel_arguments = (uint64_t)segment.data();
  launch.dispatch_packet = (uint64_t)&packet;
  launch.image = (uint64_t)module.image;
  launch.seed = kSeed;
  launch.poison = 1;
  launch.every = 1;
  launch.threads = sysconf(_SC_NPROCESSORS_ONLN);
  State& all = state();
  Lock lock(all.mutex);
  std::vector<Region> regions = accessible(all, *module.device);
  lock.unlock();
  add_region(regions, segment.data(), segment.size(), false);
  add_region(regions, &packet, sizeof packet, false);
  Statistics statistics;
  char fault[kFaultBytes] = "";
  std::lock_guard<std::mutex> running(one_at_a_time);
  if (!function.machine)
    function.machine = core()->create(module.at<Instruction>(kernel.instructions),
                                      kernel.instruction_count, module.header().architecture);
  add_kernel_time(call, launch, segment);
  Report report(function, launch);
  bool failed = core()->launch(function.machine, &launch, regions.data(), regions.size(),
                               &statistics, fault, sizeof fault);
  report.close(fault);
  if (!failed) return;
  lock.lock();
  all.fault = strstr(fault, "out of bounds") ? hipErrorIllegalAddress : hipErrorLaunchFailure;
}

// `extra` is a list of a buffer and its size.
hipError_t read_extra(void** extra, std::vector<uint8_t>& arguments) {
  const void* buffer = nullptr;
  size_t size = 0;
  for (; (uintptr_t)*extra != kLaunchParamEnd; extra += 2) {
    if ((uintptr_t)extra[0] == kLaunchParamPointer)
      buffer = extra[1];
    else if ((uintptr_t)extra[0] == kLaunchParamSize)
      size = *(size_t*)extra[1];
    else
      return hipErrorInvalidValue;
  }
  if (!buffer && size) return hipErrorInvalidValue;
  memcpy(arguments.data(), buffer, std::min(size, arguments.size()));
  return hipSuccess;
}

hipError_t check_shape(const DecodedKernel& kernel, const KernelCall& call, uint64_t lds) {
  uint64_t items = volume(call.block);
  if (!volume(call.grid) || !items) return hipErrorInvalidConfiguration;
  if (items > kMostItems) return hipErrorInvalidConfiguration;
  if (kernel.most_items && items > kernel.most_items) return hipErrorLaunchFailure;
  const uint32_t* required = kernel.block;
  bool fits =
      required[0] == call.block.x && required[1] == call.block.y && required[2] == call.block.z;
  if (required[0] && !fits) return hipErrorInvalidConfiguration;
  double most = state().settings.number("lds_of_block", 65536);
  return kernel.launch.lds_bytes + lds > most ? hipErrorInvalidValue : hipSuccess;
}

hipError_t launch(const void* function, dim3 grid, dim3 block, uint64_t lds, hipStream_t handle,
                  void** parameters, void** extra, hipEvent_t start = nullptr,
                  hipEvent_t stop = nullptr) {
  State& all = state();
  Lock lock(all.mutex);
  hipError_t error = hipSuccess;
  Stream* stream = find_stream(all, handle, &error);
  if (!stream) return error;
  KernelCallPtr call;
  Task task, mark;
  mark.type = hipGraphNodeTypeEventRecord;
  if ((error = make_call(all, function, grid, block, lds, parameters, extra, &call))) return error;
  if (call->function->module->device != stream->device) return hipErrorInvalidHandle;
  if ((error = make_kernel_task(all, call, &task))) return error;
  mark.event = start;
  if (start && (error = submit(all, *stream, mark))) return error;
  if ((error = submit(all, *stream, std::move(task)))) return error;
  mark.event = stop;
  return stop ? submit(all, *stream, mark) : hipSuccess;
}

}  // namespace

hipError_t make_call(State& all, const void* handle, dim3 grid, dim3 block, uint64_t lds,
                     void** parameters, void** extra, KernelCallPtr* result) {
  if (!handle || (parameters && extra)) return hipErrorInvalidValue;
  if (!is_function(all, handle)) return hipErrorInvalidHandle;
  Function& function = *(Function*)handle;
  const DecodedKernel& kernel = *function.kernel;
  auto call = std::make_shared<KernelCall>();
  *call = {&function, grid, block, (uint32_t)lds, std::vector<uint8_t>(kernel.kernarg_size), {}};
  if (hipError_t error = check_shape(kernel, *call, lds)) return error;
  if (const char* why = function.module->at<char>(kernel.error); *why) {
    complain("kernel '" + function.name + "' cannot be emulated: " + why);
    return hipErrorNotSupported;
  }
  if (extra)
    if (hipError_t error = read_extra(extra, call->arguments)) return error;
  const auto* arguments = function.module->at<DecodedArgument>(kernel.arguments);
  for (uint32_t i = 0, n = 0; i < kernel.argument_count; i++) {
    if (arguments[i].hidden) continue;
    uint8_t* to = call->arguments.data() + arguments[i].offset;
    if (!extra) {
      if (!parameters || !parameters[n]) return hipErrorInvalidValue;
      memcpy(to, parameters[n++], arguments[i].size);
    }
    call->parameters.push_back(to);
  }
  *result = std::move(call);
  return hipSuccess;
}

hipError_t make_kernel_task(State&, const KernelCallPtr& call, Task* task) {
  task->type = hipGraphNodeTypeKernel;
  task->kernel = call;
  task->run = [call] { run_kernel(*call); };
  return hipSuccess;
}

HIP_API hipModuleLaunchKernel(hipFunction_t function, unsigned gx, unsigned gy, unsigned gz,
                              unsigned bx, unsigned by, unsigned bz, unsigned lds,
                              hipStream_t stream, void** parameters, void** extra) {
  return finish(launch(function, {gx, gy, gz}, {bx, by, bz}, lds, stream, parameters, extra));
}

// The grid is in work items. A smaller last workgroup would need another descriptor.
HIP_API hipExtModuleLaunchKernel(hipFunction_t function, unsigned gx, unsigned gy, unsigned gz,
                                 unsigned bx, unsigned by, unsigned bz, size_t lds,
                                 hipStream_t stream, void** parameters, void** extra,
                                 hipEvent_t start, hipEvent_t stop, unsigned) {
  if (!bx || !by || !bz) return finish(hipErrorInvalidConfiguration);
  if (gx % bx || gy % by || gz % bz)
    return unsupported("hipExtModuleLaunchKernel", " with a smaller last workgroup");
  return finish(launch(function, {gx / bx, gy / by, gz / bz}, {bx, by, bz}, lds, stream, parameters,
                       extra, start, stop));
}

HIP_API hipLaunchKernel(const void* host, dim3 grid, dim3 block, void** parameters, size_t lds,
                        hipStream_t stream) {
  Function* function = nullptr;
  if (hipError_t error = find_function(host, &function)) return finish(error);
  return finish(launch(function, grid, block, lds, stream, parameters, nullptr));
}

HIP_API hipExtLaunchKernel(const void* host, dim3 grid, dim3 block, void** parameters, size_t lds,
                           hipStream_t stream, hipEvent_t start, hipEvent_t stop, int) {
  Function* function = nullptr;
  if (hipError_t error = find_function(host, &function)) return finish(error);
  return finish(launch(function, grid, block, lds, stream, parameters, nullptr, start, stop));
}
