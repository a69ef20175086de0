#include "device.h"

#include <algorithm>
#include <cstring>

namespace hipgraft {

void Device::fill_pattern(uint64_t target, std::string_view pattern, uint64_t nbytes,
                          void *stream) {
  if (!nbytes) return;
  // The shortest pattern that repeats to the same bytes.
  while (pattern.size() > 1 &&
         pattern.substr(0, pattern.size() / 2) == pattern.substr(pattern.size() / 2))
    pattern = pattern.substr(0, pattern.size() / 2);
  uint32_t words[4] = {};
  memcpy(words, pattern.data(), pattern.size());
  auto width = static_cast<unsigned>(pattern.size());
  if (width <= 4) return fill(target, words[0], width, nbytes, stream);
  // Drivers fill with patterns of at most 4 bytes: write the pattern once, then double the filled
  // range.
  for (unsigned at = 0; at < width; at += 4) fill(target + at, words[at / 4], 4, 4, stream);
  for (uint64_t done = width; done < nbytes; done *= 2)
    copy(target + done, target, std::min(done, nbytes - done), stream);
}

}  // namespace hipgraft
