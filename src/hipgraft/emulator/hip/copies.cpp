// Copies and fills, in all directions.
#include "copies.h"

#include <string.h>

#include "timing.h"

namespace {

// Rows of rows of bytes.
struct Place {
  char* start;
  size_t pitch, slice;
};

struct Copy {
  Place target, source;
  size_t width, height, depth;
};

size_t extent(const Place& place, const Copy& copy) {
  if (!copy.width || !copy.height || !copy.depth) return 0;
  return (copy.depth - 1) * place.slice + (copy.height - 1) * place.pitch + copy.width;
}

// Whether memory is allocated when the work runs; memory of graphs may not be.
bool is_there(const void* address) {
  State& all = state();
  Lock lock(all.mutex);
  const Allocation* found = find_memory(all, address);
  if (!found || found->is_usable()) return true;
  complain("a copy or fill of memory of a graph, which is not allocated then");
  all.fault = hipErrorIllegalAddress;
  return false;
}

void run_copy(const Copy& copy) {
  if (!is_there(copy.target.start) || !is_there(copy.source.start)) return;
  add_memory_time(copy.width * copy.height * copy.depth);
  State& all = state();
  for (size_t z = 0; z < copy.depth; z++)
    for (size_t y = 0; y < copy.height; y++) {
      char* target = copy.target.start + z * copy.target.slice + y * copy.target.pitch;
      const char* source = copy.source.start + z * copy.source.slice + y * copy.source.pitch;
      memmove(target, source, copy.width);
      Lock lock(all.mutex);
      define(all, target, source, copy.width);
    }
}

hipError_t sides_of(hipMemcpyKind kind, bool* to_device, bool* from_device) {
  if (kind < hipMemcpyHostToHost || kind > hipMemcpyDefault) return hipErrorInvalidMemcpyDirection;
  *to_device = kind == hipMemcpyHostToDevice || kind == hipMemcpyDeviceToDevice;
  *from_device = kind == hipMemcpyDeviceToHost || kind == hipMemcpyDeviceToDevice;
  return hipSuccess;
}

// A device's side must be in one allocation; the host's may be any memory of the process.
hipError_t check_side(State& all, const Place& place, const Copy& copy, bool is_device,
                      bool* is_pageable) {
  size_t size = extent(place, copy);
  const Allocation* found = find_memory(all, place.start);
  *is_pageable = !found;
  if (!found) return is_device ? hipErrorInvalidValue : hipSuccess;
  return is_within(all, place.start, size) ? hipSuccess : hipErrorInvalidValue;
}

hipError_t submit_copy(Copy copy, hipMemcpyKind kind, hipStream_t handle, bool waits) {
  bool to_device, from_device;
  if (hipError_t error = sides_of(kind, &to_device, &from_device)) return error;
  size_t size = extent(copy.source, copy);
  State& all = state();
  Lock lock(all.mutex);
  hipError_t error = hipSuccess;
  Stream* stream = find_stream(all, handle, &error);
  if (!stream) return error;
  if (waits && (error = refuse_during_capture(all))) return error;
  if (!size) return hipSuccess;
  if (!copy.target.start || !copy.source.start) return hipErrorInvalidValue;
  if (copy.height > 1 && (copy.target.pitch < copy.width || copy.source.pitch < copy.width))
    return hipErrorInvalidPitchValue;
  bool pageable_target, pageable_source;
  if ((error = check_side(all, copy.target, copy, to_device, &pageable_target))) return error;
  if ((error = check_side(all, copy.source, copy, from_device, &pageable_source))) return error;
  Task task;
  task.type = hipGraphNodeTypeMemcpy;
  if (pageable_source && !waits && !stream->capture) {
    // The program may change pageable memory as soon as the call returns.
    auto staged = std::make_shared<std::vector<char>>(copy.source.start, copy.source.start + size);
    copy.source.start = staged->data();
    task.run = [copy, staged] { run_copy(copy); };
  } else {
    task.run = [copy] { run_copy(copy); };
  }
  OperationPtr queued;
  if ((error = submit(all, *stream, std::move(task), &queued))) return error;
  if (queued && (waits || pageable_target)) {
    wait_for(all, lock, queued);
    return all.fault;
  }
  return hipSuccess;
}

Copy plain(void* target, const void* source, size_t size) {
  return {{(char*)target, size, size}, {(char*)source, size, size}, size, 1, 1};
}

Copy rows(void* target, size_t target_pitch, const void* source, size_t source_pitch, size_t width,
          size_t height) {
  return {{(char*)target, target_pitch, 0}, {(char*)source, source_pitch, 0}, width, height, 1};
}

// Returns the address on the device or the host, by the memory type.
char* address_of(hipMemoryType type, const void* host, const void* device) {
  return (char*)(type == hipMemoryTypeHost ? host : device);
}

Place place_of(const hipPitchedPtr& pointer, const hipPos& at) {
  size_t slice = pointer.pitch * pointer.ysize;
  return {(char*)pointer.ptr + at.z * slice + at.y * pointer.pitch + at.x, pointer.pitch, slice};
}

// Returns the copy that a structure describes, and its direction. Arrays are not supported because
// textures are not.
hipError_t describe(const hip_Memcpy2D& one, Copy* copy, hipMemcpyKind* kind) {
  if (one.srcArray || one.dstArray) return unsupported("hipMemcpyParam2D", " of arrays");
  hipPitchedPtr source = {address_of(one.srcMemoryType, one.srcHost, one.srcDevice), one.srcPitch,
                          0, 0};
  hipPitchedPtr target = {address_of(one.dstMemoryType, one.dstHost, one.dstDevice), one.dstPitch,
                          0, 0};
  *kind = hipMemcpyDefault;
  *copy = {place_of(target, {one.dstXInBytes, one.dstY, 0}),
           place_of(source, {one.srcXInBytes, one.srcY, 0}), one.WidthInBytes, one.Height, 1};
  return hipSuccess;
}

hipError_t describe(const hipMemcpy3DParms& one, Copy* copy, hipMemcpyKind* kind) {
  if (one.srcArray || one.dstArray) return unsupported("hipMemcpy3D", " of arrays");
  *kind = one.kind;
  *copy = {place_of(one.dstPtr, one.dstPos), place_of(one.srcPtr, one.srcPos), one.extent.width,
           one.extent.height, one.extent.depth};
  return hipSuccess;
}

hipError_t describe(const HIP_MEMCPY3D& one, Copy* copy, hipMemcpyKind* kind) {
  if (one.srcArray || one.dstArray) return unsupported("hipDrvMemcpy3D", " of arrays");
  hipPitchedPtr source = {address_of(one.srcMemoryType, one.srcHost, one.srcDevice), one.srcPitch,
                          0, one.srcHeight};
  hipPitchedPtr target = {address_of(one.dstMemoryType, one.dstHost, one.dstDevice), one.dstPitch,
                          0, one.dstHeight};
  *kind = hipMemcpyDefault;
  *copy = {place_of(target, {one.dstXInBytes, one.dstY, one.dstZ}),
           place_of(source, {one.srcXInBytes, one.srcY, one.srcZ}), one.WidthInBytes, one.Height,
           one.Depth};
  return hipSuccess;
}

template <class Given>
hipError_t submit_described(const Given* given, hipStream_t stream, bool waits) {
  Copy copy;
  hipMemcpyKind kind;
  if (!given) return hipErrorInvalidValue;
  if (hipError_t error = describe(*given, &copy, &kind)) return error;
  return submit_copy(copy, kind, stream, waits);
}

hipError_t make_task(State& all, const Copy& copy, hipMemcpyKind kind, Task* task) {
  bool is_pageable, to_device, from_device;
  if (hipError_t error = sides_of(kind, &to_device, &from_device)) return error;
  if (!copy.target.start || !copy.source.start) return hipErrorInvalidValue;
  if (hipError_t error = check_side(all, copy.target, copy, to_device, &is_pageable)) return error;
  if (hipError_t error = check_side(all, copy.source, copy, from_device, &is_pageable))
    return error;
  task->type = hipGraphNodeTypeMemcpy;
  task->run = [copy] { run_copy(copy); };
  return hipSuccess;
}

template <class Given>
hipError_t make_described(State& all, const Given& given, Task* task) {
  Copy copy;
  hipMemcpyKind kind;
  if (hipError_t error = describe(given, &copy, &kind)) return error;
  return make_task(all, copy, kind, task);
}

void run_fill(const hipMemsetParams& fill) {
  if (!is_there(fill.dst)) return;
  add_memory_time(fill.width * fill.elementSize * (fill.height ? fill.height : 1));
  for (size_t y = 0; y < (fill.height ? fill.height : 1); y++) {
    char* row = (char*)fill.dst + y * fill.pitch;
    for (size_t x = 0; x < fill.width; x++)
      memcpy(row + x * fill.elementSize, &fill.value, fill.elementSize);
    State& all = state();
    Lock lock(all.mutex);
    define(all, row, nullptr, fill.width * fill.elementSize);
  }
}

hipError_t fill(void* target, unsigned value, unsigned width, size_t count, hipStream_t stream,
                bool waits) {
  return submit_fill({target, width, 1, 0, value, count}, stream, waits);
}

}  // namespace

hipError_t make_copy_task(State& all, void* target, const void* source, size_t size,
                          hipMemcpyKind kind, Task* task) {
  return size ? make_task(all, plain(target, source, size), kind, task) : hipErrorInvalidValue;
}
hipError_t make_copy_task(State& all, const hipMemcpy3DParms& given, Task* task) {
  return make_described(all, given, task);
}
hipError_t make_copy_task(State& all, const HIP_MEMCPY3D& given, Task* task) {
  return make_described(all, given, task);
}

hipError_t make_fill_task(State& all, const hipMemsetParams& fill, Task* task) {
  if (fill.elementSize != 1 && fill.elementSize != 2 && fill.elementSize != 4)
    return hipErrorInvalidValue;
  size_t rows = fill.height ? fill.height : 1, width = fill.width * fill.elementSize;
  if (rows > 1 && fill.pitch < width) return hipErrorInvalidPitchValue;
  size_t size = (rows - 1) * fill.pitch + width;
  if (!fill.dst || !is_within(all, fill.dst, size)) return hipErrorInvalidValue;
  task->type = hipGraphNodeTypeMemset;
  task->fill = fill;
  task->run = [fill] { run_fill(fill); };
  return hipSuccess;
}

hipError_t submit_fill(const hipMemsetParams& fill, hipStream_t handle, bool waits) {
  State& all = state();
  Lock lock(all.mutex);
  hipError_t error = hipSuccess;
  Stream* stream = find_stream(all, handle, &error);
  if (!stream) return error;
  if (waits && (error = refuse_during_capture(all))) return error;
  if (!fill.width) return hipSuccess;
  Task task;
  if ((error = make_fill_task(all, fill, &task))) return error;
  OperationPtr queued;
  if ((error = submit(all, *stream, std::move(task), &queued))) return error;
  if (waits && queued) wait_for(all, lock, queued);
  return all.fault;
}

HIP_API hipMemcpy(void* target, const void* source, size_t size, hipMemcpyKind kind) {
  return finish(submit_copy(plain(target, source, size), kind, nullptr, true));
}
HIP_API hipMemcpyWithStream(void* target, const void* source, size_t size, hipMemcpyKind kind,
                            hipStream_t stream) {
  return finish(submit_copy(plain(target, source, size), kind, stream, true));
}
HIP_API hipMemcpyAsync(void* target, const void* source, size_t size, hipMemcpyKind kind,
                       hipStream_t stream) {
  return finish(submit_copy(plain(target, source, size), kind, stream, false));
}
HIP_API hipMemcpyHtoD(hipDeviceptr_t target, const void* source, size_t size) {
  return hipMemcpy(target, source, size, hipMemcpyHostToDevice);
}
HIP_API hipMemcpyDtoH(void* target, hipDeviceptr_t source, size_t size) {
  return hipMemcpy(target, source, size, hipMemcpyDeviceToHost);
}
HIP_API hipMemcpyDtoD(hipDeviceptr_t target, hipDeviceptr_t source, size_t size) {
  return hipMemcpy(target, source, size, hipMemcpyDeviceToDevice);
}
HIP_API hipMemcpyHtoDAsync(hipDeviceptr_t target, const void* source, size_t size,
                           hipStream_t stream) {
  return hipMemcpyAsync(target, source, size, hipMemcpyHostToDevice, stream);
}
HIP_API hipMemcpyDtoHAsync(void* target, hipDeviceptr_t source, size_t size, hipStream_t stream) {
  return hipMemcpyAsync(target, source, size, hipMemcpyDeviceToHost, stream);
}
HIP_API hipMemcpyDtoDAsync(hipDeviceptr_t target, hipDeviceptr_t source, size_t size,
                           hipStream_t stream) {
  return hipMemcpyAsync(target, source, size, hipMemcpyDeviceToDevice, stream);
}
HIP_API hipMemcpyPeer(void* target, int, const void* source, int, size_t size) {
  return hipMemcpy(target, source, size, hipMemcpyDeviceToDevice);
}
HIP_API hipMemcpyPeerAsync(void* target, int, const void* source, int, size_t size,
                           hipStream_t stream) {
  return hipMemcpyAsync(target, source, size, hipMemcpyDeviceToDevice, stream);
}
HIP_API hipMemcpy2D(void* target, size_t target_pitch, const void* source, size_t source_pitch,
                    size_t width, size_t height, hipMemcpyKind kind) {
  return finish(submit_copy(rows(target, target_pitch, source, source_pitch, width, height), kind,
                            nullptr, true));
}
HIP_API hipMemcpy2DAsync(void* target, size_t target_pitch, const void* source, size_t source_pitch,
                         size_t width, size_t height, hipMemcpyKind kind, hipStream_t stream) {
  return finish(submit_copy(rows(target, target_pitch, source, source_pitch, width, height), kind,
                            stream, false));
}
HIP_API hipMemcpyParam2D(const hip_Memcpy2D* copy) {
  return finish(submit_described(copy, nullptr, true));
}
HIP_API hipMemcpyParam2DAsync(const hip_Memcpy2D* copy, hipStream_t stream) {
  return finish(submit_described(copy, stream, false));
}
HIP_API hipMemcpy3D(const hipMemcpy3DParms* copy) {
  return finish(submit_described(copy, nullptr, true));
}
HIP_API hipMemcpy3DAsync(const hipMemcpy3DParms* copy, hipStream_t stream) {
  return finish(submit_described(copy, stream, false));
}
HIP_API hipDrvMemcpy3D(const HIP_MEMCPY3D* copy) {
  return finish(submit_described(copy, nullptr, true));
}
HIP_API hipDrvMemcpy3DAsync(const HIP_MEMCPY3D* copy, hipStream_t stream) {
  return finish(submit_described(copy, stream, false));
}

HIP_API hipMemset(void* target, int value, size_t size) {
  return finish(fill(target, value, 1, size, nullptr, true));
}
HIP_API hipMemsetAsync(void* target, int value, size_t size, hipStream_t stream) {
  return finish(fill(target, value, 1, size, stream, false));
}
HIP_API hipMemsetD8(hipDeviceptr_t target, unsigned char value, size_t count) {
  return finish(fill(target, value, 1, count, nullptr, true));
}
HIP_API hipMemsetD8Async(hipDeviceptr_t target, unsigned char value, size_t count,
                         hipStream_t stream) {
  return finish(fill(target, value, 1, count, stream, false));
}
HIP_API hipMemsetD16(hipDeviceptr_t target, unsigned short value, size_t count) {
  return finish(fill(target, value, 2, count, nullptr, true));
}
HIP_API hipMemsetD16Async(hipDeviceptr_t target, unsigned short value, size_t count,
                          hipStream_t stream) {
  return finish(fill(target, value, 2, count, stream, false));
}
HIP_API hipMemsetD32(hipDeviceptr_t target, int value, size_t count) {
  return finish(fill(target, value, 4, count, nullptr, true));
}
HIP_API hipMemsetD32Async(hipDeviceptr_t target, int value, size_t count, hipStream_t stream) {
  return finish(fill(target, value, 4, count, stream, false));
}
HIP_API hipMemset2D(void* target, size_t pitch, int value, size_t width, size_t height) {
  if (!height) return finish(hipSuccess);
  return finish(submit_fill({target, 1, height, pitch, (unsigned)value, width}, nullptr, true));
}
HIP_API hipMemset2DAsync(void* target, size_t pitch, int value, size_t width, size_t height,
                         hipStream_t stream) {
  if (!height) return finish(hipSuccess);
  return finish(submit_fill({target, 1, height, pitch, (unsigned)value, width}, stream, false));
}
