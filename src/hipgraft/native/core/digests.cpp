#include "digests.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace hipgraft {

namespace {

// Tables for eight bytes at a time: table k advances a byte by k more bytes.
struct CrcTables {
  uint32_t entries[8][256];
  CrcTables() {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      uint32_t value = byte;
      for (int bit = 0; bit < 8; ++bit) value = value & 1 ? value >> 1 ^ 0xEDB88320 : value >> 1;
      entries[0][byte] = value;
    }
    for (int table = 1; table < 8; ++table)
      for (int byte = 0; byte < 256; ++byte) {
        uint32_t value = entries[table - 1][byte];
        entries[table][byte] = value >> 8 ^ entries[0][value & 0xFF];
      }
  }
};

// The first 32 bits of the fractions of the cube roots of the first 64 primes.
struct RoundConstants {
  uint32_t values[64];
  RoundConstants() {
    int found = 0;
    for (int number = 2; found < 64; ++number) {
      bool is_prime = true;
      for (int factor = 2; factor * factor <= number; ++factor) is_prime &= number % factor != 0;
      if (!is_prime) continue;
      long double root = std::cbrt(static_cast<long double>(number));
      values[found++] = static_cast<uint32_t>((root - std::floor(root)) * 4294967296.0L);
    }
  }
};

uint32_t rotate(uint32_t value, int bits) { return value >> bits | value << (32 - bits); }

uint32_t big_endian(const uint8_t *data) {
  return uint32_t{data[0]} << 24 | uint32_t{data[1]} << 16 | uint32_t{data[2]} << 8 | data[3];
}

}  // namespace

uint32_t crc32(const void *data, size_t size) {
  static const CrcTables kTables;
  const auto &t = kTables.entries;
  auto bytes = static_cast<const uint8_t *>(data);
  uint32_t crc = ~0u;
  for (; size >= 8; size -= 8, bytes += 8) {
    uint32_t low, high;
    memcpy(&low, bytes, 4);
    memcpy(&high, bytes + 4, 4);
    low ^= crc;
    crc = t[7][low & 0xFF] ^ t[6][low >> 8 & 0xFF] ^ t[5][low >> 16 & 0xFF] ^ t[4][low >> 24] ^
          t[3][high & 0xFF] ^ t[2][high >> 8 & 0xFF] ^ t[1][high >> 16 & 0xFF] ^ t[0][high >> 24];
  }
  while (size--) crc = crc >> 8 ^ t[0][(crc ^ *bytes++) & 0xFF];
  return ~crc;
}

void Sha256::update(const void *data, size_t size) {
  auto bytes = static_cast<const uint8_t *>(data);
  while (size) {
    size_t filled = size_ % 64;
    if (filled == 0 && size >= 64) {
      block(bytes);
      size_ += 64, bytes += 64, size -= 64;
      continue;
    }
    size_t taken = std::min(size, 64 - filled);
    memcpy(pending_.data() + filled, bytes, taken);
    size_ += taken, bytes += taken, size -= taken;
    if (size_ % 64 == 0) block(pending_.data());
  }
}

void Sha256::block(const uint8_t *data) {
  static const RoundConstants kConstants;
  uint32_t w[64];
  for (int i = 0; i < 16; ++i) w[i] = big_endian(data + 4 * i);
  for (int i = 16; i < 64; ++i) {
    uint32_t a = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
    uint32_t b = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + a + w[i - 7] + b;
  }
  std::array<uint32_t, 8> s = state_;
  for (int i = 0; i < 64; ++i) {
    uint32_t mixed = rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25);
    uint32_t first = s[7] + mixed + ((s[4] & s[5]) ^ (~s[4] & s[6])) + kConstants.values[i] + w[i];
    uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
    uint32_t second = (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)) + majority;
    s = {first + second, s[0], s[1], s[2], s[3] + first, s[4], s[5], s[6]};
  }
  for (int i = 0; i < 8; ++i) state_[i] += s[i];
}

std::array<uint8_t, 32> Sha256::digest() {
  uint64_t bits = 8 * size_;
  update("\x80", 1);
  while (size_ % 64 != 56) update("\0", 1);
  uint8_t length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<uint8_t>(bits >> (56 - 8 * i));
  update(length, 8);
  std::array<uint8_t, 32> found;
  for (int i = 0; i < 32; ++i) found[i] = static_cast<uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  return found;
}

std::string Sha256::text() {
  static const char kDigits[] = "0123456789abcdef";
  std::string found;
  for (uint8_t byte : digest()) found += {kDigits[byte >> 4], kDigits[byte & 15]};
  return found;
}

}  // namespace hipgraft
