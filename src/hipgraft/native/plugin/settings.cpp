#include "settings.h"

#include <algorithm>

#include "context.h"
#include "engine_details.inc"
#include "errors.h"
#include "failures.h"
#include "flatbuffer.h"

namespace hipgraft {

namespace {

// hipDNN's `KnobSetting`, `KnobValue`, and the single field of each kind of value.
enum { kKnobId = 0, kValueType = 1, kValue = 2, kInteger = 1, kText = 3, kOnly = 0 };

constexpr unsigned kIsOverrideShapeEnabled = 7;  // field of hipDNN's `Graph`

constexpr size_t kTexts = sizeof kTextKnobs / sizeof *kTextKnobs;

int64_t integer_of(const FlatTable &setting, const std::string &id, int64_t least, int64_t most) {
  FlatTable value = setting.table(kValue);
  if (setting.scalar<uint8_t>(kValueType, 0) != kInteger || !value.is_valid())
    fail(HIPGRAFT_INVALID_ARGUMENT, "knob '%s' takes an integer", id.c_str());
  auto found = value.scalar<int64_t>(kOnly, 0);
  if (found < least || found > most)
    fail(HIPGRAFT_INVALID_ARGUMENT, "knob '%s' cannot be %lld", id.c_str(),
         static_cast<long long>(found));
  return found;
}

bool is_value(std::string_view text) {
  const char *allowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,=-";
  return !text.empty() && text.size() <= kMostText &&
         text.find_first_not_of(allowed) == std::string_view::npos;
}

std::string text_of(const FlatTable &setting, const std::string &id) {
  FlatTable value = setting.table(kValue);
  if (setting.scalar<uint8_t>(kValueType, 0) != kText || !value.is_valid())
    fail(HIPGRAFT_INVALID_ARGUMENT, "knob '%s' takes a text", id.c_str());
  std::string found(value.text(kOnly));
  if (!is_value(found))
    fail(HIPGRAFT_INVALID_ARGUMENT, "knob '%s' cannot have this text", id.c_str());
  return found;
}

}  // namespace

int64_t engine_id() {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char *at = kEngineName; *at; ++at)
    hash = (hash ^ static_cast<uint8_t>(*at)) * 0x100000001b3;
  return static_cast<int64_t>(hash);
}

void expect_engine(int64_t id) {
  if (id != engine_id())
    fail(HIPGRAFT_INVALID_ARGUMENT, "engine %lld is none of this plugin",
         static_cast<long long>(id));
}

std::string_view engine_details() {
  return {reinterpret_cast<const char *>(kEngineDetails), sizeof kEngineDetails};
}

void Settings::check_workspace(size_t size) const {
  if (workspace_limit >= 0 && size > static_cast<uint64_t>(workspace_limit))
    fail(HIPGRAFT_NOT_APPLICABLE,
         "the graph needs a workspace of %zu bytes; the limit is %lld", size,
         static_cast<long long>(workspace_limit));
}

Settings read_settings(std::string_view config) {
  FlatTable table(config);
  if (!table.is_valid()) fail(HIPGRAFT_DAMAGED, "the engine configuration is no FlatBuffer");
  expect_engine(table.scalar<int64_t>(0, 0));
  Settings settings;
  std::string texts[kTexts];
  for (const FlatTable &setting : table.tables(1)) {
    if (!setting.is_valid()) fail(HIPGRAFT_DAMAGED, "the engine configuration is damaged");
    std::string id(setting.text(kKnobId).substr(0, kMostText));
    size_t known = 0;
    while (known < kTexts && id != kTextKnobs[known][0]) ++known;
    if (known < kTexts) {
      texts[known] = text_of(setting, id);
    } else if (id == "global.workspace_size_limit") {
      settings.workspace_limit = integer_of(setting, id, -1, INT64_MAX);
    } else if (id == "hipgraft.overrides.compile") {
      settings.compiles_overrides = integer_of(setting, id, 0, 1);
    } else if (id == "global.deterministic") {
      integer_of(setting, id, 0, 1);  // ignored: all kernels are deterministic
    } else {
      log(HIPDNN_SEV_WARN, "unknown knob '" + id + "'");
    }
  }
  for (size_t i = 0; i < kTexts; ++i)
    if (!texts[i].empty() && texts[i] != kTextKnobs[i][2])
      settings.compilation += std::string(";") + kTextKnobs[i][1] + "=" + texts[i];
  return settings;
}

void check_compilation(std::string_view text) {
  for (auto &knob : kTextKnobs) {
    std::string prefix = std::string(";") + knob[1] + "=";
    if (text.substr(0, prefix.size()) != prefix) continue;
    size_t end = std::min(text.find(';', 1), text.size());
    if (!is_value(text.substr(prefix.size(), end - prefix.size()))) break;
    text.remove_prefix(end);
  }
  if (!text.empty()) fail(HIPGRAFT_DAMAGED, "the payload's settings are damaged");
}

bool allows_overrides(std::string_view graph) {
  return FlatTable(graph).scalar<uint8_t>(kIsOverrideShapeEnabled, 0);
}

}  // namespace hipgraft
