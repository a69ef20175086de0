// The C ABI of hipDNN's engine plugins, version 1.4.0; the library's own declarations.
//
// Source: projects/hipdnn/plugin_sdk of ROCm/rocm-libraries, `PluginApi.h`, `PluginApiDataTypes.h`
// and `EnginePluginApi.h`.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HIPDNN_PLUGIN_EXPORT extern "C" __attribute__((visibility("default")))

typedef enum {
  HIPDNN_PLUGIN_STATUS_SUCCESS = 0,
  HIPDNN_PLUGIN_STATUS_BAD_PARAM = 1,
  HIPDNN_PLUGIN_STATUS_INVALID_VALUE = 2,
  HIPDNN_PLUGIN_STATUS_INTERNAL_ERROR = 3,
  HIPDNN_PLUGIN_STATUS_ALLOC_FAILED = 4,
  HIPDNN_PLUGIN_STATUS_NOT_APPLICABLE = 5,
  HIPDNN_PLUGIN_STATUS_NOT_INITIALIZED = 6
} hipdnnPluginStatus_t;

typedef enum {
  HIPDNN_PLUGIN_TYPE_UNSPECIFIED = 0,
  HIPDNN_PLUGIN_TYPE_ENGINE = 1
} hipdnnPluginType_t;

typedef enum {
  HIPDNN_SEV_INFO = 0,
  HIPDNN_SEV_WARN = 1,
  HIPDNN_SEV_ERROR = 2,
  HIPDNN_SEV_FATAL = 3,
  HIPDNN_SEV_OFF = 4
} hipdnnSeverity_t;

typedef void (*hipdnnCallback_t)(hipdnnSeverity_t severity, const char *message);

typedef struct {
  const void *ptr;
  size_t size;
} hipdnnPluginConstData_t;

typedef struct {
  int64_t uid;
  void *ptr;
} hipdnnPluginDeviceBuffer_t;

typedef struct HipdnnEnginePluginHandle *hipdnnEnginePluginHandle_t;
typedef struct HipdnnEnginePluginExecutionContext *hipdnnEnginePluginExecutionContext_t;
typedef void *hipStream_t;
