// Checksums and digests of data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace hipgraft {

// The CRC-32 of zlib.
uint32_t crc32(const void *data, size_t size);

// SHA-256, FIPS 180-4.
class Sha256 {
 public:
  void update(const void *data, size_t size);
  std::array<uint8_t, 32> digest();
  // The digest in hexadecimal.
  std::string text();

 private:
  void block(const uint8_t *data);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> pending_{};
  uint64_t size_ = 0;
};

}  // namespace hipgraft
