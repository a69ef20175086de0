#include "payload.h"

#include <cstddef>
#include <cstring>

#include "digests.h"
#include "errors.h"
#include "settings.h"

namespace hipgraft {

namespace {

// The format of `hipgraft.hipdnn_io.plan_payload`, which docs/hipdnn-plans.md describes.
struct Header {
  char magic[8];
  uint16_t major, minor, kind, size;
  uint32_t reserved;
  uint8_t digest[32];  // SHA-256 of all bytes that follow
  uint64_t bundle_size;
  uint32_t settings_size;
  uint32_t flags;
} __attribute__((packed));

constexpr char kMagic[8] = {'H', 'I', 'P', 'G', 'P', 'L', 'A', 'N'};
constexpr uint16_t kMajor = 2, kMinor = 0, kParts = 1;
constexpr uint32_t kCompilesOverrides = 1;
constexpr size_t kDigested = offsetof(Header, bundle_size);  // the digest covers the rest

std::string digest_of(std::string_view data) {
  Sha256 digest;
  digest.update(data.data(), data.size());
  auto bytes = digest.digest();
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

// Checks the parts that only executions with other shapes use.
void check_overridable(const Payload &payload, uint32_t flags) {
  if (payload.graph.empty()) {
    if (flags || !payload.settings.empty())
      fail(HIPGRAFT_DAMAGED, "the payload has settings for a graph, but no graph");
    return;
  }
  if (flags & ~kCompilesOverrides) fail(HIPGRAFT_DAMAGED, "the payload has unknown flags");
  if (!allows_overrides(payload.graph))
    fail(HIPGRAFT_DAMAGED, "the payload's graph is none that allows overrides");
  check_compilation(payload.settings);
}

}  // namespace

std::string encode_payload(const Payload &payload) {
  Header header{{},
                kMajor,
                kMinor,
                kParts,
                sizeof(Header),
                0,
                {},
                payload.bundle.size(),
                static_cast<uint32_t>(payload.settings.size()),
                payload.compiles_overrides ? kCompilesOverrides : 0};
  memcpy(header.magic, kMagic, sizeof kMagic);
  std::string bytes(reinterpret_cast<const char *>(&header), sizeof header);
  bytes.append(payload.bundle).append(payload.settings).append(payload.graph);
  std::string digest = digest_of(std::string_view(bytes).substr(kDigested));
  return bytes.replace(offsetof(Header, digest), digest.size(), digest);
}

Payload decode_payload(std::string_view bytes) {
  Header header{};
  // All versions of the format have the fields before the digest's end.
  if (bytes.size() < kDigested || memcmp(bytes.data(), kMagic, sizeof kMagic))
    fail(HIPGRAFT_DAMAGED, "the payload is none of this engine");
  memcpy(&header, bytes.data(), kDigested);
  if (header.major != kMajor || header.minor > kMinor || header.kind != kParts)
    fail(HIPGRAFT_NOT_APPLICABLE, "the payload has format %u.%u and kind %u; expected %u.%u and %u",
         header.major, header.minor, header.kind, kMajor, kMinor, kParts);
  if (header.size < sizeof header || header.size >= bytes.size() || header.reserved)
    fail(HIPGRAFT_DAMAGED, "the payload's header is damaged");
  std::string digest = digest_of(bytes.substr(kDigested));
  if (memcmp(digest.data(), header.digest, sizeof header.digest))
    fail(HIPGRAFT_DAMAGED, "the payload is damaged");
  memcpy(&header, bytes.data(), sizeof header);
  std::string_view rest = bytes.substr(header.size);
  if (header.bundle_size > rest.size() || header.settings_size > rest.size() - header.bundle_size)
    fail(HIPGRAFT_DAMAGED, "the payload is shorter than its parts");
  Payload payload;
  payload.bundle = rest.substr(0, header.bundle_size);
  payload.settings = rest.substr(header.bundle_size, header.settings_size);
  payload.graph = rest.substr(header.bundle_size + header.settings_size);
  payload.compiles_overrides = header.flags & kCompilesOverrides;
  check_overridable(payload, header.flags);
  return payload;
}

}  // namespace hipgraft
