#include "payload.h"

#include <cstring>

#include "digests.h"
#include "errors.h"

namespace hipgraft {

namespace {

// The format of `hipgraft.hipdnn_io.plan_payload`, which docs/hipdnn-plans.md describes.
struct Header {
  char magic[8];
  uint16_t major, minor, kind, size;
  uint32_t reserved;
  uint8_t digest[32];  // SHA-256 of the body
} __attribute__((packed));

constexpr char kMagic[8] = {'H', 'I', 'P', 'G', 'P', 'L', 'A', 'N'};
constexpr uint16_t kMajor = 1, kMinor = 0, kBundle = 1;

}  // namespace

std::string payload_of(std::string_view bundle) {
  Header header{{}, kMajor, kMinor, kBundle, sizeof(Header), 0, {}};
  memcpy(header.magic, kMagic, sizeof kMagic);
  Sha256 digest;
  digest.update(bundle.data(), bundle.size());
  memcpy(header.digest, digest.digest().data(), sizeof header.digest);
  std::string payload(reinterpret_cast<const char *>(&header), sizeof header);
  return payload.append(bundle);
}

std::string_view bundle_in(std::string_view payload) {
  Header header;
  if (payload.size() < sizeof header || memcmp(payload.data(), kMagic, sizeof kMagic))
    fail(HIPGRAFT_DAMAGED, "the payload is none of this engine");
  memcpy(&header, payload.data(), sizeof header);
  if (header.major != kMajor || header.minor > kMinor || header.kind != kBundle)
    fail(HIPGRAFT_NOT_APPLICABLE, "the payload has format %u.%u and kind %u; expected %u.%u and %u",
         header.major, header.minor, header.kind, kMajor, kMinor, kBundle);
  if (header.size < sizeof header || header.size >= payload.size() || header.reserved)
    fail(HIPGRAFT_DAMAGED, "the payload's header is damaged");
  std::string_view bundle = payload.substr(header.size);
  Sha256 digest;
  digest.update(bundle.data(), bundle.size());
  if (memcmp(digest.digest().data(), header.digest, sizeof header.digest))
    fail(HIPGRAFT_DAMAGED, "the payload is damaged");
  return bundle;
}

}  // namespace hipgraft
