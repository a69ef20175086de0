/* hipgraft.h - runs compiled programs (`.hgb` bundles) without Python and without a compiler.
 *
 * A bundle holds a program for one or several architectures. A program has variants, each for
 * certain shapes of its inputs. An executable is a program loaded on a device; all executables of a
 * program share its code and constants there. `hipgraft_enqueue` starts a run on
 * a stream of the caller and returns at once.
 *
 * Functions that can fail return a status; `hipgraft_error` returns its text. No function throws.
 * Objects may be closed in any order: each keeps alive the objects that it uses. All functions may
 * be called from any thread
 * at once, but an object must not be in use while it is closed, and two runs must not use the same
 * workspace or results at once.
 *
 * The library uses HIP or CUDA through their shared libraries, which it loads when a device is
 * opened. The caller's current device does not change.
 */
#ifndef HIPGRAFT_H
#define HIPGRAFT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HIPGRAFT_API __attribute__((visibility("default")))

/* Version of this interface. A library supports callers with the same major version and the same or
 * an older minor one. */
#define HIPGRAFT_VERSION_MAJOR 1
#define HIPGRAFT_VERSION_MINOR 1

typedef enum hipgraft_status {
  HIPGRAFT_OK = 0,
  HIPGRAFT_INVALID_ARGUMENT = 1, /* the caller's mistake: a null pointer, an index, an alignment */
  HIPGRAFT_IO_ERROR = 2,         /* a file or a library cannot be opened */
  HIPGRAFT_DAMAGED = 3,          /* not a bundle, or truncated, changed or inconsistent */
  HIPGRAFT_UNTRUSTED = 4,        /* the bundle's code was not written by this user; see below */
  HIPGRAFT_NOT_APPLICABLE = 5,   /* a sound bundle that this device or these shapes cannot use */
  HIPGRAFT_OUT_OF_MEMORY = 6,    /* out of memory, on the host or on the device */
  HIPGRAFT_DRIVER_ERROR = 7,     /* the GPU's driver failed; the text has its message */
  HIPGRAFT_INTERNAL_ERROR = 8
} hipgraft_status;

typedef struct hipgraft_bundle hipgraft_bundle;
typedef struct hipgraft_program hipgraft_program; /* owned by its bundle */
typedef struct hipgraft_device hipgraft_device;
typedef struct hipgraft_executable hipgraft_executable;

/* An input or result. Its element i is at byte address
 * `pointer + (offset + sum(i[d] * strides[d])) * (bytes of an element)`. */
typedef struct hipgraft_tensor {
  const char *name;         /* the model's name for it, or empty */
  const char *element_type; /* MLIR's name, such as `f16` or `i32` */
  size_t rank;
  const int64_t *shape;   /* `rank` extents */
  const int64_t *strides; /* `rank` strides, in elements; row-major by default */
  int64_t offset;         /* in elements */
  size_t nbytes;          /* required bytes of memory */
} hipgraft_tensor;

/* Returns the version of the library, `major << 16 | minor`. */
HIPGRAFT_API uint32_t hipgraft_version(void);

/* Returns the text of the last failure in this thread; valid until the next call in it. */
HIPGRAFT_API const char *hipgraft_error(void);

/* ---- Bundles --------------------------------------------------------------------------------- */

/* Kernels are code that runs as the user. Without this flag a device runs only bundles that
 * hipgraft wrote for this user on this machine; it stores their digests. */
#define HIPGRAFT_TRUST 1u

/* Opens a bundle and checks its header; data is checked when a device loads it. The file must not
 * change while it is open. */
HIPGRAFT_API hipgraft_status hipgraft_bundle_open(const char *path, uint32_t flags,
                                                  hipgraft_bundle **bundle);

/* Opens a bundle of `size` bytes in memory, which are copied. */
HIPGRAFT_API hipgraft_status hipgraft_bundle_open_memory(const void *data, size_t size,
                                                         uint32_t flags, hipgraft_bundle **bundle);

HIPGRAFT_API void hipgraft_bundle_close(hipgraft_bundle *bundle);

/* Returns the bundle's metadata: the text of a JSON object. */
HIPGRAFT_API const char *hipgraft_bundle_metadata(const hipgraft_bundle *bundle);

HIPGRAFT_API size_t hipgraft_bundle_program_count(const hipgraft_bundle *bundle);

/* Gives a program by its index, or the best one for an architecture such as `gfx942`. */
HIPGRAFT_API hipgraft_status hipgraft_bundle_program(const hipgraft_bundle *bundle, size_t index,
                                                     const hipgraft_program **program);
HIPGRAFT_API hipgraft_status hipgraft_bundle_find(const hipgraft_bundle *bundle,
                                                  const char *architecture,
                                                  const hipgraft_program **program);

/* ---- Programs -------------------------------------------------------------------------------- */

HIPGRAFT_API const char *hipgraft_program_architecture(const hipgraft_program *program);

/* Variants differ in the shapes of their tensors, not in the number of them. A program of dynamic
 * shapes has none: its calls depend on its inputs, and only hipgraft in Python runs it. */
HIPGRAFT_API size_t hipgraft_program_variant_count(const hipgraft_program *program);
HIPGRAFT_API size_t hipgraft_program_input_count(const hipgraft_program *program);
HIPGRAFT_API size_t hipgraft_program_result_count(const hipgraft_program *program);

/* Gives a variant's extents, such as `batch=1, seq=128`; empty if there is only one variant. */
HIPGRAFT_API hipgraft_status hipgraft_program_variant_name(const hipgraft_program *program,
                                                           size_t variant, const char **name);

/* Describes a tensor of a variant; `index` counts inputs, then results. */
HIPGRAFT_API hipgraft_status hipgraft_program_tensor(const hipgraft_program *program,
                                                     size_t variant, size_t index,
                                                     hipgraft_tensor *tensor);

/* Gives the variant whose inputs have these shapes; NOT_APPLICABLE if there is none. */
HIPGRAFT_API hipgraft_status hipgraft_program_select(const hipgraft_program *program,
                                                     size_t input_count, const size_t *ranks,
                                                     const int64_t *const *shapes,
                                                     size_t *variant);

/* Returns the bytes of memory that a run needs besides inputs, results and constants. */
HIPGRAFT_API size_t hipgraft_program_workspace_size(const hipgraft_program *program);

/* ---- Devices --------------------------------------------------------------------------------- */

/* Opens `hip:N` or `cuda:N`; `hip` is the current device of the thread. `library` is the path of
 * the driver's library; null searches its default names and, for HIP, the variable
 * HIPGRAFT_LIBAMDHIP64. CUDA's primary
 * context is used. */
HIPGRAFT_API hipgraft_status hipgraft_device_open(const char *name, const char *library,
                                                  hipgraft_device **device);

/* Functions of an emulator or a test that load and run kernels in host memory. Each gets `user`,
 * and returns 0 for success. The library makes all calls in order and ignores streams. */
typedef struct hipgraft_host_kernels {
  void *user;
  int (*load)(void *user, const void *data, size_t size, void **module);
  void (*unload)(void *user, void *module);
  int (*get_kernel)(void *user, void *module, const char *name, void **kernel);
  int (*launch)(void *user, void *kernel, const uint32_t grid[3], const uint32_t block[3],
                uint32_t shared_bytes, const void *arguments, size_t size);
} hipgraft_host_kernels;

/* Makes a device of host memory for programs of an architecture. Without `kernels` it only does
 * copies and fills. */
HIPGRAFT_API hipgraft_status hipgraft_device_open_host(const char *architecture,
                                                       const hipgraft_host_kernels *kernels,
                                                       hipgraft_device **device);

HIPGRAFT_API void hipgraft_device_close(hipgraft_device *device);
HIPGRAFT_API const char *hipgraft_device_architecture(const hipgraft_device *device);

/* Memory of the device, for callers without an allocator. Copies are complete when the functions
 * return; they start after all work on the device's default stream. */
HIPGRAFT_API hipgraft_status hipgraft_device_allocate(hipgraft_device *device, size_t size,
                                                      void **memory);
HIPGRAFT_API hipgraft_status hipgraft_device_free(hipgraft_device *device, void *memory);
HIPGRAFT_API hipgraft_status hipgraft_device_upload(hipgraft_device *device, void *memory,
                                                    const void *data, size_t size);
HIPGRAFT_API hipgraft_status hipgraft_device_download(hipgraft_device *device, void *data,
                                                      const void *memory, size_t size);

/* Waits for all work on a stream; null is the default stream. */
HIPGRAFT_API hipgraft_status hipgraft_device_synchronize(hipgraft_device *device, void *stream);

/* ---- Executables ----------------------------------------------------------------------------- */

/* Captures repeated runs on the same addresses as a graph and replays it, if the driver supports
 * this. The library captures on an internal stream. */
#define HIPGRAFT_REPLAY 1u

/* Loads a program on a device. Executables of one open bundle share its code and constants. */
HIPGRAFT_API hipgraft_status hipgraft_executable_create(const hipgraft_program *program,
                                                        hipgraft_device *device, uint32_t flags,
                                                        hipgraft_executable **executable);
HIPGRAFT_API void hipgraft_executable_destroy(hipgraft_executable *executable);

/* Required alignment of each pointer that `hipgraft_enqueue` gets, in bytes. */
#define HIPGRAFT_ALIGNMENT 16

/* Starts a run and returns.
 *
 * stream: a `hipStream_t` or `CUstream` of the device; null is its default stream.
 * pointers: device addresses of all inputs, then of all results; those of empty tensors may be
 * null.
 * workspace: `hipgraft_program_workspace_size` bytes of memory; null if these are 0.
 *
 * All arguments are checked before the first call to the device. */
HIPGRAFT_API hipgraft_status hipgraft_enqueue(hipgraft_executable *executable, size_t variant,
                                              void *stream, void *const *pointers,
                                              size_t pointer_count, void *workspace);

#ifdef __cplusplus
}
#endif
#endif
