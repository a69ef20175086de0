/* hipgraft_device.h - single calls of a device's driver, and sequences of them.
 *
 * For callers whose programs are not bundles, such as hipgraft's own runtime in Python. The
 * objects, statuses and errors are those of `hipgraft.h`. A function with a stream starts
 * work on it and returns; null is the default stream. An object that one device made is valid only
 * on that device, and is not freed with the device.
 */
#ifndef HIPGRAFT_DEVICE_H
#define HIPGRAFT_DEVICE_H

#include "hipgraft.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A stream whose work waits for earlier work on the default stream. */
HIPGRAFT_API hipgraft_status hipgraft_stream_create(hipgraft_device *device, void **stream);
HIPGRAFT_API hipgraft_status hipgraft_stream_destroy(hipgraft_device *device, void *stream);

/* ---- Memory ---------------------------------------------------------------------------------- */

/* Copies between host and device. The host's memory must not change until the stream has completed
 * them. */
HIPGRAFT_API hipgraft_status hipgraft_start_upload(hipgraft_device *device, void *memory,
                                                   const void *data, size_t size, void *stream);
HIPGRAFT_API hipgraft_status hipgraft_start_download(hipgraft_device *device, void *data,
                                                     const void *memory, size_t size, void *stream);

/* Copies within the device. */
HIPGRAFT_API hipgraft_status hipgraft_start_copy(hipgraft_device *device, void *target,
                                                 const void *source, size_t size, void *stream);

/* Repeats a pattern of 1, 2, 4, 8 or 16 bytes over `size` bytes, a multiple of it. */
HIPGRAFT_API hipgraft_status hipgraft_start_fill(hipgraft_device *device, void *memory,
                                                 const void *pattern, size_t width, size_t size,
                                                 void *stream);

/* ---- Kernels --------------------------------------------------------------------------------- */

HIPGRAFT_API hipgraft_status hipgraft_code_load(hipgraft_device *device, const void *code,
                                                size_t size, void **module);
HIPGRAFT_API hipgraft_status hipgraft_code_unload(hipgraft_device *device, void *module);
HIPGRAFT_API hipgraft_status hipgraft_code_kernel(hipgraft_device *device, void *module,
                                                  const char *name, void **kernel);

/* Launches `grid` workgroups of `block` work items with a packed argument segment. */
HIPGRAFT_API hipgraft_status hipgraft_launch(hipgraft_device *device, void *kernel,
                                             const uint32_t grid[3], const uint32_t block[3],
                                             uint32_t shared_bytes, const void *arguments,
                                             size_t size, void *stream);

/* ---- Events and graphs ----------------------------------------------------------------------- */

HIPGRAFT_API hipgraft_status hipgraft_event_create(hipgraft_device *device, void **event);
HIPGRAFT_API hipgraft_status hipgraft_event_destroy(hipgraft_device *device, void *event);

/* Records an event after the current work on a stream. If the stream is being captured and
 * `in_graph` is set, each launch of the graph records the event. */
HIPGRAFT_API hipgraft_status hipgraft_event_record(hipgraft_device *device, void *event,
                                                   void *stream, int in_graph);

/* Gives the microseconds between two events; both must have completed on the device. */
HIPGRAFT_API hipgraft_status hipgraft_event_elapsed(hipgraft_device *device, void *start, void *end,
                                                    double *microseconds);

/* Gives a stream and begins to record the work that is started on it instead of executing it. */
HIPGRAFT_API hipgraft_status hipgraft_capture_begin(hipgraft_device *device, void **stream);

/* Ends that stream, and gives the graph of the recorded work. */
HIPGRAFT_API hipgraft_status hipgraft_capture_end(hipgraft_device *device, void *stream,
                                                  void **graph);
HIPGRAFT_API hipgraft_status hipgraft_graph_launch(hipgraft_device *device, void *graph,
                                                   void *stream);
HIPGRAFT_API hipgraft_status hipgraft_graph_free(hipgraft_device *device, void *graph);

/* ---- Sequences ------------------------------------------------------------------------------- */

/* The calls of a program's variant, on the caller's kernels and memory. */
typedef struct hipgraft_sequence hipgraft_sequence;

/* Makes a sequence.
 *
 * variant: the JSON text of a variant, as in a bundle's header, of `size` bytes.
 * kernels: indexed by their numbers in the calls; the sequence does not free them.
 * buffers: size in bytes of each buffer of the program, except inputs and results.
 * flags: HIPGRAFT_REPLAY or 0.
 *
 * Checks that the calls stay within the memory that each run passes. */
HIPGRAFT_API hipgraft_status hipgraft_sequence_create(hipgraft_device *device, const char *variant,
                                                      size_t size, void *const *kernels,
                                                      size_t kernel_count, const size_t *buffers,
                                                      size_t buffer_count, uint32_t flags,
                                                      hipgraft_sequence **sequence);
HIPGRAFT_API void hipgraft_sequence_destroy(hipgraft_sequence *sequence);

/* Starts a run.
 *
 * addresses: of all inputs, then of all results, then of the program's buffers.
 * host: null, or an address of host memory, or null, for each input and each result. Inputs are
 * copied from it before the run and results are copied to it afterwards; the function waits for the
 * stream. */
HIPGRAFT_API hipgraft_status hipgraft_sequence_run(hipgraft_sequence *sequence, void *stream,
                                                   const uint64_t *addresses, size_t count,
                                                   void *const *host);

/* Starts a single call of a run. */
HIPGRAFT_API hipgraft_status hipgraft_sequence_call(hipgraft_sequence *sequence, size_t index,
                                                    void *stream, const uint64_t *addresses,
                                                    size_t count);

#ifdef __cplusplus
}
#endif
#endif
